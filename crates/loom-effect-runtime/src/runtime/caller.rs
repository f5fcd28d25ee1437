//! Runtime and identity in one handle.

use std::any::TypeId;
use std::future::Future;
use std::sync::Arc;

use tracing::{Instrument, Span};

use super::launch::{CallBuilder, Launch};
use super::{RuntimeInner, ToolRef};
use crate::call::{Call, CallOptions, CallReport};
use crate::caught::caught;
use crate::data::{Data, Input, Output, parse};
use crate::error::CallError;
use crate::flow::{outside, outside_now};
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
        CallBuilder::new(move |options| run::<I, T::Out>(caller, tool, input, T::TYPED, options))
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
///
/// Written as blocks that capture, not as `async fn`: those keep each argument twice, and the size of the future is
/// what moving it costs.
#[expect(clippy::manual_async_fn, reason = "an `async fn` keeps each argument twice")]
fn run<I: Data, O: Data>(
    caller: Caller,
    tool: Result<u32, CallError>,
    input: I,
    typed: bool,
    options: Option<Box<CallOptions>>,
) -> impl Future<Output = (Result<O, CallError>, CallReport)> + Send {
    async move {
        let tool = match tool {
            Ok(tool) => tool,
            Err(error) => return (Err(error), CallReport::default()),
        };
        let mut slow = Slow {
            live: Live::new(Call::new(caller, tool, options)),
            path: Path::new(None),
            input: Input::new(input),
            place: Output::empty(),
            turn: None,
        };
        match start(&mut slow, typed) {
            Some(done) => done,
            None => finish(&mut slow).await,
        }
    }
}

/// A call that waits: everything it owns, and where its lane stopped (`None`: before it began).
struct Slow<I, O> {
    live: Live,
    path: Path,
    input: Input<I>,
    place: Output<Option<O>>,
    turn: Option<Turn>,
}

/// Runs the whole call where nothing waits. A call that has to be prepared or traced goes the slow way at once.
#[inline]
fn start<I: Data, O: Data>(slow: &mut Slow<I, O>, typed: bool) -> Option<(Result<O, CallError>, CallReport)> {
    let Slow { live, path, input, place, turn } = slow;
    outside_now(|inside_flow| {
        if let Some(ended) = ended_before(live, inside_flow) {
            return Some((Err(ended), CallReport::default()));
        }
        if !(typed || is_typed::<I, O>(live))
            || !live.runtime().rewriters.is_empty()
            || tracing::enabled!(tracing::Level::DEBUG)
        {
            return None;
        }
        match path.step(live, input, place) {
            Turn::Done(result) => {
                let result = result.and_then(|()| place.take());
                let report = path.conclude(live, &result);
                Some((result, report))
            }
            stopped => {
                *turn = Some(stopped);
                None
            }
        }
    })
}

/// Whether input and output are of the effect's own types.
fn is_typed<I: Data, O: Data>(live: &Live) -> bool {
    let entry = live.entry();
    entry.input_type == TypeId::of::<I>() && entry.output_type == TypeId::of::<O>()
}

/// Runs a call that waits, is traced, or has to be prepared. In its span, where somebody listens.
#[expect(clippy::manual_async_fn, reason = "an `async fn` keeps each argument twice")]
fn finish<I: Data, O: Data>(
    slow: &mut Slow<I, O>,
) -> impl Future<Output = (Result<O, CallError>, CallReport)> + Send {
    async move {
        if !tracing::enabled!(tracing::Level::DEBUG) {
            return outside(walk(slow)).await;
        }
        let span = span_of(&slow.live);
        let (result, report) = Box::pin(outside(walk(slow)).instrument(span.clone())).await;
        record(&span, &result, &report);
        (result, report)
    }
}

async fn walk<I: Data, O: Data>(slow: &mut Slow<I, O>) -> (Result<O, CallError>, CallReport) {
    let Slow { live, path, input, place, turn } = slow;
    let live = &*live;
    let mut coerced = None;
    if turn.is_none() {
        let (fitting, kept) = Box::pin(prepare(live, input, TypeId::of::<I>())).await;
        coerced = fitting;
        *path = Path::new(kept);
    }
    let input: &Input = coerced.as_deref().unwrap_or(input);
    let mut other = (live.entry().output_type != TypeId::of::<O>()).then(|| live.entry().effect.new_place());
    let typed: &mut Output = match &mut other {
        Some(other) => other,
        None => place,
    };
    let turn = turn.take().unwrap_or_else(|| path.step(live, input, typed));
    let result = path.finish(turn, live, input, typed).await;
    let result = result.and_then(|()| match &other {
        None => place.take(),
        Some(other) => as_json(other),
    });
    let report = path.conclude(live, &result);
    (result, report)
}

/// A call that was over before it began: broken options, an abort, or a bare call from inside a flow (spec row T19).
#[inline]
fn ended_before(live: &Live, inside_flow: bool) -> Option<CallError> {
    let Some(options) = live.call.options() else { return inside_flow.then(bare_inside_flow) };
    if inside_flow && !(options.in_execution && live.call.identity().run_as().is_some()) {
        return Some(bare_inside_flow());
    }
    options.broken.clone().or_else(|| live.call.abort_reason().map(CallError::aborted))
}

/// The call's span, where somebody listens.
fn span_of(live: &Live) -> Span {
    tracing::debug_span!(
        "loom.call",
        loom.tool = live.call.tool(),
        loom.execution = live.call.execution_id(),
        loom.call_key = live.call.call_key().map(tracing::field::display),
        loom.attempts = tracing::field::Empty,
        error.r#type = tracing::field::Empty,
    )
}

fn record<O>(span: &Span, result: &Result<O, CallError>, report: &CallReport) {
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
fn bare_inside_flow() -> CallError {
    CallError::named(
        ErrorName::EffectModeViolation,
        "a bare transient call was reached from inside a flow: call the effect with `run` or in a decide scope",
    )
}
