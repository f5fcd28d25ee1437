//! The headers of every request, and which of them no configuration may add.

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};

use super::ConfigError;
use crate::dialect::KeyHeader;
use crate::key::{ApiKey, sensitive};

/// The most headers that a configuration may add.
pub const EXTRA_HEADERS_MAX: usize = 64;

/// Headers that the transport, or HTTP itself, fills; with two values a server may read the other one.
const RESERVED: [&str; 20] = [
    "accept",
    "accept-encoding",
    "authorization",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
    "via",
];

/// The headers: the dialect's own, the key's, those of the configuration.
pub(super) fn headers(
    own: &'static [(&'static str, &'static str)],
    key: Option<&ApiKey>,
    key_header: KeyHeader,
    named: Option<&str>,
    extra: &[(String, String)],
) -> Result<HeaderMap, ConfigError> {
    if extra.len() > EXTRA_HEADERS_MAX {
        return Err(ConfigError::TooManyHeaders);
    }
    let mut headers = HeaderMap::new();
    for (name, value) in own {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    let (key_name, bearer) = key_place(key_header, named, own)?;
    let set = |name: &HeaderName| {
        let known = RESERVED.iter().chain(own.iter().map(|(name, _)| name));
        known.copied().find(|known| name == *known)
    };
    let mut added = HeaderMap::new();
    for (at, (name, value)) in extra.iter().enumerate() {
        let invalid = ConfigError::InvalidHeader { position: at + 1 };
        let name = HeaderName::try_from(name.as_str()).map_err(|_| invalid)?;
        if name == key_name {
            return Err(ConfigError::KeyHeaderTwice);
        }
        if let Some(name) = set(&name) {
            return Err(ConfigError::ReservedHeader { name });
        }
        added.append(name, sensitive(value.trim().to_owned()).ok_or(invalid)?);
    }
    headers.extend(added);
    if let Some(key) = key {
        let value = if bearer { key.bearer() } else { key.bare() };
        headers.insert(key_name, value.ok_or(ConfigError::Client)?);
    }
    Ok(headers)
}

/// The header of the key, and whether `Bearer` stands before it.
fn key_place(
    dialect: KeyHeader,
    named: Option<&str>,
    own: &[(&str, &str)],
) -> Result<(HeaderName, bool), ConfigError> {
    let Some(named) = named else {
        return Ok(match dialect {
            KeyHeader::Bearer => (AUTHORIZATION, true),
            KeyHeader::Named(name) => (HeaderName::from_static(name), false),
        });
    };
    let name = HeaderName::try_from(named).map_err(|_| ConfigError::KeyHeader)?;
    if name == AUTHORIZATION {
        return Ok((name, true));
    }
    let taken = RESERVED.iter().chain(own.iter().map(|(name, _)| name)).any(|taken| name == *taken);
    if taken { Err(ConfigError::KeyHeader) } else { Ok((name, false)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &[(&str, &str)] = &[("dialect-version", "1")];

    fn made(
        key_header: KeyHeader,
        named: Option<&str>,
        extra: &[(&str, &str)],
    ) -> Result<HeaderMap, ConfigError> {
        let key = ApiKey::new("sk-secret").unwrap();
        let extra: Vec<_> =
            extra.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        headers(OWN, Some(&key), key_header, named, &extra)
    }

    #[test]
    fn the_key_and_every_added_value_are_marked_as_sensitive() {
        let made = made(KeyHeader::Bearer, None, &[("X-Team", "red"), ("x-team", "blue")]).unwrap();
        assert_eq!(made.get_all("x-team").iter().collect::<Vec<_>>(), ["red", "blue"]);
        let open: Vec<_> = made.iter().filter(|(_, value)| !value.is_sensitive()).collect();
        assert_eq!(open.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["dialect-version"]);
        assert!(!format!("{made:?}").contains("red"), "{made:?}");
    }

    #[test]
    fn the_configured_header_of_the_key_replaces_the_dialects() {
        for (dialect, named, header, value) in [
            (KeyHeader::Bearer, None, "authorization", "Bearer sk-secret"),
            (KeyHeader::Bearer, Some("api-key"), "api-key", "sk-secret"),
            (KeyHeader::Named("x-api-key"), None, "x-api-key", "sk-secret"),
            (KeyHeader::Named("x-api-key"), Some("Authorization"), "authorization", "Bearer sk-secret"),
        ] {
            let made = made(dialect, named, &[]).unwrap();
            assert_eq!(made.get(header).unwrap(), value);
            assert_eq!(made.len(), 1 + OWN.len(), "the key stands in one header");
        }
    }

    #[test]
    fn headers_that_are_set_for_every_request_are_refused() {
        for name in RESERVED.into_iter().filter(|name| *name != "authorization") {
            let refused = made(KeyHeader::Bearer, None, &[(&name.to_ascii_uppercase(), "x")]);
            assert_eq!(refused, Err(ConfigError::ReservedHeader { name }));
            assert_eq!(made(KeyHeader::Bearer, Some(name), &[]), Err(ConfigError::KeyHeader), "{name}");
        }
        let own = made(KeyHeader::Bearer, None, &[("Dialect-Version", "2")]);
        assert_eq!(own, Err(ConfigError::ReservedHeader { name: "dialect-version" }));
        let second = made(KeyHeader::Named("x-api-key"), None, &[("authorization", "Bearer other")]);
        assert_eq!(second, Err(ConfigError::ReservedHeader { name: "authorization" }));
        for (dialect, named, name) in [
            (KeyHeader::Bearer, None, "authorization"),
            (KeyHeader::Named("x-api-key"), None, "X-Api-Key"),
            (KeyHeader::Bearer, Some("api-key"), "Api-Key"),
        ] {
            assert_eq!(made(dialect, named, &[(name, "x")]), Err(ConfigError::KeyHeaderTwice), "{name}");
        }
        for name in ["", "two words", "dialect-version", "naïve", "a:b"] {
            assert_eq!(made(KeyHeader::Bearer, Some(name), &[]), Err(ConfigError::KeyHeader), "{name}");
        }
    }

    #[test]
    fn what_cannot_stand_in_a_header_is_named_by_its_place_alone() {
        for (name, value) in [("", "v"), ("a b", "v"), ("x", "v\r\ny: canary"), ("x", "v\0")] {
            let refused = made(KeyHeader::Bearer, None, &[("ok", "v"), (name, value)]).unwrap_err();
            assert_eq!(refused, ConfigError::InvalidHeader { position: 2 });
            assert!(!refused.to_string().contains("canary"));
        }
        let full = [("x", "v"); EXTRA_HEADERS_MAX];
        assert_eq!(made(KeyHeader::Bearer, None, &full).unwrap().get_all("x").iter().count(), full.len());
        let more = [("x", "v"); EXTRA_HEADERS_MAX + 1];
        assert_eq!(made(KeyHeader::Bearer, None, &more), Err(ConfigError::TooManyHeaders));
    }
}
