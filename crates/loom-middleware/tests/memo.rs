//! Memo on a real runtime: what is kept, whom it is served to, and for how long.

#![expect(clippy::unwrap_used, clippy::panic, reason = "test code outside a test function")]

#[path = "live/says.rs"]
mod says;
#[path = "live/view.rs"]
mod view;
#[path = "live/wall.rs"]
mod wall;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use futures::FutureExt;
use loom_effect_runtime::engine::EngineCall;
use loom_effect_runtime::{
    CallError, CallKey, CallReport, Delegation, DurableStep, Effect, EffectContext, EffectRuntime, ErrorName,
    Identity, Principal, Refusal, ResourceTotals, RunAs, Signal, Step, before, inspect,
};
use loom_middleware::{Memo, Retry, Ttl};
use loom_testing::VirtualClock;
use serde_json::json;

use says::{Act, Says};
use view::View;
use wall::Wall;

const SECOND: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A runtime of one tool, its memo and its clock.
struct Lab {
    says: Says,
    memo: Arc<Memo>,
    clock: VirtualClock,
    runtime: EffectRuntime,
}

impl Lab {
    fn new(ttl: impl Into<Ttl>, acts: impl IntoIterator<Item = Act>) -> Self {
        Self::of(Memo::new(100).tool("says", ttl), acts)
    }

    fn of(memo: Memo, acts: impl IntoIterator<Item = Act>) -> Self {
        let (says, memo, clock) = (Says::new(acts), Arc::new(memo), VirtualClock::new());
        let runtime = EffectRuntime::builder()
            .allow_all_calls()
            .clock(clock.clone())
            .around(Arc::clone(&memo))
            .effect(says.clone())
            .effect(says.called("others"))
            .build()
            .unwrap();
        Self { says, memo, clock, runtime }
    }

    fn call(&self, input: &str) -> Result<String, CallError> {
        say(&self.runtime, input).0
    }

    fn says(&self, input: &str) -> String {
        self.call(input).unwrap()
    }
}

/// What a call comes to that needs no waiting.
fn now<C: IntoFuture>(call: C) -> C::Output {
    call.into_future().now_or_never().unwrap()
}

fn say(runtime: &EffectRuntime, input: &str) -> (Result<String, CallError>, CallReport) {
    let tool = runtime.tool::<String, String>("says").unwrap();
    now(runtime.invoke_transient(tool, input.to_owned()).reported())
}

/// T14: an equal call is served without a run.
#[test]
fn what_was_kept_is_served_without_a_run() {
    let lab = Lab::new(DAY, []);
    let (first, ran) = say(&lab.runtime, "a");
    let (second, served) = say(&lab.runtime, "a");
    assert_eq!((first.unwrap(), second.unwrap()), ("a#1".to_owned(), "a#1".to_owned()));
    assert_eq!((ran.attempts, served.attempts, lab.says.ran()), (1, 0, 1));
    let counts = lab.memo.counts();
    assert_eq!((counts.misses, counts.hits, counts.waits, counts.kept), (1, 1, 0, 1));
}

/// T14: a tool that the memo was not told of runs each time, however equal its calls are.
#[test]
fn only_the_tools_that_it_is_told_of_are_memoised() {
    let lab = Lab::new(DAY, []);
    let call = || now(lab.runtime.invoke_transient("others", json!("a")));
    assert_eq!((call().unwrap(), call().unwrap()), ("a#1".into(), "a#2".into()));
    assert_eq!(lab.memo.counts(), Default::default());
}

/// T7, T14: a recorded step is the journal's to serve: it runs each time, and what it brings is kept for nobody.
#[test]
fn a_recorded_step_is_not_memoised() {
    let lab = Lab::new(DAY, []);
    let caller = lab.runtime.caller(Identity::execution(Principal::new("ada"), RunAs::new("flow", "e1")));
    let tool = lab.runtime.tool::<String, String>("says").unwrap();
    let call = || caller.invoke_transient(tool, "a".to_owned());
    let step = || now(call().durable(DurableStep::new("says", "e1:says"))).unwrap();
    assert_eq!((step(), step()), ("a#1".to_owned(), "a#2".to_owned()));
    let decides =
        |ordinal| now(call().in_scope(CallKey::decide("d", ordinal), ResourceTotals::default())).unwrap();
    assert_eq!((decides(1), decides(2)), ("a#3".to_owned(), "a#3".to_owned()));
    assert_eq!(step(), "a#4");
}

/// T14: input and tool are parts of the key, and so is the runtime that a memo is shared by.
#[test]
fn another_input_tool_or_runtime_is_another_call() {
    let memo = || Memo::new(100).tool("says", DAY).tool("others", DAY);
    let lab = Lab::of(memo(), []);
    let other = EffectRuntime::builder()
        .allow_all_calls()
        .around(Arc::clone(&lab.memo))
        .effect(lab.says.clone())
        .build()
        .unwrap();
    for _ in 0..2 {
        assert_eq!(lab.says("a"), "a#1");
        assert_eq!(lab.says("b"), "b#2");
        let others = now(lab.runtime.invoke_transient("others", json!("a")));
        assert_eq!(others.unwrap(), "a#3");
        assert_eq!(say(&other, "a").0.unwrap(), "a#4");
    }
}

/// T14: whatever tells who asks is a part of the key: principal, chain, delegation, actor, execution and label.
#[test]
fn two_identities_share_nothing() {
    let lab = Lab::new(DAY, []);
    let tool = lab.runtime.tool::<String, String>("says").unwrap();
    let ada = || Principal::new("ada");
    let delegated = |issuer: &str| ada().with_delegation(Delegation::new(issuer, ["says"]));
    let identities = [
        Identity::default(),
        Identity::new(ada()),
        Identity::new(ada().on_behalf_of(["eve"])),
        Identity::new(ada().with_actor("eve")),
        Identity::new(delegated("eve")),
        Identity::new(delegated("bob")),
        Identity::execution(ada(), RunAs::new("flow", "1")),
        Identity::execution(ada(), RunAs::new("flow", "2")),
        Identity::execution(ada(), RunAs::new("other", "1")),
    ];
    let mut said = Vec::new();
    for _ in 0..2 {
        for identity in &identities {
            let caller = lab.runtime.caller(identity.clone());
            said.push(now(caller.invoke_transient(tool, "a".to_owned())).unwrap());
        }
        let labelled = lab.runtime.invoke_transient(tool, "a".to_owned()).label("b");
        said.push(now(labelled).unwrap());
    }
    let first: Vec<String> = (1..=10).map(|ran| format!("a#{ran}")).collect();
    assert_eq!(said, [first.clone(), first].concat());
}

/// T14: who listens and who may stop a call are no parts of its key; a hit has no live text and no done.
#[test]
fn a_sink_and_a_signal_make_no_difference_and_a_hit_is_silent() {
    let lab = Lab::new(DAY, []);
    let tool = lab.runtime.tool::<String, String>("says").unwrap();
    let heard = || {
        let view = View::default();
        let call = lab.runtime.invoke_transient(tool, "a".to_owned()).on_delta_sink(view.clone());
        let (output, report) = now(call.signal(Signal::new()).reported());
        (output.unwrap(), view.text(), report.streamed)
    };
    assert_eq!(heard(), ("a#1".to_owned(), "a#1.".to_owned(), true));
    assert_eq!(heard(), ("a#1".to_owned(), String::new(), false));
    assert_eq!(lab.says("a"), "a#1");
}

/// T14: what is served is what the inspectors made of the output, and they are not asked again.
#[test]
fn what_is_served_was_inspected() {
    let says = Says::new([]);
    let asked = Arc::new(AtomicU32::new(0));
    let asks = Arc::clone(&asked);
    let redacts = inspect("redacts", None, move |_, output| {
        asks.fetch_add(1, Ordering::SeqCst);
        output.get_mut::<String>().unwrap().replace_range(..6, "[gone]");
        Step::Go
    });
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .around(Memo::new(1).tool("says", DAY))
        .output_middleware(redacts)
        .effect(says)
        .build()
        .unwrap();
    for attempts in [1, 0, 0] {
        let (output, report) = say(&runtime, "secret");
        assert_eq!((output.unwrap().as_str(), report.attempts), ("[gone]#1", attempts));
    }
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

/// T14: what failed, was refused or panicked is not kept.
#[test]
fn a_failure_is_never_kept() {
    let failures = [
        Act::Fail(ErrorName::EffectFailed),
        Act::Fail(ErrorName::Provider),
        Act::Fail(ErrorName::QuotaExceeded),
        Act::Fail(ErrorName::CapabilityDenied),
        Act::Panic,
    ];
    let lab = Lab::new(Ttl::new(DAY).stale(DAY), failures);
    for _ in failures {
        assert!(lab.call("a").is_err());
        assert_eq!(lab.memo.counts().kept, 0);
    }
    assert_eq!((lab.says("a"), lab.says("a")), ("a#6".to_owned(), "a#6".to_owned()));
}

/// T14: what an inspector refuses is not kept, and is refused the next time as well.
#[test]
fn a_refused_output_is_never_kept() {
    let says = Says::new([]);
    let memo = Arc::new(Memo::new(1).tool("says", DAY));
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .around(Arc::clone(&memo))
        .output_middleware(inspect("judge", None, |_, _| Step::Deny(Refusal::safety("judge"))))
        .effect(says.clone())
        .build()
        .unwrap();
    for ran in 1..3 {
        assert_eq!(say(&runtime, "a").0.unwrap_err().rule(), Some("judge"));
        assert_eq!((says.ran(), memo.counts().kept), (ran, 0));
    }
}

/// T14: every hook before the effect judges a call that could be served as it judges any other.
#[test]
fn a_call_that_is_refused_is_served_nothing() {
    let open = Arc::new(AtomicBool::new(true));
    let is_open = Arc::clone(&open);
    let gate = before("gate", move |_, _| {
        if is_open.load(Ordering::SeqCst) { Step::Go } else { Step::Deny(Refusal::quota("gate")) }
    });
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .around(Memo::new(1).tool("says", Ttl::new(DAY).stale(DAY)))
        .middleware(gate)
        .effect(Says::new([]))
        .build()
        .unwrap();
    assert_eq!(say(&runtime, "a").0.unwrap(), "a#1");
    open.store(false, Ordering::SeqCst);
    assert_eq!(say(&runtime, "a").0.unwrap_err().rule(), Some("gate"));
}

/// T14: what was severed is not kept, and nothing that was kept stands in for it.
#[test]
fn a_severed_output_is_never_kept_nor_stood_in_for() {
    let says = Says::new([Act::Say, Act::WriteAndFail("no", ErrorName::Provider)]);
    let clock = VirtualClock::new();
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .clock(clock.clone())
        .around(Memo::new(1).tool("says", Ttl::new(SECOND).stale(DAY)))
        .output_middleware(inspect("wall", Some(Arc::new(Wall("no"))), |_, _| Step::Go))
        .effect(says.clone())
        .build()
        .unwrap();
    let tool = runtime.tool::<String, String>("says").unwrap();
    let heard = |input: &str| now(runtime.invoke_transient(tool, input.to_owned()).on_delta(|_| ()));
    assert_eq!(heard("a").unwrap(), "a#1");
    clock.advance(SECOND);
    assert_eq!(heard("a").unwrap_err().rule(), Some("wall"));
    for _ in 0..2 {
        assert_eq!(heard("no").unwrap_err().rule(), Some("wall"));
    }
    assert_eq!(says.ran(), 4);
}

/// T14: a call that is aborted or dropped while it runs leaves nothing.
#[test]
fn a_cancelled_call_is_never_kept() {
    let lab = Lab::new(DAY, [Act::Wait, Act::Wait]);
    let tool = lab.runtime.tool::<String, String>("says").unwrap();
    let call = || lab.runtime.invoke_transient(tool, "a".to_owned());
    assert!(call().into_future().now_or_never().is_none());
    let signal = Signal::new();
    let mut aborted = std::pin::pin!(call().signal(signal.clone()).into_future());
    assert!(aborted.as_mut().now_or_never().is_none());
    signal.abort_with(loom_effect_runtime::AbortError::new());
    assert!(aborted.now_or_never().unwrap().unwrap_err().abort_reason().is_some());
    assert_eq!(lab.memo.counts().kept, 0);
    assert_eq!((lab.says("a"), lab.says("a")), ("a#3".to_owned(), "a#3".to_owned()));
}

/// T14: an output is served until its time is over, by the runtime's monotonic clock, from the end of its run.
#[test]
fn an_output_is_fresh_for_its_time_and_no_longer() {
    let lab = Lab::new(2 * SECOND, []);
    assert_eq!(lab.says("a"), "a#1");
    lab.clock.advance(2 * SECOND - Duration::from_nanos(1));
    assert_eq!(lab.says("a"), "a#1");
    lab.clock.advance(Duration::from_nanos(1));
    assert_eq!(lab.says("a"), "a#2");
    lab.clock.advance(SECOND);
    assert_eq!(lab.says("a"), "a#2", "a new run begins a new time, a hit does not");
    lab.clock.advance(SECOND);
    assert_eq!(lab.says("a"), "a#3");
}

/// T14: in its stale window an output stands in for a failed run, and a run that succeeds takes its place.
#[test]
fn a_stale_output_stands_in_for_a_failure_and_for_nothing_else() {
    let fails = Act::Fail(ErrorName::Provider);
    let acts = [Act::Say, fails, Act::Panic, Act::Say, Act::Fail(ErrorName::EgressDenied), fails, fails];
    let lab = Lab::new(Ttl::new(SECOND).stale(SECOND), acts);
    assert_eq!(lab.says("a"), "a#1");
    lab.clock.advance(SECOND);
    assert_eq!((lab.says("a"), lab.says("a"), lab.says("a")), ("a#1".into(), "a#1".into(), "a#4".into()));
    assert_eq!(lab.memo.counts().stale, 2);
    lab.clock.advance(SECOND);
    assert_eq!(lab.call("a").unwrap_err().name(), ErrorName::EgressDenied);
    assert_eq!(lab.says("a"), "a#4");
    lab.clock.advance(SECOND);
    assert_eq!(lab.call("a").unwrap_err().name(), ErrorName::Provider, "its window is over");
    assert_eq!((lab.says.ran(), lab.memo.counts().stale), (7, 3));
}

/// D11, T14: what a failed run had streamed is taken back before a stale output is served, which has no text and no done.
#[test]
fn what_a_failed_run_showed_is_taken_back_by_a_reset() {
    let lab =
        Lab::new(Ttl::new(SECOND).stale(SECOND), [Act::Say, Act::WriteAndFail("half", ErrorName::Provider)]);
    assert_eq!(lab.says("a"), "a#1");
    lab.clock.advance(SECOND);
    let view = View::default();
    let tool = lab.runtime.tool::<String, String>("says").unwrap();
    let call = lab.runtime.invoke_transient(tool, "a".to_owned()).on_delta_sink(view.clone());
    let (output, report) = now(call.reported());
    assert_eq!((output.unwrap().as_str(), view.text().as_str()), ("a#1", "half<2>"));
    assert!(!report.streamed);
}

/// T14: at most so many are kept; the one that was served the longest ago makes room.
#[test]
fn the_least_recently_used_output_makes_room() {
    let lab = Lab::of(Memo::new(2).tool("says", DAY), []);
    assert_eq!([lab.says("a"), lab.says("b"), lab.says("a"), lab.says("c")], ["a#1", "b#2", "a#1", "c#3"]);
    assert_eq!(lab.memo.counts().kept, 2);
    assert_eq!([lab.says("a"), lab.says("b"), lab.says("c")], ["a#1", "b#4", "c#5"]);
}

/// T14: what is forgotten is not served again, neither fresh nor stale, and other tools keep what they have.
#[test]
fn what_is_forgotten_is_gone() {
    let ttl = Ttl::new(DAY).stale(DAY);
    let lab = Lab::of(Memo::new(9).tool("says", ttl).tool("others", ttl), []);
    let others = || now(lab.runtime.invoke_transient("others", json!("a")));
    assert_eq!((lab.says("a"), others().unwrap()), ("a#1".to_owned(), "a#2".into()));
    lab.memo.forget("says");
    lab.memo.forget("nobody");
    assert_eq!((lab.says("a"), others().unwrap()), ("a#3".to_owned(), "a#2".into()));
    lab.memo.clear();
    assert_eq!(
        (lab.says("a"), others().unwrap(), lab.memo.counts().kept),
        ("a#4".to_owned(), "a#5".into(), 2)
    );
}

/// T14: before a retry the stale output stands in for its last failure, behind it for the first one.
#[tokio::test(start_paused = true)]
async fn the_order_with_a_retry_decides_when_a_stale_output_stands_in() {
    let fails = || [Act::Say].into_iter().chain([Act::Fail(ErrorName::Provider); 5]);
    for (is_memo_first, ran) in [(true, 4), (false, 2)] {
        let (says, memo) =
            (Says::new(fails()), Memo::new(1).tool("says", Ttl::new(Duration::ZERO).stale(DAY)));
        let builder = EffectRuntime::builder().allow_all_calls().effect(says.clone());
        let runtime = if is_memo_first {
            builder.around(memo).around(Retry::new()).build().unwrap()
        } else {
            builder.around(Retry::new()).around(memo).build().unwrap()
        };
        let tool = runtime.tool::<String, String>("says").unwrap();
        for _ in 0..2 {
            assert_eq!(runtime.invoke_transient(tool, "a".to_owned()).await.unwrap(), "a#1");
        }
        assert_eq!(says.ran(), ran);
    }
}

/// Doubles a number.
struct Doubles;

impl Effect for Doubles {
    type Input = f64;
    type Output = String;

    fn id(&self) -> &str {
        "doubles"
    }

    async fn execute(&self, number: &f64, _cx: &EffectContext<'_>) -> Result<String, CallError> {
        Ok(format!("{:.1}", number * 2.0))
    }
}

/// T14: an input that JSON cannot write has no key, and its calls run.
#[test]
fn an_input_without_a_key_is_not_memoised() {
    let memo = Arc::new(Memo::new(9).tool("doubles", DAY));
    let runtime =
        EffectRuntime::builder().allow_all_calls().around(Arc::clone(&memo)).effect(Doubles).build().unwrap();
    let doubles = runtime.tool::<f64, String>("doubles").unwrap();
    let call = |number| now(runtime.invoke_transient(doubles, number)).unwrap();
    assert_eq!([call(f64::INFINITY), call(f64::NEG_INFINITY), call(f64::NAN)], ["inf", "-inf", "NaN"]);
    assert_eq!(memo.counts(), Default::default());
    assert_eq!((call(1.5), memo.counts().kept), ("3.0".to_owned(), 1));
}
