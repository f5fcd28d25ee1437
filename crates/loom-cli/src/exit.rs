//! How a command ends: its exit code, and what a person is told to do next. The one place that knows either.

use std::fmt;

use loom_effect_runtime::{CallError, ErrorName, Violation};
use loom_llm::{ProviderError, ProviderFault, Remedy};
use loom_workflow::WorkflowError;
use loom_workflow::store::StoreError;

/// What the process says when it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Ok = 0,
    Failed = 1,
    Usage = 2,
    Severed = 3,
    Refused = 4,
    Blocked = 5,
    Interrupted = 130,
}

impl Exit {
    pub(crate) const fn code(self) -> u8 {
        self as u8
    }
}

/// A command that did not do what it was asked for.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) name: ErrorName,
    pub(crate) message: String,
    pub(crate) exit: Exit,
    pub(crate) hint: Option<String>,
    /// Which rule severed the stream, and where.
    pub(crate) severed: Option<Severed>,
    /// In how many seconds, rounded up, the provider asks to come back.
    pub(crate) retry_after_s: Option<u32>,
}

/// A sever as it is printed: never the text.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Severed {
    pub(crate) rule: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) offset: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) length: Option<u64>,
}

/// What helps where a request is larger than its bound.
pub(crate) const SAY_IT_SHORTER: &str = "say it shorter: a request has at most 8 MiB";

/// What helps where a failure may pass. An execution that has failed is not run again under its id.
const ASK_AGAIN: &str = "ask again; a plan that was given an --execution-id needs another one";

impl Failure {
    /// A failure by a stable name, which decides exit code and hint.
    pub(crate) fn named(name: ErrorName, message: impl fmt::Display) -> Self {
        let (exit, hint) = advice(name).unwrap_or((Exit::Failed, None));
        let hint = hint.map(str::to_owned);
        Self { name, message: message.to_string(), exit, hint, severed: None, retry_after_s: None }
    }

    /// The command line or a setting cannot be used so.
    pub(crate) fn usage(message: impl fmt::Display, hint: impl Into<String>) -> Self {
        Self::named(ErrorName::InputInvalid, message).hint(hint)
    }

    /// The same with a better hint.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<&CallError> for Failure {
    fn from(error: &CallError) -> Self {
        let mut failure = Self::named(error.name(), error);
        failure.severed = error.violation().map(Severed::from);
        if failure.name == ErrorName::InputInvalid {
            // The command makes every input itself: its size is what a person can change.
            failure.hint = Some(SAY_IT_SHORTER.to_owned());
        }
        if let Some(error) = ProviderError::behind(error) {
            failure.retry_after_s = retry_after_s(error);
            failure.hint = Some(provider_hint(error, failure.retry_after_s));
        }
        failure
    }
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        Self::from(&error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let name = ErrorName::from_text(error.stable_name()).unwrap_or(ErrorName::Store);
        let failure = Self::named(name, &error);
        match error {
            StoreError::NotFound => failure.hint("`loom logs` lists the executions of this store"),
            StoreError::BadLocation { .. } => Self { exit: Exit::Usage, ..failure },
            StoreError::ReadOnly => Self { exit: Exit::Usage, ..failure }
                .hint("a plan is recorded: drop `mode=ro`, or name another journal with `--db PATH`"),
            StoreError::Io { kind: std::io::ErrorKind::NotFound, .. } => failure.hint(
                "there is no journal yet: `loom plan \"…\"` makes one, `--db` or $LOOM_DB names another",
            ),
            _ => failure,
        }
    }
}

impl From<WorkflowError> for Failure {
    fn from(error: WorkflowError) -> Self {
        match error {
            WorkflowError::Call(error) => error.into(),
            WorkflowError::Store(error) => error.into(),
            error => Self::named(error.name(), &error),
        }
    }
}

impl From<&Violation> for Severed {
    fn from(violation: &Violation) -> Self {
        let (offset, length) = (violation.offset(), violation.length());
        Self { rule: violation.rule().to_owned(), offset, length }
    }
}

/// What to do about a provider, beside what its message says.
fn provider_hint(error: &ProviderError, retry_after_s: Option<u32>) -> String {
    if let Some(seconds) = retry_after_s {
        return format!("the provider asks to come back in {seconds} s");
    }
    let hint = match (error.fault(), error.remedy()) {
        (ProviderFault::Status { status: 401 | 403, .. }, _) => {
            "set $LOOM_API_KEY, or the provider's own variable, to a key of this provider"
        }
        (ProviderFault::Unreachable { .. }, _) | (_, Remedy::FixRequest | Remedy::GiveUp) => {
            "check --base-url, --provider and --model; --offline in place of them asks the offline model"
        }
        (_, Remedy::Retry | Remedy::RetryAfter(_)) => ASK_AGAIN,
    };
    hint.to_owned()
}

fn retry_after_s(error: &ProviderError) -> Option<u32> {
    match error.remedy() {
        Remedy::RetryAfter(delay) => {
            let seconds = delay.as_secs().saturating_add(u64::from(delay.subsec_nanos() > 0));
            Some(u32::try_from(seconds).unwrap_or(u32::MAX))
        }
        Remedy::Retry | Remedy::FixRequest | Remedy::GiveUp => None,
    }
}

/// Exit code and hint of every error name; `None` for a name that this list does not know.
fn advice(name: ErrorName) -> Option<(Exit, Option<&'static str>)> {
    use ErrorName as N;
    Some(match name {
        N::SafetyViolation => {
            (Exit::Severed, Some("the text broke a guard's rule; `--rules` says which guards judge it"))
        }
        N::CapabilityDenied | N::CapabilityInvokeDenied | N::ExecutionDenied => {
            (Exit::Refused, Some("this command is not granted that call"))
        }
        N::EffectModeViolation | N::UntrustedContent => {
            (Exit::Refused, Some("this is a fault in the command; please report it"))
        }
        N::QuotaExceeded => {
            (Exit::Refused, Some("the model said more than it was asked for; try another --model"))
        }
        N::EgressDenied => (Exit::Refused, Some("name a destination that may be reached")),
        N::Abort | N::ExecutionCancelled => (Exit::Interrupted, None),
        N::Nondeterminism => (
            Exit::Blocked,
            Some("it was recorded by another version of loom; use that one, the journal is as it was"),
        ),
        N::InputInvalid => (Exit::Usage, Some("`loom --help` shows what is expected")),
        N::ExecutionConflict => {
            (Exit::Usage, Some("use another --execution-id, or the goal that it was started with"))
        }
        N::ToolNotFound | N::DecideScopeClosed | N::EffectPanicked => {
            (Exit::Failed, Some("this is a fault in the command; please report it"))
        }
        N::OutputInvalid => (Exit::Failed, Some("the reply is not the text that was streamed; ask again")),
        N::EffectFailed | N::NotRepeatable | N::DeadlineExceeded | N::TypedFailure | N::Provider => {
            (Exit::Failed, Some(ASK_AGAIN))
        }
        N::PlanInvalid => (Exit::Failed, Some("ask again, or name a model that can write JSON with --model")),
        N::Store => (Exit::Failed, Some("`--db PATH` or $LOOM_DB names another journal")),
        N::StoreLocked => (
            Exit::Failed,
            Some("`loom logs` and `loom replay` need no lock; `--db PATH` names another journal"),
        ),
        N::StoreFull => {
            (Exit::Failed, Some("make room, then start it again; nothing that was recorded is lost"))
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stable_name_has_an_exit_code() {
        for name in ErrorName::ALL {
            assert!(advice(*name).is_some(), "{name} has none");
        }
    }

    /// T11: a refusal exits as a refusal, a sever as a sever, an abort as an interrupt; nothing else does.
    #[test]
    fn refusals_have_exit_codes_of_their_own() {
        for name in ErrorName::ALL {
            let exit = Failure::named(*name, "").exit;
            let apart = matches!(exit, Exit::Severed | Exit::Refused | Exit::Interrupted);
            assert_eq!(apart, name.is_refusal() && *name != ErrorName::DecideScopeClosed, "{name}");
        }
    }

    #[test]
    fn a_sever_keeps_rule_and_place() {
        let failure = Failure::from(CallError::from(Violation::safety("pii.card").at(4, 19)));
        assert_eq!(failure.exit, Exit::Severed);
        let severed = failure.severed.unwrap();
        assert_eq!((severed.rule.as_str(), severed.offset, severed.length), ("pii.card", Some(4), Some(19)));
    }
}
