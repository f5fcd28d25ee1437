//! What an error body says: the provider's words, and what they let the caller do.

use std::time::Duration;

use serde_json::Value;

use crate::error::{Remedy, status_remedy};
use crate::retry_after::RETRY_AFTER_MAX_SECONDS;

/// What was read out of an error body.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) message: Option<String>,
    pub(crate) remedy: Option<Remedy>,
    /// How long the provider asks to be left alone, where it says so in the body (Google's `RetryInfo`).
    pub(crate) retry_after: Option<Duration>,
}

/// Reads the body of an error reply; what is not JSON is the message itself.
pub(crate) fn read_error(body: &[u8]) -> Told {
    match serde_json::from_slice::<Value>(body) {
        Ok(body) => told(body.get(0).unwrap_or(&body)),
        Err(_) => {
            let text = String::from_utf8_lossy(body).trim().to_owned();
            Told { message: (!text.is_empty()).then_some(text), ..Told::default() }
        }
    }
}

/// Reads an error object, wrapped in `error` or bare.
pub(crate) fn told(body: &Value) -> Told {
    let error = body.get("error").filter(|error| !error.is_null()).unwrap_or(body);
    let text = |name: &str| error.get(name).and_then(Value::as_str);
    let message = error.as_str().or_else(|| text("message")).or_else(|| text("detail")).map(str::to_owned);
    let status = ["status", "code"].iter().find_map(|name| status_in(error.get(*name)?));
    let words = ["code", "type", "status"].iter().filter_map(|name| text(name)).collect::<Vec<_>>();
    let remedy = named_remedy(&words).or_else(|| status.map(status_remedy));
    Told { message, remedy, retry_after: retry_delay(error) }
}

/// The delay in the details of an error: seconds as text, as in `"17.5s"`.
fn retry_delay(error: &Value) -> Option<Duration> {
    let details = error.get("details")?.as_array()?;
    let seconds = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str()?.strip_suffix('s'))?;
    let delay = Duration::try_from_secs_f64(seconds.parse().ok()?).ok()?;
    Some(delay.min(Duration::from_secs(RETRY_AFTER_MAX_SECONDS)))
}

fn status_in(field: &Value) -> Option<u16> {
    let number = field.as_u64().or_else(|| field.as_str()?.parse().ok())?;
    u16::try_from(number).ok().filter(|status| (400..=599).contains(status))
}

/// What the names of errors let the caller do; the account's state first, as providers send it with status 429 too.
fn named_remedy(words: &[&str]) -> Option<Remedy> {
    const NAMES: [(Remedy, &[&str]); 3] = [
        (
            Remedy::GiveUp,
            &["insufficient_quota", "billing", "authentication", "permission", "invalid_api_key"],
        ),
        (Remedy::Retry, &["rate_limit", "overloaded", "server_error", "unavailable", "timeout", "exhausted"]),
        (
            Remedy::FixRequest,
            &["invalid_request", "context_length", "not_found", "invalid_argument", "too_large"],
        ),
    ];
    let matches = |names: &[&str]| {
        words.iter().any(|word| names.iter().any(|name| word.to_ascii_lowercase().contains(name)))
    };
    NAMES.iter().find(|(_, names)| matches(names)).map(|(remedy, _)| *remedy)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_delay_in_the_body_is_read_within_its_bound() {
        let delay = |text: &str| {
            let info = json!({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": text});
            told(&json!({"error": {"code": 429, "message": "m", "details": [{"a": 1}, info]}})).retry_after
        };
        assert_eq!(delay("17.5s"), Some(Duration::from_millis(17_500)));
        assert_eq!(delay("999999999s"), Some(Duration::from_secs(RETRY_AFTER_MAX_SECONDS)));
        for text in ["17", "s", "-1s", "NaNs", "infs", "1e999s"] {
            assert_eq!(delay(text), None, "{text}");
        }
    }
}
