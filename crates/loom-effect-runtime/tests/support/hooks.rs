//! Hooks that log, meter and retry.

use std::sync::Arc;

use loom_effect_runtime::{
    Around, Call, CallInfo, DeltaForm, DeltaKind, Input, Meter, MeterForm, Middleware, Outcome,
    OutputMiddleware, Step, Violation, around, inspect,
};

use super::{Log, pass};

/// A middleware that tells a log of everything it is asked: `before a`, `after a ok`, `after a <error name>`.
pub(crate) struct Told(pub(crate) &'static str, pub(crate) Log);

impl Middleware for Told {
    fn name(&self) -> &str {
        self.0
    }

    fn before(&self, _call: &Call, _input: &Input) -> Step {
        self.1.say(format!("before {}", self.0));
        Step::Go
    }

    fn after(&self, _call: &Call, outcome: &Outcome<'_>) {
        let how = outcome.error.map_or("ok", |error| error.name().as_str());
        self.1.say(format!("after {} {how}", self.0));
    }
}

/// An inspector that finds nothing and covers every kind.
pub(crate) fn passing(name: &'static str) -> impl OutputMiddleware {
    inspect(name, pass(), |_, _| Step::Go)
}

/// A middleware whose meter allows `bytes` an attempt, then severs under the rule `bytes`.
pub(crate) fn metered(bytes: usize, log: &Log) -> impl Middleware {
    MeteredBy(Budget { bytes, log: log.clone() })
}

struct MeteredBy(Budget);

impl Middleware for MeteredBy {
    fn name(&self) -> &str {
        "budget"
    }

    fn meter(&self) -> Option<&dyn MeterForm> {
        Some(&self.0)
    }
}

#[derive(Clone)]
pub(crate) struct Budget {
    pub(crate) bytes: usize,
    pub(crate) log: Log,
}

impl MeterForm for Budget {
    fn meter(&self, _call: &CallInfo) -> Box<dyn Meter> {
        self.log.say("meter made");
        Box::new(self.clone())
    }
}

impl Meter for Budget {
    fn observe(&mut self, kind: DeltaKind, bytes: usize) -> Result<(), Violation> {
        self.log.say(format!("metered {kind:?} {bytes}"));
        match self.bytes.checked_sub(bytes) {
            Some(left) => {
                self.bytes = left;
                Ok(())
            }
            None => Err(Violation::quota("bytes")),
        }
    }
}

/// Runs the rest up to `times` times, whatever the error: it knows no refusal and no sever.
pub(crate) fn stubborn(times: u32) -> impl Around {
    around("stubborn", move |_, mut next| {
        Box::pin(async move {
            let mut left = times;
            loop {
                left -= 1;
                match next.run().await {
                    Err(_) if left > 0 => {}
                    result => return result,
                }
            }
        })
    })
}

/// An inspector that finds nothing, over a form.
pub(crate) fn inspect_with(form: Option<Arc<dyn DeltaForm>>) -> impl OutputMiddleware {
    inspect("guarded", form, |_, _| Step::Go)
}
