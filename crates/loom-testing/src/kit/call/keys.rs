//! Calls that differ in one thing, and whose output each is given.

use futures::future::join_all;
use loom_effect_runtime::{Delegation, Identity, Principal, RunAs};
use serde_json::{Value, json};

use super::came::Came;
use super::probe::{CANARY, OTHER_TOOL, Plan, TOOL};
use super::stage::{Ask, Given, Stage};
use crate::kit::bounded::ends;
use crate::kit::report::{Check, Report};

/// Every call is given its own output: one after the other in both orders and again, each beside the plain one, and all at once.
pub(crate) async fn are_complete(stage: &Stage, report: &mut Report) {
    report.checked(Check::KeyComplete);
    let Some(bare) = Stage::bare().scene(report, Plan::Smooth) else { return };
    let mut calls = Vec::new();
    for ask in asks() {
        let own = bare.came(&ask).await;
        calls.push((ask, own));
    }
    let Some((plain, others)) = calls.split_first() else { return };
    let Some(first) = stage.scene(report, Plan::Smooth) else { return };
    if !first.came(&plain.0).await.gave() {
        // Refused or failed outright, which is no matter of keys.
        return;
    }
    let forward: Vec<_> = calls.iter().collect();
    let backward: Vec<_> = calls.iter().rev().collect();
    for order in [&forward, &backward] {
        in_turn(stage, report, order).await;
        at_once(stage, report, order).await;
    }
    // One memory of the last call is enough to mix up neighbours.
    let between: Vec<_> = others.iter().flat_map(|other| [plain, other]).collect();
    in_turn(stage, report, &between).await;
}

async fn in_turn(stage: &Stage, report: &mut Report, order: &[&(Ask, Came)]) {
    let Some(scene) = stage.scene(report, Plan::Smooth) else { return };
    for (ask, own) in order.iter().chain(order) {
        own_output(report, ask, own, &scene.came(ask).await);
    }
}

async fn at_once(stage: &Stage, report: &mut Report, order: &[&(Ask, Came)]) {
    let Some(scene) = stage.scene(report, Plan::Smooth) else { return };
    let running = order.iter().map(|(ask, _)| ends(scene.start(ask, None, None)));
    for (ended, (ask, own)) in join_all(running).await.into_iter().zip(order) {
        own_output(report, ask, own, &Came::of(ended.map(|(result, _)| result).as_ref()));
    }
}

fn own_output(report: &mut Report, ask: &Ask, own: &Came, came: &Came) {
    report.must(Check::KeyComplete, came == own, || {
        format!("a call that differs in {} was given {}", ask.what, came.brief())
    });
}

/// The plain call first, then calls that differ from it, and from one another, in what they are called by.
fn asks() -> Vec<Ask> {
    let mut all = vec![Ask::json(input(json!(1)))];
    for value in inputs() {
        all.push(Ask { input: Given::Json(input(value)), ..differing("its input") });
    }
    all.push(Ask { input: Given::Json(json!({ "canary": CANARY })), ..differing("an absent field") });
    all.push(Ask { tool: OTHER_TOOL.to_owned(), ..differing("its tool") });
    for (what, principal) in principals() {
        all.push(Ask { identity: Some(Identity::new(principal.clone())), ..differing(what) });
        all.push(Ask { principal: Some(principal), ..differing(&format!("{what}, by option")) });
    }
    for (what, run_as) in [
        ("its execution", RunAs::new("kit.flow", "one")),
        ("its execution", RunAs::new("kit.flow", "two")),
        ("its workflow", RunAs::new("kit.other-flow", "one")),
    ] {
        let identity = Identity::execution(Principal::new("anonymous"), run_as.clone());
        all.push(Ask { identity: Some(identity), ..differing(what) });
        all.push(Ask { run_as: Some(run_as), ..differing(&format!("{what}, by option")) });
    }
    for label in ["one", "two"] {
        all.push(Ask { label: Some(label.to_owned()), ..differing("its label") });
    }
    all
}

fn differing(what: &str) -> Ask {
    Ask { what: what.to_owned(), ..Ask::json(input(json!(1))) }
}

fn input(value: Value) -> Value {
    json!({ "canary": CANARY, "value": value })
}

/// Values that a careless key takes for one another: by nesting, type of number, form of text, or null.
fn inputs() -> Vec<Value> {
    vec![
        json!(2),
        json!(1.0),
        json!("1"),
        json!([1]),
        json!([[1]]),
        json!({ "value": 1 }),
        json!(null),
        json!("null"),
        json!(""),
        json!([]),
        json!({}),
        json!(true),
        json!("true"),
        json!(["a", "b"]),
        json!(["a,b"]),
        json!(["b", "a"]),
        json!({ "a": 1, "b": 2 }),
        json!({ "b": 2, "a": 1 }),
        json!({ "a": 1, "b": null }),
        json!({ "a": { "b": 2 } }),
        json!(u64::MAX),
        json!(u64::MAX as f64),
        json!("e\u{301}"),
        json!("\u{e9}"),
        json!(" "),
    ]
}

fn principals() -> Vec<(&'static str, Principal)> {
    let base = || Principal::new("anonymous");
    let held =
        |issuer: &str, tools: &[&str]| base().with_delegation(Delegation::new(issuer, tools.iter().copied()));
    vec![
        ("its principal", Principal::new("ada")),
        ("its principal", Principal::new("anonymous,ada")),
        ("its chain", base().on_behalf_of(["ada"])),
        ("its chain", base().on_behalf_of(["ada", "bob"])),
        ("its chain", base().on_behalf_of(["bob", "ada"])),
        ("its chain", base().on_behalf_of(["ada,bob"])),
        ("its delegation", held("ada", &[TOOL])),
        ("its delegation", held("ada", &[TOOL, OTHER_TOOL])),
        ("its delegation", held("bob", &[TOOL])),
        ("its actor", base().with_actor("ada")),
        ("its actor", base().with_actor("bob")),
    ]
}
