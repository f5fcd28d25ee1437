//! An effect that swallows a sever, and a guard that does.

use loom_effect_runtime::{
    CallError, CallInfo, DeltaForm, DeltaGuard, DeltaKinds, Effect, EffectContext, Lane, Outlet, Verdict,
    Violation,
};

/// Writes its input and answers with it, whatever the channel says.
#[derive(Debug)]
pub struct Swallower;

impl Effect for Swallower {
    type Input = String;
    type Output = String;

    fn id(&self) -> &str {
        "swallower"
    }

    async fn execute(&self, text: &String, cx: &EffectContext<'_>) -> Result<String, CallError> {
        for word in text.split_inclusive(' ') {
            let _ = cx.deltas().text(word);
        }
        Ok(text.clone())
    }

    fn live_text(output: &String, piece: &mut dyn FnMut(&str)) -> bool {
        piece(output);
        true
    }
}

/// Passes text on and says that all is well, whatever the guards behind it say.
#[derive(Debug)]
pub struct Deaf;

impl DeltaForm for Deaf {
    fn kinds(&self) -> DeltaKinds {
        DeltaKinds::ALL
    }

    fn guard(&self, _call: &CallInfo, _lane: Lane) -> Box<dyn DeltaGuard> {
        Box::new(Self)
    }
}

impl DeltaGuard for Deaf {
    fn push(&mut self, text: &str, out: &mut Outlet<'_>) -> Verdict {
        out.pass(text);
        Verdict::Done
    }

    fn finish(&mut self, _out: &mut Outlet<'_>) -> Result<(), Violation> {
        Ok(())
    }
}
