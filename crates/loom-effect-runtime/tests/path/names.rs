//! T10, T11: stable names, pinned, each with a page.

use std::path::Path;
use std::sync::Arc;

use loom_effect_runtime::*;

/// Every name there has ever been, with whether it is a refusal. Lines are added, never changed or taken out.
const GOLDEN: &[(&str, bool)] = &[
    ("CapabilityDeniedError", true),
    ("CapabilityInvokeDeniedError", true),
    ("ExecutionDeniedError", true),
    ("EffectModeViolationError", true),
    ("QuotaExceededError", true),
    ("EgressDeniedError", true),
    ("SafetyViolationError", true),
    ("UntrustedContentError", true),
    ("AbortError", true),
    ("ExecutionCancelledError", true),
    ("DecideScopeClosedError", true),
    ("ToolNotFoundError", false),
    ("InputInvalidError", false),
    ("OutputInvalidError", false),
    ("EffectFailedError", false),
    ("EffectPanickedError", false),
    ("NotRepeatableError", false),
    ("DeadlineExceededError", false),
    ("StoreError", false),
    ("StoreLockedError", false),
    ("StoreFullError", false),
    ("ProviderError", false),
    ("PlanInvalidError", false),
    ("ExecutionConflictError", false),
    ("NondeterminismError", false),
    ("TypedFailure", false),
];

/// T11: the registry only grows: every name that was ever in it stands where it stood, as it stood.
#[test]
fn the_registry_only_grows() {
    let names: Vec<_> = ErrorName::ALL.iter().map(|name| (name.as_str(), name.is_refusal())).collect();
    assert_eq!(names, GOLDEN, "add a new name at the end of the list; never change or remove one");
    for name in ErrorName::ALL {
        assert_eq!(ErrorName::from_text(name.as_str()), Some(*name));
        assert_eq!(name.to_string(), name.as_str());
    }
    assert_eq!(ErrorName::from_text("capabilitydeniederror"), None);
}

/// T11: every name has its page in `docs/errors/`, and every page is of a name.
#[test]
fn every_name_has_its_page() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors");
    let missing: Vec<_> = ErrorName::ALL
        .iter()
        .map(|name| format!("{name}.md"))
        .filter(|page| std::fs::read_to_string(folder.join(page)).is_ok_and(|text| text.len() > 80) ^ true)
        .collect();
    assert!(missing.is_empty(), "pages of docs/errors/ that are missing or empty: {missing:?}");
}

/// T10: a caller's own error comes back as itself; the two kinds of reason of our own have their names.
#[test]
fn abort_reasons_come_back_as_themselves() {
    let named = |reason: AbortReason| {
        let error = CallError::aborted(Arc::clone(&reason));
        assert!(Arc::ptr_eq(&error.abort_reason().unwrap(), &reason));
        assert!(Arc::ptr_eq(&error.clone().abort_reason().unwrap(), &reason));
        assert!(error.is_refusal());
        error.name()
    };
    assert_eq!(named(Arc::new(std::fmt::Error)), ErrorName::Abort);
    assert_eq!(named(Arc::new(AbortError::new())), ErrorName::Abort);
    assert_eq!(named(Arc::new(DecideScopeClosedError::new())), ErrorName::DecideScopeClosed);
    for (kind, text) in [(CancelKind::Cancel, "cancel"), (CancelKind::Deadline, "deadline")] {
        assert_eq!(named(Arc::new(ExecutionCancelledError { kind })), ErrorName::ExecutionCancelled);
        assert_eq!(kind.as_str(), text);
        assert!(ExecutionCancelledError { kind }.to_string().contains(text));
    }
}

/// T11: an error's message never prints its cause, an abort reason or a payload: they may quote what a model said.
#[test]
fn messages_quote_nobody() {
    #[derive(Debug, thiserror::Error)]
    #[error("the model said: HUSH")]
    struct Leaky;
    let payload = serde_json::json!({"actual": "HUSH"});
    let errors = [
        CallError::failed(Leaky),
        CallError::with_source(ErrorName::Provider, "the provider failed", Leaky),
        CallError::aborted(Arc::new(Leaky)),
        CallError::from(TypedFailure::new(FailureChannel::SCHEMA_DRIFT, payload)),
    ];
    for error in errors {
        assert!(!format!("{error} {error:?}").contains("HUSH"), "{error:?}");
    }
    let source = std::error::Error::source(&CallError::failed(Leaky)).map(ToString::to_string);
    assert_eq!(source.as_deref(), Some("the model said: HUSH"), "the cause is kept for who asks");
}

/// T11: a typed failure keeps channel and payload, in its serde form too.
#[test]
fn a_typed_failure_crosses_as_itself() {
    let failure =
        TypedFailure::new(FailureChannel::SHAPE_DRIFT, serde_json::json!({"expected": "a", "actual": "b"}));
    let error = CallError::from(failure.clone());
    assert_eq!((error.name(), error.is_refusal()), (ErrorName::TypedFailure, false));
    assert_eq!(error.typed_failure(), Some(&failure));
    let text = serde_json::to_string(&failure).unwrap();
    assert_eq!(text, r#"{"channel":"shapeDrift","payload":{"actual":"b","expected":"a"}}"#);
    assert_eq!(serde_json::from_str::<TypedFailure>(&text).unwrap(), failure);
    assert_eq!(FailureChannel::SCHEMA_DRIFT.to_string(), "schemaDrift");
}
