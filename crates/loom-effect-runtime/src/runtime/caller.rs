//! Runtime and identity in one handle.

use std::any::TypeId;
use std::sync::Arc;

use tracing::Instrument;

use super::launch::{CallBuilder, Launch};
use super::{RuntimeInner, ToolRef};
use crate::call::{Call, CallOptions, CallReport, DurableStep};
use crate::data::{Data, Input, Output, parse};
use crate::error::CallError;
use crate::flow::{is_inside, outside};
use crate::identity::Identity;
use crate::names::ErrorName;
use crate::path::{Live, govern};

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
        let (result, report) = traced(&live, &mut input, &mut place).await;
        let result = result.and_then(|()| place.into_inner().ok_or_else(no_output));
        return (result, report);
    }
    let mut place = live.entry().effect.new_place();
    let (result, report) = traced(&live, &mut input, &mut place).await;
    let result = result.and_then(|()| {
        let json = place.json().map_err(|error| {
            CallError::with_source(ErrorName::OutputInvalid, "the output has no JSON form", error)
        })?;
        parse(json).map_err(|error| {
            CallError::with_source(ErrorName::OutputInvalid, "the output is not what the call expects", error)
        })
    });
    (result, report)
}

/// The governed path in a span, where somebody listens.
async fn traced(
    live: &Live<'_>,
    input: &mut Input,
    place: &mut Output,
) -> (Result<(), CallError>, CallReport) {
    if !tracing::enabled!(tracing::Level::DEBUG) {
        return outside(govern(live, input, place)).await;
    }
    let span = tracing::debug_span!(
        "loom.call",
        loom.tool = live.call.tool(),
        loom.execution = live.call.execution_id(),
        loom.call_key = live.call.call_key().map(tracing::field::display),
        loom.attempts = tracing::field::Empty,
        error.r#type = tracing::field::Empty,
    );
    let (result, report) = outside(govern(live, input, place)).instrument(span.clone()).await;
    span.record("loom.attempts", report.attempts);
    if let Err(error) = &result {
        span.record("error.type", error.name().as_str());
    }
    (result, report)
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
