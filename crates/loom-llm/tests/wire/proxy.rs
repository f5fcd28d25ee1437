//! The way through a proxy: what it sees, what it must not see, and what its failures are called.

use std::io;
use std::net::SocketAddr;

use loom_llm::error::ProxyFailure;
use loom_llm::http::{ConfigError, HttpConfig};
use loom_llm::openai::OpenAiCompatible;
use loom_llm::tls::Roots;
use loom_llm::{ApiKey, ProviderFault, Remedy};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use crate::peer::{Peer, event, reply, text_event};
use crate::tls::{Authority, Valid, ask, in_a_child};

const KEY: &str = "sk-secret";

fn keyed(base_url: &str) -> HttpConfig {
    HttpConfig::new(base_url).with_key(ApiKey::new(KEY).unwrap())
}

/// What a proxy does with a tunnel that it is asked for.
#[derive(Clone, Copy)]
enum Tunnel {
    /// Connects it there, whatever host was named.
    To(SocketAddr),
    /// Answers so and closes.
    Answered(&'static str),
}

/// A proxy and all that it could read.
struct Proxy {
    address: SocketAddr,
    read: mpsc::UnboundedReceiver<Vec<u8>>,
}

impl Proxy {
    async fn start(tunnel: Tunnel) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (told, read) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(serve(socket, tunnel, told.clone()));
            }
        });
        Self { address, read }
    }

    async fn saw(&mut self) -> String {
        String::from_utf8_lossy(&self.read.recv().await.unwrap()).into_owned()
    }
}

async fn serve(mut socket: TcpStream, tunnel: Tunnel, told: mpsc::UnboundedSender<Vec<u8>>) {
    let mut packet = [0; 4096];
    let read = socket.read(&mut packet).await.unwrap_or(0);
    let _ = told.send(packet[..read].to_vec());
    match tunnel {
        Tunnel::Answered(answer) => _ = socket.write_all(answer.as_bytes()).await,
        Tunnel::To(address) => {
            let mut server = TcpStream::connect(address).await.unwrap();
            socket.write_all(b"HTTP/1.1 200 Connected\r\n\r\n").await.unwrap();
            let read = socket.read(&mut packet).await.unwrap_or(0);
            let _ = told.send(packet[..read].to_vec());
            server.write_all(&packet[..read]).await.unwrap();
            let _ = copy_bidirectional(&mut socket, &mut server).await;
        }
    }
}

#[tokio::test]
async fn https_goes_through_a_tunnel_in_which_the_proxy_sees_neither_key_nor_words() {
    let authority = Authority::named("ours");
    let mut server = authority.server("provider.test", Valid::Now).await;
    let mut proxy = Proxy::start(Tunnel::To(server.address)).await;
    let url = format!("http://us%40er:p%3Ass@{}", proxy.address);
    let config = keyed("https://provider.test/v1").with_roots(authority.roots()).with_proxy(url);
    assert!(!format!("{config:?}").contains("p%3Ass"));
    assert_eq!(ask(config).await.unwrap(), "in private");
    let asked = proxy.saw().await;
    assert!(asked.starts_with("CONNECT provider.test:443 HTTP/1.1\r\n"), "{asked}");
    // `us@er:p:ss` in base64.
    assert!(asked.to_lowercase().contains("proxy-authorization: basic dxnazxi6cdpzcw=="), "{asked}");
    assert!(!asked.contains(KEY) && !asked.to_lowercase().contains("\r\nauthorization"), "{asked}");
    let handshake = proxy.saw().await;
    assert!(handshake.starts_with('\u{16}') && !handshake.contains(KEY), "expected a TLS handshake");
    let inside = server.requests.recv().await.unwrap();
    assert!(inside.contains(KEY) && !inside.to_lowercase().contains("proxy-"), "{inside}");
}

#[tokio::test]
async fn a_provider_behind_a_tunnel_is_checked_like_any_other() {
    let server = Authority::named("strange").server("provider.test", Valid::Now).await;
    let proxy = Proxy::start(Tunnel::To(server.address)).await;
    let config = keyed("https://provider.test/v1")
        .with_roots(Authority::named("ours").roots())
        .with_proxy(proxy.address.to_string());
    let error = ask(config).await.unwrap_err();
    assert!(matches!(error.fault(), ProviderFault::Untrusted { .. }), "{error}");
}

#[tokio::test]
async fn a_proxy_that_gives_no_connection_is_named_and_its_failure_told() {
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    for (answer, failure, remedy, words) in [
        (
            Some("HTTP/1.1 407 Who\r\n\r\n"),
            ProxyFailure::Credentials,
            Remedy::GiveUp,
            "it wants a user name and a password; put them into its URL",
        ),
        (
            Some("HTTP/1.1 403 Canary\r\n\r\n"),
            ProxyFailure::Refused,
            Remedy::GiveUp,
            "it refused the connection; check that it is a proxy and which hosts it allows",
        ),
        (
            Some("SSH-2.0-canary\r\n"),
            ProxyFailure::Refused,
            Remedy::GiveUp,
            "it refused the connection; check that it is a proxy and which hosts it allows",
        ),
        (
            Some(""),
            ProxyFailure::Refused,
            Remedy::GiveUp,
            "it refused the connection; check that it is a proxy and which hosts it allows",
        ),
        (
            None,
            ProxyFailure::Unreachable(io::ErrorKind::ConnectionRefused),
            Remedy::Retry,
            "nothing listens (connection refused); start the proxy, or correct its URL",
        ),
    ] {
        let address = match answer {
            Some(answer) => Proxy::start(Tunnel::Answered(answer)).await.address,
            None => gone,
        };
        let config = keyed("https://provider.test/v1")
            .with_roots(Roots::Bundled)
            .with_proxy(format!("http://user:hunter2@{address}"));
        let error = ask(config).await.unwrap_err();
        let expected = ProviderFault::ProxyFailed {
            authority: "provider.test:443".to_owned(),
            proxy: address.to_string(),
            failure,
        };
        assert_eq!((error.fault(), error.remedy()), (&expected, remedy));
        let told = format!("no connection to provider.test:443 through the proxy {address}: {words}");
        assert_eq!(error.to_string(), format!("provider `private`: {told}"));
        let shown = format!("{error:?}").to_lowercase();
        assert!(!shown.contains("canary") && !shown.contains("hunter2"), "{shown}");
    }
}

#[tokio::test]
async fn http_is_forwarded_with_its_whole_url_and_the_proxys_own_refusals_are_told() {
    let body = String::from_utf8([text_event("forwarded"), event("[DONE]")].concat()).unwrap();
    let scripts = vec![
        vec![reply("200 OK", "connection: close\r\n", &body)],
        vec![reply("407 Who", "", "use hunter2-hunter2, hunter2%2Dhunter2")],
    ];
    let mut peer = Peer::start(scripts).await;
    let config = HttpConfig::new("http://provider.test/v1")
        .allow_plain_http()
        .with_query("api-version", "1 & 2")
        .with_proxy(format!("http://user:hunter2%2Dhunter2@{}", peer.address));
    assert_eq!(ask(config.clone()).await.unwrap(), "forwarded");
    let asked = peer.request().await;
    let line = "POST http://provider.test/v1/chat/completions?api-version=1+%26+2 HTTP/1.1\r\n";
    assert!(asked.starts_with(line), "{asked}");
    assert!(asked.to_lowercase().contains("\r\nproxy-authorization: basic "), "{asked}");
    let error = ask(config).await.unwrap_err();
    assert_eq!(error.remedy(), Remedy::GiveUp);
    assert!(error.to_string().contains("put the proxy's user name and password into its URL"), "{error}");
    assert_eq!(error.message().unwrap().expose_tainted(), "use [redacted], [redacted]");
}

#[test]
fn a_key_is_not_handed_to_a_proxy_on_another_machine_in_the_clear() {
    let made = |config| OpenAiCompatible::new("p", config).map(drop).err();
    let here = "http://127.0.0.1:8080/v1";
    let clear = Some(ConfigError::KeyInTheClear);
    assert_eq!(made(keyed(here).with_proxy("http://10.0.0.1:3128")), clear);
    assert_eq!(made(keyed(here).with_proxy("http://127.0.0.1:3128")), None);
    assert_eq!(made(keyed("http://host/v1").with_proxy("http://127.0.0.1:3128")), clear);
    assert_eq!(made(keyed(here).with_proxy("http://10.0.0.1:3128").allow_plain_http()), None);
    let tunnel = keyed("https://host/v1").with_roots(Roots::Bundled).with_proxy("http://10.0.0.1:3128");
    assert_eq!(made(tunnel), None);
    assert_eq!(made(keyed(here).with_proxy("socks5://127.0.0.1:1080")), Some(ConfigError::Proxy));
}

#[tokio::test]
async fn the_environments_proxy_is_taken_spared_and_never_used_for_this_machine() {
    let body = String::from_utf8([text_event("by the environment"), event("[DONE]")].concat()).unwrap();
    let script = || vec![reply("200 OK", "connection: close\r\n", &body)];
    let mut peer = Peer::start(vec![script(), script(), script()]).await;
    let proxy = format!("http://{}", peer.address);
    let far = "http://no-such-host.invalid/v1";
    for variable in ["http_proxy", "HTTP_PROXY", "all_proxy"] {
        let told = in_a_child(far, &[(variable, &proxy)]).await;
        assert!(told.contains("by the environment"), "{variable}: {told}");
        let asked = peer.request().await;
        assert!(asked.starts_with("POST http://no-such-host.invalid/v1/chat/completions "), "{asked}");
    }
    let spared = in_a_child(far, &[("HTTP_PROXY", &proxy), ("NO_PROXY", "example.com, .invalid")]).await;
    assert!(spared.contains("no-such-host.invalid:80: the host's name cannot be resolved"), "{spared}");
    let refused = in_a_child(far, &[("http_proxy", "socks5://canary:1080")]).await;
    assert!(refused.contains("environment's `http_proxy`") && !refused.contains("canary"), "{refused}");
    assert_eq!(peer.connections(), 3);
    let near = Peer::start(vec![script()]).await;
    let told = in_a_child(&near.base_url(), &[("HTTP_PROXY", &proxy), ("ALL_PROXY", &proxy)]).await;
    assert!(told.contains("by the environment"), "{told}");
    assert_eq!((near.connections(), peer.connections()), (1, 3));
}
