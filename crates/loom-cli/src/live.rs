//! From deltas to the screen, over every attempt that one command makes.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use loom_effect_runtime::{CallRef, DeltaKinds, DeltaSink, EffectDelta, Usage};

use crate::render::Screen;

/// The live view of a command. Attempts are counted over all its calls, so that their numbers only rise.
pub(crate) struct Live {
    screen: Arc<Screen>,
    execution: OnceLock<()>,
    /// Attempts of the calls before the one that runs.
    earlier: AtomicU32,
    /// What the last end mark said, until another attempt begins.
    done: Mutex<Option<Option<Usage>>>,
}

impl Live {
    pub(crate) fn new(screen: &Arc<Screen>) -> Arc<Self> {
        let (execution, earlier, done) = (OnceLock::new(), AtomicU32::new(0), Mutex::new(None));
        Arc::new(Self { screen: Arc::clone(screen), execution, earlier, done })
    }

    /// Names the execution before anything else is shown; only the first time counts.
    pub(crate) fn begin(&self, id: &str) {
        if self.execution.set(()).is_ok() {
            self.screen.show(|view| view.execution_id(id));
        }
    }

    /// A sink for one call.
    pub(crate) fn sink(self: &Arc<Self>) -> impl DeltaSink + use<> {
        Sink(Arc::clone(self))
    }

    /// A call has ended after so many attempts.
    pub(crate) fn asked(&self, attempts: u32) {
        self.earlier.fetch_add(attempts.max(1), Ordering::Relaxed);
    }

    /// What was shown of the last call is void: another follows.
    pub(crate) fn ask_again(&self) {
        self.reset(1);
    }

    /// Whether a call ended whole, and the usage that it told.
    pub(crate) fn done(&self) -> Option<Option<Usage>> {
        *self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reset(&self, attempt: u32) {
        self.set_done(None);
        let attempt = self.earlier.load(Ordering::Relaxed).saturating_add(attempt);
        self.screen.show(|view| view.reset(attempt));
    }

    fn set_done(&self, done: Option<Option<Usage>>) {
        *self.done.lock().unwrap_or_else(PoisonError::into_inner) = done;
    }
}

struct Sink(Arc<Live>);

impl DeltaSink for Sink {
    fn deliver(&self, _call: &CallRef<'_>, delta: &EffectDelta<'_>) {
        match delta {
            // The person who asked reads what the model said: that is what the text left its taint for.
            EffectDelta::Text { text, .. } => self.0.screen.show(|view| view.text(text.unwrap_tainted())),
            EffectDelta::Reasoning { text, .. } => {
                self.0.screen.show(|view| view.reasoning(text.unwrap_tainted()));
            }
            EffectDelta::Reset { attempt, .. } => self.0.reset(*attempt),
            EffectDelta::Done { usage, .. } => self.0.set_done(Some(*usage)),
            _ => {}
        }
    }

    fn wants(&self) -> DeltaKinds {
        self.0.screen.kinds()
    }
}
