//! What a user sees: a sink that keeps what it was shown, call by call, and folds it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use loom_effect_runtime::{CallRef, DeltaSink, EffectDelta, Usage};
use tokio::sync::watch;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Shown {
    Text(String),
    Reset(u32),
    Done(Option<Usage>),
}

/// A sink whose clones share what they were shown.
#[derive(Clone)]
pub(crate) struct View {
    /// What was shown, by the number of its call.
    shown: Arc<Mutex<BTreeMap<u64, Vec<Shown>>>>,
    texts: watch::Sender<usize>,
}

impl View {
    pub(crate) fn new() -> Self {
        Self { shown: Arc::default(), texts: watch::Sender::new(0) }
    }

    /// Waits until that many pieces of text were shown.
    pub(crate) async fn texts(&self, count: usize) {
        self.texts.subscribe().wait_for(|shown| *shown >= count).await.unwrap();
    }

    pub(crate) fn calls(&self) -> BTreeMap<u64, Vec<Shown>> {
        self.shown.lock().unwrap().clone()
    }

    /// What was shown of the one call there was.
    pub(crate) fn lines(&self) -> Vec<Shown> {
        let mut calls = self.calls();
        assert!(calls.len() <= 1, "{} calls in one view", calls.len());
        calls.pop_first().map(|(_, lines)| lines).unwrap_or_default()
    }

    /// The pieces of text of that one call, those before a reset included.
    pub(crate) fn pieces(&self) -> Vec<String> {
        let text = |shown| if let Shown::Text(text) = shown { Some(text) } else { None };
        self.lines().into_iter().filter_map(text).collect()
    }

    /// The text of that one call as it stands.
    pub(crate) fn fold(&self) -> String {
        fold(&self.lines())
    }
}

/// Text appends, a reset clears.
pub(crate) fn fold(lines: &[Shown]) -> String {
    lines.iter().fold(String::new(), |view, line| match line {
        Shown::Text(text) => view + text,
        Shown::Reset(_) => String::new(),
        Shown::Done(_) => view,
    })
}

impl DeltaSink for View {
    fn deliver(&self, call: &CallRef<'_>, delta: &EffectDelta<'_>) {
        let shown = match delta {
            EffectDelta::Text { text, .. } => Shown::Text(text.unwrap_tainted().to_owned()),
            EffectDelta::Reset { attempt, .. } => Shown::Reset(*attempt),
            EffectDelta::Done { usage, .. } => Shown::Done(*usage),
            other => panic!("a delta that was not asked for: {other:?}"),
        };
        let is_text = matches!(shown, Shown::Text(_));
        self.shown.lock().unwrap().entry(call.number()).or_default().push(shown);
        if is_text {
            self.texts.send_modify(|texts| *texts += 1);
        }
    }
}
