//! The governed runtime of a command: one tool, its guards, and the provider behind it.

use std::env;
use std::fs;
use std::sync::Arc;

use loom_effect_runtime::{
    Authorizer, Call, CallError, Effect, EffectContext, EffectRuntime, ErrorName, Input, Principal, Refusal,
    Step, Tool,
};
use loom_llm::effect::{LlmEffect, LlmReply};
use loom_llm::http::{ConfigError, HttpConfig};
use loom_llm::openai::OpenAiCompatible;
use loom_llm::tls::{Roots, TlsError};
use loom_llm::{ApiKey, ChatRequest, ProviderError, Remedy, stream_token_budget};
use loom_middleware::{KillSwitch, Retry};
use loom_safety::{DenyPatterns, PiiValidator, SafetyMiddleware, SafetyValidator};

use crate::args::{ModelArgs, Rule};
use crate::exit::Failure;
use crate::offline::OfflineModel;
use crate::render::Screen;

/// The most bytes of a deny file.
const DENY_FILE_BYTES_MAX: u64 = 4 << 20;

/// What the live text of an attempt may come to, for each token that was asked for: a token of a model is rarely
/// longer than four estimated ones, and a provider that heeds no bound is stopped here.
const BUDGET_TOKENS_EACH: u64 = 4;

/// What a command may call: one tool, in one flow or in none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grant {
    pub(crate) tool: &'static str,
    pub(crate) flow: Option<&'static str>,
}

/// A runtime with its one tool.
pub(crate) struct Model {
    pub(crate) runtime: EffectRuntime,
    pub(crate) tool: Tool<ChatRequest, LlmReply>,
    /// Answers for as long as the model is kept.
    _offline: Option<OfflineModel>,
}

/// Who every command runs as.
pub(crate) fn principal() -> Principal {
    Principal::new("loom-cli")
}

impl Model {
    /// The model that the command line asks for, under its guards.
    pub(crate) async fn open(
        grant: Grant,
        args: &ModelArgs,
        tokens_max: u32,
        screen: &Arc<Screen>,
    ) -> Result<Self, Failure> {
        let validators = validators(args)?;
        let (provider, offline) = provider(args, screen).await?;
        let kill_switch = KillSwitch::new();
        let warned = Arc::clone(screen);
        let mut builder = EffectRuntime::builder()
            .authorizer(grant)
            .on_warn(move |warning| warned.note(&format!("warning: {warning}")))
            .middleware(kill_switch.clone())
            .middleware(stream_token_budget(u64::from(tokens_max) * BUDGET_TOKENS_EACH))
            .around(Retry::new().when(may_pass))
            .around(kill_switch.running());
        if !validators.is_empty() {
            let safety = SafetyMiddleware::new(validators);
            builder = builder.middleware(safety.clone()).output_middleware(safety);
        }
        let effect = LlmEffect::builder(grant.tool, provider).build();
        let runtime =
            builder.effect(effect).build().map_err(|error| Failure::named(ErrorName::EffectFailed, error))?;
        let tool = runtime.tool(grant.tool)?;
        Ok(Self { runtime, tool, _offline: offline })
    }
}

/// A runtime in which the tool cannot be called: all that a replay needs.
pub(crate) fn no_model(grant: Grant) -> Result<EffectRuntime, Failure> {
    let builder = EffectRuntime::builder().authorizer(grant).effect(NoModel(grant.tool));
    builder.build().map_err(|error| Failure::named(ErrorName::EffectFailed, error))
}

struct NoModel(&'static str);

impl Effect for NoModel {
    type Input = ChatRequest;
    type Output = LlmReply;

    fn id(&self) -> &str {
        self.0
    }

    async fn execute(&self, _request: &ChatRequest, _cx: &EffectContext<'_>) -> Result<LlmReply, CallError> {
        Err(CallError::named(ErrorName::EffectFailed, "there is no model here"))
    }
}

impl Authorizer for Grant {
    fn authorize(&self, call: &Call, _input: &Input) -> Step {
        if call.tool() == self.tool && call.workflow_id() == self.flow {
            return Step::Go;
        }
        let chain = call.identity().principal().chain();
        Step::Deny(Refusal::capability_denied(call.tool()).chain(chain))
    }
}

/// Whether asking again may help: a wrong key stays wrong, and a provider that says when to come back is not asked
/// before.
fn may_pass(error: &CallError) -> bool {
    match ProviderError::behind(error) {
        Some(provider) => provider.remedy() == Remedy::Retry,
        None => matches!(error.name(), ErrorName::EffectFailed | ErrorName::DeadlineExceeded),
    }
}

async fn provider(
    args: &ModelArgs,
    screen: &Screen,
) -> Result<(OpenAiCompatible, Option<OfflineModel>), Failure> {
    let Some(base_url) = &args.base_url else {
        let offline = OfflineModel::serve(args.offline.unwrap_or_default()).await.map_err(|error| {
            Failure::named(ErrorName::Provider, format!("the offline model cannot listen: {}", error.kind()))
        })?;
        screen.note("offline: a scripted model answers; --base-url URL asks a real one");
        let provider =
            OpenAiCompatible::new("offline", HttpConfig::new(offline.base_url())).map_err(config)?;
        return Ok((provider, Some(offline)));
    };
    let mut http = HttpConfig::new(base_url);
    if let Some(key) = key()? {
        http = http.with_key(key);
    }
    if args.allow_plain_http {
        http = http.allow_plain_http();
    }
    let provider = match OpenAiCompatible::new("model", http.clone()) {
        Err(ConfigError::Tls(TlsError::NoSystemRoots)) => {
            screen.note("this system has no certificate authorities; the built-in ones are used");
            OpenAiCompatible::new("model", http.with_roots(Roots::Bundled))
        }
        provider => provider,
    };
    Ok((provider.map_err(config)?, None))
}

fn config(error: ConfigError) -> Failure {
    Failure::usage(
        error,
        match error {
            ConfigError::KeyInTheClear => {
                "use https, unset the key ($LOOM_API_KEY, $OPENAI_API_KEY), or say --allow-plain-http"
            }
            ConfigError::Credentials => "put the key into $LOOM_API_KEY",
            _ => "--base-url is what stands before `/chat/completions`, as in http://127.0.0.1:8080/v1",
        },
    )
}

/// The key, for the provider's eyes only.
fn key() -> Result<Option<ApiKey>, Failure> {
    for name in ["LOOM_API_KEY", "OPENAI_API_KEY"] {
        if let Some(text) = env::var_os(name).filter(|text| !text.is_empty()) {
            let key = ApiKey::new(&text.to_string_lossy());
            return key
                .map(Some)
                .map_err(|error| Failure::usage(error, format!("set ${name} again, or unset it")));
        }
    }
    Ok(None)
}

fn validators(args: &ModelArgs) -> Result<Vec<Box<dyn SafetyValidator>>, Failure> {
    let asked = |rule| args.rules.contains(&rule);
    if asked(Rule::None) && args.rules.iter().any(|rule| *rule != Rule::None) {
        return Err(Failure::usage(
            "`none` stands beside other rules",
            "say `--rules none` alone, or the rules",
        ));
    }
    let by_default = args.rules.is_empty();
    let (pii, deny) =
        (by_default || asked(Rule::Pii), asked(Rule::Deny) || (by_default && args.deny.is_some()));
    let mut validators: Vec<Box<dyn SafetyValidator>> = Vec::new();
    if pii {
        validators.push(PiiValidator::default().into());
    }
    match (&args.deny, deny) {
        (Some(path), true) => validators.push(deny_patterns(path)?.into()),
        (None, true) => {
            return Err(Failure::usage(
                "the rule `deny` has no patterns",
                "name a file of them with --deny FILE",
            ));
        }
        (Some(_), false) => {
            let message = "--deny names patterns that --rules leaves out";
            return Err(Failure::usage(message, "add `deny` to --rules, or drop --deny"));
        }
        (None, false) => {}
    }
    Ok(validators)
}

fn deny_patterns(path: &std::path::Path) -> Result<DenyPatterns, Failure> {
    let hint = "--deny FILE is text with one pattern a line: a literal, or /regex/ with flags i and w";
    let length = fs::metadata(path).map(|file| file.len());
    if length.as_ref().is_ok_and(|bytes| *bytes > DENY_FILE_BYTES_MAX) {
        return Err(Failure::usage(
            format!("the deny file is larger than {DENY_FILE_BYTES_MAX} bytes"),
            hint,
        ));
    }
    let text = length.and_then(|_| fs::read_to_string(path));
    let text = text
        .map_err(|error| Failure::usage(format!("the deny file cannot be read: {}", error.kind()), hint))?;
    DenyPatterns::from_lines(&text).map_err(|error| Failure::usage(error, hint))
}

#[cfg(test)]
mod tests {
    use loom_effect_runtime::{Identity, RunAs};

    use super::*;

    /// T6: a command may call its one tool, in its one flow, and a denial names the grant that was missing.
    #[tokio::test]
    async fn a_grant_covers_one_tool_in_one_flow() {
        let grant = Grant { tool: "llm.plan", flow: Some("plan") };
        let builder = EffectRuntime::builder().authorizer(grant);
        let runtime = builder.effect(NoModel("llm.plan")).effect(NoModel("llm.ask")).build().unwrap();
        let asked = async |flow: Option<&str>, tool: &str| {
            let identity = match flow {
                Some(flow) => Identity::execution(principal(), RunAs::new(flow, "shed-1")),
                None => Identity::new(principal()),
            };
            let request = ChatRequest::of(Vec::new());
            runtime.caller(identity).invoke_transient(tool, request).await.unwrap_err()
        };
        assert_eq!(asked(Some("plan"), "llm.plan").await.name(), ErrorName::EffectFailed, "it was reached");
        for (flow, tool) in [(Some("plan"), "llm.ask"), (Some("other"), "llm.plan"), (None, "llm.plan")] {
            let denied = asked(flow, tool).await;
            assert_eq!(denied.name(), ErrorName::CapabilityDenied, "{flow:?} {tool}");
            assert!(denied.to_string().contains(tool) && denied.to_string().contains("loom-cli"), "{denied}");
        }
    }
}
