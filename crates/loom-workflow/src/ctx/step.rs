//! A step: asked for, run or served, recorded, and given.

use loom_effect_runtime::engine::EngineCall;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use loom_effect_runtime::{
    CallBuilder, CallError, CallReport, Data, DeltaSink, EffectDelta, Emitter, ErrorName, Launch, Refusal,
    Reported, Signal,
};
use pin_project::pin_project;
use serde_json::Value;

use crate::engine::{GROUP_BYTES_MAX, GROUP_RECORDS_MAX, Given, Place, Served, StepResult, Turn, fits};
use crate::failure;
use crate::record::ID_BYTES_MAX;

/// A step that was not started yet. Await it; or `.into_future()` where a future is asked for, as in `join!`.
#[must_use = "a step does nothing until it is awaited"]
pub struct StepCall<L> {
    place: Result<Place, CallError>,
    call: CallBuilder<L>,
    tool: Arc<str>,
}

impl<L: Launch> StepCall<L> {
    pub(super) fn new(place: Result<Place, CallError>, call: CallBuilder<L>, tool: Arc<str>) -> Self {
        Self { place, call, tool }
    }

    /// Follows the step's live text with a closure; on replay it is not called (spec rows D1, D5).
    pub fn on_delta(mut self, sink: impl Fn(&EffectDelta<'_>) + Send + Sync + 'static) -> Self {
        self.call = self.call.on_delta(sink);
        self
    }

    /// Follows the step's live text with a sink.
    pub fn on_delta_sink(mut self, sink: impl DeltaSink) -> Self {
        self.call = self.call.on_delta_sink(sink);
        self
    }

    /// Adds a signal to the execution's; a second one refuses the step.
    pub fn signal(mut self, signal: Signal) -> Self {
        self.call = self.call.signal(signal);
        self
    }
}

impl<L: Launch> IntoFuture for StepCall<L>
where
    L::Out: Data,
{
    type Output = Result<L::Out, CallError>;
    type IntoFuture = StepFuture<L>;

    fn into_future(self) -> StepFuture<L> {
        StepFuture {
            running: None,
            place: self.place,
            call: Some(self.call),
            tool: self.tool,
            emitted: Arc::default(),
            own: None,
        }
    }
}

impl<L> std::fmt::Debug for StepCall<L> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StepCall").field("tool", &self.tool).finish_non_exhaustive()
    }
}

/// A step under way. Dropped before `place`, the call tells the effect first and the engine then.
#[pin_project]
#[must_use = "futures do nothing unless polled"]
pub struct StepFuture<L: Launch> {
    #[pin]
    running: Option<Reported<L::Fut>>,
    place: Result<Place, CallError>,
    call: Option<CallBuilder<L>>,
    tool: Arc<str>,
    emitted: Arc<Emitted>,
    own: Option<Result<L::Out, CallError>>,
}

impl<L: Launch> Future for StepFuture<L>
where
    L::Out: Data,
{
    type Output = Result<L::Out, CallError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let place = match this.place {
            Ok(place) => place,
            Err(error) => return Poll::Ready(Err(error.clone())),
        };
        loop {
            if let Some(running) = this.running.as_mut().as_pin_mut() {
                let (result, report) = ready!(running.poll(cx));
                this.running.set(None);
                *this.own = Some(settle(place, result, report, this.tool, this.emitted));
            }
            let served = match place.turn(cx) {
                Turn::Wait => return Poll::Pending,
                Turn::Served(served) => served,
                Turn::Start(totals) => {
                    if let Some(call) = this.call.take() {
                        let emitter = Arc::clone(this.emitted) as Arc<dyn Emitter>;
                        this.running.set(Some(call.recorded_by(emitter, totals).reported()));
                    }
                    continue;
                }
            };
            return Poll::Ready(given(place, served, this.own));
        }
    }
}

impl<L: Launch> std::fmt::Debug for StepFuture<L> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StepFuture").field("tool", &self.tool).finish_non_exhaustive()
    }
}

/// Records a step's result, and answers what the flow is given: what the journal gives back, never more.
fn settle<O: Data>(
    place: &Place,
    result: Result<O, CallError>,
    report: CallReport,
    tool: &str,
    emitted: &Emitted,
) -> Result<O, CallError> {
    let (events, overflow) = emitted.take();
    let result = match overflow {
        Some(error) => Err(error),
        None => result.map_err(failure::recordable).and_then(recorded),
    };
    let (given, own): (Given, _) = match result {
        Ok((value, output)) => (Ok(value), Ok(output)),
        Err(error) => (Err(error.clone()), Err(error)),
    };
    let chain = place.execution.caller.identity().principal().chain();
    let denial = given.as_ref().err().and_then(|error| failure::denial(error, report.attempts, tool, chain));
    let result = StepResult { events, denial, given, attempts: report.attempts, usage: report.usage };
    place.complete(|engine, path, at_ms| engine.complete_step(path, result, at_ms));
    own
}

/// What the flow is given of what the engine serves; `own` is this drive's own result, if it made one.
pub(crate) fn given<O: Data>(
    place: &Place,
    served: Served,
    own: &mut Option<Result<O, CallError>>,
) -> Result<O, CallError> {
    match served {
        Served::Own => own.take().unwrap_or_else(|| Err(polled_again())),
        Served::Value(value) => typed(&value),
        Served::Failure(error) => Err(error),
        Served::Cancelled => Err(CallError::aborted(place.execution.cancel_reason())),
    }
}

/// A value as a journal keeps it, and as it is read back.
pub(crate) fn recorded<O: Data>(output: O) -> Result<(Value, O), CallError> {
    let value = serde_json::to_value(&output).map_err(|_| {
        CallError::named(ErrorName::OutputInvalid, "the value to be recorded has no JSON form")
    })?;
    drop(output);
    fits(&value)?;
    let back = typed(&value)?;
    Ok((value, back))
}

/// A recorded value as the type that the flow expects.
pub(crate) fn typed<O: Data>(value: &Value) -> Result<O, CallError> {
    // The parser's message may quote content, so it is dropped.
    O::deserialize(value).map_err(|_| {
        CallError::named(ErrorName::OutputInvalid, "the recorded value is not of the expected type")
    })
}

#[cold]
fn polled_again() -> CallError {
    CallError::named(ErrorName::OutputInvalid, "a step was polled after it had given its result")
}

/// What an effect emitted: it joins the step's own append (spec row T1).
#[derive(Default)]
struct Emitted(Mutex<Events>);

#[derive(Default)]
struct Events {
    events: Vec<(String, Value)>,
    bytes: u64,
    overflow: Option<CallError>,
}

impl Emitted {
    fn take(&self) -> (Vec<(String, Value)>, Option<CallError>) {
        let events = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        if events.overflow.is_some() { (Vec::new(), events.overflow) } else { (events.events, None) }
    }
}

impl Emitter for Emitted {
    fn emit(&self, kind: &str, payload: Value) {
        let mut events = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let weight = fits(&payload).map_or(u64::MAX, |weight| weight.bytes + 2_048);
        let bytes = events.bytes.saturating_add(weight);
        let named = (1..=ID_BYTES_MAX).contains(&kind.len());
        if !named || bytes > GROUP_BYTES_MAX || events.events.len() + 2 >= GROUP_RECORDS_MAX {
            // The effect cannot be told here, so the step fails: no event is lost in silence.
            events.overflow = Some(CallError::from(Refusal::quota("journal.emitted")));
            return;
        }
        events.bytes = bytes;
        events.events.push((kind.to_owned(), payload));
    }
}
