//! The way to a provider: direct, or through a proxy that the program or the environment names.

use std::fmt;
use std::net::IpAddr;

use reqwest::Url;

use super::{ConfigError, is_loopback};

/// Through which proxy a provider is reached.
///
/// `https` goes through it as a tunnel (`CONNECT`): the proxy learns the host and port and sees neither key nor
/// words. `http` is forwarded and the proxy reads all of it, so a key then needs
/// [`allow_plain_http`](super::HttpConfig::allow_plain_http), unless proxy and provider both are on this machine.
/// Proxies are spoken to in HTTP or HTTPS; SOCKS is refused.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Proxies {
    /// What the environment says when the provider is made: `https_proxy` or `http_proxy` by the scheme of the base
    /// URL, else `all_proxy`; not for hosts in `no_proxy`. Each is read in lower case first, then in upper case, and
    /// an empty one counts as unset. `HTTP_PROXY` is ignored where `REQUEST_METHOD` is set, since in a CGI program a
    /// client can set it. A provider on this machine is never reached through a proxy of the environment.
    ///
    /// `no_proxy` holds host names (with all below them; a leading dot changes nothing), addresses and networks
    /// (`10.0.0.0/8`), any of them with `:port`, split by commas, or `*` for every host.
    #[default]
    Environment,
    /// None: the direct way.
    None,
    /// This one, for every host. Its URL may hold a user name and a password, percent-encoded.
    Only(String),
}

impl fmt::Debug for Proxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Environment => "Environment",
            Self::None => "None",
            Self::Only(_) => "Only([redacted])",
        })
    }
}

impl Proxies {
    /// The proxy on the way to `endpoint`, where there is one; `env` reads the environment.
    pub(super) fn on_the_way_to(
        &self,
        endpoint: &Url,
        env: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Url>, ConfigError> {
        match self {
            Self::None => Ok(None),
            Self::Only(url) => proxy_url(url).map(Some).ok_or(ConfigError::Proxy),
            Self::Environment => of_the_environment(endpoint, env),
        }
    }
}

fn of_the_environment(
    endpoint: &Url,
    env: impl Fn(&str) -> Option<String>,
) -> Result<Option<Url>, ConfigError> {
    let set = |variable: &'static str| env(variable).filter(|value| !value.trim().is_empty());
    let (Some(host), Some(port)) = (endpoint.host_str(), endpoint.port_or_known_default()) else {
        return Ok(None);
    };
    let spared = || set("no_proxy").or_else(|| set("NO_PROXY")).is_some_and(|list| spares(&list, host, port));
    if is_loopback(host) || spared() {
        return Ok(None);
    }
    let by_scheme: &[&'static str] = match endpoint.scheme() {
        "https" => &["https_proxy", "HTTPS_PROXY"],
        _ if set("REQUEST_METHOD").is_some() => &["http_proxy"],
        _ => &["http_proxy", "HTTP_PROXY"],
    };
    let mut variables = by_scheme.iter().chain(&["all_proxy", "ALL_PROXY"]);
    let named = variables.find_map(|variable| Some((*variable, set(variable)?)));
    let Some((variable, url)) = named else { return Ok(None) };
    proxy_url(&url).map(Some).ok_or(ConfigError::ProxyVariable { variable })
}

/// Reads a proxy's URL; without a scheme it is spoken to in HTTP.
fn proxy_url(text: &str) -> Option<Url> {
    let text = text.trim();
    let whole = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    let url = Url::parse(&whole).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    // The client would go the direct way where it cannot read a proxy's URL itself.
    let read: hyper::Uri = url.as_str().parse().ok()?;
    (url.host_str().is_some() && read.authority().is_some()).then_some(url)
}

/// Whether the list of `no_proxy` names the host.
fn spares(list: &str, host: &str, port: u16) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']').trim_end_matches('.').to_ascii_lowercase();
    let address: Option<IpAddr> = host.parse().ok();
    list.split(',').map(str::trim).filter(|entry| !entry.is_empty()).any(|entry| {
        if entry == "*" {
            return true;
        }
        let (entry, at) = with_port(entry);
        if at.is_some_and(|at| at != port) {
            return false;
        }
        match address {
            Some(address) => holds(entry, address),
            None => {
                let name = entry.trim_start_matches("*.").trim_matches('.').to_ascii_lowercase();
                let below =
                    host.strip_suffix(&name).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
                !name.is_empty() && below
            }
        }
    })
}

/// An entry without the brackets of an address, and its port where it names one.
fn with_port(entry: &str) -> (&str, Option<u16>) {
    if let Some((address, rest)) = entry.strip_prefix('[').and_then(|entry| entry.split_once(']')) {
        return (address, rest.strip_prefix(':').and_then(|port| port.parse().ok()));
    }
    match entry.split_once(':') {
        // A second colon makes it an address.
        Some((name, port)) if !port.contains(':') => match port.parse() {
            Ok(port) => (name, Some(port)),
            Err(_) => (entry, None),
        },
        _ => (entry, None),
    }
}

/// Whether the address is that of the entry or in its network.
fn holds(entry: &str, address: IpAddr) -> bool {
    let Some((network, prefix)) = entry.split_once('/') else { return entry.parse() == Ok(address) };
    let (Ok(network), Ok(prefix)) = (network.parse::<IpAddr>(), prefix.parse::<u32>()) else { return false };
    let differ = match (network, address) {
        (IpAddr::V4(network), IpAddr::V4(address)) if prefix <= 32 => {
            // Both stand in the upper half, so that the prefix counts from the top.
            (u128::from(network.to_bits()) ^ u128::from(address.to_bits())) << 96
        }
        (IpAddr::V6(network), IpAddr::V6(address)) if prefix <= 128 => network.to_bits() ^ address.to_bits(),
        _ => return false,
    };
    differ.leading_zeros() >= prefix
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(url: &str, env: &[(&str, &str)]) -> Result<Option<String>, ConfigError> {
        let read = |name: &str| env.iter().find(|(known, _)| *known == name).map(|(_, v)| (*v).to_owned());
        let found = Proxies::Environment.on_the_way_to(&Url::parse(url).unwrap(), read)?;
        Ok(found.map(|url| url.to_string()))
    }

    #[test]
    fn the_environments_proxy_is_that_of_the_scheme_else_that_of_all() {
        let all = [("ALL_PROXY", "http://all:1"), ("HTTPS_PROXY", "http://tls:2"), ("http_proxy", "plain:3")];
        assert_eq!(way("https://host/v1", &all).unwrap().unwrap(), "http://tls:2/");
        assert_eq!(way("http://host/v1", &all).unwrap().unwrap(), "http://plain:3/");
        assert_eq!(way("https://host/v1", &all[..1]).unwrap().unwrap(), "http://all:1/");
        assert_eq!(way("https://host/v1", &[("http_proxy", "http://plain:3")]), Ok(None));
        assert_eq!(way("https://host/v1", &[]), Ok(None));
    }

    #[test]
    fn lower_case_goes_first_and_an_empty_variable_counts_as_unset() {
        for (lower, upper, expected) in
            [("http://low:1", "http://up:2", "http://low:1/"), (" ", "http://up:2", "http://up:2/")]
        {
            for (low, up) in
                [("https_proxy", "HTTPS_PROXY"), ("all_proxy", "ALL_PROXY"), ("https_proxy", "ALL_PROXY")]
            {
                let found = way("https://host/", &[(low, lower), (up, upper)]);
                assert_eq!(found.unwrap().unwrap(), expected, "{low} {up}");
            }
        }
    }

    #[test]
    fn a_header_of_a_cgi_request_names_no_proxy() {
        let env = [("HTTP_PROXY", "http://evil:1"), ("REQUEST_METHOD", "GET")];
        assert_eq!(way("http://host/", &env), Ok(None));
        assert_eq!(way("http://host/", &env[..1]).unwrap().unwrap(), "http://evil:1/");
    }

    #[test]
    fn what_stays_on_this_machine_goes_through_no_proxy_of_the_environment() {
        for url in ["http://localhost/", "http://127.0.0.2:80/", "https://[::1]/"] {
            assert_eq!(way(url, &[("all_proxy", "http://all:1")]), Ok(None), "{url}");
        }
    }

    #[test]
    fn a_named_proxy_or_none_leaves_the_environment_unread() {
        let url = Url::parse("https://host/").unwrap();
        let unread = |name: &str| -> Option<String> { panic!("{name} was read") };
        assert_eq!(Proxies::None.on_the_way_to(&url, unread), Ok(None));
        let only = Proxies::Only("user:pass@only:3".to_owned()).on_the_way_to(&url, unread);
        assert_eq!(only.unwrap().unwrap().as_str(), "http://user:pass@only:3/");
    }

    #[test]
    fn a_proxy_that_cannot_be_used_is_named_by_its_variable_and_not_passed_by() {
        for bad in ["socks5://canary:1080", "http://", "://canary", "ftp://canary", "http://canary:99999"] {
            let refused = way("https://host/", &[("ALL_PROXY", bad)]).unwrap_err();
            assert_eq!(refused, ConfigError::ProxyVariable { variable: "ALL_PROXY" }, "{bad}");
            let only = Proxies::Only(bad.to_owned());
            let refused = only.on_the_way_to(&Url::parse("http://127.0.0.1/").unwrap(), |_| None);
            assert_eq!(refused, Err(ConfigError::Proxy), "{bad}");
            assert!(!format!("{only:?}").contains("canary"));
        }
        assert_eq!(way("https://spared/", &[("ALL_PROXY", "socks5://x"), ("no_proxy", "spared")]), Ok(None));
    }

    #[test]
    fn no_proxy_names_hosts_what_is_below_them_addresses_and_networks() {
        for (list, url, spared) in [
            ("*", "https://host/", true),
            ("host", "https://host/", true),
            ("HOST", "https://host./", true),
            (" other , .example.com,", "https://api.example.com/", true),
            ("example.com", "https://api.example.com/", true),
            ("*.example.com", "https://api.example.com/", true),
            ("example.com", "https://notexample.com/", false),
            (".", "https://host/", false),
            (",,", "https://host/", false),
            ("host:443", "https://host/", true),
            ("host:8443", "https://host/", false),
            ("host:8443", "https://host:8443/", true),
            ("10.0.0.0/8", "https://10.9.8.7/", true),
            ("10.0.0.0/8", "https://11.0.0.1/", false),
            ("10.1.2.3", "https://10.1.2.3/", true),
            ("10.1.2.3:80", "http://10.1.2.3/", true),
            ("0.0.0.0/0", "https://11.0.0.1/", true),
            ("10.0.0.0/33", "https://10.0.0.1/", false),
            ("10.0.0.1/32", "https://10.0.0.1/", true),
            ("10.0.0.1/32", "https://10.0.0.2/", false),
            ("0.0.0.0/0", "https://[fe80::1]/", false),
            ("fe80::/10", "https://[fe80::1]/", true),
            ("fe80::/10", "https://[2001:db8::1]/", false),
            ("2001:db8::1", "https://[2001:db8::1]/", true),
            ("[2001:db8::1]:443", "https://[2001:db8::1]/", true),
            ("0.0.1", "https://10.0.0.1/", false),
        ] {
            for variable in ["no_proxy", "NO_PROXY"] {
                let found = way(url, &[("all_proxy", "http://all:1"), (variable, list)]).unwrap();
                assert_eq!(found.is_none(), spared, "{list} for {url}");
            }
        }
    }
}
