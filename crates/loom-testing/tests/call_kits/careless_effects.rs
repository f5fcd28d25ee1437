//! Effects that break one check each.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use loom_effect_runtime::{CallError, Effect, EffectContext, ErrorName};
use loom_testing::kit::{self, Check};
use loom_testing::{Act, Scripted};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::found_only;

type Doing = for<'a> fn(&'a String, &'a EffectContext<'a>) -> BoxFuture<'a, Result<String, CallError>>;

/// An effect of one closure.
struct Careless(&'static str, Doing);

impl Effect for Careless {
    type Input = String;
    type Output = String;

    fn id(&self) -> &str {
        self.0
    }

    async fn execute(&self, input: &String, cx: &EffectContext<'_>) -> Result<String, CallError> {
        (self.1)(input, cx).await
    }
}

fn report(doing: Doing) -> kit::Report {
    kit::effect(move || Careless("careless", doing), ["a text that is long".to_owned()]).report()
}

/// D11: the view shows what the output does not hold.
#[test]
fn an_effect_that_writes_its_text_twice_is_reported() {
    let twice = || {
        let acts = [Act::text("hello"), Act::text("hello"), Act::answer("hello")];
        Scripted::<String>::new(acts)
    };
    found_only(Check::LiveText, &kit::effect(twice, [Value::Null]).report());
}

/// D15: its pump goes on after a sever, and parks.
#[test]
fn an_effect_whose_pump_swallows_the_sever_and_parks_is_reported() {
    let report = report(|_input, cx| {
        Box::pin(async move {
            let deltas = cx.deltas();
            let pump = tokio::spawn(async move {
                for _ in 0..3 {
                    tokio::task::yield_now().await;
                    if deltas.text("more ").is_err() {
                        std::future::pending::<()>().await;
                    }
                }
            });
            pump.await.map_err(CallError::failed)?;
            Ok(String::new())
        })
    });
    found_only(Check::AbortObeyed, &report);
}

#[test]
fn an_effect_that_leaves_a_task_behind_is_reported() {
    let report = report(|_input, cx| {
        let done = cx.sleep(Duration::from_secs(60));
        Box::pin(async move {
            let heart = tokio::spawn(async move {
                if let Some(done) = done {
                    done.await;
                }
            });
            tokio::task::yield_now().await;
            heart.abort();
            Ok(String::new())
        })
    });
    found_only(Check::AbortObeyed, &report);
}

#[test]
fn an_output_that_does_not_come_back_from_its_json_form_is_reported() {
    struct Mean;
    impl Effect for Mean {
        type Input = Vec<f64>;
        type Output = f64;
        fn id(&self) -> &str {
            "mean"
        }
        async fn execute(&self, input: &Vec<f64>, _cx: &EffectContext<'_>) -> Result<f64, CallError> {
            Ok(input.iter().sum::<f64>() / input.len() as f64)
        }
    }
    kit::effect(|| Mean, [vec![1.0]]).repeatable_answers().check();
    found_only(Check::RoundTrip, &kit::effect(|| Mean, [Vec::new()]).report());
}

#[test]
fn an_effect_that_leaks_a_connection_at_a_cancel_is_reported() {
    struct Pooled(Semaphore);
    impl Effect for Pooled {
        type Input = String;
        type Output = String;
        fn id(&self) -> &str {
            "pooled"
        }
        async fn execute(&self, input: &String, _cx: &EffectContext<'_>) -> Result<String, CallError> {
            self.0.acquire().await.map_err(CallError::failed)?.forget();
            tokio::task::yield_now().await;
            self.0.add_permits(1);
            Ok(input.clone())
        }
    }
    let report = kit::effect(|| Pooled(Semaphore::new(8)), ["a text".to_owned()]).report();
    found_only(Check::CancelSafe, &report);
}

#[test]
fn an_effect_that_quotes_its_input_in_an_error_is_reported() {
    let report = report(|input, _cx| {
        let cause = std::io::Error::other(format!("no such thing: {input}"));
        Box::pin(std::future::ready(Err(CallError::failed(cause))))
    });
    found_only(Check::NoEcho, &report);
}

#[test]
fn an_effect_that_keeps_its_thread_is_reported() {
    let report = report(|input, _cx| {
        std::thread::sleep(Duration::from_millis(300));
        Box::pin(std::future::ready(Ok(input.clone())))
    });
    found_only(Check::NeverBlocks, &report);
}

#[test]
fn an_effect_that_panics_is_reported() {
    let report = report(|input, _cx| {
        assert!(input.is_empty(), "no input was thought of");
        Box::pin(std::future::ready(Ok(String::new())))
    });
    found_only(Check::NoPanic, &report);
}

#[test]
fn an_effect_that_parks_is_reported() {
    let report = report(|_input, _cx| Box::pin(std::future::pending()));
    found_only(Check::Ends, &report);
}

#[test]
fn an_effect_whose_id_cannot_be_registered_or_changes_is_reported() {
    let echo: Doing = |input, _cx| Box::pin(std::future::ready(Ok(input.clone())));
    let slashed = kit::effect(move || Careless("a/b", echo), ["a text".to_owned()]).report();
    found_only(Check::Named, &slashed);
    let made = Arc::new(AtomicUsize::new(0));
    let changing = move || Careless(["one", "two"][made.fetch_add(1, Ordering::SeqCst) % 2], echo);
    found_only(Check::Named, &kit::effect(changing, ["a text".to_owned()]).report());
}

#[test]
fn an_effect_that_answers_otherwise_each_time_is_reported_where_it_says_that_it_does_not() {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    let counting: Doing = |_input, _cx| {
        let asked = ASKED.fetch_add(1, Ordering::SeqCst);
        Box::pin(std::future::ready(Ok(asked.to_string())))
    };
    let kit = move || kit::effect(move || Careless("counting", counting), [String::new()]);
    kit().check();
    let report = kit().repeatable_answers().report();
    assert!(report.found(Check::Repeatable), "{report}");
}

/// A failure that the author expects is no fault of the effect.
#[test]
fn an_effect_that_refuses_its_input_passes() {
    let refusing = || Scripted::<String>::new([Act::Fail(ErrorName::EgressDenied)]);
    kit::effect(refusing, [json!({ "url": "https://example.org/" })]).check();
}
