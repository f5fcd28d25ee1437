//! D12: one configured sink serves all calls, and every delivery names its call.

use loom_effect_runtime::engine::EngineCall;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use loom_effect_runtime::*;

use crate::support::{Act, Recorder, Scripted, SinkThat, ask, plan, run, stubborn};

const CALLS: usize = 64;

type Views = Arc<Mutex<BTreeMap<u64, String>>>;

/// A sink that folds per call number.
fn folding(views: &Views) -> impl DeltaSink + use<> {
    let views = Arc::clone(views);
    SinkThat(move |call: &CallRef<'_>, delta: &EffectDelta<'_>| {
        let mut views = views.lock().unwrap();
        let view = views.entry(call.number()).or_default();
        match delta {
            EffectDelta::Text { text, .. } => view.push_str(text.unwrap_tainted()),
            EffectDelta::Reset { .. } => view.clear(),
            other => panic!("a configured sink never gets {other:?}"),
        }
    })
}

/// D12: 64 interleaved calls on one configured sink fold per call, retries included, with and without a sink of their own.
#[test]
fn interleaved_calls_fold_per_call() {
    let views = Views::default();
    let words: Vec<String> = (0..CALLS).map(|n| format!("call-{n}.")).collect();
    let effect = Worded { sink: Arc::new(folding(&views)) };
    let warned = Arc::new(Mutex::new(0));
    let warnings = Arc::clone(&warned);
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .on_warn(move |_| *warnings.lock().unwrap() += 1)
        .around(stubborn(2))
        .effect(effect)
        .build()
        .unwrap();
    let outputs = run(async {
        let calls = words.iter().enumerate().map(|(n, word)| {
            let call = runtime.invoke_transient("worded", word.clone());
            let call = if n % 2 == 0 { call.on_delta_sink(Recorder::new()) } else { call };
            tokio::spawn(call.into_future())
        });
        futures::future::join_all(calls.collect::<Vec<_>>()).await
    });
    let outputs: Vec<_> = outputs.into_iter().map(|output| output.unwrap().unwrap()).collect();
    assert_eq!(outputs, words.iter().map(|word| serde_json::json!(word)).collect::<Vec<_>>());
    let mut folded: Vec<String> = views.lock().unwrap().values().cloned().collect();
    let mut expected = words.clone();
    folded.sort();
    expected.sort();
    assert_eq!(folded, expected);
    assert_eq!(*warned.lock().unwrap(), 0, "done never came to the configured sink");
}

/// Streams its input a character at a time, yielding between; the first attempt breaks off in the middle.
struct Worded {
    sink: Arc<dyn DeltaSink>,
}

impl Effect for Worded {
    type Input = String;
    type Output = String;

    fn id(&self) -> &str {
        "worded"
    }

    async fn execute(&self, word: &String, cx: &EffectContext<'_>) -> Result<String, CallError> {
        let deltas = cx.deltas();
        let mut buffer = [0; 4];
        for (at, c) in word.chars().enumerate() {
            if cx.attempt() == 1 && at == 3 {
                return Err(CallError::named(ErrorName::Provider, "broke off"));
            }
            deltas.text(c.encode_utf8(&mut buffer))?;
            tokio::task::yield_now().await;
        }
        Ok(word.clone())
    }

    fn delta_sink(&self) -> Option<Arc<dyn DeltaSink>> {
        Some(Arc::clone(&self.sink))
    }

    fn live_text(output: &String, piece: &mut dyn FnMut(&str)) -> bool {
        piece(output);
        true
    }

    fn repeatable(&self) -> bool {
        true
    }
}

/// D12: a delivery names execution, step, call key, attempt and a number that is one call's own.
#[test]
fn every_delivery_names_its_call() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let view = Arc::clone(&seen);
    let sink = SinkThat(move |call: &CallRef<'_>, _: &EffectDelta<'_>| {
        let key = call.call_key().map(ToString::to_string);
        view.lock().unwrap().push((
            format!("{} {} {key:?} {}", call.execution_id(), call.step_id(), call.attempt()),
            call.number(),
        ));
    });
    let effect =
        Scripted::new([Act::text("a"), Act::Fail(ErrorName::Provider)]).then([Act::text("b")]).sink(sink);
    let runtime =
        EffectRuntime::builder().allow_all_calls().around(stubborn(2)).effect(effect).build().unwrap();
    let caller = runtime.caller(Identity::execution(Principal::new("ada"), RunAs::new("flow", "e1")));
    let tool = plan(&runtime);
    run(async {
        let totals = ResourceTotals::default();
        caller.invoke_transient(tool, ask("x")).in_scope(CallKey::decide("d", 3), totals).await.unwrap();
        caller
            .invoke_transient(tool, ask("x"))
            .durable(DurableStep::new("step-7", "e1:step-7"))
            .await
            .unwrap();
        runtime.invoke_transient(tool, ask("x")).label("mine").await.unwrap();
        runtime.invoke_transient(tool, ask("x")).await.unwrap();
        runtime.invoke_transient(tool, ask("x")).await.unwrap();
    });
    let seen = seen.lock().unwrap();
    let names: Vec<&str> = seen.iter().map(|(name, _)| name.as_str()).collect();
    let numbers: Vec<u64> = seen.iter().map(|(_, number)| *number).collect();
    let key = r#"Some("decide:d:3")"#;
    let expected = [
        [format!("e1 plan {key} 1"), format!("e1 plan {key} 2"), format!("e1 plan {key} 2")],
        ["e1 step-7 None 1", "e1 step-7 None 2", "e1 step-7 None 2"].map(str::to_owned),
        ["transient:mine plan None 1", "transient:mine plan None 2", "transient:mine plan None 2"]
            .map(str::to_owned),
        ["transient:plan plan None 1", "transient:plan plan None 2", "transient:plan plan None 2"]
            .map(str::to_owned),
        ["transient:plan plan None 1", "transient:plan plan None 2", "transient:plan plan None 2"]
            .map(str::to_owned),
    ];
    assert_eq!(names, expected.concat());
    let distinct: std::collections::BTreeSet<u64> = numbers.iter().copied().collect();
    assert_eq!(distinct.len(), 5, "one number a call");
    assert!(numbers.chunks(3).all(|call| call.iter().all(|number| *number == call[0])));
}

/// D12: the configured sink is guarded on the durable path too, and gets text and resets but never done.
#[test]
fn the_configured_sink_is_guarded_on_both_paths() {
    use crate::support::{inspect_with, sever_on};
    for durable in [false, true] {
        let configured = Recorder::new();
        let effect = Scripted::new([Act::text("a"), Act::text("secret")]).sink(configured.clone());
        let runtime = EffectRuntime::builder()
            .allow_all_calls()
            .output_middleware(inspect_with(sever_on("secret")))
            .effect(effect)
            .build()
            .unwrap();
        let call = runtime.invoke_transient(plan(&runtime), ask("x"));
        let call = if durable { call.durable(DurableStep::new("plan", "e1:plan")) } else { call };
        assert_eq!(run(call.into_future()).unwrap_err().rule(), Some("word"));
        assert_eq!(configured.lines(), ["a"]);
    }
}
