//! Runtimes with a fresh effect, and one call on them.

use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt};
use loom_effect_runtime::engine::EngineCall;
use loom_effect_runtime::{
    BuildError, CallError, CallReport, DurableStep, Effect, EffectMode, EffectRuntime, ErrorName, Identity,
    Principal, Ready, RunAs, RuntimeBuilder, Signal, Tool,
};

use super::data::texts;
use crate::kit::bounded::ends;
use crate::kit::call::echo::quotes;
use crate::kit::play::{Played, View, builder};
use crate::kit::polls::watched;
use crate::kit::report::{Check, Report};

pub(super) struct Lab<E: Effect> {
    pub(super) make: Arc<dyn Fn() -> E + Send + Sync>,
    pub(super) inputs: Vec<E::Input>,
}

impl<E: Effect> Lab<E> {
    pub(super) fn new(make: impl Fn() -> E + Send + Sync + 'static, inputs: Vec<E::Input>) -> Self {
        Self { make: Arc::new(make), inputs }
    }

    /// A runtime with a fresh effect; `None` where it cannot be built, which is then reported.
    pub(super) fn bench(&self, report: &mut Report) -> Option<Bench<E>> {
        self.bench_with(report, |builder| builder)
    }

    pub(super) fn bench_with(
        &self,
        report: &mut Report,
        more: impl FnOnce(RuntimeBuilder<Ready>) -> RuntimeBuilder<Ready>,
    ) -> Option<Bench<E>> {
        let effect = (self.make)();
        let id = effect.id().to_owned();
        let runtime = match more(builder().effect(effect)).build() {
            Ok(runtime) => runtime,
            Err(error) => {
                let panicked = matches!(error, BuildError::Panicked { .. });
                let check = if panicked { Check::NoPanic } else { Check::Named };
                report.fault(check, format!("it cannot be registered: {error}"));
                return None;
            }
        };
        let journaled = runtime.mode(&id) == Some(EffectMode::Journaled);
        match runtime.tool(&id) {
            Ok(tool) => Some(Bench { runtime, tool, journaled }),
            Err(error) => {
                report.fault(Check::Named, format!("it is not found under the id it gave: {error}"));
                None
            }
        }
    }
}

/// A runtime with one effect.
pub(super) struct Bench<E: Effect> {
    runtime: EffectRuntime,
    tool: Tool<E::Input, E::Output>,
    journaled: bool,
}

pub(super) type Ended<O> = (Result<O, CallError>, CallReport);

impl<E: Effect> Bench<E> {
    /// The call, not started; a recorded step where the effect demands it.
    pub(super) fn start(
        &self,
        input: &E::Input,
        view: Option<&View>,
        signal: Option<Signal>,
    ) -> BoxFuture<'static, Ended<E::Output>> {
        let run_as = RunAs::new("kit.flow", "kit.execution");
        let caller = self.runtime.caller(Identity::execution(Principal::new("kit"), run_as));
        let mut call = caller.invoke_transient(self.tool, input.clone());
        if let Some(view) = view {
            call = call.on_delta_sink(view.clone());
        }
        if let Some(signal) = signal {
            call = call.signal(signal);
        }
        if self.journaled {
            call = call.durable(DurableStep::new("kit.step", "kit.execution:kit.step"));
        }
        call.reported().boxed()
    }

    /// One call to its end.
    pub(super) async fn play(&self, input: &E::Input, streamed: bool) -> Played<E::Output> {
        let view = View::default();
        let watched = watched(ends(self.start(input, streamed.then_some(&view), None))).await;
        let (result, report) = match watched.output {
            None => (None, CallReport::default()),
            Some((result, report)) => (Some(result), report),
        };
        Played { result, report, seen: view.seen(), longest_poll: watched.longest, polls: watched.polls }
    }
}

/// It ended, it did not panic, and its error does not quote the input.
pub(super) fn judge<E: Effect>(
    report: &mut Report,
    input: &E::Input,
    result: Option<&Result<E::Output, CallError>>,
) {
    report.must(Check::Ends, result.is_some(), || "a call never ended".to_owned());
    report.checked(Check::NoPanic);
    report.checked(Check::NoEcho);
    let Some(Err(error)) = result else { return };
    report.must(Check::NoPanic, error.name() != ErrorName::EffectPanicked, || {
        "it panicked in a call".to_owned()
    });
    if let Some(place) = texts(input).iter().find_map(|text| quotes(error, text)) {
        report.fault(Check::NoEcho, format!("the error quotes the input in its {place}"));
    }
}

/// What a call came to, in a word.
pub(super) fn brief<O>(result: Option<&Result<O, CallError>>) -> String {
    match result {
        None => "no end".to_owned(),
        Some(Ok(_)) => "an output".to_owned(),
        Some(Err(error)) => format!("{} by rule {}", error.name(), error.rule().unwrap_or("(none)")),
    }
}
