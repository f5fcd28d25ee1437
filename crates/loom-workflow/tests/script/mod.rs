//! Flows made of a script, so that one history can meet many versions of its code.

use futures::FutureExt;
use futures::future::{BoxFuture, join_all, select};
use loom_effect_runtime::{CallError, Refusal};
use loom_workflow::{Ctx, Flow, flow};
use serde_json::{Value, json};

/// One thing that a flow does.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    /// Runs an effect as a step.
    Run(String, String),
    Decide(String),
    /// A decider that fails, and a flow that goes on.
    Fail(String),
    Emit(String),
    /// All at once.
    Join(Vec<Op>),
    /// The first of two; the other is dropped.
    Race(Box<Op>, Box<Op>),
}

pub(crate) fn run(id: &str, tool: &str) -> Op {
    Op::Run(id.into(), tool.into())
}

/// A flow that does what a script says, whatever its input is.
pub(crate) fn scripted(script: Vec<Op>) -> Flow {
    flow("script", "1", move |ctx: Ctx, _: Value| {
        let script = script.clone();
        async move {
            let mut done = Vec::new();
            for op in &script {
                done.push(perform(&ctx, op).await?);
            }
            Ok::<_, CallError>(done)
        }
    })
}

fn perform<'a>(ctx: &'a Ctx, op: &'a Op) -> BoxFuture<'a, Result<Value, CallError>> {
    async move {
        match op {
            Op::Run(id, tool) => ctx.run(id, tool.as_str(), json!(id)).await,
            Op::Decide(id) => ctx.decide(id, async |_| Ok(json!("decided"))).await,
            Op::Fail(id) => {
                let failed = ctx.decide(id, async |_| Err::<Value, _>(Refusal::quota("mine").into()));
                Ok(json!(failed.await.unwrap_err().rule()))
            }
            Op::Emit(kind) => ctx.emit(kind, json!(1)).map(|()| json!("emitted")),
            Op::Join(ops) => {
                let all = join_all(ops.iter().map(|op| perform(ctx, op))).await;
                Ok(json!(all.into_iter().collect::<Result<Vec<_>, _>>()?))
            }
            Op::Race(one, other) => select(perform(ctx, one), perform(ctx, other)).await.factor_first().0,
        }
    }
    .boxed()
}
