//! Sinks that record, and sinks that misbehave.

use loom_effect_runtime::{CallRef, DeltaKinds, DeltaSink, EffectDelta, Usage};

use super::Log;

/// Records what it gets, one line a delta: the text itself, `<reset 2>`, `<done>`, `reasoning:…`, `tool0:…`.
#[derive(Clone)]
pub(crate) struct Recorder {
    pub(crate) log: Log,
    prefix: &'static str,
    wants: DeltaKinds,
}

impl Recorder {
    pub(crate) fn new() -> Self {
        Self::into_log(&Log::new(), "")
    }

    /// Records into a shared log, each line behind `prefix`.
    pub(crate) fn into_log(log: &Log, prefix: &'static str) -> Self {
        Self { log: log.clone(), prefix, wants: DeltaKinds::TEXT }
    }

    pub(crate) fn wanting(mut self, wants: DeltaKinds) -> Self {
        self.wants = wants;
        self
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.log.lines()
    }

    /// The view: text appends, reset clears, done is no text.
    pub(crate) fn fold(&self) -> String {
        self.lines().iter().fold(String::new(), |mut view, line| {
            match line.as_str() {
                reset if reset.starts_with("<reset ") => view.clear(),
                done if done.starts_with("<done") => {}
                text => view.push_str(text),
            }
            view
        })
    }
}

impl DeltaSink for Recorder {
    fn deliver(&self, _call: &CallRef<'_>, delta: &EffectDelta<'_>) {
        self.log.say(format!("{}{}", self.prefix, line(delta)));
    }

    fn wants(&self) -> DeltaKinds {
        self.wants
    }
}

/// One delta as a line.
pub(crate) fn line(delta: &EffectDelta<'_>) -> String {
    match delta {
        EffectDelta::Text { text, .. } => text.unwrap_tainted().to_owned(),
        EffectDelta::Reasoning { text, .. } => format!("reasoning:{}", text.unwrap_tainted()),
        EffectDelta::ToolArguments { text, lane, .. } => {
            format!("tool{}:{}", lane.block(), text.unwrap_tainted())
        }
        EffectDelta::Reset { attempt, .. } => format!("<reset {attempt}>"),
        EffectDelta::Done { usage: None, .. } => "<done>".to_owned(),
        EffectDelta::Done { usage: Some(Usage { input_tokens, output_tokens, .. }), .. } => {
            format!("<done {}/{}>", input_tokens.unwrap_or(0), output_tokens.unwrap_or(0))
        }
        other => format!("{other:?}"),
    }
}

/// A sink made of a closure that gets the call too.
pub(crate) struct SinkThat<F>(pub(crate) F);

impl<F: Fn(&CallRef<'_>, &EffectDelta<'_>) + Send + Sync + 'static> DeltaSink for SinkThat<F> {
    fn deliver(&self, call: &CallRef<'_>, delta: &EffectDelta<'_>) {
        (self.0)(call, delta);
    }
}
