//! How a call ends: what is told, to whom, and what is left behind.

use std::sync::{Arc, Mutex};

use loom_effect_runtime::engine::EngineCall;
use loom_effect_runtime::*;
use serde::{Deserialize, Serialize};

use crate::support::*;

/// An output that has no JSON form.
#[derive(Clone, Debug, Deserialize)]
struct NoJson;

impl Serialize for NoJson {
    fn serialize<S: serde::Serializer>(&self, _serializer: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom("scripted"))
    }
}

struct Gives;

impl Effect for Gives {
    type Input = String;
    type Output = NoJson;

    fn id(&self) -> &str {
        "plan"
    }

    async fn execute(&self, _input: &String, cx: &EffectContext<'_>) -> Result<NoJson, CallError> {
        cx.deltas().text("hello")?;
        cx.deltas().end(None);
        Ok(NoJson)
    }
}

/// D6: a call whose output cannot be given failed: nothing terminal is sent, and every hook hears the failure.
#[test]
fn done_comes_after_the_output_is_parsed() {
    let log = Log::new();
    let sink = Recorder::new();
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .middleware(Told("told", log.clone()))
        .effect(Gives)
        .build()
        .unwrap();
    let call = runtime.invoke_transient("plan", "x".to_owned()).on_delta_sink(sink.clone());
    let (result, report) = run(call.reported());
    assert_eq!(result.unwrap_err().name(), ErrorName::OutputInvalid);
    assert!(!report.streamed);
    assert_eq!(sink.lines(), ["hello"]);
    assert!(log.lines().iter().all(|line| !line.contains("ok")), "{:?}", log.lines());
}

/// D6, D11: whether a call succeeds does not depend on which kinds its sink asks for.
#[test]
fn a_stream_of_reasoning_alone_is_no_live_text() {
    for wants in [DeltaKinds::TEXT, DeltaKinds::ALL] {
        let effect = Scripted::new([Act::write(Lane::REASONING, "hm"), Act::answer("final")]);
        let runtime = EffectRuntime::builder().allow_all_calls().effect(effect).build().unwrap();
        let sink = Recorder::new().wanting(wants);
        let call = runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink.clone());
        let (result, report) = run(call.reported());
        assert_eq!(result.unwrap().text, "final");
        assert!(!report.streamed && !sink.lines().contains(&"<done>".to_owned()));
    }
}

/// D8: an abort that an inspector raises is the call's verdict, streamed or not.
#[test]
fn an_abort_during_inspection_is_the_verdict() {
    for acts in [vec![Act::text("x")], vec![Act::answer("x"), Act::Unstated]] {
        let signal = Signal::new();
        let raised = signal.clone();
        let inspector = inspect("aborts", pass(), move |_, _| {
            raised.abort_with(AbortError::new());
            Step::Go
        });
        let builder = EffectRuntime::builder().allow_all_calls().output_middleware(inspector);
        let runtime = builder.effect(Scripted::new(acts)).build().unwrap();
        let call = runtime.invoke_transient(plan(&runtime), ask("x")).signal(signal);
        assert_eq!(run(call.into_future()).unwrap_err().name(), ErrorName::Abort);
    }
}

/// D6: a handle that outlives its call keeps neither sink nor guards alive.
#[test]
fn a_leaked_handle_lets_the_sink_go() {
    let leaked = Arc::new(Mutex::new(Vec::new()));
    let token = Arc::new(());
    let held = Arc::downgrade(&token);
    let acts = [Act::Pump(leaked.clone()), Act::text("hi"), Act::Fail(ErrorName::Provider)];
    let runtime = EffectRuntime::builder().allow_all_calls().effect(Scripted::new(acts)).build().unwrap();
    let call = runtime.invoke_transient(plan(&runtime), ask("x")).on_delta(move |_| drop(token.clone()));
    run(call.into_future()).unwrap_err();
    assert_eq!(leaked.lock().unwrap().len(), 1);
    assert!(held.upgrade().is_none());
}

/// D10: a blind stream is told of once a call, also where the effect streams nothing, and apart from kinds that are
/// merely withheld.
#[test]
fn a_blind_stream_is_told_of_whatever_the_effect_does() {
    let told = |kinds: Option<DeltaKinds>, wants| {
        let log = Log::new();
        let heard = log.clone();
        let form = kinds.and_then(|kinds| Counted::default().form(kinds));
        let runtime = EffectRuntime::builder()
            .allow_all_calls()
            .on_warn(move |warning| heard.say(warning))
            .output_middleware(inspect_with(form))
            .effect(Scripted::new([Act::answer("x"), Act::Unstated]))
            .build()
            .unwrap();
        let call = runtime.invoke_transient(plan(&runtime), ask("x"));
        run(call.on_delta_sink(Recorder::new().wanting(wants)).into_future()).unwrap();
        log.lines()
    };
    let blind = told(None, DeltaKinds::TEXT);
    assert!(blind.len() == 1 && blind[0].starts_with("streaming disabled"), "{blind:?}");
    let withheld = told(Some(DeltaKinds::TEXT), DeltaKinds::ALL);
    assert!(withheld.len() == 1 && withheld[0].starts_with("some kinds of delta withheld"), "{withheld:?}");
    assert!(told(Some(DeltaKinds::TEXT), DeltaKinds::TEXT).is_empty());
}

/// T11: a refusal by an around further in is final for those further out.
#[test]
fn an_inner_arounds_refusal_is_never_run_again() {
    let asked = Log::new();
    let said = asked.clone();
    let quota = around("quota", move |_, mut next| {
        said.say("asked");
        let first = said.lines().len() == 1;
        Box::pin(async move { if first { Err(Refusal::quota("inner").into()) } else { next.run().await } })
    });
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .around(stubborn(3))
        .around(quota)
        .effect(Scripted::new([Act::answer("x"), Act::Unstated]))
        .build()
        .unwrap();
    let error = run(runtime.invoke_transient(plan(&runtime), ask("x")).into_future()).unwrap_err();
    assert_eq!((error.name(), error.rule()), (ErrorName::QuotaExceeded, Some("inner")));
}

/// T1: on the transient seam there is no emitter, whatever the options say.
#[test]
fn a_transient_call_emits_nothing() {
    struct Emits(Log);
    impl Emitter for Emits {
        fn emit(&self, kind: &str, _payload: serde_json::Value) {
            self.0.say(kind);
        }
    }
    let log = Log::new();
    let emits = Act::with(|cx| cx.emit("charged", serde_json::json!(1)));
    let effect = Scripted::new([emits, Act::Unstated]);
    let runtime = EffectRuntime::builder().allow_all_calls().effect(effect).build().unwrap();
    let emitter = || Arc::new(Emits(log.clone()));
    let call = || runtime.invoke_transient(plan(&runtime), ask("x"));
    run(call().recorded_by(emitter(), ResourceTotals::default()).into_future()).unwrap();
    assert!(log.is_empty());
    let step = call().durable(DurableStep::new("plan", "e1:plan"));
    run(step.recorded_by(emitter(), ResourceTotals::default()).into_future()).unwrap();
    assert_eq!(log.lines(), ["charged"]);
}

/// T19: an engine's mark opens a flow to nobody whose identity is not an execution's.
#[test]
fn a_forged_step_is_refused_inside_a_flow() {
    let effect = Scripted::new([Act::answer("x"), Act::Unstated]);
    let runtime = EffectRuntime::builder().allow_all_calls().effect(effect.clone()).build().unwrap();
    let step = DurableStep::new("plan", "forged");
    let call = runtime.invoke_transient(plan(&runtime), ask("x")).durable(step).into_future();
    assert_eq!(run(InFlow::new(call)).unwrap_err().name(), ErrorName::EffectModeViolation);
    assert_eq!(effect.executions(), 0);
}

/// T6: asking as another principal needs the authorizer's word, and the caller's own identity stays visible.
#[test]
fn asking_as_another_principal_needs_the_authorizers_word() {
    let runtime = |authorizer: Arc<dyn Authorizer>| {
        EffectRuntime::builder().authorizer(authorizer).effect(Scripted::new([])).build().unwrap()
    };
    struct Lends;
    impl Authorizer for Lends {
        fn authorize(&self, _call: &Call, _input: &Input) -> Step {
            Step::Go
        }
        fn may_act_as(&self, call: &Call, caller: &Identity) -> Result<(), Refusal> {
            assert_eq!(call.caller_identity(), caller);
            match (caller.principal().id(), call.identity().principal().id()) {
                ("intern", "admin") => Err(Refusal::new(ErrorName::CapabilityInvokeDenied, "not yours")),
                _ => Ok(()),
            }
        }
    }
    let ask_as = |runtime: &EffectRuntime, caller: &str, principal: &str| {
        let caller = runtime.caller(Identity::new(Principal::new(caller)));
        let call = caller.invoke_transient(plan(runtime), ask("x")).principal(Principal::new(principal));
        run(call.into_future()).map(drop).map_err(|error| error.name())
    };
    let lends = runtime(Arc::new(Lends));
    assert_eq!(ask_as(&lends, "intern", "admin"), Err(ErrorName::CapabilityInvokeDenied));
    ask_as(&lends, "admin", "intern").unwrap();
    let silent = runtime(Arc::new(authorize(|_, _| Step::Go)));
    assert_eq!(ask_as(&silent, "admin", "intern"), Err(ErrorName::CapabilityInvokeDenied));
}
