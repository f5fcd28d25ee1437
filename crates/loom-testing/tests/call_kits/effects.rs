//! Effects that keep to their trait.

use std::time::Duration;

use loom_effect_runtime::{CallError, Effect, EffectContext, EffectMode, ErrorName, Lane, Usage};
use loom_testing::kit::{self, Check};
use loom_testing::{Act, Answer, Scripted};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

fn inputs() -> [Value; 2] {
    [json!({ "question": "what is the question" }), Value::Null]
}

/// Text, reasoning and arguments of a tool, with waits between.
fn talker() -> Scripted<Answer> {
    Scripted::new([
        Act::write(Lane::REASONING, "let me see "),
        Act::Yield,
        Act::text("hello "),
        Act::write(Lane::tool_arguments(0), "{}"),
        Act::Sleep(Duration::from_secs(2)),
        Act::text("world"),
        Act::End(Some(Usage::new(1, 2))),
    ])
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Order {
    item: String,
    count: u64,
    price: f64,
}

/// A mutation: only as a recorded step.
struct Place;

impl Effect for Place {
    type Input = Order;
    type Output = Order;

    fn id(&self) -> &str {
        "orders.place"
    }

    async fn execute(&self, order: &Order, cx: &EffectContext<'_>) -> Result<Order, CallError> {
        assert!(cx.idempotency_key().is_some());
        tokio::task::yield_now().await;
        match order.count {
            0 => Err(CallError::named(ErrorName::EffectFailed, "nothing was ordered")),
            _ => Ok(order.clone()),
        }
    }

    fn mode(&self) -> Option<EffectMode> {
        Some(EffectMode::Journaled)
    }
}

#[test]
fn an_effect_that_streams_passes_and_every_check_is_made() {
    let report = kit::effect(talker, inputs()).repeatable_answers().report();
    report.assert();
    for check in [
        Check::RoundTrip,
        Check::LiveText,
        Check::NothingSwallowed,
        Check::CancelSafe,
        Check::AbortObeyed,
        Check::NoEcho,
        Check::Repeatable,
        Check::Named,
        Check::Ends,
        Check::NeverBlocks,
        Check::NoPanic,
    ] {
        assert!(report.checks().contains(&check), "{check}: {report}");
    }
}

#[test]
fn an_effect_that_fails_and_one_in_the_ready_lane_pass() {
    let failing =
        || Scripted::<String>::new([Act::text("so far"), Act::Yield, Act::Fail(ErrorName::Provider)]);
    kit::effect(failing, inputs()).repeatable_answers().check();
    kit::effect(|| Scripted::<String>::new([Act::text("at once")]).ready_lane(), inputs()).check();
}

/// T1: what must be a recorded step is called as one.
#[test]
fn an_effect_that_must_be_a_recorded_step_passes() {
    let order = |count| Order { item: "a long chair".to_owned(), count, price: 0.1 };
    kit::effect(|| Place, [order(0), order(u64::MAX)]).repeatable_answers().check();
}
