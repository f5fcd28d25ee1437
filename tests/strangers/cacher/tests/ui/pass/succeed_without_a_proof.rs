//! Fails without running anything.

use loom_effect_runtime::{Around, Call, CallError, ErrorName, Next, Opaque};

type Boxed<'a> = std::pin::Pin<Box<dyn Future<Output = Result<Opaque<'a>, CallError>> + Send + 'a>>;

struct Honest;

impl Around for Honest {
    fn name(&self) -> &str {
        "honest"
    }

    fn around<'a>(&'a self, _call: &'a Call, _next: Next<'a>) -> Boxed<'a> {
        Box::pin(async move { Err(CallError::named(ErrorName::DeadlineExceeded, "no time left")) })
    }
}

fn main() {}
