//! Inputs that nobody meant kindly, and every outcome there is.

use loom_effect_runtime::{AbortReason, Signal};
use serde_json::{Value, json};
use std::sync::Arc;

use super::aborts::{KitAbort, raise_at};
use super::came::Came;
use super::probe::{CANARY, Plan, Typed, passing};
use super::stage::{Ask, Stage};
use crate::kit::bounded::ends;
use crate::kit::report::{Check, Report};
use crate::kit::texts;

/// No input and no outcome makes it panic, quote or hang, and a fresh subject answers as another fresh one does.
pub(crate) async fn is_taken(stage: &Stage, report: &mut Report) {
    report.checked(Check::Repeatable);
    for ask in asks() {
        let Some(scene) = stage.scene(report, Plan::Smooth) else { return };
        let came = Came::of(scene.play(report, &ask).await.result.as_ref());
        let Some(fresh) = stage.scene(report, Plan::Smooth) else { return };
        let again = fresh.came(&ask).await;
        report.must(Check::Repeatable, came == again, || {
            format!("one fresh subject answered with {}, the next with {}", came.brief(), again.brief())
        });
    }
    outcomes(stage, report).await;
}

async fn outcomes(stage: &Stage, report: &mut Report) {
    let writes = Plan::Writes { pieces: 300, bytes: 300, fails_first: false };
    for plan in [Plan::Ready, Plan::Flaky, Plan::Fails(passing()), Plan::Panics, writes] {
        for streamed in [false, true] {
            let Some(scene) = stage.scene(report, plan.clone()) else { return };
            scene.play(report, &Ask { streamed, ..Ask::plain("outcome") }).await;
        }
    }
    let Some(scene) = stage.scene(report, Plan::Parks) else { return };
    let signal = Signal::new();
    let call = scene.start(&Ask::plain("aborted"), None, Some(signal.clone()));
    let reason: AbortReason = Arc::new(KitAbort);
    let ended = ends(raise_at(2, call, || {
        signal.abort(reason);
    }))
    .await;
    report.must(Check::Ends, ended.is_some(), || "an aborted call never ended".to_owned());
    report.must(Check::NoPanic, !scene.warned.panicked(), || "it panicked after an abort".to_owned());
}

/// Calls with hostile inputs, as JSON and typed.
pub(crate) fn asks() -> Vec<Ask> {
    let texts = texts::hostile().into_iter().map(Value::String);
    let bare = values().into_iter().chain(texts).map(Ask::json);
    let beside = values().into_iter().map(|value| Ask::json(json!({ "canary": CANARY, "value": value })));
    let typed = texts::hostile().into_iter().map(|text| Ask::typed(Typed::of(&text)));
    bare.chain(beside).chain(typed).collect()
}

fn values() -> Vec<Value> {
    vec![
        Value::Null,
        json!(false),
        json!(0),
        json!(-0.0),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(f64::MAX),
        json!(f64::MIN_POSITIVE),
        json!(5e-324),
        json!([]),
        json!({}),
        json!({ "": { "": [""] } }),
        json!({ "\0": 1, "__proto__": {}, "a/b~c": [null], "k".repeat(10_000): 1 }),
        (0..100).fold(json!(CANARY), |inner, _| json!([inner])),
        (0..100).fold(json!(CANARY), |inner, _| json!({ "in": inner })),
        Value::Array(vec![json!(1); 1_000]),
    ]
}
