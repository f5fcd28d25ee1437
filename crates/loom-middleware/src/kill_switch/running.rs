//! The kill switch around attempts that already run.

use std::sync::Arc;

use futures::future::{BoxFuture, Either, select};
use loom_effect_runtime::{Around, Call, CallError, Next, Opaque, Refusal};

use super::state::State;

/// Drops a running attempt when its tool's calls are stopped, and runs none while they are.
///
/// It ends what the stream's own switch cannot: an attempt that waits without writing. The attempt's future is
/// dropped at its next await, so an effect that never awaits is not reached.
pub struct KillRunning(Arc<State>);

impl KillRunning {
    pub(super) fn new(state: Arc<State>) -> Self {
        Self(state)
    }
}

impl Around for KillRunning {
    fn name(&self) -> &str {
        "kill_switch.running"
    }

    fn around<'a>(
        &'a self,
        call: &'a Call,
        mut next: Next<'a>,
    ) -> BoxFuture<'a, Result<Opaque<'a>, CallError>> {
        Box::pin(async move {
            if let Some(rule) = self.0.rule_for(call.tool()) {
                return Err(Refusal::safety(rule).into());
            }
            // The attempt first: one that is ready never waits on what all calls share.
            match select(next.run(), std::pin::pin!(self.0.engaged(call.tool()))).await {
                Either::Left((result, _)) => result,
                Either::Right((rule, _)) => Err(Refusal::safety(rule).into()),
            }
        })
    }
}

impl std::fmt::Debug for KillRunning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("KillRunning").field(&self.0).finish()
    }
}
