//! The order of the path: who may not call learns nothing; hooks see what the effect gets; `after` in reverse.

use loom_effect_runtime::engine::EngineCall;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use loom_classify::{TaintOrigin, Tainted};
use loom_effect_runtime::*;
use serde_json::json;

use crate::support::{Act, Log, Recorder, Scripted, Told, ask, passing, plan, run};

fn denying() -> RuntimeBuilder<Ready> {
    EffectRuntime::builder().authorizer(authorize(|_, _| Step::Deny(Refusal::capability_denied("plan"))))
}

/// D2: bad input, taint, a wrong mode, and whatever a rewriter makes of it: the unauthorised learn none of it.
#[test]
fn who_may_not_call_a_tool_learns_nothing_of_it() {
    let effect = || Scripted::new([]).mode(EffectMode::Journaled);
    let tainted = serde_json::to_value(Tainted::new("x", TaintOrigin::llm("other"))).unwrap();
    for input in [json!("no ask"), json!({"prompt": tainted, "times": 1}), json!({"prompt": 1, "times": 1})] {
        let runtime = denying().effect(effect()).build().unwrap();
        let error = run(runtime.invoke_transient("plan", input).into_future()).unwrap_err();
        assert_eq!(error.name(), ErrorName::CapabilityDenied);
    }
    let runtime = denying()
        .input_middleware(rewrite("refuses", |_, _| Step::Deny(Refusal::safety("input"))))
        .effect(effect())
        .build()
        .unwrap();
    let error = run(runtime.invoke_transient("plan", ask("x")).into_future()).unwrap_err();
    assert_eq!(
        error.name(),
        ErrorName::CapabilityDenied,
        "a rewriter's refusal is told to the authorised only"
    );
    let runtime = denying()
        .input_middleware(rewrite("panics", |_, _| panic!("scripted")))
        .effect(effect())
        .build()
        .unwrap();
    let error = run(runtime.invoke_transient("plan", ask("x")).into_future()).unwrap_err();
    assert_eq!(
        error.name(),
        ErrorName::CapabilityDenied,
        "a rewriter's panic is told to the authorised only"
    );
}

/// D2: the authorizer sees the raw input where it does not fit, and the coerced one where it does.
#[test]
fn the_authorizer_sees_the_input_that_the_effect_would_get() {
    let seen = Log::new();
    let log = seen.clone();
    let runtime = EffectRuntime::builder()
        .authorizer(authorize(move |_, input| {
            log.say(format!("{} {}", input.get::<crate::support::Ask>().is_some(), input.json().unwrap()));
            Step::Go
        }))
        .effect(Scripted::new([]))
        .build()
        .unwrap();
    let misfit = run(runtime.invoke_transient("plan", json!({"prompt": 1})).into_future()).unwrap_err();
    assert_eq!(misfit.name(), ErrorName::InputInvalid);
    assert!(run(runtime.invoke_transient("plan", json!({"prompt": 1, "times": 2})).into_future()).is_ok());
    assert_eq!(seen.lines(), [r#"false {"prompt":1}"#, r#"true {"prompt":1,"times":2}"#]);
}

/// D2: rewriting stands before the authorizer; what it makes is what authorizer, hooks and effect get.
#[test]
fn rewriting_stands_before_the_authorizer() {
    let log = Log::new();
    let [a, b, c, d] = [(); 4].map(|()| log.clone());
    let runtime = EffectRuntime::builder()
        .authorizer(authorize(move |_, input| {
            a.say(format!("authorize {}", input.json().unwrap()["prompt"]));
            Step::Go
        }))
        .middleware(before("before", move |_, input| {
            b.say(format!("before {}", input.json().unwrap()["prompt"]));
            Step::Go
        }))
        .input_middleware(rewrite("one", move |_, input| {
            c.say("rewrite one");
            input.edit(|json| json["prompt"] = json!("mended")).unwrap();
            Step::Go
        }))
        .input_middleware(rewrite("two", move |_, input| {
            d.say(format!("rewrite two {}", input.json().unwrap()["prompt"]));
            Step::Go
        }))
        .effect(Scripted::new([]))
        .build()
        .unwrap();
    run(runtime.invoke_transient("plan", ask("raw")).into_future()).unwrap();
    assert_eq!(
        log.lines(),
        ["rewrite one", r#"rewrite two "mended""#, r#"authorize "mended""#, r#"before "mended""#]
    );
}

/// D2: an edit that breaks the input is answered at once, to the hook that broke it, and the old input stands.
#[test]
fn a_rewriter_that_breaks_the_input_gets_the_error() {
    let effect = Scripted::new([]);
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .input_middleware(rewrite("breaks", |_, input| {
            let broken = input.edit(|json| *json = json!(7));
            assert!(matches!(broken, Err(ViewError::DoesNotFit { .. })));
            assert_eq!(input.json().unwrap(), &json!({"prompt": "x", "times": 1}));
            Step::Go
        }))
        .effect(effect.clone())
        .build()
        .unwrap();
    run(runtime.invoke_transient(plan(&runtime), ask("x")).into_future()).unwrap();
    assert_eq!(effect.executions(), 1);
}

/// D2: `before` in order, `after` in reverse, and only for hooks that said Go.
#[test]
fn after_runs_in_reverse_for_every_hook_that_said_go() {
    let log = Log::new();
    let build = |last: Step, effect: Scripted| {
        let deny = std::sync::Mutex::new(Some(last));
        EffectRuntime::builder()
            .allow_all_calls()
            .middleware(Told("a", log.clone()))
            .middleware(Told("b", log.clone()))
            .middleware(before("c", move |_, _| deny.lock().unwrap().take().unwrap()))
            .middleware(Told("d", log.clone()))
            .effect(effect)
            .build()
            .unwrap()
    };
    let runtime = build(Step::Deny(Refusal::quota("no")), Scripted::new([]));
    run(runtime.invoke_transient("plan", ask("x")).into_future()).unwrap_err();
    let quota = "QuotaExceededError";
    assert_eq!(
        log.lines(),
        ["before a", "before b", &format!("after b {quota}"), &format!("after a {quota}")]
    );
    for (act, how) in [
        (Act::answer("x"), "ok"),
        (Act::Fail(ErrorName::Provider), "ProviderError"),
        (Act::Panic, "EffectPanickedError"),
    ] {
        let from = log.lines().len();
        let runtime = build(Step::Go, Scripted::new([act]));
        let _ = run(runtime.invoke_transient("plan", ask("x")).into_future());
        let mut expected = ["before a", "before b", "before d"].map(str::to_owned).to_vec();
        expected.extend(["d", "b", "a"].map(|name| format!("after {name} {how}")));
        assert_eq!(log.lines()[from..], expected);
    }
}

/// D2: on panic and on abort the effect's future is gone before any `after` hook runs.
#[test]
fn the_effect_is_dropped_before_after_runs() {
    for last in [Act::Panic, Act::Park] {
        let held = Arc::new(AtomicUsize::new(usize::MAX));
        let counting = Arc::clone(&held);
        let effect = Scripted::new([Act::Yield, last]);
        let probe = effect.clone();
        let runtime = EffectRuntime::builder()
            .allow_all_calls()
            .middleware(after("counts", move |_, _| counting.store(probe.dropped(), Ordering::SeqCst)))
            .effect(effect)
            .build()
            .unwrap();
        let signal = Signal::new();
        let call = runtime.invoke_transient("plan", ask("x")).signal(signal.clone()).into_future();
        let (result, ()) = run(async {
            tokio::join!(call, async {
                tokio::task::yield_now().await;
                tokio::task::yield_now().await;
                signal.abort_with(AbortError::new());
            })
        });
        result.unwrap_err();
        assert_eq!(held.load(Ordering::SeqCst), 1);
    }
}

/// T12: hooks see the running totals that a scope or a step passes, and none on a bare call.
#[test]
fn hooks_see_the_running_totals() {
    let log = Log::new();
    let seen = log.clone();
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .middleware(before("admission", move |call, _| {
            seen.say(format!("{:?}", call.totals().map(|totals| (totals.calls, totals.usage.output_tokens))));
            Step::Go
        }))
        .effect(Scripted::new([]))
        .build()
        .unwrap();
    let call = || runtime.invoke_transient("plan", ask("x"));
    let totals = ResourceTotals::new(7, Usage::new(3, 11));
    run(call().into_future()).unwrap();
    run(call().in_scope(CallKey::decide("d", 1), totals).into_future()).unwrap();
    let emitter: Arc<dyn Emitter> = Arc::new(Silent);
    let step = DurableStep::new("plan", "e1:plan");
    run(call().durable(step).recorded_by(emitter, totals).into_future()).unwrap();
    assert_eq!(log.lines(), ["None", "Some((7, Some(11)))", "Some((7, Some(11)))"]);
}

struct Silent;

impl Emitter for Silent {
    fn emit(&self, _kind: &str, _payload: serde_json::Value) {}
}

/// D2: `after` hears the facts of the outcome: attempts, usage, streamed; and `done` comes after it.
#[test]
fn after_hears_the_report_and_done_comes_after_it() {
    let log = Log::new();
    let hears = log.clone();
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .output_middleware(passing("passes"))
        .middleware(after("hears", move |_, outcome| {
            let report = outcome.report;
            let usage = report.usage.and_then(|usage| usage.output_tokens);
            hears.say(format!(
                "{} {} {} {} {usage:?}",
                outcome.is_ok(),
                report.attempts,
                report.streamed,
                report.checked
            ));
        }))
        .effect(Scripted::new([Act::text("hi"), Act::End(Some(Usage::new(1, 2)))]))
        .build()
        .unwrap();
    let sink = Recorder::into_log(&log, "");
    let (result, report) =
        run(runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink).reported());
    assert_eq!(result.unwrap().text, "hi");
    assert_eq!((report.attempts, report.streamed, report.checked), (1, true, true));
    assert_eq!(log.lines(), ["hi", "true 1 true true Some(2)", "<done 1/2>"]);
}
