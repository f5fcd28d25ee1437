//! Flows: the code that executions run, under a name and a revision.

use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;

use futures::future::BoxFuture;
use loom_effect_runtime::{CallError, Data, ErrorName};
use serde_json::Value;

use crate::ctx::Ctx;
use crate::engine::Given;
use crate::error::WorkflowBuildError;
use crate::record::{FlowName, StepId};

/// A flow: what it is called, which revision of its code this is, and the code.
#[derive(Clone)]
pub struct Flow {
    name: String,
    revision: String,
    body: Arc<dyn Body>,
}

/// Makes a flow of an async closure over its [`Ctx`] and its input.
///
/// The revision is a text that changes when the code takes other steps than before: an execution is pinned to the
/// revision it was started at, so keep the old one registered beside the new one until its executions are over.
///
/// # Errors
/// A flow fails with a [`CallError`]: its calls' own, a typed failure, or [`CallError::failed`] over any error.
///
/// # Panics
/// A panic fails the execution with `EffectPanickedError`, not the process.
pub fn flow<I, O, F, Fut>(name: impl Into<String>, revision: impl Into<String>, body: F) -> Flow
where
    I: Data,
    O: Data,
    F: Fn(Ctx, I) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<O, CallError>> + Send + 'static,
{
    Flow { name: name.into(), revision: revision.into(), body: Arc::new(Typed(Arc::new(body), PhantomData)) }
}

impl Flow {
    /// The flow's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The revision of its code.
    #[must_use]
    pub fn revision(&self) -> &str {
        &self.revision
    }

    /// The name, once it and the revision are known to be ids.
    pub(crate) fn checked(&self) -> Result<FlowName, WorkflowBuildError> {
        StepId::new(&self.revision)
            .map_err(|error| WorkflowBuildError::Revision { flow: self.name.clone(), error })?;
        FlowName::new(&self.name).map_err(WorkflowBuildError::Name)
    }

    /// Whether the flow takes this input.
    pub(crate) fn accepts(&self, input: &Value) -> Result<(), CallError> {
        self.body.accepts(input)
    }

    /// The flow's future. Its code begins at the first poll.
    pub(crate) fn run(&self, ctx: Ctx, input: Value) -> BoxFuture<'static, Given> {
        self.body.run(ctx, input)
    }
}

impl std::fmt::Debug for Flow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Flow").field("name", &self.name).field("revision", &self.revision).finish()
    }
}

/// A flow's code without its types.
trait Body: Send + Sync {
    fn accepts(&self, input: &Value) -> Result<(), CallError>;
    fn run(&self, ctx: Ctx, input: Value) -> BoxFuture<'static, Given>;
}

struct Typed<F, I, O, Fut>(Arc<F>, PhantomData<fn(I) -> (O, Fut)>);

impl<F, I, O, Fut> Body for Typed<F, I, O, Fut>
where
    I: Data,
    O: Data,
    F: Fn(Ctx, I) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<O, CallError>> + Send + 'static,
{
    fn accepts(&self, input: &Value) -> Result<(), CallError> {
        parse::<I>(input).map(|_| ())
    }

    fn run(&self, ctx: Ctx, input: Value) -> BoxFuture<'static, Given> {
        let body = Arc::clone(&self.0);
        Box::pin(async move {
            let output = body(ctx, parse(&input)?).await?;
            serde_json::to_value(output)
                .map_err(|_| CallError::named(ErrorName::OutputInvalid, "the flow's output has no JSON form"))
        })
    }
}

fn parse<I: Data>(input: &Value) -> Result<I, CallError> {
    // The parser's message may quote the input, so it is dropped.
    I::deserialize(input)
        .map_err(|_| CallError::named(ErrorName::InputInvalid, "the input is not what the flow takes"))
}
