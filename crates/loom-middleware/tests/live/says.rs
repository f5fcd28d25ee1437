//! A tool that says how often it ran, unless it is told to fail.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use loom_effect_runtime::{CallError, Effect, EffectContext, ErrorName};

/// What one run does in place of saying its number.
#[derive(Clone, Copy)]
pub(crate) enum Act {
    /// Fails under the name.
    Fail(ErrorName),
    /// Writes the text, then fails.
    WriteAndFail(&'static str, ErrorName),
    Panic,
    /// Waits for ever.
    Wait,
    /// Does what it does by default.
    Say,
}

/// Gives `<input>#<how many times it ran>`, written as live text. Clones are the same tool under another id.
#[derive(Clone)]
pub(crate) struct Says {
    id: &'static str,
    acts: Arc<Mutex<VecDeque<Act>>>,
    ran: Arc<AtomicU32>,
}

impl Says {
    pub(crate) fn new(acts: impl IntoIterator<Item = Act>) -> Self {
        Self { id: "says", acts: Arc::new(Mutex::new(acts.into_iter().collect())), ran: Arc::default() }
    }

    pub(crate) fn called(&self, id: &'static str) -> Self {
        Self { id, ..self.clone() }
    }

    /// How often it ran.
    pub(crate) fn ran(&self) -> u32 {
        self.ran.load(Ordering::SeqCst)
    }
}

impl Effect for Says {
    type Input = String;
    type Output = String;

    fn id(&self) -> &str {
        self.id
    }

    async fn execute(&self, input: &String, cx: &EffectContext<'_>) -> Result<String, CallError> {
        let ran = self.ran.fetch_add(1, Ordering::SeqCst) + 1;
        let act = self.acts.lock().unwrap().pop_front().unwrap_or(Act::Say);
        let failure = |name| Err(CallError::named(name, "as it was told"));
        match act {
            Act::Fail(name) => failure(name),
            Act::WriteAndFail(text, name) => {
                cx.deltas().text(text)?;
                failure(name)
            }
            Act::Panic => panic!("as it was told"),
            Act::Wait => std::future::pending().await,
            Act::Say => {
                let said = format!("{input}#{ran}");
                cx.deltas().text(&said)?;
                Ok(said)
            }
        }
    }

    fn live_text(output: &String, piece: &mut dyn FnMut(&str)) -> bool {
        piece(output);
        true
    }
}
