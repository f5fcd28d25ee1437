//! Errors that quote the text that they are about.

use std::error::Error;

use loom_effect_runtime::CallError;

/// Where the error shows `needle`: its text, its details or its sources.
pub(crate) fn quotes(error: &CallError, needle: &str) -> Option<&'static str> {
    let has = |text: &str| text.contains(needle);
    if has(&error.to_string()) {
        return Some("Display");
    }
    if has(&format!("{error:?}")) {
        return Some("Debug");
    }
    if error.rule().is_some_and(has) {
        return Some("rule");
    }
    if error.refusal().is_some_and(|refusal| has(&format!("{refusal:?}"))) {
        return Some("refusal");
    }
    let mut source = Error::source(error);
    while let Some(cause) = source {
        if has(&cause.to_string()) || has(&format!("{cause:?}")) {
            return Some("sources");
        }
        source = cause.source();
    }
    None
}
