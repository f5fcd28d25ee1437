//! Runtime and identity in one handle.

use std::any::TypeId;
use std::sync::Arc;

use tracing::{Instrument, Span};

use super::launch::{CallBuilder, Launch};
use super::{RuntimeInner, ToolRef};
use crate::call::{Call, CallOptions, CallReport, DurableStep};
use crate::caught::caught;
use crate::data::{Data, Input, Output, parse};
use crate::error::CallError;
use crate::flow::{is_inside, outside, outside_now};
use crate::identity::Identity;
use crate::names::ErrorName;
use crate::path::{Live, Path, Turn, prepare};

/// Calls effects under one identity. Cheap to clone; one reference count for runtime and identity together.
#[derive(Clone)]
pub struct Caller(Arc<Inner>);

struct Inner {
    runtime: Arc<RuntimeInner>,
    identity: Identity,
}

impl Caller {
    pub(super) fn new(runtime: Arc<RuntimeInner>, identity: Identity) -> Self {
        Self(Arc::new(Inner { runtime, identity }))
    }

    pub(super) fn shared(&self) -> Arc<RuntimeInner> {
        Arc::clone(&self.0.runtime)
    }

    /// The identity its calls run as.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.0.identity
    }

    /// Calls an effect transiently: no event, no store, no handle, no idempotency key (spec row T1). Nothing runs
    /// until the builder is awaited.
    ///
    /// By typed handle the call gives the effect's type; by id any input is taken and JSON given.
    pub fn invoke_transient<T: ToolRef<I>, I: Data>(
        &self,
        tool: T,
        input: I,
    ) -> CallBuilder<impl Launch<Out = T::Out> + use<T, I>> {
        let tool = tool.resolve(self);
        let caller = self.clone();
        CallBuilder::new(move |options| run::<I, T::Out>(caller, tool, input, options))
    }

    /// Runs an effect as a recorded step: the durable side of the same path. `ctx.run` of the workflow crate calls
    /// this; the journal sits around it.
    pub fn execute<T: ToolRef<I>, I: Data>(
        &self,
        tool: T,
        input: I,
        step: DurableStep,
    ) -> CallBuilder<impl Launch<Out = T::Out> + use<T, I>> {
        self.invoke_transient(tool, input).durable(step)
    }

    #[inline]
    pub(crate) fn runtime(&self) -> &RuntimeInner {
        &self.0.runtime
    }
}

impl std::fmt::Debug for Caller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Caller").field("identity", &self.0.identity).finish_non_exhaustive()
    }
}

/// One call, from resolved tool to result.
async fn run<I: Data, O: Data>(
    caller: Caller,
    tool: Result<u32, CallError>,
    input: I,
    options: Option<Box<CallOptions>>,
) -> (Result<O, CallError>, CallReport) {
    let tool = match tool {
        Ok(tool) => tool,
        Err(error) => return (Err(error), CallReport::default()),
    };
    if is_inside() && !options.as_ref().is_some_and(|options| options.in_execution) {
        return (Err(inside_flow()), CallReport::default());
    }
    let call = Call::new(caller, tool, options);
    let live = Live::new(&call);
    let mut input = Input::new(input);
    if live.entry().output_type == TypeId::of::<O>() {
        let mut place = Output::<Option<O>>::empty();
        let (result, report) = walk(&live, &mut input, TypeId::of::<I>(), &mut place).await;
        let result = result.and_then(|()| place.into_inner().ok_or_else(no_output));
        return (result, report);
    }
    let mut place = live.entry().effect.new_place();
    let (result, report) = walk(&live, &mut input, TypeId::of::<I>(), &mut place).await;
    (result.and_then(|()| as_json(&place)), report)
}

/// Walks the path in the call's span: without waiting where nothing waits.
#[inline]
async fn walk(
    live: &Live<'_>,
    input: &mut Input,
    from: TypeId,
    place: &mut Output,
) -> (Result<(), CallError>, CallReport) {
    if let Some(ended) = ended_before(live) {
        return (Err(ended), CallReport::default());
    }
    let span = span_of(live);
    let (mut coerced, mut kept) = (None, None);
    if from != live.entry().input_type || !live.runtime().rewriters.is_empty() {
        (coerced, kept) = Box::pin(outside(prepare(live, input, from)).instrument(span.clone())).await;
    }
    let mut path = Path::new(live, coerced.as_deref().unwrap_or(input), kept);
    let lane = || match path.step(place) {
        Turn::Done(result) => {
            let report = path.conclude(&result);
            Ok((result, report))
        }
        turn => Err(turn),
    };
    let turn = match span.in_scope(|| outside_now(lane)) {
        Ok((result, report)) => {
            record(&span, &result, &report);
            return (result, report);
        }
        Err(turn) => turn,
    };
    let result = outside(path.finish(turn, place)).instrument(span.clone()).await;
    let report = span.in_scope(|| outside_now(|| path.conclude(&result)));
    record(&span, &result, &report);
    (result, report)
}

/// A call that was over before it began.
#[inline]
fn ended_before(live: &Live<'_>) -> Option<CallError> {
    let options = live.call.options()?;
    options.broken.clone().or_else(|| options.signals.reason().map(CallError::aborted))
}

/// The call's span, where somebody listens.
#[inline]
fn span_of(live: &Live<'_>) -> Span {
    if !tracing::enabled!(tracing::Level::DEBUG) {
        return Span::none();
    }
    tracing::debug_span!(
        "loom.call",
        loom.tool = live.call.tool(),
        loom.execution = live.call.execution_id(),
        loom.call_key = live.call.call_key().map(tracing::field::display),
        loom.attempts = tracing::field::Empty,
        error.r#type = tracing::field::Empty,
    )
}

#[inline]
fn record(span: &Span, result: &Result<(), CallError>, report: &CallReport) {
    if span.is_none() {
        return;
    }
    span.record("loom.attempts", report.attempts);
    if let Err(error) = result {
        span.record("error.type", error.name().as_str());
    }
}

/// The output as JSON, for a call by id. The effect's own `Serialize` runs under a catch.
fn as_json<O: Data>(place: &Output) -> Result<O, CallError> {
    let json = caught(|| place.json())
        .map_err(|_| CallError::named(ErrorName::OutputInvalid, "the output panicked when it was read"))?;
    let parsed = json.and_then(parse);
    parsed.map_err(|error| {
        CallError::with_source(ErrorName::OutputInvalid, "the output has no JSON form", error)
    })
}

#[cold]
fn inside_flow() -> CallError {
    CallError::named(
        ErrorName::EffectModeViolation,
        "a bare transient call was reached from inside a flow: call the effect with `run` or in a decide scope",
    )
}

#[cold]
fn no_output() -> CallError {
    CallError::named(ErrorName::OutputInvalid, "the call succeeded without an output")
}
