//! T14: the memo key: tool, canonical input, and every option that decides who may see the result.

use loom_effect_runtime::engine::EngineCall;
use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use loom_effect_runtime::*;
use proptest::option::of;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{Log, Recorder, Scripted, ask, hooks::Budget, run};

/// A runtime that leaves each call's memo key in the list; effects `plan` and `other`.
fn keyed() -> (EffectRuntime, Arc<Mutex<Vec<MemoKey>>>) {
    let keys: Arc<Mutex<Vec<MemoKey>>> = Arc::default();
    let out = Arc::clone(&keys);
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .middleware(before("keys", move |call, input| {
            out.lock().unwrap().push(call.memo_key(input).unwrap());
            Step::Go
        }))
        .effect(Scripted::new([]))
        .effect(Scripted::new([]).id("other"))
        .build()
        .unwrap();
    (runtime, keys)
}

fn call<T: ToolRef<crate::support::Ask>>(
    runtime: &EffectRuntime,
    tool: T,
) -> CallBuilder<impl Launch<Out = T::Out> + use<T>> {
    runtime.invoke_transient(tool, ask("x"))
}

/// T14: signal, sink, meter, and what only the workflow passes are not in the key.
#[test]
fn signal_and_sink_are_not_in_the_key() {
    let (runtime, keys) = keyed();
    let totals = ResourceTotals::new(9, Usage::new(1, 1));
    let meter: Arc<dyn MeterForm> = Arc::new(Budget { bytes: 9, log: Log::new() });
    run(async {
        call(&runtime, "plan").await.unwrap();
        call(&runtime, "plan").on_delta_sink(Recorder::new()).await.unwrap();
        call(&runtime, "plan").on_delta(|_| ()).await.unwrap();
        call(&runtime, "plan").signal(Signal::new()).await.unwrap();
        call(&runtime, "plan").meter(meter).await.unwrap();
        call(&runtime, "plan").in_scope(CallKey::decide("d", 1), ResourceTotals::default()).await.unwrap();
        call(&runtime, "plan").in_scope(CallKey::decide("e", 2), totals).await.unwrap();
    });
    let keys = keys.lock().unwrap();
    for (at, key) in keys.iter().enumerate() {
        assert!(*key == keys[0], "call {at} has another key");
    }
}

/// T14: tool, input, label, principal, chain, delegation, actor and run-as are each in the key: all keys differ.
#[test]
fn whatever_decides_who_may_see_is_in_the_key() {
    let (runtime, keys) = keyed();
    let ada = || Principal::new("ada");
    let delegated =
        |issuer: &str, tools: &[&str]| ada().with_delegation(Delegation::new(issuer, tools.iter().copied()));
    let principals = [
        ada(),
        Principal::new("eve"),
        ada().on_behalf_of(["eve"]),
        ada().on_behalf_of(["eve", "bob"]),
        ada().on_behalf_of(["eve,bob"]),
        ada().on_behalf_of(["bob", "eve"]),
        ada().with_actor("eve"),
        ada().on_behalf_of(["eve"]).with_actor("eve"),
        delegated("eve", &["plan"]),
        delegated("bob", &["plan"]),
        delegated("eve", &["plan", "other"]),
        delegated("eve", &["planother", "plan"]),
        delegated("eve", &["plan"]).with_actor("eve"),
    ];
    let mut identities: Vec<Identity> = principals.iter().cloned().map(Identity::new).collect();
    for (flow, execution) in [("f", "e1"), ("f", "e2"), ("g", "e1"), ("fe", "1"), ("f", "")] {
        identities.push(Identity::execution(ada(), RunAs::new(flow, execution)));
    }
    run(async {
        for identity in &identities {
            let caller = runtime.caller(identity.clone());
            let _ = caller.invoke_transient("plan", ask("x")).await;
        }
        let caller = runtime.caller(Identity::new(Principal::new("base")));
        for principal in &principals {
            let _ = caller.invoke_transient("plan", ask("x")).principal(principal.clone()).await;
        }
        for label in ["a", "b", ""] {
            caller.invoke_transient("plan", ask("x")).label(label).await.unwrap();
        }
        for (flow, execution) in [("f", "e1"), ("f", "e2"), ("g", "e1")] {
            caller.invoke_transient("plan", ask("x")).run_as(RunAs::new(flow, execution)).await.unwrap();
        }
        caller.invoke_transient("other", ask("x")).await.unwrap();
        caller.invoke_transient("plan", ask("y")).await.unwrap();
        caller.invoke_transient("plan", ask(json!({"y": null}))).await.unwrap();
    });
    let keys = keys.lock().unwrap();
    let expected = identities.len() + principals.len() + 9;
    assert_eq!(keys.len(), expected, "every call came to the hook");
    assert_eq!(keys.iter().collect::<HashSet<_>>().len(), expected, "no two keys are equal");
}

/// T14: the input is canonical: the order of keys and the Rust type it came as do not matter, anything else does.
#[test]
fn the_input_is_canonical() {
    let (runtime, keys) = keyed();
    let prompts = [
        json!({"a": 1, "b": [1, 2]}),
        serde_json::from_str(r#"{"b": [1, 2], "a": 1}"#).unwrap(),
        json!({"a": 1, "b": [2, 1]}),
        json!({"a": 1, "b": ["1", 2]}),
        json!({"a": 1, "b": [[1], 2]}),
        json!({"a": 1, "b": [1, 2, null]}),
        json!({"a": true, "b": [1, 2]}),
        json!({"a": 1.5, "b": [1, 2]}),
    ];
    run(async {
        for prompt in prompts {
            runtime.invoke_transient("plan", ask(prompt)).await.unwrap();
        }
        let raw: Value = serde_json::from_str(r#"{"times": 1, "prompt": {"b": [1, 2], "a": 1}}"#).unwrap();
        runtime.invoke_transient("plan", raw).await.unwrap();
    });
    let keys = keys.lock().unwrap();
    assert!(keys[0] == keys[1] && keys[0] == keys[8]);
    assert_eq!(keys.iter().collect::<HashSet<_>>().len(), 7);
}

/// T14: the key's Debug form shows nothing of the input.
#[test]
fn a_key_does_not_print_the_input() {
    let (runtime, keys) = keyed();
    run(runtime.invoke_transient("plan", ask("hush")).into_future()).unwrap();
    assert_eq!(format!("{:?}", keys.lock().unwrap()[0]), "MemoKey(..)");
}

fn principal() -> impl Strategy<Value = Principal> {
    let name = || "[a-c|:{}0-9-]{0,3}";
    let delegation = proptest::option::of((name(), proptest::collection::vec(name(), 0..3)));
    (name(), proptest::collection::vec(name(), 0..3), delegation, proptest::option::of(name())).prop_map(
        |(id, chain, delegation, actor)| {
            let principal = Principal::new(id).on_behalf_of(chain);
            let principal = match delegation {
                Some((issuer, mut tools)) => {
                    tools.push("plan".to_owned());
                    principal.with_delegation(Delegation::new(issuer, tools))
                }
                None => principal,
            };
            match actor {
                Some(actor) => principal.with_actor(actor),
                None => principal,
            }
        },
    )
}

/// T14: names that read the same when they are run together are two identities all the same.
#[test]
fn a_name_cut_elsewhere_is_another_identity() {
    let (runtime, keys) = keyed();
    let cuts = [("ab", "c"), ("a", "bc"), ("abc", ""), ("", "abc"), ("1:a", "bc"), ("a1:b", "c")];
    run(async {
        for (id, link) in cuts {
            let principal = Principal::new(id).on_behalf_of([link]);
            runtime.caller(Identity::new(principal)).invoke_transient("plan", ask("x")).await.unwrap();
            let run_as = RunAs::new(id, link);
            let execution = Identity::execution(Principal::new("p"), run_as);
            runtime.caller(execution).invoke_transient("plan", ask("x")).await.unwrap();
        }
    });
    let keys = keys.lock().unwrap();
    assert_eq!(keys.iter().collect::<HashSet<_>>().len(), 2 * cuts.len());
}

proptest! {
    /// T14: two identities never get one key, however their names are cut.
    #[test]
    fn two_identities_never_get_one_key(
        a in principal(),
        b in principal(),
        run_as in proptest::option::of(("[a-c:|]{0,2}", "[a-c:|]{0,2}")),
        label in proptest::option::of("[a-c:|]{0,2}"),
    ) {
        let (runtime, keys) = keyed();
        let identity = |principal: &Principal| match &run_as {
            Some((flow, execution)) => {
                Identity::execution(principal.clone(), RunAs::new(flow.as_str(), execution.as_str()))
            }
            None => Identity::new(principal.clone()),
        };
        run(async {
            for principal in [&a, &b] {
                let call = runtime.caller(identity(principal)).invoke_transient("plan", ask("x"));
                let call = match &label {
                    Some(label) => call.label(label.as_str()),
                    None => call,
                };
                call.await.unwrap();
            }
        });
        let keys = keys.lock().unwrap();
        prop_assert_eq!(keys[0] == keys[1], a == b);
    }
}

/// T14: an input that JSON cannot write has no key, so that nothing is served for another.
#[test]
fn a_number_without_a_json_form_has_no_key() {
    struct Takes;
    impl Effect for Takes {
        type Input = f64;
        type Output = String;
        fn id(&self) -> &str {
            "takes"
        }
        async fn execute(&self, input: &f64, _cx: &EffectContext<'_>) -> Result<String, CallError> {
            Ok(input.to_string())
        }
    }
    let keys = Log::new();
    let said = keys.clone();
    let asks = before("asks", move |call, input| {
        said.say(call.memo_key(input).is_ok());
        Step::Go
    });
    let runtime = EffectRuntime::builder().allow_all_calls().middleware(asks).effect(Takes).build().unwrap();
    let takes = runtime.tool::<f64, String>("takes").unwrap();
    for number in [1.5, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        run(runtime.invoke_transient(takes, number).into_future()).unwrap();
    }
    assert_eq!(keys.lines(), ["true", "false", "false", "false"]);
}

/// Who asks, with which options, for what.
#[derive(Clone, Debug, PartialEq)]
struct Asked {
    principal: Principal,
    run_as: Option<(String, String)>,
    label: Option<String>,
    /// The principal and execution that the call asks for beside its caller's own.
    acts_as: (Option<Principal>, Option<String>),
    prompt: Value,
}

fn asked() -> impl Strategy<Value = Asked> {
    let who = || {
        prop_oneof![
            3 => prop_oneof![Just("ada"), Just("eve")].prop_map(Principal::new),
            1 => principal(),
        ]
    };
    let name = || "[ab|:-]{0,2}";
    let prompt = prop_oneof![
        Just(json!(1)),
        Just(json!(1.0)),
        Just(json!("1")),
        Just(json!([1])),
        Just(json!({"b": 1, "a": [null, "-"]})),
        Just(json!({"b": 1, "a": [null, ""]})),
        name().prop_map(Value::from),
    ];
    (who(), of((name(), name())), of(name()), (of(who()), of(name())), prompt).prop_map(
        |(principal, run_as, label, acts_as, prompt)| Asked { principal, run_as, label, acts_as, prompt },
    )
}

proptest! {
    /// T14: two calls get one key where input, identity and options are equal, and nowhere else; and it is the same by
    /// handle and as JSON.
    #[test]
    fn calls_get_one_key_only_where_all_is_equal(first in asked(), second in asked()) {
        let (runtime, keys) = keyed();
        run(async {
            for asked in [&first, &second, &first] {
                let identity = match &asked.run_as {
                    Some((flow, execution)) => {
                        let run_as = RunAs::new(flow.as_str(), execution.as_str());
                        Identity::execution(asked.principal.clone(), run_as)
                    }
                    None => Identity::new(asked.principal.clone()),
                };
                let mut call = runtime.caller(identity).invoke_transient("plan", ask(asked.prompt.clone()));
                if let Some(label) = &asked.label {
                    call = call.label(label.as_str());
                }
                if let Some(principal) = &asked.acts_as.0 {
                    call = call.principal(principal.clone());
                }
                if let Some(execution) = &asked.acts_as.1 {
                    call = call.run_as(RunAs::new("flow", execution.as_str()));
                }
                // A delegation that does not cover the tool refuses the call before the hook.
                let _ = call.await;
            }
        });
        let keys = keys.lock().unwrap();
        prop_assume!(keys.len() == 3);
        prop_assert!(keys[0] == keys[2]);
        prop_assert_eq!(keys[0] == keys[1], first == second);
    }
}

/// T14: who may act as another is the authorizer's to say for each, so nothing is shared between them.
#[test]
fn callers_that_act_as_the_same_principal_get_keys_of_their_own() {
    let (runtime, keys) = keyed();
    run(async {
        for caller in ["ada", "eve", "ada"] {
            let caller = runtime.caller(Identity::new(Principal::new(caller)));
            caller.invoke_transient("plan", ask(json!(1))).principal(Principal::new("ada")).await.unwrap();
        }
    });
    let keys = keys.lock().unwrap();
    assert!(keys[0] != keys[1]);
    assert!(keys[0] == keys[2]);
}

/// T14: a key is of one runtime, as a kept output is.
#[test]
fn two_runtimes_never_get_one_key() {
    let (first, keys_first) = keyed();
    let (second, keys_second) = keyed();
    run(async {
        call(&first, "plan").await.unwrap();
        call(&second, "plan").await.unwrap();
    });
    assert!(keys_first.lock().unwrap()[0] != keys_second.lock().unwrap()[0]);
}

/// T14: an input gets the same key before and after it is made a value of the effect's type.
#[test]
fn json_and_typed_forms_of_an_input_get_one_key() {
    let keys: Arc<Mutex<Vec<MemoKey>>> = Arc::default();
    let (raw, typed) = (Arc::clone(&keys), Arc::clone(&keys));
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .input_middleware(rewrite("raw", move |call, input| {
            raw.lock().unwrap().push(call.memo_key(input).unwrap());
            Step::Go
        }))
        .middleware(before("typed", move |call, input| {
            assert!(input.get::<crate::support::Ask>().is_some());
            typed.lock().unwrap().push(call.memo_key(input).unwrap());
            Step::Go
        }))
        .effect(Scripted::new([]))
        .build()
        .unwrap();
    let given: Value = serde_json::from_str(r#"{"times": 7, "prompt": {"b": [1.5, -2], "a": "x"}}"#).unwrap();
    run(runtime.invoke_transient("plan", given).into_future()).unwrap();
    let keys = keys.lock().unwrap();
    assert!(keys.len() == 2 && keys[0] == keys[1]);
}
