//! Returns no proof at all.

use loom_effect_runtime::{Around, Call, CallError, Next, Opaque};

type Boxed<'a> = std::pin::Pin<Box<dyn Future<Output = Result<Opaque<'a>, CallError>> + Send + 'a>>;

struct Cheat;

impl Around for Cheat {
    fn name(&self) -> &str {
        "cheat"
    }

    fn around<'a>(&'a self, _call: &'a Call, _next: Next<'a>) -> Boxed<'a> {
        Box::pin(async move { Ok(()) })
    }
}

fn main() {}
