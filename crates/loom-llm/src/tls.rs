//! TLS as a value: the crypto provider and the roots are handed over, nothing is installed process-wide.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use thiserror::Error;

/// The largest PEM file or text of certificate authorities read, in bytes; a system's own bundle has about 300 kB.
pub const PEM_MAX_BYTES: usize = 8 << 20;

/// Which certificate authorities a provider's certificate may come from.
///
/// ```no_run
/// # use loom_llm::{http::HttpConfig, tls::{Roots, TlsError}};
/// # fn config() -> Result<HttpConfig, TlsError> {
/// let ours = Roots::system_and_pem_file("/etc/ssl/company-ca.pem")?;
/// Ok(HttpConfig::new("https://models.company.example/v1").with_roots(ours))
/// # }
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Roots {
    /// Those of the system, company authorities included (`SSL_CERT_FILE` and `SSL_CERT_DIR` override them).
    #[default]
    System,
    /// Those of the system, if it has any, and these.
    SystemAnd(Authorities),
    /// Mozilla's, as compiled into the program: for systems that have none.
    Bundled,
    /// Exactly these.
    Only(Authorities),
}

/// Certificate authorities that were named, made by the constructors of [`Roots`].
#[derive(Clone, Debug)]
pub struct Authorities(Arc<RootCertStore>);

impl Roots {
    /// Exactly the authorities in the PEM text.
    ///
    /// # Errors
    /// [`TlsError`] where it is too large, holds no certificate, or one that cannot be read.
    pub fn only_pem(pem: &[u8]) -> Result<Self, TlsError> {
        Ok(Self::Only(Authorities(Arc::new(store_of(pem)?))))
    }

    /// Exactly the authorities in the PEM file.
    ///
    /// # Errors
    /// [`TlsError`] where the file cannot be read, or as in [`only_pem`](Self::only_pem).
    pub fn only_pem_file(path: impl AsRef<Path>) -> Result<Self, TlsError> {
        Self::only_pem(&contents(path.as_ref())?)
    }

    /// The authorities in the PEM text beside those of the system.
    ///
    /// # Errors
    /// As in [`only_pem`](Self::only_pem).
    pub fn system_and_pem(pem: &[u8]) -> Result<Self, TlsError> {
        Ok(Self::SystemAnd(Authorities(Arc::new(store_of(pem)?))))
    }

    /// The authorities in the PEM file beside those of the system.
    ///
    /// # Errors
    /// As in [`only_pem_file`](Self::only_pem_file).
    pub fn system_and_pem_file(path: impl AsRef<Path>) -> Result<Self, TlsError> {
        Self::system_and_pem(&contents(path.as_ref())?)
    }
}

/// TLS cannot be set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TlsError {
    /// The system has no certificate authorities.
    #[error(
        "expected certificate authorities on this system, found none; install them, set SSL_CERT_FILE, or use the bundled ones"
    )]
    NoSystemRoots,
    /// The file with certificate authorities cannot be read.
    #[error("the file with the certificate authorities cannot be read: {kind}")]
    PemFile {
        /// What the system said.
        kind: io::ErrorKind,
    },
    /// The PEM text is larger than [`PEM_MAX_BYTES`].
    #[error("expected at most {PEM_MAX_BYTES} bytes of PEM, got more")]
    PemTooLarge,
    /// The text is no PEM, or holds no certificate.
    #[error("expected PEM with a `BEGIN CERTIFICATE` section, found none or a broken one")]
    NoCertificate,
    /// A certificate cannot stand for an authority.
    #[error("expected X.509 certificates of authorities, got something else as certificate {position}")]
    Certificate {
        /// Which of the certificates, counted from 1.
        position: usize,
    },
    /// The crypto provider does not offer the protocol versions asked for.
    #[error("expected a crypto provider with TLS 1.2 and 1.3")]
    Versions,
}

/// A client configuration with the ring provider and the given roots.
pub(crate) fn client_config(roots: &Roots) -> Result<ClientConfig, TlsError> {
    let store = match roots {
        Roots::System => filled(system_roots())?,
        Roots::SystemAnd(Authorities(more)) => {
            let mut store = system_roots();
            store.extend(more.roots.iter().cloned());
            filled(store)?
        }
        Roots::Bundled => Arc::new(RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() }),
        Roots::Only(Authorities(store)) => Arc::clone(store),
    };
    let mut config = builder_with(store)?;
    // One exchange at a time: only then does hanging up on a reply close the connection.
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

/// A configuration that trusts nobody, for transports that never speak TLS.
pub(crate) fn trusting_nobody() -> Result<ClientConfig, TlsError> {
    builder_with(Arc::new(RootCertStore::empty()))
}

fn builder_with(store: Arc<RootCertStore>) -> Result<ClientConfig, TlsError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    Ok(versions.map_err(|_| TlsError::Versions)?.with_root_certificates(store).with_no_client_auth())
}

fn system_roots() -> RootCertStore {
    let mut store = RootCertStore::empty();
    store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    store
}

fn filled(store: RootCertStore) -> Result<Arc<RootCertStore>, TlsError> {
    if store.is_empty() { Err(TlsError::NoSystemRoots) } else { Ok(Arc::new(store)) }
}

fn contents(path: &Path) -> Result<Vec<u8>, TlsError> {
    let mut pem = Vec::new();
    // One byte more than fits tells a larger file from one that just fits, and a device never ends.
    let read = File::open(path).and_then(|file| file.take(PEM_MAX_BYTES as u64 + 1).read_to_end(&mut pem));
    read.map(|_| pem).map_err(|error| TlsError::PemFile { kind: error.kind() })
}

fn store_of(pem: &[u8]) -> Result<RootCertStore, TlsError> {
    if pem.len() > PEM_MAX_BYTES {
        return Err(TlsError::PemTooLarge);
    }
    let mut store = RootCertStore::empty();
    for (at, certificate) in CertificateDer::pem_slice_iter(pem).enumerate() {
        let certificate = certificate.map_err(|_| TlsError::NoCertificate)?;
        store.add(certificate).map_err(|_| TlsError::Certificate { position: at + 1 })?;
    }
    if store.is_empty() { Err(TlsError::NoCertificate) } else { Ok(store) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bundled_roots_need_no_system_and_no_process_wide_provider() {
        let config = client_config(&Roots::Bundled).unwrap();
        assert_eq!(config.alpn_protocols, [b"http/1.1"]);
        assert!(rustls::crypto::CryptoProvider::get_default().is_none());
    }

    #[test]
    fn pem_without_a_usable_authority_is_refused_as_what_it_is() {
        let refused =
            |pem: &[u8]| [Roots::only_pem(pem), Roots::system_and_pem(pem)].map(|made| made.unwrap_err());
        let section =
            |label: &str, body: &str| format!("-----BEGIN {label}-----\n{body}\n-----END {label}-----\n");
        for pem in ["", "canary", &section("PRIVATE KEY", "AAAA"), &section("CERTIFICATE", "?!")] {
            assert_eq!(refused(pem.as_bytes()), [TlsError::NoCertificate; 2], "{pem}");
        }
        let hollow = section("CERTIFICATE", "AAAA");
        assert_eq!(refused(hollow.as_bytes()), [TlsError::Certificate { position: 1 }; 2]);
        let cut = "-----BEGIN CERTIFICATE-----\nAAAA\n";
        assert_eq!(refused(cut.as_bytes()), [TlsError::NoCertificate; 2]);
        assert_eq!(refused(&vec![b'\n'; PEM_MAX_BYTES + 1]), [TlsError::PemTooLarge; 2]);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_is_absent_or_endless_is_refused() {
        let absent = Roots::only_pem_file("/no/such/file.pem").unwrap_err();
        assert_eq!(absent, TlsError::PemFile { kind: io::ErrorKind::NotFound });
        assert_eq!(
            absent.to_string(),
            "the file with the certificate authorities cannot be read: entity not found"
        );
        let endless = Roots::system_and_pem_file("/dev/zero").unwrap_err();
        assert_eq!(endless, TlsError::PemTooLarge);
    }
}
