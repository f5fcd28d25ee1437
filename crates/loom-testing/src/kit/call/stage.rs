//! Runtimes round a fresh subject, and one call on them.

use std::sync::{Arc, Mutex, PoisonError};

use futures::future::{BoxFuture, FutureExt};
use loom_effect_runtime::{
    BuildError, CallBuilder, CallError, CallReport, EffectRuntime, Identity, Launch, NeedsAuthorizer,
    Principal, Ready, RunAs, RuntimeBuilder, Signal, Warning,
};
use serde_json::{Value, json};

use super::came::{self, Came};
use super::probe::{CANARY, OTHER_TOOL, Plan, Probe, Shared, TOOL, TYPED_TOOL, Typed};
use crate::kit::bounded::ends;
use crate::kit::play::{Played, View};
use crate::kit::polls::watched;
use crate::kit::report::{Check, Report};

type Dress = dyn Fn(RuntimeBuilder<NeedsAuthorizer>) -> RuntimeBuilder<Ready> + Send + Sync;

/// Makes runtimes, each round a fresh subject.
#[derive(Clone)]
pub(crate) struct Stage {
    pub(crate) subject: &'static str,
    dress: Arc<Dress>,
    /// Tools beside the kit's own.
    pub(crate) tools: Vec<String>,
    /// Who asks, and for which tool, where a call does not say.
    pub(crate) usual: Usual,
}

impl Stage {
    pub(crate) fn new<S>(
        dress: impl Fn(RuntimeBuilder<NeedsAuthorizer>) -> RuntimeBuilder<Ready> + Send + Sync + 'static,
    ) -> Self {
        Self {
            subject: std::any::type_name::<S>(),
            dress: Arc::new(dress),
            tools: Vec::new(),
            usual: Usual::default(),
        }
    }

    /// The same stage without a subject.
    pub(crate) fn bare() -> Self {
        Self::new::<()>(RuntimeBuilder::allow_all_calls)
    }

    /// A runtime; `None` where it cannot be built, which is then reported.
    pub(crate) fn scene(&self, report: &mut Report, plan: Plan) -> Option<Scene> {
        self.scene_with(report, plan, |builder| builder)
    }

    /// A runtime with more hooks, which stand behind the subject.
    pub(crate) fn scene_with(
        &self,
        report: &mut Report,
        plan: Plan,
        more: impl FnOnce(RuntimeBuilder<Ready>) -> RuntimeBuilder<Ready>,
    ) -> Option<Scene> {
        let shared = Shared::new(plan);
        let warned = Warned::default();
        let note = warned.clone();
        let mut builder = (self.dress)(EffectRuntime::builder())
            .on_warn(move |warning| note.note(warning))
            .effect(Probe::<Value>::new(TOOL, &shared))
            .effect(Probe::<Value>::new(OTHER_TOOL, &shared))
            .effect(Probe::<Typed>::new(TYPED_TOOL, &shared));
        for tool in &self.tools {
            builder = builder.effect(Probe::<Value>::new(tool, &shared));
        }
        match more(builder).build() {
            Ok(runtime) => Some(Scene { runtime, shared, warned, usual: self.usual.clone() }),
            Err(error) => {
                let panicked = matches!(error, BuildError::Panicked { .. });
                let check = if panicked { Check::NoPanic } else { Check::Named };
                report.fault(check, format!("no runtime can be built with it: {error}"));
                None
            }
        }
    }
}

/// A caller and a tool that the subject is known to let through.
#[derive(Clone, Debug, Default)]
pub(crate) struct Usual {
    pub(crate) identity: Option<Identity>,
    pub(crate) tool: Option<String>,
}

/// A runtime round one subject.
pub(crate) struct Scene {
    usual: Usual,
    pub(crate) runtime: EffectRuntime,
    pub(crate) shared: Shared,
    pub(crate) warned: Warned,
}

/// What a call gives.
pub(crate) type Ended = (Result<String, CallError>, CallReport);

impl Scene {
    /// The call, not started.
    pub(crate) fn start(
        &self,
        ask: &Ask,
        view: Option<&View>,
        signal: Option<Signal>,
    ) -> BoxFuture<'static, Ended> {
        let identity = ask.identity.as_ref().or(self.usual.identity.as_ref());
        let caller = self.runtime.caller(identity.cloned().unwrap_or_default());
        let tool = match &self.usual.tool {
            Some(usual) if ask.tool == TOOL && ask.identity.is_none() => usual,
            _ => &ask.tool,
        };
        match &ask.input {
            Given::Typed(input) => match self.runtime.tool::<Typed, String>(tool) {
                Ok(tool) => ask.set(caller.invoke_transient(tool, input.clone()), view, signal).boxed(),
                Err(error) => ready(error),
            },
            Given::Json(input) if ask.by_id => {
                let (ask, tool, input, view) = (ask.clone(), tool.clone(), input.clone(), view.cloned());
                async move {
                    let call = caller.invoke_transient(&*tool, input);
                    let (result, report) = ask.set(call, view.as_ref(), signal).await;
                    (result.map(text), report)
                }
                .boxed()
            }
            Given::Json(input) => match self.runtime.tool::<Value, String>(tool) {
                Ok(tool) => ask.set(caller.invoke_transient(tool, input.clone()), view, signal).boxed(),
                Err(error) => ready(error),
            },
        }
    }

    /// One call to its end, with no word said about it.
    pub(crate) async fn ask(&self, ask: &Ask) -> Played<String> {
        let view = View::default();
        let watched = watched(ends(self.start(ask, ask.streamed.then_some(&view), None))).await;
        let (result, report) = match watched.output {
            None => (None, CallReport::default()),
            Some((result, report)) => (Some(result), report),
        };
        Played { result, report, seen: view.seen(), longest_poll: watched.longest, polls: watched.polls }
    }

    /// What one call comes to.
    pub(crate) async fn came(&self, ask: &Ask) -> Came {
        Came::of(self.ask(ask).await.result.as_ref())
    }

    /// One call to its end, with what is demanded of any.
    pub(crate) async fn play(&self, report: &mut Report, ask: &Ask) -> Played<String> {
        let played = self.ask(ask).await;
        came::judge(report, &played, &self.warned);
        if ask.streamed {
            came::judge_view(report, &played);
        }
        played
    }
}

fn ready(error: CallError) -> BoxFuture<'static, Ended> {
    std::future::ready((Err(error), CallReport::default())).boxed()
}

fn text(output: Value) -> String {
    match output {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// The input of a call, in either form.
#[derive(Clone, Debug)]
pub(crate) enum Given {
    Json(Value),
    Typed(Typed),
}

/// One call of the kit.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    /// What it differs in from the plain one.
    pub(crate) what: String,
    pub(crate) tool: String,
    pub(crate) input: Given,
    pub(crate) by_id: bool,
    pub(crate) streamed: bool,
    pub(crate) identity: Option<Identity>,
    pub(crate) principal: Option<Principal>,
    pub(crate) run_as: Option<RunAs>,
    pub(crate) label: Option<String>,
}

impl Ask {
    /// The plain call with an input that has a text of its own.
    pub(crate) fn plain(text: &str) -> Self {
        Self::json(json!({ "canary": CANARY, "text": text }))
    }

    pub(crate) fn json(input: Value) -> Self {
        Self {
            what: "nothing".to_owned(),
            tool: TOOL.to_owned(),
            input: Given::Json(input),
            by_id: false,
            streamed: false,
            identity: None,
            principal: None,
            run_as: None,
            label: None,
        }
    }

    pub(crate) fn typed(input: Typed) -> Self {
        Self { tool: TYPED_TOOL.to_owned(), input: Given::Typed(input), ..Self::plain("") }
    }

    pub(crate) fn streamed(mut self) -> Self {
        self.streamed = true;
        self
    }

    fn set<L: Launch>(
        &self,
        mut call: CallBuilder<L>,
        view: Option<&View>,
        signal: Option<Signal>,
    ) -> loom_effect_runtime::Reported<L::Fut> {
        if let Some(principal) = &self.principal {
            call = call.principal(principal.clone());
        }
        if let Some(run_as) = &self.run_as {
            call = call.run_as(run_as.clone());
        }
        if let Some(label) = &self.label {
            call = call.label(label);
        }
        if let Some(view) = view {
            call = call.on_delta_sink(view.clone());
        }
        if let Some(signal) = signal {
            call = call.signal(signal);
        }
        call.reported()
    }
}

/// What was warned of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Warned(Arc<Mutex<Facts>>);

#[derive(Clone, Copy, Debug, Default)]
struct Facts {
    panicked: bool,
    dropped: bool,
}

impl Warned {
    pub(crate) fn note(&self, warning: &Warning<'_>) {
        let mut facts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match warning {
            Warning::AfterPanicked { .. } | Warning::SinkPanicked { .. } => facts.panicked = true,
            Warning::SuccessDropped { .. } => facts.dropped = true,
            _ => {}
        }
    }

    /// Whether a hook or sink that cannot refuse panicked.
    pub(crate) fn panicked(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).panicked
    }

    /// Whether an around made an error of a success.
    pub(crate) fn success_dropped(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).dropped
    }
}
