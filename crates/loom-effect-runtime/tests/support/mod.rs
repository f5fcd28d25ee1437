//! Third parties by script: effects that do what a test says, sinks that record, guards, meters and arounds.

pub(crate) mod effect;
pub(crate) mod guards;
pub(crate) mod hooks;
pub(crate) mod sinks;

use std::fmt::Display;
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub(crate) use effect::{Act, Answer, Ask, Scripted, ask};
pub(crate) use guards::{Counted, form, hold_all, hold_back, pass, replace, sever_on};
pub(crate) use hooks::{Told, inspect_with, metered, passing, stubborn};
use loom_effect_runtime::{EffectRuntime, Tool};
pub(crate) use sinks::{Recorder, SinkThat};

/// The longest a test may wait in real time before it is said to hang.
const HANG: Duration = Duration::from_secs(20);

/// Runs a future with a real timer, and fails instead of hanging.
pub(crate) fn run<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(HANG, future).await.expect("the call hangs") })
}

/// The handle of the scripted effect `plan`.
pub(crate) fn plan(runtime: &EffectRuntime) -> Tool<Ask, Answer> {
    runtime.tool("plan").unwrap()
}

/// Lines in the order they were said, by whoever holds a clone.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn say(&self, line: impl Display) {
        self.0.lock().unwrap().push(line.to_string());
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.lock().unwrap().is_empty()
    }
}
