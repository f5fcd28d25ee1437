//! The kill switch: an operator stops calls, one tool's or all of them.

mod running;
mod state;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::Arc;

use loom_effect_runtime::{
    Call, CallInfo, DeltaKind, Input, Meter, MeterForm, Middleware, Refusal, Step, Violation,
};

pub use running::KillRunning;
use state::State;
pub use state::TOOLS_ENGAGED_MAX;

/// What the rule of every error of a kill switch begins with; the rule is `kill_switch.<reason>`.
pub const KILL_SWITCH_RULE: &str = "kill_switch";

/// Stops calls while it is engaged. A cheap handle: clones share the switch; register one, keep another.
///
/// | registered as | what it stops |
/// | --- | --- |
/// | [`Middleware`] | new calls, before the effect runs; running streams, before their next delta is delivered |
/// | [`Around`](loom_effect_runtime::Around), by [`KillSwitch::running`] | running attempts that wait, and new attempts |
///
/// The error is `SafetyViolationError` with the rule `kill_switch.<reason>`, the same at the door and in mid-stream;
/// nothing retries it. A call that has been admitted and neither streams nor waits runs to its end.
///
/// A call reads one shared word that only an operator writes, so threads do not disturb one another.
#[derive(Clone, Default)]
pub struct KillSwitch(Arc<State>);

impl KillSwitch {
    /// A switch that stops nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops the calls of every tool. `reason` is an identifier such as `incident-7`: it is printed in errors.
    /// Once this returns no call is admitted and no delta is delivered that begins afterwards.
    pub fn engage(&self, reason: impl Into<Cow<'static, str>>) {
        self.0.engage(rule(&reason.into()));
    }

    /// Stops the calls of one tool. Beyond [`TOOLS_ENGAGED_MAX`] tools it stops all of them.
    pub fn engage_tool(&self, tool: &str, reason: impl Into<Cow<'static, str>>) {
        self.0.engage_tool(tool, rule(&reason.into()));
    }

    /// Takes back [`KillSwitch::engage`]; tools that were stopped one by one stay so.
    pub fn release(&self) {
        self.0.release();
    }

    /// Takes back [`KillSwitch::engage_tool`] for one tool.
    pub fn release_tool(&self, tool: &str) {
        self.0.release_tool(tool);
    }

    /// Whether calls of `tool` are stopped.
    #[must_use]
    pub fn is_engaged(&self, tool: &str) -> bool {
        self.0.rule_for(tool).is_some()
    }

    /// The switch for attempts that already run: register it with
    /// [`around`](loom_effect_runtime::RuntimeBuilder::around), after a retry, so that each attempt is stopped.
    #[must_use]
    pub fn running(&self) -> KillRunning {
        KillRunning::new(Arc::clone(&self.0))
    }
}

impl Middleware for KillSwitch {
    fn name(&self) -> &str {
        KILL_SWITCH_RULE
    }

    #[inline]
    fn before(&self, call: &Call, _input: &Input) -> Step {
        match self.0.rule_for(call.tool()) {
            None => Step::Go,
            Some(rule) => Step::Deny(Refusal::safety(rule)),
        }
    }

    fn meter(&self) -> Option<&dyn MeterForm> {
        Some(self)
    }
}

impl MeterForm for KillSwitch {
    fn meter(&self, call: &CallInfo) -> Box<dyn Meter> {
        Box::new(StreamSwitch { state: Arc::clone(&self.0), call: call.clone() })
    }
}

impl std::fmt::Debug for KillSwitch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("KillSwitch").field(&self.0).finish()
    }
}

/// The switch of one attempt's stream.
struct StreamSwitch {
    state: Arc<State>,
    call: CallInfo,
}

impl Meter for StreamSwitch {
    #[inline]
    fn observe(&mut self, _kind: DeltaKind, _bytes: usize) -> Result<(), Violation> {
        match self.state.rule_for(self.call.tool()) {
            None => Ok(()),
            Some(rule) => Err(Violation::safety(rule)),
        }
    }
}

fn rule(reason: &str) -> String {
    format!("{KILL_SWITCH_RULE}.{reason}")
}
