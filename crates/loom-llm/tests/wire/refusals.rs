//! What a provider, or the way to it, refuses: typed, with a remedy, and without a word from the wire.

use std::time::Duration;

use loom_llm::error::MalformedReply;
use loom_llm::http::{ConfigError, ERROR_BODY_MAX_BYTES, HttpConfig};
use loom_llm::openai::OpenAiCompatible;
use loom_llm::tls::Roots;
use loom_llm::{ApiKey, Provider, ProviderError, ProviderFault, Remedy};
use serde_json::json;
use tokio::net::TcpListener;

use crate::peer::{Act, Peer, Seen, reply, request, within};

async fn refusal(provider: &OpenAiCompatible) -> ProviderError {
    within(provider.stream(&request())).await.map(drop).unwrap_err()
}

#[tokio::test]
async fn a_port_where_nothing_listens_is_named_with_what_to_do() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let config = HttpConfig::new(format!("http://{address}/v1?token=hidden"));
    let error = refusal(&OpenAiCompatible::new("local", config).unwrap()).await;
    assert_eq!(
        error.to_string(),
        format!(
            "provider `local`: no connection to {address}: nothing listens (connection refused); \
             start the server there or change the base URL"
        )
    );
    assert_eq!(error.remedy(), Remedy::Retry);
    assert!(!format!("{error:?}").contains("hidden"));
}

#[tokio::test]
async fn a_name_that_nobody_knows_is_said_so() {
    let provider = OpenAiCompatible::new("far", HttpConfig::new("http://no-such-host.invalid/v1")).unwrap();
    let error = refusal(&provider).await.to_string();
    assert!(error.contains("no-such-host.invalid:80: the host's name cannot be resolved"), "{error}");
}

#[tokio::test]
async fn a_server_that_speaks_no_tls_is_told_apart_from_one_that_is_down() {
    let peer = Peer::start(vec![]).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let _ = tokio::io::AsyncWriteExt::write_all(&mut socket, b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        let _ = tokio::io::AsyncReadExt::read(&mut socket, &mut [0; 1024]).await;
    });
    let config = HttpConfig::new(format!("https://{address}/v1")).with_roots(Roots::Bundled);
    let error = refusal(&OpenAiCompatible::new("local", config).unwrap()).await;
    assert!(matches!(error.fault(), ProviderFault::Untrusted { .. }), "{error}");
    assert!(error.to_string().contains("does not speak TLS"), "{error}");
    assert_eq!(error.remedy(), Remedy::GiveUp);
    drop(peer);
}

/// Refusals with a body that never ends: bounded, typed, and the server sees the hang-up.
#[tokio::test]
async fn error_statuses_are_typed_whatever_their_bodies() {
    for (status, headers, remedy) in [
        ("401 Unauthorized", "", Remedy::GiveUp),
        ("404 Not Found", "", Remedy::FixRequest),
        ("422 Unprocessable", "", Remedy::FixRequest),
        ("429 Too Many Requests", "retry-after: 7\r\n", Remedy::RetryAfter(Duration::from_secs(7))),
        ("429 Too Many Requests", "", Remedy::Retry),
        ("500 Oops", "", Remedy::Retry),
        ("503 Busy", "retry-after-ms: 30\r\n", Remedy::RetryAfter(Duration::from_millis(30))),
        ("529 Overloaded", "", Remedy::Retry),
    ] {
        let head = format!("HTTP/1.1 {status}\r\n{headers}\r\n");
        let script = vec![Act::Send(head.into_bytes()), Act::Flood(b"canary ".repeat(1_000))];
        let mut peer = Peer::start(vec![script]).await;
        let error = refusal(&peer.provider()).await;
        assert_eq!(error.remedy(), remedy, "{status}");
        let code: u16 = status[..3].parse().unwrap();
        assert!(matches!(error.fault(), ProviderFault::Status { status, .. } if *status == code));
        let message = error.message().unwrap().expose_tainted();
        assert!(message.starts_with("canary") && message.len() <= ERROR_BODY_MAX_BYTES);
        assert!(!format!("{error} {error:?}").contains("canary"));
        peer.request().await;
        assert_eq!(peer.saw().await, Seen::HangUp);
    }
}

#[tokio::test]
async fn an_error_body_can_change_the_remedy_and_its_key_is_scrubbed() {
    let body = json!({"error": {"code": "insufficient_quota", "message": "key sk-secret has no credit"}});
    let script = vec![reply("429 Too Many Requests", "retry-after: 7\r\n", &body.to_string())];
    let peer = Peer::start(vec![script]).await;
    let config = HttpConfig::new(peer.base_url()).with_key(ApiKey::new("sk-secret").unwrap());
    let provider = OpenAiCompatible::new("peer", config).unwrap();
    let error = refusal(&provider).await;
    assert_eq!(error.remedy(), Remedy::GiveUp);
    assert_eq!(error.message().unwrap().expose_tainted(), "key [key] has no credit");
    assert!(!format!("{error} {error:?} {provider:?}").contains("sk-secret"));
}

#[test]
fn a_configuration_is_shown_without_what_may_be_secret() {
    for (base_url, shown) in [
        ("https://user:canary@host:81/v1?key=canary#canary", Some("https://host:81/v1")),
        ("user:canary@host/v1", None),
        ("https://user:canary@", None),
        ("canary", None),
    ] {
        let text = format!("{:?}", HttpConfig::new(base_url));
        assert!(!text.contains("canary") && text.contains(shown.unwrap_or("[redacted]")), "{text}");
    }
}

#[tokio::test]
async fn the_configured_headers_query_and_key_header_go_out_and_their_values_do_not_come_back() {
    let body = json!({"error": {"message": "sk-secret of team-canary-1 in eu, v-2024-10-21, query canary"}})
        .to_string();
    let mut peer = Peer::start(vec![vec![reply("400 No", "", &body)]]).await;
    let config = HttpConfig::new(format!("{}?tier=2", peer.base_url()))
        .with_key(ApiKey::new("sk-secret").unwrap())
        .with_key_header("api-key")
        .with_header("X-Team", "team-canary-1")
        .with_header("x-region", "eu")
        .with_query("api-version", "v-2024-10-21")
        .with_query("a&b", "query canary");
    assert!(!format!("{config:?}").contains("canary"));
    let provider = OpenAiCompatible::new("peer", config).unwrap();
    let error = refusal(&provider).await;
    let told = error.message().unwrap().expose_tainted();
    assert_eq!(told, "[key] of [redacted] in eu, v-2024-10-21, [redacted]");
    assert!(!format!("{provider:?} {error:?} {error}").contains("canary"));
    let asked = peer.request().await;
    let line = "POST /v1/chat/completions?tier=2&api-version=v-2024-10-21&a%26b=query+canary HTTP/1.1\r\n";
    assert!(asked.starts_with(line), "{asked}");
    let asked = asked.to_ascii_lowercase();
    for header in ["api-key: sk-secret", "x-team: team-canary-1", "x-region: eu"] {
        assert!(asked.contains(&format!("\r\n{header}\r\n")), "{header} in {asked}");
    }
    assert!(!asked.contains("authorization"), "{asked}");
}

#[test]
fn headers_that_cannot_be_added_are_refused_where_the_provider_is_made() {
    let refused = |config| OpenAiCompatible::new("p", config).map(drop).unwrap_err();
    let here = || HttpConfig::new("http://127.0.0.1/v1");
    let reserved = refused(here().with_header("Content-Length", "canary"));
    assert_eq!(reserved, ConfigError::ReservedHeader { name: "content-length" });
    let twice = refused(here().with_header("authorization", "Bearer canary"));
    assert_eq!(twice, ConfigError::KeyHeaderTwice);
    let invalid = refused(here().with_header("x", "a\r\nb: canary"));
    assert_eq!(invalid, ConfigError::InvalidHeader { position: 1 });
    assert_eq!(refused(here().with_key_header("host")), ConfigError::KeyHeader);
    let in_the_clear = refused(HttpConfig::new("http://host/v1").with_header("x-token", "canary"));
    assert_eq!(in_the_clear, ConfigError::KeyInTheClear);
    for error in [reserved, twice, invalid, in_the_clear] {
        assert!(!error.to_string().contains("canary"), "{error}");
    }
}

#[tokio::test]
async fn a_wrong_key_is_not_taken_for_a_wrong_request() {
    let body = json!({"error": {"type": "invalid_request_error", "code": null, "message": "no"}}).to_string();
    let peer = Peer::start(vec![vec![reply("401 No", "", &body)], vec![reply("500 Oops", "", &body)]]).await;
    let provider = peer.provider();
    assert_eq!(refusal(&provider).await.remedy(), Remedy::GiveUp);
    assert_eq!(refusal(&provider).await.remedy(), Remedy::FixRequest, "the name says more than the status");
}

#[test]
fn debug_shows_neither_the_key_nor_the_query() {
    let config = HttpConfig::new("https://host/v1?token=hidden").with_key(ApiKey::new("sk-secret").unwrap());
    let provider = OpenAiCompatible::new("p", config.clone().with_roots(Roots::Bundled)).unwrap();
    let shown = format!("{config:?} {provider:?}");
    assert!(shown.contains("https://host/v1") && shown.contains("host:443"), "{shown}");
    assert!(!shown.contains("hidden") && !shown.contains("sk-secret"), "{shown}");
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_the_key_goes_nowhere() {
    let mut target = Peer::start(vec![vec![]]).await;
    let headers = format!("location: {}/x?canary\r\n", target.base_url());
    for status in [301, 302, 303, 307, 308] {
        let mut peer = Peer::start(vec![vec![reply(&format!("{status} Moved"), &headers, "")]]).await;
        let config = HttpConfig::new(peer.base_url()).with_key(ApiKey::new("sk-secret").unwrap());
        let error = refusal(&OpenAiCompatible::new("peer", config).unwrap()).await;
        assert!(peer.request().await.contains("Bearer sk-secret"));
        let authority = peer.address.to_string();
        assert_eq!(error.fault(), &ProviderFault::Redirected { authority, status });
        assert!(!error.to_string().contains("canary"));
    }
    assert_eq!(target.connections(), 0);
    // The target does listen: the count would have moved.
    let _ = refusal(&target.provider()).await;
    target.request().await;
    assert_eq!(target.connections(), 1);
}

#[tokio::test]
async fn a_web_page_and_a_compressed_body_are_not_replies() {
    for (header, reason) in [
        ("content-type: text/html\r\n", MalformedReply::Html),
        ("content-encoding: gzip\r\n", MalformedReply::Encoded),
    ] {
        let peer = Peer::start(vec![vec![reply("200 OK", header, "<html>")]]).await;
        assert_eq!(refusal(&peer.provider()).await.fault(), &ProviderFault::Malformed { reason });
    }
}

#[tokio::test]
async fn a_connection_that_is_reset_is_not_a_reply_and_is_not_tried_again() {
    let peer = Peer::start(vec![vec![Act::Cut], vec![Act::Cut]]).await;
    let error = refusal(&peer.provider()).await;
    assert!(matches!(error.fault(), ProviderFault::Disconnected { .. }), "{error}");
    assert_eq!((error.remedy(), peer.connections()), (Remedy::Retry, 1));
}

#[test]
fn a_key_does_not_leave_this_machine_in_the_clear_unless_that_is_allowed_aloud() {
    let keyed = |url: &str| HttpConfig::new(url).with_key(ApiKey::new("sk-secret").unwrap());
    let refused = |config| OpenAiCompatible::new("p", config).map(drop).err();
    for url in
        ["http://host/v1", "http://10.0.0.1:8080/v1", "http://localhost.evil.test/v1", "http://[fe80::1]/"]
    {
        assert_eq!(refused(keyed(url)), Some(ConfigError::KeyInTheClear), "{url}");
        assert_eq!(refused(keyed(url).allow_plain_http()), None, "{url}");
        assert_eq!(refused(HttpConfig::new(url)), None, "{url}");
    }
    for url in ["http://localhost:8080/v1", "http://127.0.0.9/v1", "http://[::1]:1/v1"] {
        assert_eq!(refused(keyed(url)), None, "{url}");
    }
    assert_eq!(refused(keyed("https://host/v1").with_roots(Roots::Bundled)), None);
}

/// Some servers take their key in the query: it is treated as a header is.
#[test]
fn a_query_does_not_leave_this_machine_in_the_clear_unless_that_is_allowed_aloud() {
    let asked = |authority: &str| {
        let given = HttpConfig::new(format!("http://{authority}/v1")).with_query("key", "canary");
        [HttpConfig::new(format!("http://{authority}/v1?key=canary")), given]
    };
    let refused = |config| OpenAiCompatible::new("p", config).map(drop).err();
    for config in asked("host") {
        assert_eq!(refused(config.clone()), Some(ConfigError::KeyInTheClear), "{config:?}");
        assert_eq!(refused(config.clone().allow_plain_http()), None, "{config:?}");
    }
    for config in asked("127.0.0.1:1") {
        assert_eq!(refused(config.clone()), None, "{config:?}");
        let through = config.with_proxy("http://10.0.0.1:3128");
        assert_eq!(refused(through), Some(ConfigError::KeyInTheClear));
    }
    assert_eq!(refused(HttpConfig::new("http://host/v1?")), None, "an empty query holds nothing");
    let config = HttpConfig::new("https://host/v1?key=canary").with_roots(Roots::Bundled);
    assert_eq!(refused(config), None);
}

#[test]
fn base_urls_that_cannot_be_used_are_refused_without_being_repeated() {
    for (url, expected) in [
        ("", ConfigError::BaseUrl),
        ("localhost:8080/v1", ConfigError::BaseUrl),
        ("ftp://host/v1", ConfigError::BaseUrl),
        ("http://user@host/v1", ConfigError::Credentials),
        ("http://:hunter2@host/v1", ConfigError::Credentials),
        ("http://127.0.0.1/v1#hunter2", ConfigError::Fragment),
        ("https://host/v1?a=b#", ConfigError::Fragment),
    ] {
        let refused = OpenAiCompatible::new("p", HttpConfig::new(url)).map(drop).unwrap_err();
        assert_eq!(refused, expected, "{url}");
        assert!(!refused.to_string().contains("hunter2"), "{refused}");
    }
}
