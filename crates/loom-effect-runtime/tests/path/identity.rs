//! T1, T6, T7: what a call runs as, what it leaves behind, and on which seam it may run.

use loom_effect_runtime::engine::EngineCall;
use std::sync::{Arc, Mutex};

use loom_effect_runtime::*;

use crate::support::{Act, Log, Scripted, ask, plan, run};

/// A runtime whose authorizer and middleware say whom they see.
fn seen(effect: Scripted) -> (EffectRuntime, Log) {
    let log = Log::new();
    let (first, second) = (log.clone(), log.clone());
    let facts = |call: &Call| {
        let principal = call.identity().principal();
        format!(
            "{:?} {} {} [{}] {:?} {:?} {:?}",
            call.workflow_id(),
            call.execution_id(),
            call.step_id(),
            principal.chain().collect::<Vec<_>>().join(" "),
            principal.delegation().map(Delegation::issuer),
            principal.actor(),
            call.call_key().map(ToString::to_string),
        )
    };
    let runtime = EffectRuntime::builder()
        .authorizer(authorize(move |call, _| {
            first.say(facts(call));
            Step::Go
        }))
        .middleware(before("sees", move |call, _| {
            second.say(facts(call));
            Step::Go
        }))
        .effect(effect)
        .build()
        .unwrap();
    (runtime, log)
}

fn deciding() -> Identity {
    let principal = Principal::new("planner")
        .on_behalf_of(["ada", "acme"])
        .with_delegation(Delegation::new("ada", ["plan"]))
        .with_actor("ada@acme");
    Identity::execution(principal, RunAs::new("flow", "e1"))
}

/// T6: a scope call runs as the deciding execution, and a decider can override neither principal nor run-as.
#[test]
fn a_scope_call_runs_as_the_deciding_execution() {
    let (runtime, log) = seen(Scripted::new([]));
    let caller = runtime.caller(deciding());
    let call = caller.invoke_transient(plan(&runtime), ask("x"));
    let call = call.run_as(RunAs::new("early", "early")).principal(Principal::new("early"));
    let call = call.in_scope(CallKey::decide("next", 4), ResourceTotals::default());
    let call = call.run_as(RunAs::new("evil", "evil")).principal(Principal::new("evil")).label("evil");
    run(call.into_future()).unwrap();
    let facts =
        r#"Some("flow") e1 plan [planner ada acme] Some("ada") Some("ada@acme") Some("decide:next:4")"#;
    assert_eq!(log.lines(), [facts, facts]);
}

/// T6: a durable step runs as its execution too, under its own step id.
#[test]
fn a_step_runs_as_its_execution() {
    let (runtime, log) = seen(Scripted::new([]));
    let caller = runtime.caller(deciding());
    let call = caller
        .invoke_transient(plan(&runtime), ask("x"))
        .durable(DurableStep::new("hydrate#2", "e1:hydrate#2"));
    run(call.run_as(RunAs::new("evil", "evil")).principal(Principal::new("evil")).into_future()).unwrap();
    let facts = r#"Some("flow") e1 hydrate#2 [planner ada acme] Some("ada") Some("ada@acme") None"#;
    assert_eq!(log.lines(), [facts, facts]);
}

/// T6: a bare transient call is `transient:<label>`, by default the tool id, and asks as its caller.
#[test]
fn a_bare_call_is_transient_and_labelled() {
    let (runtime, log) = seen(Scripted::new([]));
    let call = || runtime.invoke_transient(plan(&runtime), ask("x"));
    run(call().into_future()).unwrap();
    let ada = runtime.caller(Identity::new(Principal::new("ada")));
    run(ada.invoke_transient(plan(&runtime), ask("x")).label("mine").into_future()).unwrap();
    let bare = "None transient:plan plan [anonymous] None None None";
    let mine = "None transient:mine plan [ada] None None None";
    assert_eq!(log.lines(), [bare, bare, mine, mine]);
}

/// T6: nobody acts as another execution unless the authorizer says so; allowing every call says so.
#[test]
fn acting_as_another_execution_needs_the_authorizers_word() {
    struct Allows;
    impl Authorizer for Allows {
        fn authorize(&self, call: &Call, _: &Input) -> Step {
            assert!(call.acts_as_another());
            Step::Go
        }
        fn may_act_as(&self, call: &Call, _: &Identity) -> Result<(), Refusal> {
            if call.execution_id() == "e1" {
                Ok(())
            } else {
                Err(Refusal::new(ErrorName::CapabilityInvokeDenied, "not yours"))
            }
        }
    }
    let answer = |builder: RuntimeBuilder<Ready>, execution: &str| {
        let runtime = builder.effect(Scripted::new([])).build().unwrap();
        let call = runtime.invoke_transient(plan(&runtime), ask("x")).run_as(RunAs::new("flow", execution));
        run(call.into_future()).map(drop).map_err(|error| error.name())
    };
    let builder = EffectRuntime::builder;
    answer(builder().authorizer(Allows), "e1").unwrap();
    assert_eq!(answer(builder().authorizer(Allows), "e2"), Err(ErrorName::CapabilityInvokeDenied));
    let closure = authorize(|_, _| Step::Go);
    assert_eq!(answer(builder().authorizer(closure), "e1"), Err(ErrorName::CapabilityInvokeDenied));
    answer(builder().allow_all_calls(), "e1").unwrap();
}

/// T6: a delegation lets its holder call the covered tools and no other; the denial names grant and chain.
#[test]
fn a_delegation_covers_its_tools_alone() {
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .effect(Scripted::new([]))
        .effect(Scripted::new([]).id("other"))
        .build()
        .unwrap();
    let caller = runtime.caller(deciding());
    run(caller.invoke_transient("plan", ask("x")).into_future()).unwrap();
    let error = run(caller.invoke_transient("other", ask("x")).into_future()).unwrap_err();
    let refusal = error.refusal().unwrap();
    assert_eq!(refusal.name(), ErrorName::CapabilityDenied);
    assert!(refusal.grant().is_some_and(|grant| grant.contains("other") && grant.contains("ada")));
    assert_eq!(refusal.walked(), ["planner", "ada", "acme"]);
}

/// T1: a transient call has no idempotency key and its events are dropped; a durable one has both.
#[test]
fn a_transient_call_leaves_nothing_behind() {
    struct Events(Log);
    impl Emitter for Events {
        fn emit(&self, kind: &str, payload: serde_json::Value) {
            self.0.say(format!("{kind} {payload}"));
        }
    }
    let (keys, events) = (Arc::new(Mutex::new(Vec::new())), Log::new());
    let out = Arc::clone(&keys);
    let effect = Scripted::new([Act::with(move |cx| {
        cx.emit("PLANNED", serde_json::json!({"n": 1}));
        out.lock().unwrap().push((cx.call().seam(), cx.idempotency_key().map(str::to_owned)));
    })]);
    let runtime = EffectRuntime::builder().allow_all_calls().effect(effect).build().unwrap();
    let caller = runtime.caller(deciding());
    let call = || caller.invoke_transient(plan(&runtime), ask("x"));
    let emitter: Arc<dyn Emitter> = Arc::new(Events(events.clone()));
    run(call().into_future()).unwrap();
    run(call().in_scope(CallKey::decide("d", 1), ResourceTotals::default()).into_future()).unwrap();
    assert!(events.is_empty());
    let step = DurableStep::new("plan", "e1:plan");
    run(call().durable(step).recorded_by(emitter, ResourceTotals::default()).into_future()).unwrap();
    assert_eq!(events.lines(), [r#"PLANNED {"n":1}"#]);
    let keys = keys.lock().unwrap();
    let key = Some("e1:plan".to_owned());
    assert_eq!(*keys, [(Seam::Transient, None), (Seam::Transient, None), (Seam::Durable, key)]);
}

/// T7: a journaled effect only in `run`, a transient one only transiently, an undeclared one on both seams.
#[test]
fn the_mode_decides_the_seam() {
    let table = [
        (None, true, true),
        (Some(EffectMode::Journaled), false, true),
        (Some(EffectMode::Transient), true, false),
    ];
    for (mode, transient, durable) in table {
        let effect = Scripted::new([]);
        let effect = if let Some(mode) = mode { effect.mode(mode) } else { effect };
        let runtime = EffectRuntime::builder().allow_all_calls().effect(effect.clone()).build().unwrap();
        assert_eq!(runtime.mode("plan"), mode);
        let caller = runtime.caller(deciding());
        let call = || caller.invoke_transient(plan(&runtime), ask("x"));
        let scope = call().in_scope(CallKey::decide("d", 1), ResourceTotals::default());
        let step =
            caller.invoke_transient(plan(&runtime), ask("x")).durable(DurableStep::new("plan", "e1:plan"));
        let outcomes = [run(call().into_future()), run(scope.into_future()), run(step.into_future())]
            .map(|outcome| outcome.map(drop).map_err(|error| error.name()));
        let expected = [transient, transient, durable]
            .map(|goes| if goes { Ok(()) } else { Err(ErrorName::EffectModeViolation) });
        assert_eq!(outcomes, expected, "{mode:?}");
        let runs = expected.iter().filter(|outcome| outcome.is_ok()).count();
        assert_eq!(effect.executions(), runs);
    }
}

/// T6: handles and ids resolve in their own runtime and types alone.
#[test]
fn a_handle_belongs_to_its_runtime_and_types() {
    let one = EffectRuntime::builder().allow_all_calls().effect(Scripted::new([])).build().unwrap();
    let two = EffectRuntime::builder().allow_all_calls().effect(Scripted::new([])).build().unwrap();
    let error = run(two.invoke_transient(plan(&one), ask("x")).into_future()).unwrap_err();
    assert_eq!(error.name(), ErrorName::ToolNotFound);
    assert_eq!(one.tool::<String, String>("plan").unwrap_err().name(), ErrorName::InputInvalid);
    assert_eq!(one.tool::<String, String>("plam").unwrap_err().name(), ErrorName::ToolNotFound);
    assert!(!one.tool::<String, String>("sk-secret").unwrap_err().to_string().contains("sk-secret"));
}

/// T6: ids are 1 to 128 bytes without `/` and `~`, each once.
#[test]
fn ids_are_bounded_and_unique() {
    let build = |ids: &[&'static str]| {
        let builder = EffectRuntime::builder().allow_all_calls();
        ids.iter().fold(builder, |builder, id| builder.effect(Scripted::new([]).id(id))).build()
    };
    let long: &'static str = Box::leak("x".repeat(129).into_boxed_str());
    for id in ["", "a/b", "a~2", long] {
        assert!(matches!(build(&[id]).unwrap_err(), BuildError::InvalidId { .. }), "{id}");
    }
    assert!(build(&[&long[..128]]).is_ok());
    assert!(matches!(build(&["a", "b", "a"]).unwrap_err(), BuildError::DuplicateId { .. }));
    assert!(matches!(build(&[]).unwrap_err(), BuildError::NoEffect));
}
