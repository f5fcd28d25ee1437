//! One call of a scripted effect, and all that came of it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use loom_effect_runtime::{
    CallError, CallRef, CallReport, Data, DeltaKind, DeltaKinds, DeltaSink, Effect, EffectDelta,
    EffectRuntime, Lane, Ready, RuntimeBuilder,
};

use super::bounded::ends;
use super::polls::watched;

/// A runtime that lets everything be called.
pub(crate) fn builder() -> RuntimeBuilder<Ready> {
    EffectRuntime::builder().allow_all_calls()
}

/// What came of one call.
pub(crate) struct Played<O> {
    /// `None` where the call never ended.
    pub(crate) result: Option<Result<O, CallError>>,
    pub(crate) report: CallReport,
    /// What the per-call sink got.
    pub(crate) seen: Seen,
    pub(crate) longest_poll: Duration,
    pub(crate) polls: usize,
}

impl<O> Played<O> {
    /// The failure, where there was one.
    pub(crate) fn error(&self) -> Option<&CallError> {
        self.result.as_ref()?.as_ref().err()
    }

    /// The output, where there was one.
    pub(crate) fn output(&self) -> Option<&O> {
        self.result.as_ref()?.as_ref().ok()
    }
}

/// Calls the effect `id` of `runtime`, with a live view where `streamed` says so.
pub(crate) async fn play<I: Data, O: Data>(
    runtime: &EffectRuntime,
    id: &str,
    input: I,
    streamed: bool,
) -> Played<O> {
    play_into(runtime, id, input, streamed.then(View::default)).await
}

/// Calls the effect `id` of `runtime`, with this live view where there is one.
pub(crate) async fn play_into<I: Data, O: Data>(
    runtime: &EffectRuntime,
    id: &str,
    input: I,
    view: Option<View>,
) -> Played<O> {
    let call = async {
        let tool = runtime.tool::<I, O>(id).map_err(CallError::failed)?;
        let call = runtime.invoke_transient(tool, input);
        let call = match &view {
            Some(view) => call.on_delta_sink(view.clone()),
            None => call,
        };
        let (result, report) = call.reported().await;
        Ok((result, report))
    };
    let watched = watched(ends(call)).await;
    let (result, report) = match watched.output {
        None => (None, CallReport::default()),
        Some(Err(error)) => (Some(Err(error)), CallReport::default()),
        Some(Ok((result, report))) => (Some(result), report),
    };
    let seen = view.map(|view| view.seen()).unwrap_or_default();
    Played { result, report, seen, longest_poll: watched.longest, polls: watched.polls }
}

/// A runtime with one effect, as `build` makes it; `None` where it cannot be built.
pub(crate) fn with_effect(builder: RuntimeBuilder<Ready>, effect: impl Effect) -> Option<EffectRuntime> {
    builder.effect(effect).build().ok()
}

/// What a sink got, folded: text appends, reset clears.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// The text of the answer as a reader has it at the end.
    pub(crate) text: String,
    /// All text ever delivered, with what was reset.
    pub(crate) delivered: String,
    pub(crate) resets: u32,
    pub(crate) done: u32,
}

/// A sink that folds: all text, or that of one lane.
#[derive(Clone, Default)]
pub(crate) struct View {
    seen: Arc<Mutex<Seen>>,
    only: Option<Lane>,
}

impl View {
    /// A sink that folds the text of one lane, whatever its kind.
    pub(crate) fn of_lane(lane: Lane) -> Self {
        Self { only: Some(lane), ..Self::default() }
    }

    pub(crate) fn seen(&self) -> Seen {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl DeltaSink for View {
    fn deliver(&self, _call: &CallRef<'_>, delta: &EffectDelta<'_>) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        match delta {
            EffectDelta::Text { text, lane, .. }
            | EffectDelta::Reasoning { text, lane, .. }
            | EffectDelta::ToolArguments { text, lane, .. }
                if self.only.is_none_or(|only| only == *lane) =>
            {
                seen.text.push_str(text.unwrap_tainted());
                seen.delivered.push_str(text.unwrap_tainted());
            }
            EffectDelta::Reset { .. } => {
                seen.text.clear();
                seen.resets += 1;
            }
            EffectDelta::Done { .. } => seen.done += 1,
            _ => {}
        }
    }

    fn wants(&self) -> DeltaKinds {
        self.only.map_or(DeltaKinds::TEXT, |lane| kinds_of(lane.kind()))
    }
}

/// The set of this kind alone.
pub(crate) fn kinds_of(kind: DeltaKind) -> DeltaKinds {
    match kind {
        DeltaKind::Text => DeltaKinds::TEXT,
        DeltaKind::Reasoning => DeltaKinds::REASONING,
        DeltaKind::ToolArguments => DeltaKinds::TOOL_ARGUMENTS,
    }
}
