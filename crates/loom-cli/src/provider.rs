//! Which provider the command line names, how it is reached, and the key it is sent.

use std::env;
use std::sync::Arc;

use loom_llm::anthropic::Anthropic;
use loom_llm::google::Gemini;
use loom_llm::http::{ConfigError, HttpConfig};
use loom_llm::openai::OpenAiCompatible;
use loom_llm::request::MODEL_DEFAULT;
use loom_llm::tls::{Roots, TlsError};
use loom_llm::{ApiKey, Provider};

use crate::args::{ModelArgs, Vendor};
use crate::exit::Failure;

/// A provider that is ready to be asked, with what a person is told about it.
pub(crate) struct Remote {
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) told: Option<&'static str>,
}

/// The provider that the arguments name; none where they leave it to the offline model.
pub(crate) fn remote(args: &ModelArgs) -> Result<Option<Remote>, Failure> {
    if args.base_url.is_none() && args.provider.is_none() {
        return Ok(None);
    }
    let vendor = args.provider.unwrap_or(Vendor::Openai);
    let key = key(vendor)?;
    let base_url = match &args.base_url {
        Some(base_url) => base_url.as_str(),
        None => public(vendor, key.is_some(), &args.model)?,
    };
    let mut http = HttpConfig::new(base_url);
    if let Some(key) = key {
        http = http.with_key(key);
    }
    if args.allow_plain_http {
        http = http.allow_plain_http();
    }
    let remote = match made(vendor, http.clone()) {
        Err(ConfigError::Tls(TlsError::NoSystemRoots)) => {
            made(vendor, http.with_roots(Roots::Bundled)).map(|provider| {
                let told = "this system has no certificate authorities; the built-in ones are used";
                Remote { provider, told: Some(told) }
            })
        }
        made => made.map(|provider| Remote { provider, told: None }),
    };
    remote.map(Some).map_err(|error| config(error, vendor))
}

fn made(vendor: Vendor, http: HttpConfig) -> Result<Arc<dyn Provider>, ConfigError> {
    const NAME: &str = "model";
    Ok(match vendor {
        Vendor::Openai => Arc::new(OpenAiCompatible::new(NAME, http)?),
        Vendor::Anthropic => Arc::new(Anthropic::new(NAME, http)?),
        Vendor::Google => Arc::new(Gemini::new(NAME, http)?),
    })
}

/// The vendor's own address, for a command that names the vendor and no address.
fn public(vendor: Vendor, has_key: bool, model: &str) -> Result<&'static str, Failure> {
    if !has_key {
        let [_, own] = keys(vendor);
        return Err(Failure::usage(
            "expected a key for the provider's own address, found none",
            format!("set ${own} or $LOOM_API_KEY, or name another address with --base-url"),
        ));
    }
    if model == MODEL_DEFAULT {
        return Err(Failure::usage(
            "expected a model for the provider's own address, got none",
            "name one with --model",
        ));
    }
    Ok(match vendor {
        Vendor::Openai => "https://api.openai.com/v1",
        Vendor::Anthropic => "https://api.anthropic.com/v1",
        Vendor::Google => "https://generativelanguage.googleapis.com/v1beta",
    })
}

fn config(error: ConfigError, vendor: Vendor) -> Failure {
    let hint = match error {
        ConfigError::KeyInTheClear => {
            let [_, own] = keys(vendor);
            return Failure::usage(
                error,
                format!(
                    "use https, send neither a key ($LOOM_API_KEY, ${own}) nor a query, or say --allow-plain-http"
                ),
            );
        }
        ConfigError::Credentials => "put the key into $LOOM_API_KEY",
        ConfigError::ProxyVariable { .. } => "set the variable to the URL of an HTTP proxy, or unset it",
        _ => match vendor {
            Vendor::Openai => {
                "--base-url is what stands before `/chat/completions`, as in http://127.0.0.1:8080/v1"
            }
            Vendor::Anthropic => {
                "--base-url is what stands before `/messages`, as in https://api.anthropic.com/v1"
            }
            Vendor::Google => {
                "--base-url is what stands before `/models/…`, as in https://generativelanguage.googleapis.com/v1beta"
            }
        },
    };
    Failure::usage(error, hint)
}

/// The variables that may hold the vendor's key, the first one first.
const fn keys(vendor: Vendor) -> [&'static str; 2] {
    const ANY: &str = "LOOM_API_KEY";
    match vendor {
        Vendor::Openai => [ANY, "OPENAI_API_KEY"],
        Vendor::Anthropic => [ANY, "ANTHROPIC_API_KEY"],
        Vendor::Google => [ANY, "GEMINI_API_KEY"],
    }
}

/// The key, for the provider's eyes only.
fn key(vendor: Vendor) -> Result<Option<ApiKey>, Failure> {
    for name in keys(vendor) {
        if let Some(text) = env::var_os(name).filter(|text| !text.is_empty()) {
            let key = ApiKey::new(&text.to_string_lossy());
            return key
                .map(Some)
                .map_err(|error| Failure::usage(error, format!("set ${name} again, or unset it")));
        }
    }
    Ok(None)
}
