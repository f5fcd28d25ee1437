use futures::future::BoxFuture;
use loom_effect_runtime::{Around, Call, CallError, Next, Opaque};

struct Mine;

impl Around for Mine {
    fn name(&self) -> &str {
        "mine"
    }

    fn around<'a>(
        &'a self,
        _call: &'a Call,
        mut next: Next<'a>,
    ) -> BoxFuture<'a, Result<Opaque<'a>, CallError>> {
        Box::pin(async move {
            let first = next.run();
            let second = next.run();
            let (first, _second) = futures::join!(first, second);
            first
        })
    }
}

fn main() {
    let _ = Mine;
}
