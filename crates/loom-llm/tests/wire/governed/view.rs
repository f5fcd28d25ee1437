//! What a user sees: a sink that keeps what it was shown and folds it.

use std::sync::{Arc, Mutex};

use loom_effect_runtime::{CallRef, DeltaKinds, DeltaSink, EffectDelta, Usage};
use tokio::sync::Notify;

/// A sink that writes one line a delta into a log which other sinks may share.
#[derive(Clone)]
pub(super) struct View {
    name: &'static str,
    log: Arc<Mutex<Vec<String>>>,
    wants: DeltaKinds,
    opens: Option<(&'static str, Arc<Notify>)>,
}

impl View {
    pub(super) fn new() -> Self {
        Self { name: "", log: Arc::default(), wants: DeltaKinds::TEXT, opens: None }
    }

    /// A sink of another name into the same log.
    pub(super) fn beside(&self, name: &'static str) -> Self {
        Self { name, ..self.clone() }
    }

    pub(super) fn wanting(self, wants: DeltaKinds) -> Self {
        Self { wants, ..self }
    }

    /// Opens the gate when that line is shown.
    pub(super) fn opening(self, line: &'static str, gate: &Arc<Notify>) -> Self {
        Self { opens: Some((line, Arc::clone(gate))), ..self }
    }

    pub(super) fn lines(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }

    /// The text as it stands: text appends, reset clears.
    pub(super) fn fold(&self) -> String {
        self.lines().iter().fold(String::new(), |view, line| match line.as_str() {
            reset if reset.starts_with("<reset ") => String::new(),
            done if done.starts_with("<done") => view,
            text => view + text,
        })
    }
}

impl DeltaSink for View {
    fn deliver(&self, _call: &CallRef<'_>, delta: &EffectDelta<'_>) {
        let line = match delta {
            EffectDelta::Text { text, .. } => text.unwrap_tainted().to_owned(),
            EffectDelta::Reasoning { text, .. } => format!("reasoning:{}", text.unwrap_tainted()),
            EffectDelta::ToolArguments { text, lane, .. } => {
                format!("tool{}:{}", lane.block(), text.unwrap_tainted())
            }
            EffectDelta::Reset { attempt, .. } => format!("<reset {attempt}>"),
            EffectDelta::Done { usage: None, .. } => "<done>".to_owned(),
            EffectDelta::Done { usage: Some(Usage { input_tokens, output_tokens }), .. } => {
                format!("<done {input_tokens:?} {output_tokens:?}>")
            }
            other => panic!("a delta of a new kind: {other:?}"),
        };
        if let Some((at, gate)) = &self.opens
            && *at == line
        {
            gate.notify_one();
        }
        self.log.lock().unwrap().push(format!("{}{line}", self.name));
    }

    fn wants(&self) -> DeltaKinds {
        self.wants
    }
}
