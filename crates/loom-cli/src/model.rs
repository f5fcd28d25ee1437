//! The governed runtime of a command: one tool, its guards, and the provider behind it.

use std::sync::Arc;
use std::time::Duration;

use loom_effect_runtime::{
    Authorizer, Call, CallError, Effect, EffectContext, EffectRuntime, ErrorName, Input, Principal, Refusal,
    Step, Tool,
};
use loom_llm::effect::{LlmEffect, LlmReply};
use loom_llm::http::HttpConfig;
use loom_llm::openai::OpenAiCompatible;
use loom_llm::{ChatRequest, Provider, stream_token_budget};
use loom_middleware::{KillSwitch, Retry};

use crate::args::ModelArgs;
use crate::exit::Failure;
use crate::guards::Guards;
use crate::offline::{Mode, OfflineModel};
use crate::provider::{Remote, remote};
use crate::render::Screen;

/// What the live text of an attempt may come to, for each token that was asked for: a token of a model is rarely
/// longer than four estimated ones, and a provider that heeds no bound is stopped here.
const BUDGET_TOKENS_EACH: u64 = 4;

/// The longest a command waits because a provider asks it to; a person is told of a longer one instead.
const PATIENCE: Duration = Duration::from_secs(10);

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

/// What the command line and the environment say about the model and its guards, found fit to be used.
pub(crate) struct Setting {
    pub(crate) guards: Guards,
    provider: Choice,
}

enum Choice {
    Offline(Mode),
    Remote(Remote),
}

impl Setting {
    /// Reads everything that can be a mistake, before anything is made or said.
    pub(crate) fn read(args: &ModelArgs) -> Result<Self, Failure> {
        Ok(Self { guards: Guards::read(args)?, provider: choice(args)? })
    }

    /// The model under its guards.
    pub(crate) async fn open(
        self,
        grant: Grant,
        tokens_max: u32,
        screen: &Arc<Screen>,
    ) -> Result<Model, Failure> {
        let (provider, offline) = self.provider.open(screen).await?;
        let kill_switch = KillSwitch::new();
        let warned = Arc::clone(screen);
        let mut builder = EffectRuntime::builder()
            .authorizer(grant)
            .on_warn(move |warning| warned.note(&format!("warning: {warning}")))
            .middleware(kill_switch.clone())
            .middleware(stream_token_budget(u64::from(tokens_max) * BUDGET_TOKENS_EACH))
            .around(Retry::new().patience(PATIENCE))
            .around(kill_switch.running());
        if let Some(safety) = self.guards.middleware() {
            builder = builder.middleware(safety.clone()).output_middleware(safety);
        }
        let effect = LlmEffect::builder(grant.tool, provider).build();
        let runtime =
            builder.effect(effect).build().map_err(|error| Failure::named(ErrorName::EffectFailed, error))?;
        let tool = runtime.tool(grant.tool)?;
        Ok(Model { runtime, tool, _offline: offline })
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

impl Choice {
    async fn open(self, screen: &Screen) -> Result<(Arc<dyn Provider>, Option<OfflineModel>), Failure> {
        match self {
            Self::Remote(Remote { provider, told }) => {
                if let Some(told) = told {
                    screen.note(told);
                }
                Ok((provider, None))
            }
            Self::Offline(mode) => {
                let offline = OfflineModel::serve(mode).await.map_err(|error| {
                    let kind = error.kind();
                    Failure::named(ErrorName::Provider, format!("the offline model cannot listen: {kind}"))
                })?;
                screen.note("offline: a scripted model answers; --base-url URL asks a real one");
                let http = HttpConfig::new(offline.base_url());
                let provider = OpenAiCompatible::new("offline", http);
                let provider = provider.map_err(|error| Failure::named(ErrorName::Provider, error))?;
                Ok((Arc::new(provider), Some(offline)))
            }
        }
    }
}

fn choice(args: &ModelArgs) -> Result<Choice, Failure> {
    match (remote(args)?, args.offline) {
        (Some(remote), None) => Ok(Choice::Remote(remote)),
        (_, offline) => Ok(Choice::Offline(offline.unwrap_or_default())),
    }
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
