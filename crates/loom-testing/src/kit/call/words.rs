//! Who may call what: refusals under their names, no milder answer by another way.

use loom_effect_runtime::{Delegation, ErrorName, Identity, Principal, RunAs};
use serde_json::{Map, Value, json};

use super::came::Came;
use super::probe::{CANARY, OTHER_TOOL, Plan, TOOL, TYPED_TOOL, Typed};
use super::stage::{Ask, Given, Scene, Stage};
use crate::kit::report::{Check, Report};

/// The identities that the kit itself asks as.
pub(crate) fn identities() -> Vec<Identity> {
    let ada = || Principal::new("kit.ada");
    vec![
        Identity::default(),
        Identity::new(ada()),
        Identity::new(ada().on_behalf_of(["kit.bob", "kit.carol"])),
        Identity::new(ada().with_actor("kit.bob")),
        Identity::new(ada().with_delegation(Delegation::new("kit.bob", [TOOL, OTHER_TOOL, TYPED_TOOL]))),
        Identity::execution(ada(), RunAs::new("kit.flow", "kit.execution")),
    ]
}

/// Each answer repeats, and a refusal is one, with a rule.
pub(crate) async fn are_kept(stage: &Stage, report: &mut Report, identities: &[Identity]) {
    report.checked(Check::Repeatable);
    report.checked(Check::RefusalFinal);
    for ask in asks(stage, identities) {
        let Some(scene) = stage.scene(report, Plan::Smooth) else { return };
        let played = scene.play(report, &ask).await;
        let first = Came::of(played.result.as_ref());
        if let Some(error) = played.error() {
            report.must(Check::RefusalFinal, error.name().is_refusal(), || {
                format!("it refuses under {}, which is no refusal's name", error.name())
            });
            report.must(Check::RefusalFinal, error.rule() != Some(""), || {
                "a denial has no rule to explain it".to_owned()
            });
        }
        let again = scene.came(&ask).await;
        report.must(Check::Repeatable, first == again, || {
            format!("one call came to {} and then to {}", first.brief(), again.brief())
        });
    }
}

fn asks(stage: &Stage, identities: &[Identity]) -> Vec<Ask> {
    let own = [TOOL, OTHER_TOOL].map(str::to_owned);
    let tools: Vec<&String> = own.iter().chain(&stage.tools).collect();
    let mut all = Vec::new();
    for identity in identities {
        let as_identity = |ask: Ask| Ask { identity: Some(identity.clone()), ..ask };
        all.extend(tools.iter().map(|tool| as_identity(Ask { tool: (*tool).clone(), ..Ask::plain("word") })));
        all.push(as_identity(Ask::typed(Typed::of("word"))));
    }
    all
}

/// An input that does not fit gets no milder answer than one that does: who is denied with the one is denied with the
/// other, and learns nothing of the tool.
pub(crate) async fn hold_for_unfit(stage: &Stage, report: &mut Report, identities: &[Identity]) {
    report.checked(Check::FailClosed);
    for identity in identities {
        let typed = Typed::of("unfit");
        let fitting = json!({ "text": typed.text, "count": typed.count, "tags": typed.tags });
        let ask = Ask { identity: Some(identity.clone()), ..Ask::typed(typed) };
        let Some(scene) = stage.scene(report, Plan::Smooth) else { return };
        if scene.came(&ask).await.gave() {
            continue;
        }
        for unfit in unfits(&fitting) {
            let ask = Ask { input: Given::Json(unfit), by_id: true, ..ask.clone() };
            denied(&scene, report, &ask, "an input that does not fit").await;
        }
    }
}

/// What the author says is denied is denied, and so is what became of its input.
pub(crate) async fn deny(stage: &Stage, report: &mut Report, said: &(Identity, String, Value)) {
    report.checked(Check::FailClosed);
    let (identity, tool, input) = said;
    let ask = Ask { identity: Some(identity.clone()), tool: tool.clone(), ..Ask::json(input.clone()) };
    let Some(scene) = stage.scene(report, Plan::Smooth) else { return };
    denied(&scene, report, &ask, "what is said to be denied").await;
    for unfit in unfits(input) {
        let ask = Ask { input: Given::Json(unfit), ..ask.clone() };
        denied(&scene, report, &ask, "a denied input made unfit").await;
    }
}

async fn denied(scene: &Scene, report: &mut Report, ask: &Ask, what: &str) {
    let came = scene.came(ask).await;
    let denied = matches!(&came, Came::Failed { name, .. } if name.is_refusal());
    report.must(Check::FailClosed, denied && scene.shared.started() == 0, || {
        format!("{what} came to {} where a fitting input is denied", came.brief())
    });
}

/// The input with one field of another type, and whole inputs of other types.
fn unfits(input: &Value) -> Vec<Value> {
    let mut all = vec![Value::Null, json!([]), json!(CANARY), json!(7), json!({})];
    if let Value::Object(fields) = input {
        for key in fields.keys() {
            let other = |value: Value| {
                let mut changed: Map<String, Value> = fields.clone();
                changed.insert(key.clone(), value);
                Value::Object(changed)
            };
            all.push(other(json!({ "in": CANARY })));
            all.push(other(Value::Null));
        }
    }
    all
}

/// A tool that a delegation does not cover is not called.
pub(crate) async fn hold_for_delegations(stage: &Stage, report: &mut Report) {
    let holder = Principal::new("kit.ada").with_delegation(Delegation::new("kit.bob", ["kit.elsewhere"]));
    let ask = Ask { identity: Some(Identity::new(holder)), ..Ask::plain("delegated") };
    let Some(scene) = stage.scene(report, Plan::Smooth) else { return };
    denied(&scene, report, &ask, "a tool that the delegation does not cover").await;
}

/// Who acts as another is refused unless the authorizer lets it, and is then answered as that other is.
pub(crate) async fn hold_for_stand_ins(
    stage: &Stage,
    report: &mut Report,
    identities: &[Identity],
    lets_act: bool,
) {
    report.checked(Check::FailClosed);
    for other in identities {
        let run_as = other.run_as().cloned();
        let principal = run_as.is_none().then(|| other.principal().clone());
        let ask = Ask { run_as, principal, ..Ask::plain("acts") };
        let Some(scene) = stage.scene(report, Plan::Smooth) else { return };
        let came = Came::of(scene.play(report, &ask).await.result.as_ref());
        if came.is_judged() {
            continue;
        }
        if !lets_act {
            let refused =
                matches!(&came, Came::Failed { name, .. } if *name == ErrorName::CapabilityInvokeDenied);
            report.must(Check::FailClosed, refused, || {
                format!("nobody may act as another, and who did came to {}", came.brief())
            });
            continue;
        }
        let whole = match (ask.run_as, ask.principal) {
            (Some(run_as), _) => Identity::execution(Identity::default().principal().clone(), run_as),
            (None, principal) => principal.map(Identity::new).unwrap_or_default(),
        };
        let itself = scene.came(&Ask { identity: Some(whole), ..Ask::plain("acts") }).await;
        report.must(Check::FailClosed, itself.gave() || !came.gave(), || {
            format!("who acts as another gets {}, and that other {}", came.brief(), itself.brief())
        });
    }
}
