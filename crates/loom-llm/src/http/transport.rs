//! The client of one provider.

use std::fmt;
use std::sync::Arc;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use reqwest::{Client, Proxy, Url, redirect, retry};

use super::config::{HttpConfig, PlainHttp, Timeouts};
use super::failure::REPLY_HEADERS_MAX;
use super::headers::headers;
use super::patience::Patience;
use super::peer::Peer;
use super::reply::Reply;
use super::{ConfigError, is_loopback};
use crate::dialect::{KeyHeader, Route};
use crate::error::{Awaited, ProviderError, ProviderFault};
use crate::key::Secrets;
use crate::tls;

/// A request on its way: where below the base URL, what, and what is wanted back.
pub(crate) struct Outgoing<'r> {
    pub(crate) route: Route<'r>,
    pub(crate) body: Vec<u8>,
    pub(crate) accept: &'static str,
}

/// A client of one provider.
pub(crate) struct Transport {
    client: Client,
    base_url: Url,
    headers: HeaderMap,
    timeouts: Timeouts,
    pub(crate) peer: Arc<Peer>,
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transport").field("peer", &self.peer).finish_non_exhaustive()
    }
}

impl Transport {
    /// A client of the provider at the base URL. It opens no connection yet.
    pub(crate) fn new(
        provider: &str,
        config: HttpConfig,
        key_header: KeyHeader,
        own_headers: &'static [(&'static str, &'static str)],
    ) -> Result<Self, ConfigError> {
        let endpoint = endpoint(&config)?;
        let authority = authority(&endpoint).ok_or(ConfigError::BaseUrl)?;
        let proxy = config.proxies.on_the_way_to(&endpoint, |name| std::env::var(name).ok())?;
        let stays_here = on_this_machine(&endpoint) && proxy.as_ref().is_none_or(on_this_machine);
        // Servers take keys in the query too, and which parameter is one is theirs to say.
        let query = endpoint.query().is_some_and(|query| !query.is_empty());
        let secret = config.key.is_some() || !config.headers.is_empty() || query;
        let in_the_clear = endpoint.scheme() == "http" && secret && !stays_here;
        if in_the_clear && config.plain_http == PlainHttp::Loopback {
            return Err(ConfigError::KeyInTheClear);
        }
        let key = config.key.as_ref();
        let headers = headers(own_headers, key, key_header, config.key_header.as_deref(), &config.headers)?;
        let mut secrets = Secrets::default();
        secrets.keep_key(key);
        config.headers.iter().for_each(|(_, value)| secrets.keep(value));
        let password = proxy.as_ref().and_then(Url::password).unwrap_or_default();
        secrets.keep(password);
        secrets.keep(&decoded(&endpoint, password));
        // The version is no secret, and what a provider says of it helps.
        let values = endpoint.query_pairs().filter(|(name, _)| !name.contains("version"));
        values.for_each(|(_, value)| secrets.keep(&value));
        let peer = Peer {
            provider: provider.to_owned(),
            authority,
            proxy: proxy.as_ref().and_then(self::authority),
            secrets,
        };
        let client = client(&config, &endpoint, proxy)?;
        Ok(Self { client, base_url: endpoint, headers, timeouts: config.timeouts, peer: Arc::new(peer) })
    }

    /// Sends a JSON body and waits for a reply with a status of success.
    pub(crate) async fn post(&self, outgoing: Outgoing<'_>) -> Result<Reply, ProviderError> {
        let peer = &self.peer;
        let Outgoing { route, body, accept } = outgoing;
        let request = self.client.post(self.url(&route)?).headers(self.headers.clone()).body(body);
        let request = request.header(CONTENT_TYPE, "application/json").header(ACCEPT, accept);
        let patience = Patience::starting(self.timeouts.total);
        let response = patience
            .wait(Awaited::FirstByte, self.timeouts.first_byte, request.send())
            .await
            .map_err(|exhausted| peer.silent(exhausted))?
            .map_err(|error| peer.broken(&error, self.timeouts.connect))?;
        Reply::new(response, Arc::clone(peer), patience, self.timeouts).accepted().await
    }

    fn url(&self, route: &Route<'_>) -> Result<Url, ProviderError> {
        let mut url = self.base_url.clone();
        match url.path_segments_mut() {
            Ok(mut path) => _ = path.extend(&route.path),
            Err(()) => return Err(self.peer.error(ProviderFault::Unsendable)),
        }
        if !route.query.is_empty() {
            url.query_pairs_mut().extend_pairs(route.query);
        }
        Ok(url)
    }
}

/// The text with its percent escapes resolved, as a proxy is sent it. Any URL can do it.
fn decoded(url: &Url, text: &str) -> String {
    let mut url = url.clone();
    url.set_query(Some(&format!("={}", text.replace('+', "%2B").replace('&', "%26"))));
    url.query_pairs().next().map(|(_, text)| text.into_owned()).unwrap_or_default()
}

/// The base URL with the configuration's query, ready for a path to be added.
fn endpoint(config: &HttpConfig) -> Result<Url, ConfigError> {
    let mut url = Url::parse(&config.base_url).map_err(|_| ConfigError::BaseUrl)?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(ConfigError::Credentials);
    }
    if url.fragment().is_some() {
        return Err(ConfigError::Fragment);
    }
    url.path_segments_mut().map_err(|()| ConfigError::BaseUrl)?.pop_if_empty();
    if !config.query.is_empty() {
        url.query_pairs_mut().extend_pairs(&config.query);
    }
    Ok(url)
}

fn client(config: &HttpConfig, endpoint: &Url, proxy: Option<Url>) -> Result<Client, ConfigError> {
    // A proxy may speak TLS where the provider does not.
    let tls = match (endpoint.scheme(), proxy.as_ref().map(Url::scheme)) {
        ("https", _) | ("http", Some("https")) => tls::client_config(&config.roots)?,
        ("http", _) => tls::trusting_nobody()?,
        _ => return Err(ConfigError::BaseUrl),
    };
    let mut builder = Client::builder()
        .tls_backend_preconfigured(tls)
        .redirect(redirect::Policy::none())
        .retry(retry::never())
        .http1_only()
        .http1_max_headers(REPLY_HEADERS_MAX)
        .connect_timeout(config.timeouts.connect)
        .user_agent(concat!("loom-llm/", env!("CARGO_PKG_VERSION")))
        // Without this the client reads the environment by rules of its own.
        .no_proxy();
    if let Some(proxy) = proxy {
        builder = builder.proxy(Proxy::all(proxy).map_err(|_| ConfigError::Proxy)?);
    }
    builder.build().map_err(|_| ConfigError::Client)
}

/// Host and port.
fn authority(url: &Url) -> Option<String> {
    Some(format!("{}:{}", url.host_str()?, url.port_or_known_default()?))
}

fn on_this_machine(url: &Url) -> bool {
    url.host_str().is_some_and(is_loopback)
}
