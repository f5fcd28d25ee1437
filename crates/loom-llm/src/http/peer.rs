//! Whom errors speak of.

use loom_classify::Tainted;

use super::failure::{self, Failure};
use super::patience::Exhausted;
use crate::error::{Awaited, MalformedReply, ProviderError, ProviderFault};
use crate::key::Secrets;

/// A provider by its name and its place, and what must not be repeated of what it is sent.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) provider: String,
    pub(crate) authority: String,
    /// Host and port of the proxy on the way.
    pub(super) proxy: Option<String>,
    pub(super) secrets: Secrets,
}

impl Peer {
    pub(crate) fn malformed(&self, reason: MalformedReply) -> ProviderError {
        self.error(ProviderFault::Malformed { reason })
    }

    pub(crate) fn error(&self, fault: ProviderFault) -> ProviderError {
        ProviderError::new(&self.provider, fault)
    }

    /// The provider's own words without the key and the headers' values, should it repeat them.
    pub(crate) fn scrubbed(&self, words: Tainted<String>) -> Tainted<String> {
        words.map(|text| self.secrets.scrub(text))
    }

    /// The error of a wait that was too long.
    pub(super) fn silent(&self, (awaited, limit): Exhausted) -> ProviderError {
        self.error(ProviderFault::Silent { authority: self.authority.clone(), awaited, limit })
    }

    /// The error of a request, or of the reading of its reply, that the client gave up.
    pub(super) fn broken(&self, error: &reqwest::Error, connect: std::time::Duration) -> ProviderError {
        let authority = self.authority.clone();
        match (failure::of(error, self.proxy.is_some()), &self.proxy) {
            (Failure::ConnectTimeout, _) => self.silent((Awaited::Connection, connect)),
            (Failure::Tls(reason), _) => self.error(ProviderFault::Untrusted { authority, reason }),
            (Failure::NoConnection(failure), Some(proxy)) => {
                self.error(ProviderFault::ProxyFailed { authority, proxy: proxy.clone(), failure })
            }
            (Failure::NoConnection(failure), None) => {
                self.error(ProviderFault::Unreachable { authority, kind: failure.kind() })
            }
            (Failure::Malformed(reason), _) => self.malformed(reason),
            (Failure::Disconnected, _) => self.error(ProviderFault::Disconnected { authority }),
        }
    }
}
