//! The API key: it goes into one request header and nowhere else.

use std::fmt;

use reqwest::header::HeaderValue;
use thiserror::Error;

/// A provider's API key. `Debug` is redacted; there is no `Display`, no `Serialize` and no way to read it back.
#[derive(Clone)]
pub struct ApiKey {
    text: String,
}

/// A text that cannot be an API key. It does not say which text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("expected an API key of visible ASCII characters, got an empty text or other characters")]
pub struct InvalidApiKey;

impl ApiKey {
    /// A key from its text; white space round it (the line end of a key file) is dropped.
    ///
    /// # Errors
    /// [`InvalidApiKey`] where nothing is left, or a character cannot stand in a header.
    pub fn new(text: &str) -> Result<Self, InvalidApiKey> {
        let text = text.trim();
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(InvalidApiKey);
        }
        Ok(Self { text: text.to_owned() })
    }

    /// The `Authorization` header, marked as sensitive so that HTTP libraries do not print it.
    pub(crate) fn bearer(&self) -> Option<HeaderValue> {
        let mut value = HeaderValue::try_from(format!("Bearer {}", self.text)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// The text without the key, for words of a provider that repeats what it was sent.
    pub(crate) fn scrub(&self, text: String) -> String {
        if text.contains(&self.text) { text.replace(&self.text, "[key]") } else { text }
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey([redacted])")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_never_shows_in_debug_and_is_scrubbed_from_what_a_provider_repeats() {
        let key = ApiKey::new(" sk-secret\n").unwrap();
        assert_eq!(format!("{key:?}"), "ApiKey([redacted])");
        assert!(!format!("{:?}", key.bearer()).contains("secret"));
        assert_eq!(key.bearer().unwrap().to_str().unwrap(), "Bearer sk-secret");
        assert_eq!(key.scrub("bad key sk-secret.".to_owned()), "bad key [key].");
    }

    #[test]
    fn what_cannot_be_a_key_is_refused_without_being_named() {
        for text in ["", "  \n", "two words", "schlüssel", "a\u{7}b"] {
            assert_eq!(ApiKey::new(text).unwrap_err(), InvalidApiKey);
        }
    }
}
