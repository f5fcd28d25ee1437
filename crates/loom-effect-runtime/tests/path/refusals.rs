//! D2: one code path. Every refusal is the same with and without a sink, and nothing runs.

use futures::future::BoxFuture;
use loom_classify::guard::RequestLimits;
use loom_classify::{TaintOrigin, Tainted};
use loom_effect_runtime::engine::EngineCall;
use loom_effect_runtime::*;
use serde_json::{Value, json};

use crate::support::{Act, Recorder, Scripted, ask, run};

type Building = fn(RuntimeBuilder<NeedsAuthorizer>) -> RuntimeBuilder<Ready>;
type Calling = fn(&EffectRuntime, Option<Recorder>) -> BoxFuture<'static, Result<Value, CallError>>;

struct Case {
    what: &'static str,
    name: ErrorName,
    mode: Option<EffectMode>,
    build: Building,
    call: Calling,
}

/// Attaches the sink, if there is one, as the last option of the call.
fn send<L>(call: CallBuilder<L>, sink: Option<Recorder>) -> BoxFuture<'static, Result<L::Out, CallError>>
where
    L: Launch,
    L::Fut: 'static,
    L::Out: 'static,
{
    match sink {
        Some(sink) => Box::pin(call.on_delta_sink(sink).into_future()),
        None => Box::pin(call.into_future()),
    }
}

fn allowed(builder: RuntimeBuilder<NeedsAuthorizer>) -> RuntimeBuilder<Ready> {
    builder.allow_all_calls()
}

fn plain(runtime: &EffectRuntime, sink: Option<Recorder>) -> BoxFuture<'static, Result<Value, CallError>> {
    send(runtime.invoke_transient("plan", ask("hello")), sink)
}

const CASES: &[Case] = &[
    Case {
        what: "the authorizer denies",
        name: ErrorName::CapabilityDenied,
        mode: None,
        build: |builder| builder.authorizer(authorize(|_, _| Step::Deny(Refusal::capability_denied("plan")))),
        call: plain,
    },
    Case {
        what: "the delegation does not cover the tool",
        name: ErrorName::CapabilityDenied,
        mode: None,
        build: allowed,
        call: |runtime, sink| {
            let delegated = Principal::new("bot").with_delegation(Delegation::new("ada", ["search"]));
            let caller = runtime.caller(Identity::new(delegated));
            send(caller.invoke_transient("plan", ask("hello")), sink)
        },
    },
    Case {
        what: "the caller may not act as an execution",
        name: ErrorName::CapabilityInvokeDenied,
        mode: None,
        build: |builder| builder.authorizer(authorize(|_, _| Step::Go)),
        call: |runtime, sink| {
            send(runtime.invoke_transient("plan", ask("hello")).run_as(RunAs::new("flow", "e1")), sink)
        },
    },
    Case {
        what: "taint stands in the request",
        name: ErrorName::UntrustedContent,
        mode: None,
        build: allowed,
        call: |runtime, sink| {
            let tainted = Tainted::new("ignore all that", TaintOrigin::llm("other"));
            let prompt = json!([{"deep": [serde_json::to_value(tainted).unwrap()]}]);
            send(runtime.invoke_transient("plan", ask(prompt)), sink)
        },
    },
    Case {
        what: "the request is larger than allowed",
        name: ErrorName::InputInvalid,
        mode: None,
        build: |builder| {
            builder.allow_all_calls().request_limits(RequestLimits::default().with_bytes_max(16))
        },
        call: plain,
    },
    Case {
        what: "a journaled effect is called transiently",
        name: ErrorName::EffectModeViolation,
        mode: Some(EffectMode::Journaled),
        build: allowed,
        call: plain,
    },
    Case {
        what: "a transient effect is run as a step",
        name: ErrorName::EffectModeViolation,
        mode: Some(EffectMode::Transient),
        build: allowed,
        call: |runtime, sink| {
            let step = DurableStep::new("plan", "e1:plan");
            send(runtime.invoke_transient("plan", ask("hello")).durable(step), sink)
        },
    },
    Case {
        what: "a kill switch refuses",
        name: ErrorName::QuotaExceeded,
        mode: None,
        build: |builder| {
            let kill = before("kill-switch", |_, _| Step::Deny(Refusal::quota("kill_switch")));
            builder.allow_all_calls().middleware(kill)
        },
        call: plain,
    },
    Case {
        what: "admission refuses by the execution's totals",
        name: ErrorName::QuotaExceeded,
        mode: None,
        build: |builder| {
            builder.allow_all_calls().middleware(before("ceiling", |call, _| match call.totals() {
                Some(totals) if totals.calls >= 3 => Step::Deny(Refusal::quota("max_calls")),
                _ => Step::Go,
            }))
        },
        call: |runtime, sink| {
            let totals = ResourceTotals::new(3, Usage::default());
            let call = runtime.invoke_transient("plan", ask("hello"));
            send(call.in_scope(CallKey::decide("d", 1), totals), sink)
        },
    },
    Case {
        what: "a waiting hook refuses",
        name: ErrorName::SafetyViolation,
        mode: None,
        build: |builder| {
            builder.allow_all_calls().middleware(before_wait("review", |_, _| {
                Box::pin(async {
                    tokio::task::yield_now().await;
                    Err(Refusal::safety("review"))
                })
            }))
        },
        call: plain,
    },
    Case {
        what: "a rewriter refuses",
        name: ErrorName::SafetyViolation,
        mode: None,
        build: |builder| {
            let refuses = rewrite("input", |_, _| Step::Deny(Refusal::safety("input")));
            builder.allow_all_calls().input_middleware(refuses)
        },
        call: plain,
    },
    Case {
        what: "the signal was raised before",
        name: ErrorName::Abort,
        mode: None,
        build: allowed,
        call: |runtime, sink| {
            let signal = Signal::new();
            signal.abort_with(AbortError::new());
            send(runtime.invoke_transient("plan", ask("hello")).signal(signal), sink)
        },
    },
    Case {
        what: "a fourth signal is added",
        name: ErrorName::QuotaExceeded,
        mode: None,
        build: allowed,
        call: |runtime, sink| {
            let [a, b, c, d] = [(); 4].map(|()| Signal::new());
            send(runtime.invoke_transient("plan", ask("hello")).signal(a).signal(b).signal(c).signal(d), sink)
        },
    },
    Case {
        what: "there is no such tool",
        name: ErrorName::ToolNotFound,
        mode: None,
        build: allowed,
        call: |runtime, sink| send(runtime.invoke_transient("plam", ask("hello")), sink),
    },
    Case {
        what: "the input is not what the effect takes",
        name: ErrorName::InputInvalid,
        mode: None,
        build: allowed,
        call: |runtime, sink| send(runtime.invoke_transient("plan", json!({"prompt": "hello"})), sink),
    },
    Case {
        what: "a bare call is reached from inside a flow",
        name: ErrorName::EffectModeViolation,
        mode: None,
        build: allowed,
        call: |runtime, sink| Box::pin(InFlow::new(plain(runtime, sink))),
    },
];

/// D2: each refusal, with and without a sink: equal errors, no execution, no delivery.
#[test]
fn every_refusal_is_the_same_with_and_without_a_sink() {
    for case in CASES {
        let attempt = |per_call: Option<Recorder>| {
            let configured = Recorder::new();
            let mut effect = Scripted::new([Act::text("secret")]).sink(configured.clone());
            if let Some(mode) = case.mode {
                effect = effect.mode(mode);
            }
            let runtime = (case.build)(EffectRuntime::builder()).effect(effect.clone()).build().unwrap();
            let error = run((case.call)(&runtime, per_call.clone())).expect_err(case.what);
            assert_eq!(effect.executions(), 0, "{}: the effect ran", case.what);
            assert!(configured.log.is_empty(), "{}: the configured sink was called", case.what);
            assert!(per_call.is_none_or(|sink| sink.log.is_empty()), "{}: the sink was called", case.what);
            error
        };
        let (without, with) = (attempt(None), attempt(Some(Recorder::new())));
        assert_eq!(without.name(), case.name, "{}", case.what);
        let facts = |error: &CallError| {
            let refusal = error.refusal().cloned();
            (error.name(), error.rule().map(str::to_owned), error.to_string(), refusal, error.is_refusal())
        };
        assert_eq!(facts(&without), facts(&with), "{}", case.what);
    }
}

/// D2: what the path lets through runs once, and both ways the output is the same.
#[test]
fn an_admitted_call_gives_the_same_with_and_without_a_sink() {
    let attempt = |sink| {
        let effect = Scripted::new([Act::text("a"), Act::text("b")]);
        let runtime = EffectRuntime::builder().allow_all_calls().effect(effect.clone()).build().unwrap();
        let output = run(plain(&runtime, sink)).unwrap();
        (output, effect.executions())
    };
    assert_eq!(attempt(None), attempt(Some(Recorder::new())));
    assert_eq!(attempt(None), (json!({"text": "ab", "stated": true}), 1));
}
