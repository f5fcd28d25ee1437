//! Durable steps: keys, records, denials, totals, live text, and what a flow may not do.

#[cfg(test)]
mod stage;

use std::sync::{Arc, Mutex};

use futures::future::join_all;
use loom_effect_runtime::{
    CallError, EffectDelta, EffectMode, EffectRuntime, ErrorName, Principal, Refusal, ResourceTotals, Step,
    Usage, authorize, before,
};
use loom_workflow::memory::MemoryStore;
use loom_workflow::record::Event;
use loom_workflow::{Ctx, HISTORY_EVENTS_MAX, flow};
use serde_json::{Value, json};
use stage::*;

/// T1: the durable path's idempotency key is execution id and step path; the n-th use of an id has its own.
#[tokio::test]
async fn a_steps_idempotency_key_is_its_execution_and_path() {
    let store = MemoryStore::new();
    let key = Act::new("key", |_, cx| {
        let key = cx.idempotency_key().map(str::to_owned);
        let step = cx.call().step_id().to_owned();
        Box::pin(async move { Ok(json!([step, key])) })
    });
    let twice = flow("twice", "1", |ctx: Ctx, _: Value| async move {
        Ok::<_, CallError>(json!([
            ctx.run("hydrate#1", "key", json!(0)).await?,
            ctx.run("hydrate#1", "key", json!(0)).await?,
            ctx.run("hydrate#1#repair", "key", json!(0)).await?,
        ]))
    });
    let workflow = workflow(&store, runtime([key]), [twice]);
    let handle = workflow.start::<Value>("twice", &json!(0), as_id("a")).await.unwrap();
    let expected = json!([
        ["hydrate#1", "a:hydrate#1"],
        ["hydrate#1", "a:hydrate#1~2"],
        ["hydrate#1#repair", "a:hydrate#1#repair"]
    ]);
    assert_eq!(handle.wait_for_completion().await.unwrap(), expected);
}

/// T7: a transient effect is refused in `run`, a journaled one in a decide scope, an undeclared one runs on both.
#[tokio::test]
async fn a_mode_is_held_on_both_seams() {
    let store = MemoryStore::new();
    let acts = [
        Act::echo("journaled").mode(EffectMode::Journaled),
        Act::echo("transient").mode(EffectMode::Transient),
        Act::echo("either"),
    ];
    let both = flow("both", "1", |ctx: Ctx, tool: String| async move {
        let name = |result: Result<Value, CallError>| {
            result.map_or_else(|error| error.name().to_string(), |_| "ran".to_owned())
        };
        let durable = name(ctx.run("step", tool.as_str(), json!(1)).await);
        let scoped = ctx
            .decide("d", async |scope| Ok(name(scope.invoke_transient(tool.as_str(), json!(1)).await)))
            .await?;
        Ok::<_, CallError>((durable, scoped))
    });
    let workflow = workflow(&store, runtime(acts), [both]);
    let refused = "EffectModeViolationError";
    for (tool, durable, scoped) in
        [("journaled", "ran", refused), ("transient", refused, "ran"), ("either", "ran", "ran")]
    {
        let handle = workflow.start::<(String, String)>("both", &tool, as_id(tool)).await.unwrap();
        let outcome = handle.wait_for_completion().await.unwrap();
        assert_eq!(outcome, (durable.to_owned(), scoped.to_owned()), "{tool}");
    }
    // Only the journaled effect's start is recorded, before it runs.
    let expected = [
        "EXECUTION_STARTED",
        "STEP_STARTED step",
        "STEP_COMPLETED step",
        "DECISION_RECORDED d",
        "EXECUTION_COMPLETED",
    ];
    assert_eq!(kinds(&store, "journaled").await, expected);
    assert_eq!(kinds(&store, "either").await[1], "STEP_COMPLETED step");
}

/// T5: domain events of flow and effect join the next append, in order, and are not repeated by replay.
#[tokio::test]
async fn domain_events_join_the_next_append() {
    let store = MemoryStore::new();
    let act = Act::new("act", |_, cx| {
        cx.emit("PACKED", json!({"by": "effect"}));
        Box::pin(async { Ok(json!(1)) })
    });
    let run = flow("run", "1", |ctx: Ctx, _: Value| async move {
        ctx.emit("BEGUN", json!(1))?;
        ctx.run("pack", "act", json!(1)).await?;
        ctx.emit("ENDED", json!(2))?;
        assert!(ctx.emit("", json!(1)).is_err());
        Ok::<_, CallError>(json!("ok"))
    });
    let workflow = workflow(&store, runtime([act]), [run]);
    let handle = workflow.start::<Value>("run", &json!(0), as_id("a")).await.unwrap();
    handle.wait_for_completion().await.unwrap();
    let expected = [
        "EXECUTION_STARTED",
        "DOMAIN_EVENT",
        "DOMAIN_EVENT pack",
        "STEP_COMPLETED pack",
        "DOMAIN_EVENT",
        "EXECUTION_COMPLETED",
    ];
    assert_eq!(kinds(&store, "a").await, expected);
    workflow.replay(&id("a")).await.unwrap();
    assert_eq!(kinds(&store, "a").await, expected);
}

#[cfg(test)]
fn guarded(acts: [Act; 1]) -> EffectRuntime {
    let deny = authorize(|call, _| {
        if call.tool() == "vault" {
            let chain = call.identity().principal().chain();
            Step::Deny(Refusal::capability_denied("tool:vault").chain(chain))
        } else {
            Step::Go
        }
    });
    acts.into_iter()
        .fold(EffectRuntime::builder().authorizer(deny).clock(TestClock), |builder, act| builder.effect(act))
        .build()
        .unwrap()
}

/// T13: a denial of a durable step is EFFECT_DENIED with tool, missing grant and chain and no input; it is served
/// on replay with all of it.
#[tokio::test]
async fn the_denial_of_a_step_is_an_event() {
    let store = MemoryStore::new();
    let act = Act::echo("vault");
    let caught = flow("caught", "1", |ctx: Ctx, input: Value| async move {
        let error = ctx.run("open", "vault", input).await.unwrap_err();
        let refusal = error.refusal().unwrap().clone();
        Ok::<_, CallError>(json!([refusal.rule(), refusal.grant(), refusal.walked()]))
    });
    let workflow = workflow(&store, guarded([act.clone()]), [caught]);
    let options = as_id("a").principal(Principal::new("planner").on_behalf_of(["ada"]));
    let handle = workflow.start::<Value>("caught", &json!("the-code"), options).await.unwrap();
    assert_eq!(
        handle.wait_for_completion().await.unwrap(),
        json!(["grant", "tool:vault", ["planner", "ada"]])
    );
    let journal = journal(&store, "a").await;
    let expected = ["EXECUTION_STARTED", "EFFECT_DENIED open", "STEP_FAILED open", "EXECUTION_COMPLETED"];
    assert_eq!(kinds(&store, "a").await, expected);
    let Event::EffectDenied(denied) = &journal[1].event else { panic!("no denial") };
    assert_eq!((denied.name.as_str(), denied.tool.as_str()), ("CapabilityDeniedError", "vault"));
    assert_eq!(denied.missing_grant.as_deref(), Some("tool:vault"));
    assert_eq!(denied.chain, ["planner", "ada"]);
    assert!(!format!("{:?}", &journal[1..]).contains("the-code"));
    assert_eq!(workflow.replay(&id("a")).await.unwrap().served_steps, 1);
    assert_eq!(act.runs(), 0);
}

/// T12: a durable call's usage is folded into the totals that admission sees, also after a resume; a scope call's is
/// not, and admission applies to it.
#[tokio::test]
async fn durable_usage_is_folded_into_the_totals_that_admission_sees() {
    let store = MemoryStore::new();
    let seen: Arc<Mutex<Vec<(String, ResourceTotals)>>> = Arc::default();
    let (view, hold) = (Arc::clone(&seen), Arc::new(tokio::sync::Semaphore::new(0)));
    let admission = before("admission", move |call, _| {
        let totals = *call.totals().unwrap();
        view.lock().unwrap().push((call.step_id().to_owned(), totals));
        match totals.usage.output_tokens {
            Some(10..) => Step::Deny(Refusal::quota("budget")),
            _ => Step::Go,
        }
    });
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .middleware(admission)
        .effect(Act::costs("pay", Usage::new(1, 5)))
        .effect(Act::gated("hold", Arc::clone(&hold)))
        .build()
        .unwrap();
    let spend = || {
        flow("spend", "1", |ctx: Ctx, _: Value| async move {
            ctx.run("one", "pay", json!(1)).await?;
            ctx.decide("d", async |scope| scope.invoke_transient("pay", json!(1)).await).await?;
            ctx.run("hold", "hold", json!(1)).await?;
            ctx.run("two", "pay", json!(1)).await?;
            let scoped = async |scope: loom_workflow::DecideScope| {
                Ok(scope.invoke_transient("pay", json!(1)).await.unwrap_err().name().to_string())
            };
            ctx.decide("broke", scoped).await
        })
    };
    let first = workflow(&store, runtime.clone(), [spend()]);
    first.start::<String>("spend", &json!(0), as_id("a")).await.unwrap();
    settle().await;
    drop(first);
    hold.add_permits(1);
    let second = workflow(&store, runtime, [spend()]);
    let handle = second.start::<String>("spend", &json!(0), as_id("a")).await.unwrap();
    assert_eq!(handle.wait_for_completion().await.unwrap(), "QuotaExceededError");
    let totals = |calls, input, output| ResourceTotals::new(calls, Usage::new(input, output));
    let none = ResourceTotals::default();
    let expected = [
        ("one", none),
        ("pay", totals(1, 1, 5)),
        ("hold", totals(1, 1, 5)),
        ("hold", totals(1, 1, 5)),
        ("two", totals(2, 1, 5)),
        ("pay", totals(3, 2, 10)),
    ];
    let expected: Vec<_> = expected.map(|(step, totals)| (step.to_owned(), totals)).into();
    assert_eq!(*seen.lock().unwrap(), expected);
}

/// D12: the configured sink gets a durable step's text, guarded, under the step's name, with the per-call sink first;
/// it never gets done. On replay neither is called (D5).
#[tokio::test]
async fn both_sinks_follow_a_durable_step() {
    let (store, notes) = (MemoryStore::new(), Notes::default());
    let own = notes.clone();
    let say = flow("say", "1", move |ctx: Ctx, _: Value| {
        let own = own.clone();
        async move {
            ctx.run("speak", "llm", json!(1))
                .on_delta(move |delta| match delta {
                    EffectDelta::Text { text, .. } => own.note(format!("own: {}", text.unwrap_tainted())),
                    _ => own.note("own: done"),
                })
                .await
        }
    });
    let act = Act::says("llm", &["hel", "lo"]).sink(notes.clone());
    let workflow = workflow(&store, runtime([act]), [say]);
    let handle = workflow.start::<Value>("say", &json!(0), as_id("a")).await.unwrap();
    assert_eq!(handle.wait_for_completion().await.unwrap(), json!("hello"));
    let expected = ["own: hel", "a/speak: hel", "own: lo", "a/speak: lo", "own: done"];
    assert_eq!(notes.all(), expected);
    workflow.replay(&id("a")).await.unwrap();
    assert_eq!(notes.all(), expected);
}

/// D12: one configured sink shared by 64 interleaved executions folds per call.
#[tokio::test]
async fn one_sink_tells_interleaved_executions_apart() {
    let (store, notes) = (MemoryStore::new(), Notes::default());
    let act = Act::new("llm", |input, cx| {
        Box::pin(async move {
            for piece in 0..8 {
                cx.deltas().text(&format!("{input}.{piece} "))?;
                tokio::task::yield_now().await;
            }
            Ok(input.clone())
        })
    });
    let say = flow("say", "1", |ctx: Ctx, n: u32| async move { ctx.run("s", "llm", json!(n)).await });
    let workflow = workflow(&store, runtime([act.sink(notes.clone())]), [say]);
    let run = |n: u32| {
        let workflow = workflow.clone();
        async move {
            let handle = workflow.start::<Value>("say", &n, as_id(&format!("e{n}"))).await.unwrap();
            handle.wait_for_completion().await.unwrap();
        }
    };
    join_all((0..64).map(run)).await;
    let lines = notes.all();
    let fold = |n: u32| -> String {
        let mine = format!("e{n}/s: ");
        lines.iter().filter_map(|line| line.strip_prefix(&mine)).collect()
    };
    let whole = |n: u32| (0..8).map(|piece| format!("{n}.{piece} ")).collect::<String>();
    assert!((0..64).all(|n| fold(n) == whole(n)));
    let switches = lines.windows(2).filter(|pair| pair[0].split('/').next() != pair[1].split('/').next());
    assert!(switches.count() > 64, "the calls did not interleave");
}

/// T19: a bare transient call reached from a flow or a decider is refused, naming `run`; outside it works.
#[tokio::test]
async fn a_bare_call_inside_a_flow_is_refused() {
    let (store, act) = (MemoryStore::new(), Act::echo("act"));
    let runtime = runtime([act.clone()]);
    let bare = runtime.clone();
    let run = flow("run", "1", move |ctx: Ctx, _: Value| {
        let (bare, inner) = (bare.clone(), bare.clone());
        async move {
            let error = bare.invoke_transient("act", json!(1)).await.unwrap_err();
            assert!(error.to_string().contains("`run`"));
            let decided = ctx
                .decide("d", async move |_| {
                    Ok(inner.invoke_transient("act", json!(1)).await.unwrap_err().name().to_string())
                })
                .await?;
            Ok::<_, CallError>((error.name().to_string(), decided))
        }
    });
    let workflow = workflow(&store, runtime.clone(), [run]);
    let handle = workflow.start::<(String, String)>("run", &json!(0), as_id("a")).await.unwrap();
    let name = ErrorName::EffectModeViolation.to_string();
    assert_eq!(handle.wait_for_completion().await.unwrap(), (name.clone(), name));
    assert_eq!(act.runs(), 0);
    assert!(runtime.invoke_transient("act", json!(1)).await.is_ok());
}

/// T11: an output, a payload or an event that no journal keeps fails its step by name; the execution is not stuck.
#[tokio::test]
async fn what_no_journal_keeps_fails_its_step_by_name() {
    let store = MemoryStore::new();
    let huge = Act::new("huge", |_, _| Box::pin(async { Ok(json!("x".repeat(17 << 20))) }));
    let chatty = Act::new("chatty", |_, cx| {
        (0..600).for_each(|n| cx.emit("E", json!(n)));
        Box::pin(async { Ok(json!(1)) })
    });
    let run = flow("run", "1", |ctx: Ctx, _: Value| async move {
        let mut rules = Vec::new();
        for tool in ["huge", "chatty"] {
            let error = ctx.run("s", tool, json!(1)).await.unwrap_err();
            rules.push(error.rule().unwrap_or_default().to_owned());
        }
        let big = ctx.decide("d", async |_| Ok("x".repeat(17 << 20))).await.unwrap_err();
        rules.push(big.rule().unwrap_or_default().to_owned());
        assert_eq!(ctx.run("a/b", "chatty", json!(1)).await.unwrap_err().name(), ErrorName::InputInvalid);
        let unknown = ctx.run("u", "nobody", json!(1)).await.unwrap_err();
        assert_eq!(unknown.name(), ErrorName::ToolNotFound);
        Ok::<_, CallError>(rules)
    });
    let workflow = workflow(&store, runtime([huge, chatty]), [run]);
    let handle = workflow.start::<Vec<String>>("run", &json!(0), as_id("a")).await.unwrap();
    let expected = ["journal.payload", "journal.emitted", "journal.payload"];
    assert_eq!(handle.wait_for_completion().await.unwrap(), expected);
    assert_eq!(workflow.replay(&id("a")).await.unwrap().served_steps, 3);
}

/// T11: a history at its bound fails the execution by name, with room for its end.
#[tokio::test]
async fn a_history_at_its_bound_fails_by_name() {
    let store = MemoryStore::new();
    let endless = flow("endless", "1", |ctx: Ctx, _: Value| async move {
        loop {
            for n in 0..400 {
                let _ = ctx.emit("TICK", json!(n));
            }
            // Errors are swallowed on purpose: the bound holds for a flow that does not look.
            let _ = ctx.run("s", "act", json!(1)).await;
        }
        #[expect(unreachable_code, reason = "names the flow's output")]
        Ok::<Value, CallError>(Value::Null)
    });
    let workflow = workflow(&store, runtime([Act::echo("act")]), [endless]);
    let handle = workflow.start::<Value>("endless", &json!(0), as_id("a")).await.unwrap();
    let error = handle.wait_for_completion().await.unwrap_err();
    assert_eq!((error.name(), error.call().unwrap().rule()), (ErrorName::QuotaExceeded, Some("history")));
    let head = loom_workflow::store::EventStore::head(&store, &id("a")).await.unwrap().unwrap();
    assert!(head.last_seq <= HISTORY_EVENTS_MAX && head.last_seq > HISTORY_EVENTS_MAX - 500);
    assert_eq!(workflow.replay(&id("a")).await.unwrap().effect_calls, 0);
}
