//! Real handshakes with a server on loopback, under certificate authorities made for the test.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;

use loom_llm::http::{ConfigError, HttpConfig};
use loom_llm::openai::OpenAiCompatible;
use loom_llm::tls::Roots;
use loom_llm::{ApiKey, Provider, ProviderError, ProviderFault, Remedy};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;

use crate::peer::{event, request, text_event, within};

/// A certificate authority of the test.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub(crate) pem: String,
}

/// When a server's certificate is valid.
#[derive(Clone, Copy)]
pub(crate) enum Valid {
    Now,
    NoLonger,
    NotYet,
}

impl Authority {
    pub(crate) fn named(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    /// Only this authority.
    pub(crate) fn roots(&self) -> Roots {
        Roots::only_pem(self.pem.as_bytes()).unwrap()
    }

    fn acceptor(&self, name: &str, valid: Valid) -> TlsAcceptor {
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        (params.not_before, params.not_after) = match valid {
            Valid::Now => (date_time_ymd(2000, 1, 1), date_time_ymd(2999, 1, 1)),
            Valid::NoLonger => (date_time_ymd(2000, 1, 1), date_time_ymd(2001, 1, 1)),
            Valid::NotYet => (date_time_ymd(2998, 1, 1), date_time_ymd(2999, 1, 1)),
        };
        let key = KeyPair::generate().unwrap();
        let certificate: CertificateDer<'static> = params.signed_by(&key, &self.issuer).unwrap().into();
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .unwrap();
        TlsAcceptor::from(Arc::new(config))
    }

    /// A server with a certificate for that name, which streams one short reply a connection.
    pub(crate) async fn server(&self, name: &str, valid: Valid) -> Server {
        let acceptor = self.acceptor(name, valid);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (told, requests) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let Ok(mut tls) = acceptor.accept(socket).await else { continue };
                let mut packet = [0; 4096];
                let read = tls.read(&mut packet).await.unwrap_or(0);
                let _ = told.send(String::from_utf8_lossy(&packet[..read]).into_owned());
                let body = [text_event("in private"), event("[DONE]")].concat();
                let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
                let _ = tls.write_all(&[head.as_bytes(), &body].concat()).await;
                let _ = tls.shutdown().await;
            }
        });
        Server { address, requests }
    }
}

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) requests: mpsc::UnboundedReceiver<String>,
}

impl Server {
    fn config(&self, host: &str, roots: Roots) -> HttpConfig {
        HttpConfig::new(format!("https://{host}:{}/v1", self.address.port()))
            .with_key(ApiKey::new("sk-secret").unwrap())
            .with_roots(roots)
    }
}

/// The text of the reply.
pub(crate) async fn ask(config: HttpConfig) -> Result<String, ProviderError> {
    let provider = OpenAiCompatible::new("private", config).unwrap();
    within(provider.complete(&request())).await.map(|collected| collected.text)
}

fn untrusted(error: &ProviderError) -> &'static str {
    assert_eq!(error.remedy(), Remedy::GiveUp);
    match error.fault() {
        ProviderFault::Untrusted { reason, .. } => reason,
        other => panic!("expected a failed handshake, got {other:?}"),
    }
}

#[tokio::test]
async fn a_private_authority_is_trusted_from_pem_and_from_a_file_and_beside_the_systems() {
    let authority = Authority::named("ours");
    let mut server = authority.server("localhost", Valid::Now).await;
    let file =
        PemFile::new("trusted", &format!("a comment\n{}{}", authority.pem, Authority::named("strange").pem));
    for roots in [
        authority.roots(),
        Roots::system_and_pem(authority.pem.as_bytes()).unwrap(),
        Roots::only_pem_file(&file.path).unwrap(),
        Roots::system_and_pem_file(&file.path).unwrap(),
    ] {
        assert_eq!(ask(server.config("localhost", roots)).await.unwrap(), "in private");
        let asked = server.requests.recv().await.unwrap();
        assert!(asked.contains("authorization: Bearer sk-secret"), "the key goes inside: {asked}");
    }
    let addressed = authority.server("127.0.0.1", Valid::Now).await;
    assert_eq!(ask(addressed.config("127.0.0.1", authority.roots())).await.unwrap(), "in private");
}

#[tokio::test]
async fn a_certificate_that_fails_a_check_is_refused_for_that_reason_and_no_byte_is_sent() {
    let ours = Authority::named("ours");
    let strange = Authority::named("strange");
    let namesake = Authority::named("ours");
    for (authority, name, valid, reason) in [
        (&namesake, "localhost", Valid::Now, "not signed by the authority that it names"),
        (&strange, "localhost", Valid::Now, "an authority that is not trusted here"),
        (&ours, "other.test", Valid::Now, "for another name"),
        (&ours, "127.0.0.1", Valid::Now, "for another name"),
        (&ours, "localhost", Valid::NoLonger, "has expired"),
        (&ours, "localhost", Valid::NotYet, "not valid yet"),
    ] {
        let mut server = authority.server(name, valid).await;
        let error = ask(server.config("localhost", ours.roots())).await.unwrap_err();
        assert!(untrusted(&error).contains(reason), "{error}");
        assert!(server.requests.try_recv().is_err(), "a request went to {name}");
    }
}

#[tokio::test]
async fn a_private_authority_is_not_trusted_by_itself() {
    let server = Authority::named("strange").server("localhost", Valid::Now).await;
    let error = ask(server.config("localhost", Roots::Bundled)).await.unwrap_err();
    assert!(untrusted(&error).contains("not trusted here"), "{error}");
}

#[tokio::test]
async fn plain_http_to_a_tls_port_is_no_http() {
    let server = Authority::named("strange").server("localhost", Valid::Now).await;
    let error = ask(HttpConfig::new(format!("http://{}/v1", server.address))).await.unwrap_err();
    assert!(error.to_string().contains("check the base URL's scheme and port"), "{error}");
}

#[tokio::test]
async fn the_systems_roots_are_those_of_ssl_cert_file_where_it_is_set() {
    let authority = Authority::named("ours");
    let server = authority.server("localhost", Valid::Now).await;
    for (pem, expected) in [
        (&authority.pem, "in private"),
        (
            &Authority::named("strange").pem,
            "its certificate comes from an authority that is not trusted here",
        ),
        (&String::new(), "expected certificate authorities on this system, found none"),
    ] {
        let file = PemFile::new("system", pem);
        let url = format!("https://localhost:{}/v1", server.address.port());
        let told = in_a_child(&url, &[("SSL_CERT_FILE", file.path.to_str().unwrap())]).await;
        assert!(told.contains(expected), "{told}");
    }
}

/// Who names one authority trusts no other, those of the system neither.
#[tokio::test]
async fn only_the_named_authority_is_trusted_whatever_the_system_trusts() {
    let (ours, systems) = (Authority::named("ours"), Authority::named("the system's"));
    let server = systems.server("localhost", Valid::Now).await;
    let (system, only) = (PemFile::new("systems", &systems.pem), PemFile::new("only", &ours.pem));
    let url = format!("https://localhost:{}/v1", server.address.port());
    let trusted = ("SSL_CERT_FILE", system.path.to_str().unwrap());
    assert!(in_a_child(&url, &[trusted]).await.contains("in private"), "the system trusts it");
    let told = in_a_child(&url, &[trusted, ("LOOM_TEST_ONLY_PEM", only.path.to_str().unwrap())]).await;
    assert!(told.contains("an authority that is not trusted here"), "{told}");
}

/// Asks in a process of its own, as the environment of this one belongs to all its tests.
pub(crate) async fn in_a_child(base_url: &str, env: &[(&str, &str)]) -> String {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "tls::asks_as_its_environment_says", "--ignored", "--nocapture"]);
    let inherited = ["http_proxy", "https_proxy", "all_proxy", "no_proxy"];
    for name in inherited {
        child.env_remove(name).env_remove(name.to_ascii_uppercase());
    }
    child.env_remove("SSL_CERT_DIR").env("LOOM_TEST_BASE_URL", base_url).envs(env.iter().copied());
    let output = tokio::task::spawn_blocking(move || child.output().unwrap()).await.unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && told.contains("1 passed"), "{told}");
    told
}

#[tokio::test]
#[ignore = "a part of other tests, which run it in an environment of their own"]
async fn asks_as_its_environment_says() {
    let mut config = HttpConfig::new(std::env::var("LOOM_TEST_BASE_URL").unwrap());
    if let Some(path) = std::env::var_os("LOOM_TEST_ONLY_PEM") {
        config = config.with_roots(Roots::only_pem_file(path).unwrap());
    }
    match OpenAiCompatible::new("child", config) {
        Err(error @ ConfigError::Tls(_)) => println!("{error}"),
        Err(error) => println!("refused: {error}"),
        Ok(provider) => match within(provider.complete(&request())).await {
            Ok(collected) => println!("{}", collected.text),
            Err(error) => println!("{error}"),
        },
    }
}

/// A file that is removed again.
struct PemFile {
    path: std::path::PathBuf,
}

impl PemFile {
    fn new(name: &str, pem: &str) -> Self {
        let path = std::env::temp_dir().join(format!("loom-llm-{name}-{}.pem", std::process::id()));
        std::fs::write(&path, pem).unwrap();
        Self { path }
    }
}

impl Drop for PemFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}
