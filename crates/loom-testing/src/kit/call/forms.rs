//! One input in two forms, typed and as JSON, and what of it reaches the effect.

use std::sync::{Arc, Mutex, PoisonError};

use loom_effect_runtime::{Step, before};
use serde_json::{Value, json};

use super::came::Came;
use super::probe::{CANARY, Plan, TYPED_TOOL, Typed};
use super::stage::{Ask, Stage};
use crate::kit::report::{Check, Report};
use crate::kit::texts;

/// The same input is rewritten alike in either form, the second time as the first, and it is what the hooks behind saw
/// that reaches the effect.
pub(crate) async fn agree(stage: &Stage, report: &mut Report) {
    report.checked(Check::FormsAgree);
    for text in texts::hostile().into_iter().chain([CANARY.to_owned(), "plain".to_owned()]) {
        let typed = Typed::of(&text);
        let json = json!({ "text": typed.text, "count": typed.count, "tags": typed.tags });
        let by_id = Ask { tool: TYPED_TOOL.to_owned(), by_id: true, ..Ask::json(json) };
        let by_handle = Ask::typed(typed);
        let seen = Arc::new(Mutex::new(Value::Null));
        let note = Arc::clone(&seen);
        let reader = before("kit.reader", move |_call, input| {
            let json = input.json().cloned().unwrap_or_default();
            *note.lock().unwrap_or_else(PoisonError::into_inner) = json;
            Step::Go
        });
        let Some(scene) = stage.scene_with(report, Plan::Smooth, |builder| builder.middleware(reader)) else {
            return;
        };
        let first = scene.came(&by_handle).await;
        let reached = seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
        report.must(Check::FormsAgree, reached_effect(&first, &reached), || {
            "the effect got another input than the hooks behind it saw".to_owned()
        });
        let again = scene.came(&by_handle).await;
        report.must(Check::Repeatable, first == again, || {
            format!("one input came to {} and then to {}", first.brief(), again.brief())
        });
        let other = scene.came(&by_id).await;
        let agree = match (&first, &other) {
            (Came::Gave(one), Came::Gave(other)) => one == other,
            (one, other) => !one.gave() && !other.gave(),
        };
        report.must(Check::FormsAgree, agree, || {
            format!("typed it came to {}, and as JSON to {}", first.brief(), other.brief())
        });
    }
}

fn reached_effect(came: &Came, seen: &Value) -> bool {
    match came {
        Came::Gave(output) => {
            let facts: Value = serde_json::from_str(output).unwrap_or_default();
            facts.get("input") == Some(seen)
        }
        _ => true,
    }
}
