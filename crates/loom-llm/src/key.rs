//! The API key: it goes into one request header and nowhere else, and what else a provider must not repeat.

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
        sensitive(format!("Bearer {}", self.text))
    }

    /// The bare key as a header, marked as sensitive too.
    pub(crate) fn bare(&self) -> Option<HeaderValue> {
        sensitive(self.text.clone())
    }
}

/// The shortest header value that is replaced in a provider's words, in bytes: replacing a shorter one would shred
/// words that have nothing to do with it. A key is replaced whatever its length.
pub const SCRUBBED_MIN_BYTES: usize = 8;

/// What must not come back in the words of a provider that repeats what it was sent.
#[derive(Default)]
pub(crate) struct Secrets {
    /// With what stands in its place; the longest first, as a shorter one may be part of it.
    texts: Vec<(String, &'static str)>,
}

impl Secrets {
    pub(crate) fn keep_key(&mut self, key: Option<&ApiKey>) {
        if let Some(key) = key {
            self.add(&key.text, "[key]");
        }
    }

    /// Keeps any other value, if it is long enough to be a secret.
    pub(crate) fn keep(&mut self, value: &str) {
        let value = value.trim();
        if value.len() >= SCRUBBED_MIN_BYTES {
            self.add(value, "[redacted]");
        }
    }

    /// The text without them.
    pub(crate) fn scrub(&self, text: String) -> String {
        self.texts.iter().fold(
            text,
            |text, (secret, mark)| {
                if text.contains(secret) { text.replace(secret, mark) } else { text }
            },
        )
    }

    fn add(&mut self, text: &str, mark: &'static str) {
        self.texts.push((text.to_owned(), mark));
        self.texts.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets([redacted])")
    }
}

/// A header's value, marked as sensitive so that HTTP libraries do not print it.
pub(crate) fn sensitive(text: String) -> Option<HeaderValue> {
    let mut value = HeaderValue::try_from(text).ok()?;
    value.set_sensitive(true);
    Some(value)
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
        let mut secrets = Secrets::default();
        secrets.keep_key(Some(&key));
        assert_eq!(secrets.scrub("bad key sk-secret.".to_owned()), "bad key [key].");
        assert_eq!(format!("{secrets:?}"), "Secrets([redacted])");
    }

    #[test]
    fn the_longest_secret_is_replaced_first_and_short_values_are_no_secrets() {
        let mut secrets = Secrets::default();
        secrets.keep_key(Some(&ApiKey::new("abc").unwrap()));
        ["1234567", "12345678", " abc-long-one "].into_iter().for_each(|value| secrets.keep(value));
        let told = secrets.scrub("abc-long-one, abc, 1234567, 12345678".to_owned());
        assert_eq!(told, "[redacted], [key], 1234567, [redacted]");
    }

    #[test]
    fn what_cannot_be_a_key_is_refused_without_being_named() {
        for text in ["", "  \n", "two words", "schlüssel", "a\u{7}b"] {
            assert_eq!(ApiKey::new(text).unwrap_err(), InvalidApiKey);
        }
    }
}
