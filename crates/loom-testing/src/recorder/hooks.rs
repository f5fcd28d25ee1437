//! Where the recorder listens.

use futures::future::BoxFuture;
use loom_effect_runtime::{Around, Call, CallError, Input, Middleware, Next, Opaque, Outcome, Step};

use super::line;
use super::record::Record;

/// Hears of a call's admission and of its end, or of its being dropped.
pub(super) struct Bounds(pub(super) Record);

impl Middleware for Bounds {
    fn name(&self) -> &str {
        "recorder"
    }

    fn before(&self, call: &Call, input: &Input) -> Step {
        let step = line::step(call.step_id(), call.call_key());
        self.0.line(&format!("{step}: admitted {}", line::input(input)));
        call.keep(Open::new(&self.0, format!("{step}:")));
        Step::Go
    }

    fn after(&self, call: &Call, outcome: &Outcome<'_>) {
        if let Some(open) = call.take_kept::<Open>() {
            let over = line::over(outcome.error.map(CallError::name), outcome.report);
            open.close(&format!("over: {over}"));
        }
    }
}

/// Hears of each run of what lies further in.
pub(super) struct Attempts(pub(super) Record);

impl Around for Attempts {
    fn name(&self) -> &str {
        "recorder"
    }

    fn around<'a>(
        &'a self,
        call: &'a Call,
        mut next: Next<'a>,
    ) -> BoxFuture<'a, Result<Opaque<'a>, CallError>> {
        Box::pin(async move {
            let step = line::step(call.step_id(), call.call_key());
            self.0.line(&format!("{step}: attempt"));
            let open = Open::new(&self.0, format!("{step}: attempt"));
            let ran = next.run().await;
            match &ran {
                Ok(_) => open.close("ok"),
                Err(error) => open.close(&format!("failed: {}", error.name())),
            }
            ran
        })
    }
}

/// What has begun. Its end is written down, or that it was dropped.
struct Open {
    record: Record,
    about: Option<String>,
}

impl Open {
    fn new(record: &Record, about: String) -> Self {
        Self { record: record.clone(), about: Some(about) }
    }

    fn close(mut self, end: &str) {
        self.write(end);
    }

    fn write(&mut self, end: &str) {
        if let Some(about) = self.about.take() {
            self.record.line(&format!("{about} {end}"));
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.write("dropped");
    }
}
