//! Failures as a journal keeps them, and back: names and numbers, no content but a typed failure's payload.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use loom_effect_runtime::{
    AbortError, CallError, CancelKind, DecideScopeClosedError, ErrorName, ExecutionCancelledError,
    FailureChannel, Refusal, RetryAdvice, TypedFailure, Usage, Violation,
};

use crate::engine::fits;
use crate::record::{self, EffectDenied, FailureRecord, SeverRecord, UsageRecord};

/// A guard severed the stream, where the name alone could be a refusal's.
const SEVERED: &str = "severed";

/// What a failure says about trying again.
const AFTER: &str = "after";
const RETRY: &str = "retry";
const NEVER: &str = "never";

/// What a journal keeps of a failure. `told` is how the execution was cancelled: an abort is its consequence then,
/// whatever error the canceller gave.
pub(crate) fn record(error: &CallError, told: Option<CancelKind>) -> FailureRecord {
    let cancelled = error.abort_reason().and_then(|reason| {
        told.or_else(|| reason.downcast_ref::<ExecutionCancelledError>().map(|error| error.kind))
    });
    let name = if cancelled.is_some() { ErrorName::ExecutionCancelled } else { error.name() };
    let mut record = FailureRecord::new(name.as_str().to_owned());
    record.kind = cancelled.map(|kind| kind.as_str().to_owned());
    if let Some(failure) = error.typed_failure() {
        record.channel = Some(failure.channel.as_str().to_owned());
        record.payload = Some(failure.payload.clone());
    }
    if let Some(rule) = error.rule() {
        let mut sever = SeverRecord::new(rule.to_owned());
        if let Some((offset, length)) = error.refusal().and_then(Refusal::span) {
            (sever.offset, sever.length) = (Some(offset), Some(length));
        }
        if let Some(violation) = error.violation() {
            (sever.offset, sever.length) = (violation.offset(), violation.length());
            record.kind = Some(SEVERED.to_owned());
        }
        record.sever = Some(sever);
    }
    // Refusals say it by themselves.
    if let Some(advice) = error.retry_advice().filter(|_| !error.is_refusal()) {
        let (text, delay) = advice_text(advice);
        (record.advice, record.retry_after_ns) = (Some(text.to_owned()), delay);
    }
    record
}

/// The failure that was recorded: the same name, rule, place, channel, payload and advice on trying again, which the
/// flow may decide by; a denial with grant and chain.
pub(crate) fn read(record: &FailureRecord, denial: Option<&EffectDenied>) -> CallError {
    let error = unadvised(record, denial);
    match advice(record) {
        Some(advice) => error.with_advice(advice),
        None => error,
    }
}

fn advice_text(advice: RetryAdvice) -> (&'static str, Option<u64>) {
    match advice {
        RetryAdvice::After(delay) => (AFTER, Some(u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX))),
        RetryAdvice::Retry => (RETRY, None),
        _ => (NEVER, None),
    }
}

fn advice(record: &FailureRecord) -> Option<RetryAdvice> {
    match record.advice.as_deref()? {
        AFTER => record.retry_after_ns.map(Duration::from_nanos).map(RetryAdvice::After),
        RETRY => Some(RetryAdvice::Retry),
        _ => Some(RetryAdvice::Never),
    }
}

fn unadvised(record: &FailureRecord, denial: Option<&EffectDenied>) -> CallError {
    let name = ErrorName::from_text(&record.name).unwrap_or(ErrorName::EffectFailed);
    if let (Some(channel), Some(payload)) = (&record.channel, &record.payload) {
        return TypedFailure::new(FailureChannel::new(channel.clone()), payload.clone()).into();
    }
    if let Some(sever) = &record.sever {
        return judged(name, record.kind.as_deref() == Some(SEVERED), sever, denial);
    }
    match name {
        ErrorName::ExecutionCancelled => CallError::aborted(Arc::new(ExecutionCancelledError {
            kind: cancel_kind(record.kind.as_deref()),
        })),
        ErrorName::DecideScopeClosed => CallError::aborted(Arc::new(DecideScopeClosedError::new())),
        ErrorName::Abort => CallError::aborted(Arc::new(AbortError::new())),
        name => CallError::named(name, format!("the journal holds a failure by the name `{name}`")),
    }
}

/// A typed failure whose payload no journal keeps becomes the refusal of it.
pub(crate) fn recordable(error: CallError) -> CallError {
    match error.typed_failure().map(|failure| fits(&failure.payload)) {
        Some(Err(refused)) => refused,
        _ => error,
    }
}

/// The denial of a durable step: a refusal before the effect ran (T13).
pub(crate) fn denial<'c>(
    error: &CallError,
    attempts: u32,
    tool: &str,
    chain: impl Iterator<Item = &'c str>,
) -> Option<EffectDenied> {
    let refusal = error.refusal().filter(|_| attempts == 0)?;
    let walked = refusal.walked();
    let chain = if walked.is_empty() { chain.map(str::to_owned).collect() } else { walked.to_vec() };
    let mut denied = EffectDenied::new(refusal.name().as_str().to_owned(), tool.to_owned(), chain);
    denied.missing_grant = refusal.grant().map(str::to_owned);
    Some(denied)
}

pub(crate) fn usage_record(usage: Usage) -> UsageRecord {
    let mut record = UsageRecord::new();
    (record.input_tokens, record.output_tokens) = (usage.input_tokens, usage.output_tokens);
    record
}

pub(crate) fn usage(record: &UsageRecord) -> Usage {
    Usage { input_tokens: record.input_tokens, output_tokens: record.output_tokens }
}

fn judged(name: ErrorName, severed: bool, sever: &SeverRecord, denial: Option<&EffectDenied>) -> CallError {
    let rule = Cow::Owned(sever.rule.clone());
    let place = sever.offset.zip(sever.length);
    if severed {
        let violation = match name {
            ErrorName::QuotaExceeded => Violation::quota(rule),
            _ => Violation::safety(rule),
        };
        return match place {
            Some((offset, length)) => violation.at(offset, length).into(),
            None => violation.into(),
        };
    }
    let mut refusal = Refusal::new(name, rule);
    if let Some((offset, length)) = place {
        refusal = refusal.at(offset, length);
    }
    if let Some(denial) = denial {
        refusal = refusal.chain(denial.chain.iter().cloned());
        if let Some(grant) = &denial.missing_grant {
            refusal = refusal.missing_grant(grant.clone());
        }
    }
    refusal.into()
}

fn cancel_kind(text: Option<&str>) -> CancelKind {
    if text == Some(CancelKind::Deadline.as_str()) { CancelKind::Deadline } else { CancelKind::Cancel }
}

impl From<CancelKind> for record::CancelKind {
    fn from(kind: CancelKind) -> Self {
        match kind {
            CancelKind::Cancel => Self::Cancel,
            CancelKind::Deadline => Self::Deadline,
        }
    }
}

impl From<record::CancelKind> for CancelKind {
    fn from(kind: record::CancelKind) -> Self {
        match kind {
            record::CancelKind::Cancel => Self::Cancel,
            record::CancelKind::Deadline => Self::Deadline,
        }
    }
}
