//! For which failures the next tool is tried.

use std::sync::Arc;

use loom_effect_runtime::{AbortError, CallError, ErrorName, Refusal, RetryAdvice, Violation};

use super::policy::goes_on;
use crate::retry::is_passing;

/// T11: no closure leads a refusal, a sever or an abort to another tool.
#[test]
fn nothing_that_refuses_leads_to_another_tool() {
    for error in [
        CallError::from(Refusal::new(ErrorName::DeadlineExceeded, "deadline")),
        CallError::from(Violation::safety("v")),
        CallError::aborted(Arc::new(AbortError::new())),
    ] {
        assert!(!goes_on(&error, None) && !goes_on(&error, Some(&|_| true)), "{error:?}");
    }
    for name in ErrorName::ALL {
        let named = CallError::named(*name, "");
        assert_eq!(goes_on(&named, Some(&|_| true)), !name.is_refusal(), "{name}");
    }
}

#[test]
fn by_default_it_goes_on_for_what_a_retry_calls_passing() {
    for name in ErrorName::ALL {
        let named = CallError::named(*name, "");
        assert_eq!(goes_on(&named, None), is_passing(&named), "{name}");
    }
    let never = CallError::named(ErrorName::Provider, "").with_advice(RetryAdvice::Never);
    assert!(!goes_on(&never, None) && goes_on(&never, Some(&|_| true)));
}
