//! TLS as a value: the crypto provider and the roots are handed over, nothing is installed process-wide.

use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};
use thiserror::Error;

/// Which certificate authorities a provider's certificate may come from.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Roots {
    /// Those of the system, company authorities included (`SSL_CERT_FILE` and `SSL_CERT_DIR` override them).
    #[default]
    System,
    /// Mozilla's, as compiled into the program: for systems that have none.
    Bundled,
    /// Exactly these.
    Only(Arc<RootCertStore>),
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
    /// The crypto provider does not offer the protocol versions asked for.
    #[error("expected a crypto provider with TLS 1.2 and 1.3")]
    Versions,
}

/// A client configuration with the ring provider and the given roots.
pub(crate) fn client_config(roots: &Roots) -> Result<ClientConfig, TlsError> {
    let store = match roots {
        Roots::System => Arc::new(system_roots()?),
        Roots::Bundled => Arc::new(RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() }),
        Roots::Only(store) => Arc::clone(store),
    };
    let mut config = builder_with(store)?;
    // One exchange a connection: only then does hanging up on a reply close the connection.
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

fn system_roots() -> Result<RootCertStore, TlsError> {
    let mut store = RootCertStore::empty();
    store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if store.is_empty() { Err(TlsError::NoSystemRoots) } else { Ok(store) }
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
}
