//! The delta form: a lane's text is held whole and redacted when the lane ends well.

use std::sync::Arc;

use loom_effect_runtime::{CallInfo, DeltaForm, DeltaGuard, DeltaKinds, Lane, Outlet, Verdict, Violation};

use super::engine::Engine;
use super::fault::Fault;
use crate::delta::GUARD_TEXT_BYTES_MAX;

/// Makes a guard that holds for each lane.
pub(super) struct HeldForm(pub(super) Arc<Engine>);

impl DeltaForm for HeldForm {
    /// Tool-call arguments are JSON text, in which a match may be spelled with escapes: they are not covered, so no
    /// sink gets them.
    fn kinds(&self) -> DeltaKinds {
        DeltaKinds::TEXT | DeltaKinds::REASONING
    }

    fn guard(&self, call: &CallInfo, _lane: Lane) -> Box<dyn DeltaGuard> {
        Box::new(HeldGuard { engine: Arc::clone(&self.0), call: call.clone(), text: String::new() })
    }
}

/// Holds the text of one lane of one attempt. It is dropped undelivered when the attempt fails.
struct HeldGuard {
    engine: Arc<Engine>,
    call: CallInfo,
    text: String,
}

impl DeltaGuard for HeldGuard {
    fn push(&mut self, text: &str, _out: &mut Outlet<'_>) -> Verdict {
        if text.len() > GUARD_TEXT_BYTES_MAX.saturating_sub(self.text.len()) {
            return Verdict::Sever(Fault::TextLimit.into());
        }
        self.text.push_str(text);
        Verdict::Done
    }

    fn finish(&mut self, out: &mut Outlet<'_>) -> Result<(), Violation> {
        let redacted = self.engine.redact(&self.call, &self.text)?;
        out.pass(redacted.as_deref().unwrap_or(&self.text));
        Ok(())
    }
}
