//! Arounds that break one check each.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use loom_effect_runtime::{CallError, ErrorName, Kept, MemoKey, Refusal, around};
use loom_testing::kit::{self, Check};
use tokio::sync::{Notify, Semaphore};

use crate::found_only;
use crate::memo::Memo;

/// T11: a refusal is tried once more.
#[test]
fn an_around_that_retries_a_refusal_is_reported() {
    let report = kit::around(|| {
        around("careless", |_call, mut next| {
            Box::pin(async move {
                match next.run().await {
                    Err(_) => next.run().await,
                    ended => ended,
                }
            })
        })
    });
    found_only(Check::RefusalFinal, &report.report());
}

/// T14: the refusal of one call is kept for the next.
#[test]
fn an_around_that_keeps_a_refusal_is_reported() {
    let report = kit::around(|| {
        let refusals = Arc::new(Mutex::new(HashMap::<MemoKey, CallError>::new()));
        around("careless", move |call, mut next| {
            let refusals = Arc::clone(&refusals);
            Box::pin(async move {
                let key = call.memo_key(next.input()).unwrap();
                if let Some(refusal) = refusals.lock().unwrap().get(&key) {
                    return Err(refusal.clone());
                }
                let ended = next.run().await;
                if let Err(error) = &ended
                    && error.name() == ErrorName::QuotaExceeded
                {
                    refusals.lock().unwrap().insert(key, error.clone());
                }
                ended
            })
        })
    });
    found_only(Check::RefusalFinal, &report.report());
}

#[test]
fn an_around_that_makes_an_error_of_a_success_is_reported() {
    let report = kit::around(|| {
        around("careless", |_call, mut next| {
            Box::pin(async move {
                let _good = next.run().await?;
                Err(CallError::named(ErrorName::EffectFailed, "not good enough"))
            })
        })
    });
    found_only(Check::SuccessKept, &report.report());
}

#[test]
fn an_around_that_returns_the_proof_of_an_older_room_is_reported() {
    let report = kit::around(|| {
        around("careless", |_call, mut next| {
            Box::pin(async move {
                let first = next.run().await?;
                let _second = next.run().await?;
                Ok(first)
            })
        })
    });
    found_only(Check::SuccessKept, &report.report());
}

fn stale() -> impl loom_effect_runtime::Around {
    let kept = Arc::new(Mutex::new(HashMap::<MemoKey, Kept>::new()));
    around("stale", move |call, mut next| {
        let kept = Arc::clone(&kept);
        Box::pin(async move {
            let key = call.memo_key(next.input()).unwrap();
            match next.run().await {
                Ok(proof) => {
                    let output = next.keep(&proof);
                    kept.lock().unwrap().extend(output.map(|output| (key, output)));
                    Ok(proof)
                }
                Err(error) => {
                    let last = kept.lock().unwrap().get(&key).cloned();
                    last.map_or(Err(error), |last| next.serve(&last))
                }
            }
        })
    })
}

#[test]
fn an_around_that_answers_a_failure_with_a_kept_output_is_reported() {
    found_only(Check::NothingSwallowed, &kit::around(stale).report());
}

#[test]
fn an_around_that_says_that_it_serves_stale_may() {
    kit::around(stale).serves_stale().check();
}

#[test]
fn an_around_that_gives_a_failure_another_name_is_reported() {
    let report = kit::around(|| {
        around("careless", |_call, mut next| {
            Box::pin(async move {
                next.run().await.map_err(|_| CallError::named(ErrorName::Store, "something went wrong"))
            })
        })
    });
    found_only(Check::NothingSwallowed, &report.report());
}

/// T14: the input is in the key and the caller is not.
#[test]
fn a_memo_keyed_by_the_input_alone_is_reported() {
    let report = kit::around(|| Memo::by(|_call, input| input.json().unwrap().to_string()));
    found_only(Check::KeyComplete, &report.report());
}

/// T14: the tool is in the key and the input is not.
#[test]
fn a_memo_keyed_by_the_tool_alone_is_reported() {
    let report = kit::around(|| Memo::by(|call, _input| call.tool().to_owned()));
    found_only(Check::KeyComplete, &report.report());
}

/// T14: a number and its text are one key.
#[test]
fn a_memo_keyed_by_the_values_without_their_types_is_reported() {
    let report = kit::around(|| {
        Memo::by(|call, input| {
            let caller = format!("{:?} {:?} {}", call.identity(), call.tool(), call.execution_id());
            (caller, input.json().unwrap().to_string().replace('"', ""))
        })
    });
    found_only(Check::KeyComplete, &report.report());
}

#[test]
fn a_single_flight_whose_leader_vanishes_is_reported() {
    let report = kit::around(|| {
        let flying = Arc::new(Mutex::new(HashMap::<MemoKey, Arc<Notify>>::new()));
        around("careless", move |call, mut next| {
            let flying = Arc::clone(&flying);
            Box::pin(async move {
                let key = call.memo_key(next.input()).unwrap();
                let leader = flying.lock().unwrap().get(&key).cloned();
                if let Some(leader) = leader {
                    leader.notified().await;
                    leader.notify_one();
                    return next.run().await;
                }
                let landed = Arc::new(Notify::new());
                flying.lock().unwrap().insert(key.clone(), Arc::clone(&landed));
                let ended = next.run().await;
                flying.lock().unwrap().remove(&key);
                landed.notify_one();
                ended
            })
        })
    });
    found_only(Check::CancelSafe, &report.report());
}

#[test]
fn an_around_that_leaks_a_permit_at_a_cancel_is_reported() {
    let report = kit::around(|| {
        let permits = Arc::new(Semaphore::new(8));
        around("careless", move |_call, mut next| {
            let permits = Arc::clone(&permits);
            Box::pin(async move {
                permits.acquire().await.unwrap().forget();
                let ended = next.run().await;
                permits.add_permits(1);
                ended
            })
        })
    });
    found_only(Check::CancelSafe, &report.report());
}

/// T10: the caller's own reason is replaced.
#[test]
fn an_around_that_ends_an_abort_with_an_error_of_its_own_is_reported() {
    let report = kit::around(|| {
        around("careless", |call, mut next| {
            Box::pin(async move {
                tokio::select! {
                    ended = next.run() => ended,
                    _ = call.signal().aborted() => Err(Refusal::quota("cancelled").into()),
                }
            })
        })
    });
    found_only(Check::AbortObeyed, &report.report());
}

#[test]
fn an_around_that_leaves_a_task_behind_is_reported() {
    let report = kit::around(|| {
        around("careless", |_call, mut next| {
            Box::pin(async move {
                let watch = tokio::spawn(std::future::pending::<()>());
                let ended = next.run().await;
                watch.abort();
                ended
            })
        })
    });
    found_only(Check::AbortObeyed, &report.report());
}

#[test]
fn an_around_that_quotes_the_input_in_an_error_is_reported() {
    let report = kit::around(|| {
        around("careless", |_call, mut next| {
            Box::pin(async move {
                let input = next.input().json().unwrap().to_string();
                next.run().await.map_err(|error| match error.is_refusal() {
                    true => error,
                    false => CallError::named(error.name(), format!("failed for {input}")),
                })
            })
        })
    });
    found_only(Check::NoEcho, &report.report());
}

#[test]
fn an_around_that_keeps_its_thread_is_reported() {
    let report = kit::around(|| {
        around("careless", |_call, mut next| {
            Box::pin(async move {
                std::thread::sleep(Duration::from_millis(300));
                next.run().await
            })
        })
    });
    found_only(Check::NeverBlocks, &report.report());
}

#[test]
fn an_around_that_panics_over_a_failure_is_reported() {
    let report = kit::around(|| {
        around("careless", |_call, mut next| Box::pin(async move { Ok(next.run().await.unwrap()) }))
    });
    found_only(Check::NoPanic, &report.report());
}

#[test]
fn an_around_that_never_ends_after_a_failure_is_reported() {
    let report = kit::around(|| {
        around("careless", |_call, mut next| {
            Box::pin(async move {
                match next.run().await {
                    Err(error) if !error.is_refusal() => std::future::pending().await,
                    ended => ended,
                }
            })
        })
    });
    found_only(Check::Ends, &report.report());
}

#[test]
fn an_around_without_a_name_is_reported() {
    let report = kit::around(|| around("", |_call, mut next| Box::pin(async move { next.run().await })));
    found_only(Check::Named, &report.report());
}

#[test]
fn an_around_that_answers_now_so_and_now_so_is_reported() {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    let report = kit::around(|| {
        around("careless", |_call, mut next| {
            Box::pin(async move {
                let odd = next.input().json().is_ok_and(serde_json::Value::is_null)
                    && ASKED.fetch_add(1, Ordering::SeqCst).is_multiple_of(2);
                if odd { Err(Refusal::quota("careless").into()) } else { next.run().await }
            })
        })
    });
    found_only(Check::Repeatable, &report.report());
}

#[cfg(feature = "allocations")]
#[test]
fn an_around_that_allocates_more_than_it_claims_is_reported() {
    let careless = || {
        around("careless", |_call, mut next| {
            Box::pin(async move {
                std::hint::black_box(vec![String::from("one"), String::from("two")]);
                next.run().await
            })
        })
    };
    found_only(Check::Allocations, &kit::around(careless).allocations(2).report());
    kit::around(careless).allocations(8).check();
}
