//! Fallback over real runtimes, in virtual time.

#![expect(clippy::unwrap_used, clippy::panic, reason = "test code outside a test function")]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use loom_effect_runtime::{
    AbortError, AbortReason, AnyInvocation, AnyInvoked, CallError, CallRef, Caller, DeltaSink, EffectDelta,
    EffectRuntime, ErrorName, Identity, Invoke, Principal, Ready, Refusal, RetryAdvice, RuntimeBuilder,
    Signal, Step, Tool, Usage, authorize, inspect,
};
use loom_middleware::{Deadline, FALLBACK_TOOLS_MAX, Fallback, FallbackReport, Retry};
use loom_testing::{Act, Scripted};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};

type Script = Scripted<String, ()>;

const SECOND: Duration = Duration::from_secs(1);
const PROVIDER: ErrorName = ErrorName::Provider;
const IDS: [&str; 4] = ["one", "two", "three", "four"];

/// What one sink got: each delta with its call, the fold of each call, and the fold of all of them.
#[derive(Clone, Default)]
struct Views(Arc<Mutex<Seen>>);

#[derive(Clone, Default)]
struct Seen {
    log: Vec<(u64, u32, String)>,
    per_call: BTreeMap<u64, String>,
    all: String,
}

impl Views {
    fn seen(&self) -> Seen {
        self.0.lock().unwrap().clone()
    }

    /// Every delta in order: text as it is, `<n>` for a reset, `.` for done.
    fn text(&self) -> String {
        self.seen().log.iter().map(|(_, _, said)| said.as_str()).collect()
    }
}

impl DeltaSink for Views {
    fn deliver(&self, call: &CallRef<'_>, delta: &EffectDelta<'_>) {
        let mut seen = self.0.lock().unwrap();
        let Seen { log, per_call, all } = &mut *seen;
        let own = per_call.entry(call.number()).or_default();
        let said = match delta {
            EffectDelta::Reset { attempt, .. } => {
                own.clear();
                all.clear();
                format!("<{attempt}>")
            }
            EffectDelta::Done { .. } => ".".to_owned(),
            delta => {
                own.push_str(delta.text().unwrap_tainted());
                all.push_str(delta.text().unwrap_tainted());
                delta.text().unwrap_tainted().to_owned()
            }
        };
        log.push((call.number(), call.attempt(), said));
    }
}

fn builder() -> RuntimeBuilder<Ready> {
    EffectRuntime::builder().allow_all_calls()
}

/// A runtime with these effects under the first ids there are, and the handles on them.
fn runtime(
    builder: RuntimeBuilder<Ready>,
    effects: impl IntoIterator<Item = Script>,
) -> (EffectRuntime, Vec<Script>, Vec<Tool<(), String>>) {
    let effects: Vec<_> = effects.into_iter().zip(IDS).map(|(effect, id)| effect.id(id)).collect();
    let runtime = effects.iter().fold(builder, |builder, effect| builder.effect(effect.clone()));
    let runtime = runtime.build().unwrap();
    let tools = IDS.iter().take(effects.len()).map(|id| runtime.tool(id).unwrap()).collect();
    (runtime, effects, tools)
}

fn over(tools: &[Tool<(), String>]) -> Fallback<(), String> {
    let (primary, others) = tools.split_first().unwrap();
    others.iter().fold(Fallback::new(*primary), |fallback, tool| fallback.or(*tool))
}

fn ada(runtime: &EffectRuntime) -> Caller {
    runtime.caller(Identity::new(Principal::new("ada")))
}

fn fails(text: &str) -> Script {
    Script::new([Act::text(text), Act::Usage(Usage::new(1, 2)), Act::Fail(PROVIDER)])
}

fn answers(text: &str) -> Script {
    Script::new([Act::text(text), Act::Usage(Usage::new(10, 20))])
}

fn names(report: &FallbackReport) -> Vec<ErrorName> {
    report.failures().map(CallError::name).collect()
}

#[tokio::test]
async fn the_first_tool_that_answers_gives_the_output_and_no_further_one_runs() {
    let (runtime, effects, tools) =
        runtime(builder(), [fails("a"), fails("b"), answers("good"), answers("never")]);
    let (result, report) = over(&tools).run(&ada(&runtime), ()).await;
    assert_eq!(result.unwrap(), "good");
    assert_eq!((report.answered(), names(&report)), (Some(2), vec![PROVIDER; 2]));
    assert_eq!(report.tries.iter().map(|tried| tried.report.attempts).collect::<Vec<_>>(), [1, 1, 1]);
    assert_eq!(report.usage(), Some(Usage::new(12, 24)));
    assert_eq!(effects.iter().map(Script::executions).collect::<Vec<_>>(), [1, 1, 1, 0]);
}

#[tokio::test]
async fn where_none_answers_the_last_failure_is_told_and_the_others_are_in_the_report() {
    let last = Script::new([Act::text("c"), Act::Fail(ErrorName::EffectFailed)]);
    let (runtime, _, tools) = runtime(builder(), [fails("a"), fails("b"), last]);
    let views = Views::default();
    let fallback = over(&tools).on_delta_sink(Arc::new(views.clone()));
    let (result, report) = fallback.run(&ada(&runtime), ()).await;
    assert_eq!(result.unwrap_err().name(), ErrorName::EffectFailed);
    assert_eq!(
        (report.answered(), names(&report)),
        (None, vec![PROVIDER, PROVIDER, ErrorName::EffectFailed])
    );
    assert_eq!((views.text().as_str(), views.seen().all.as_str()), ("a<2>b<2>c<2>", ""));
}

/// D11, D12: what a failed tool showed is taken back under its own call and the attempt after its last, before the next
/// tool's text.
#[tokio::test(start_paused = true)]
async fn what_a_failed_tool_showed_is_taken_back_under_its_own_call() {
    let (runtime, _, tools) = runtime(builder().around(Retry::new()), [fails("bad"), answers("good")]);
    let views = Views::default();
    let fallback = over(&tools).on_delta_sink(Arc::new(views.clone()));
    assert_eq!(fallback.run(&ada(&runtime), ()).await.0.unwrap(), "good");
    assert_eq!(views.text(), "bad<2>bad<3>bad<4>good.");
    let seen = views.seen();
    let (one, two) = (seen.log[0].0, seen.log[6].0);
    assert!(one != two);
    assert_eq!(seen.log[5], (one, 4, "<4>".to_owned()));
    assert_eq!(seen.log[6], (two, 1, "good".to_owned()));
    assert_eq!(seen.per_call.into_values().collect::<Vec<_>>(), ["", "good"]);
}

/// D6: what showed nothing is taken back by nothing, and an answer that streamed nothing leaves the view empty.
#[tokio::test]
async fn a_tool_that_showed_nothing_is_followed_by_no_reset() {
    let silent = Script::new([Act::Fail(PROVIDER)]);
    let (runtime, _, tools) = runtime(builder(), [silent, fails("b"), Script::new([Act::answer("")])]);
    let views = Views::default();
    let fallback = over(&tools).on_delta_sink(Arc::new(views.clone()));
    assert_eq!(fallback.run(&ada(&runtime), ()).await.0.unwrap(), "");
    assert_eq!(views.text(), "b<2>");
}

/// T11: the authorizer is asked for each tool, and its refusal is the end.
#[tokio::test]
async fn each_try_is_authorised_by_itself_and_a_refusal_is_the_end() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&asked);
    let gate = authorize(move |call, _| {
        log.lock().unwrap().push(call.tool().to_owned());
        match call.tool() {
            "two" => Step::Deny(Refusal::capability_denied("two")),
            _ => Step::Go,
        }
    });
    let (runtime, effects, tools) =
        runtime(EffectRuntime::builder().authorizer(gate), [fails("a"), answers("b"), answers("c")]);
    let views = Views::default();
    let fallback = over(&tools).when(|_| true).on_delta_sink(Arc::new(views.clone()));
    let (result, report) = fallback.run(&ada(&runtime), ()).await;
    assert_eq!(result.unwrap_err().name(), ErrorName::CapabilityDenied);
    assert_eq!(*asked.lock().unwrap(), ["one", "two"]);
    assert_eq!(names(&report), [PROVIDER, ErrorName::CapabilityDenied]);
    assert_eq!(effects.iter().map(Script::executions).collect::<Vec<_>>(), [1, 0, 0]);
    assert_eq!(views.text(), "a<2>");
}

/// T11: no other tool is tried for an output that was refused.
#[tokio::test]
async fn a_refused_output_leads_to_no_other_tool() {
    let judge = inspect("judge", None, |call, _| match call.tool() {
        "one" => Step::Deny(Refusal::safety("judge")),
        _ => Step::Go,
    });
    let (runtime, effects, tools) = runtime(builder().output_middleware(judge), [answers("a"), answers("b")]);
    let (result, _) = over(&tools).when(|_| true).run(&ada(&runtime), ()).await;
    assert_eq!(result.unwrap_err().rule(), Some("judge"));
    assert_eq!(effects[1].executions(), 0);
}

/// T11: a deadline over all tries ends them; the next tool is no way round it.
#[tokio::test(start_paused = true)]
async fn a_deadline_ends_the_tries() {
    let deadline = Deadline::within(SECOND);
    let slow = Script::new([Act::Sleep(SECOND / 2), Act::Fail(PROVIDER)]);
    let (runtime, effects, tools) = runtime(
        builder().middleware(deadline.clone()).around(deadline.running()),
        [slow, Script::new([Act::Park]), answers("c")],
    );
    let (result, report) = over(&tools).when(|_| true).run(&ada(&runtime), ()).await;
    assert_eq!((result.unwrap_err().rule(), report.tries.len()), (Some("deadline"), 2));
    assert_eq!((effects[1].dropped(), effects[2].executions()), (1, 0));
}

#[tokio::test]
async fn a_closure_decides_and_what_advises_never_is_by_itself_the_end() {
    let never = CallError::named(PROVIDER, "bad key").with_advice(RetryAdvice::Never);
    let script = || [Script::new([Act::FailWith(never.clone())]), answers("good")];
    let (one, _, tools) = runtime(builder(), script());
    assert!(over(&tools).run(&ada(&one), ()).await.0.is_err());
    let (result, _) = over(&tools).when(|error| error.name() == PROVIDER).run(&ada(&one), ()).await;
    assert_eq!(result.unwrap(), "good");

    let (two, effects, tools) = runtime(builder(), [fails("a"), answers("b")]);
    let (result, report) = over(&tools).when(|_| false).run(&ada(&two), ()).await;
    assert_eq!((result.unwrap_err().name(), report.tries.len()), (PROVIDER, 1));
    let (result, report) = over(&tools).when(|_| panic!("closure")).run(&ada(&two), ()).await;
    assert_eq!(result.unwrap_err().rule(), Some("fallback.panicked"));
    assert_eq!((names(&report), effects[1].executions()), (vec![PROVIDER], 0));
}

#[tokio::test]
async fn a_tool_that_may_not_run_twice_is_followed_by_another() {
    let (runtime, effects, tools) =
        runtime(builder().around(Retry::new()), [fails("once").once_only(), answers("good")]);
    let views = Views::default();
    let fallback = over(&tools).on_delta_sink(Arc::new(views.clone()));
    assert_eq!(fallback.run(&ada(&runtime), ()).await.0.unwrap(), "good");
    assert_eq!((effects[0].executions(), views.text().as_str()), (1, "once<2>good."));
}

/// D8: an abort ends the try that runs with the aborter's own error; no tool follows, and nothing is delivered any more.
#[tokio::test(start_paused = true)]
async fn an_abort_is_the_end_at_once() {
    let (runtime, effects, tools) =
        runtime(builder(), [fails("a"), Script::new([Act::text("b"), Act::Park]), answers("c")]);
    let (signal, reason) = (Signal::new(), Arc::new(AbortError::new()) as AbortReason);
    let (raised, given) = (signal.clone(), Arc::clone(&reason));
    tokio::spawn(async move {
        tokio::time::sleep(SECOND).await;
        raised.abort(given);
    });
    let views = Views::default();
    let fallback = over(&tools).when(|_| true).signal(signal).on_delta_sink(Arc::new(views.clone()));
    let (result, report) = fallback.run(&ada(&runtime), ()).await;
    assert!(Arc::ptr_eq(&result.unwrap_err().abort_reason().unwrap(), &reason));
    assert_eq!((report.tries.len(), effects[1].dropped(), effects[2].executions()), (2, 1, 0));
    assert_eq!(views.text(), "a<2>b");
}

/// D8: an abort between two tries is the end as well, and the next tool never hears of it.
#[tokio::test]
async fn an_abort_between_two_tries_is_the_end() {
    let (runtime, effects, tools) = runtime(builder(), [fails("a"), answers("b")]);
    let (signal, reason) = (Signal::new(), Arc::new(AbortError::new()) as AbortReason);
    let (raised, given) = (signal.clone(), Arc::clone(&reason));
    let fallback = over(&tools).signal(signal).when(move |_| raised.abort(Arc::clone(&given)));
    let (result, report) = fallback.run(&ada(&runtime), ()).await;
    assert!(Arc::ptr_eq(&result.unwrap_err().abort_reason().unwrap(), &reason));
    assert_eq!((report.tries.len(), effects[1].executions()), (1, 0));
    let (result, report) = fallback.run(&ada(&runtime), ()).await;
    assert!(Arc::ptr_eq(&result.unwrap_err().abort_reason().unwrap(), &reason));
    assert_eq!((report.tries.len(), effects[0].executions()), (0, 1));
}

#[tokio::test]
async fn a_caller_that_goes_away_cancels_the_try_that_runs() {
    let (runtime, effects, tools) =
        runtime(builder(), [fails("a"), Script::new([Act::text("b"), Act::Park]), answers("c")]);
    let (views, caller) = (Views::default(), ada(&runtime));
    let fallback = over(&tools).on_delta_sink(Arc::new(views.clone()));
    let mut running = Box::pin(fallback.run(&caller, ()));
    assert!((&mut running).now_or_never().is_none());
    drop(running);
    assert_eq!((effects[1].dropped(), effects[2].executions()), (1, 0));
    assert_eq!(views.text(), "a<2>b");
}

/// Another starter of calls than a caller: it counts them, and has a signal of its own.
struct Scope {
    caller: Caller,
    closes: Signal,
    started: AtomicUsize,
}

impl Invoke for Scope {
    fn start(&self, call: AnyInvocation) -> BoxFuture<'static, AnyInvoked> {
        self.started.fetch_add(1, Ordering::SeqCst);
        let (call, signal) = call.bind(&self.caller);
        let call = call.signal(self.closes.clone());
        match signal {
            Some(signal) => call.signal(signal),
            None => call,
        }
        .reported()
        .boxed()
    }
}

/// T6: the tries are calls of whoever starts them; what ends those ends the fallback.
#[tokio::test]
async fn any_starter_of_calls_will_do() {
    let (runtime, effects, tools) =
        runtime(builder(), [fails("a"), answers("good"), Script::new([Act::Park])]);
    let scope = Scope { caller: ada(&runtime), closes: Signal::new(), started: AtomicUsize::new(0) };
    let views = Views::default();
    let fallback = over(&tools[..2]).on_delta_sink(Arc::new(views.clone()));
    assert_eq!(fallback.run(&scope, ()).await.0.unwrap(), "good");
    assert_eq!((scope.started.load(Ordering::SeqCst), views.text().as_str()), (2, "a<2>good."));

    let parked = Fallback::new(tools[2]).or(tools[1]).when(|_| true);
    let mut running = Box::pin(parked.run(&scope, ()));
    assert!((&mut running).now_or_never().is_none());
    scope.closes.abort_with(loom_effect_runtime::DecideScopeClosedError::new());
    let (result, _) = running.await;
    assert_eq!(result.unwrap_err().name(), ErrorName::DecideScopeClosed);
    assert_eq!((scope.started.load(Ordering::SeqCst), effects[2].dropped()), (3, 1));
}

#[tokio::test]
async fn more_tools_than_there_may_be_are_refused_and_none_is_tried() {
    let (runtime, effects, tools) = runtime(builder(), [fails("a"), answers("good")]);
    let many = (1..FALLBACK_TOOLS_MAX - 1).fold(Fallback::new(tools[0]), |many, _| many.or(tools[0]));
    let most = many.or(tools[1]);
    let (result, report) = most.clone().run(&ada(&runtime), ()).await;
    assert_eq!((result.unwrap().as_str(), report.answered()), ("good", Some(FALLBACK_TOOLS_MAX - 1)));
    let (result, report) = most.or(tools[1]).run(&ada(&runtime), ()).await;
    let error = result.unwrap_err();
    assert_eq!((error.name(), error.rule()), (ErrorName::QuotaExceeded, Some("fallback.tools")));
    assert_eq!((report.tries.len(), effects[1].executions()), (0, 1));
}

/// D6: a sink that panics, also where it is told to take back, hurts nobody and is reported once a call.
#[tokio::test]
async fn a_sink_that_panics_hurts_no_try() {
    struct Panics;

    impl DeltaSink for Panics {
        fn deliver(&self, _call: &CallRef<'_>, _delta: &EffectDelta<'_>) {
            panic!("sink");
        }
    }

    let warned = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&warned);
    let builder = builder().on_warn(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
    });
    let (runtime, _, tools) = runtime(builder, [fails("a"), answers("good")]);
    let fallback = over(&tools).on_delta_sink(Arc::new(Panics));
    assert_eq!(fallback.run(&ada(&runtime), ()).await.0.unwrap(), "good");
    assert_eq!(warned.load(Ordering::SeqCst), 2);
}

/// An input that cannot be copied.
#[derive(Serialize, Deserialize)]
struct Uncopied;

impl Clone for Uncopied {
    fn clone(&self) -> Self {
        panic!("clone")
    }
}

#[tokio::test]
async fn an_input_that_panics_when_it_is_copied_fails_the_run() {
    let effect = Scripted::<String, Uncopied>::new([Act::text("x")]).id("one");
    let runtime = builder().effect(effect.clone()).build().unwrap();
    let tool = runtime.tool::<Uncopied, String>("one").unwrap();
    let (result, report) = Fallback::new(tool).or(tool).run(&ada(&runtime), Uncopied).await;
    assert_eq!((result.unwrap_err().name(), report.tries.len()), (ErrorName::InputInvalid, 0));
    let (result, _) = Fallback::new(tool).run(&ada(&runtime), Uncopied).await;
    assert_eq!(
        (result.unwrap().as_str(), effect.executions()),
        ("x", 1),
        "the last tool gets the input itself"
    );
}

/// What one tool does in each of its attempts.
fn attempt() -> impl Strategy<Value = (Vec<&'static str>, bool)> {
    let pieces = proptest::collection::vec(prop_oneof![Just("a"), Just("bc"), Just("ü"), Just("")], 0..4);
    (pieces, proptest::bool::weighted(0.3))
}

proptest! {
    /// D11: for all scripts of tools, attempts and pieces, the fold over the one sink is the output of the tool that
    /// answered, and nothing where none did; and so it is call by call.
    #[test]
    fn the_fold_is_the_text_of_the_tool_that_answered(
        scripts in proptest::collection::vec(proptest::collection::vec(attempt(), 1..4), 1..5),
        retries: bool,
    ) {
        let effects = scripts.iter().map(|attempts| {
            let mut acts = attempts.iter().map(|(pieces, good)| {
                let end = if *good { Act::Yield } else { Act::Fail(PROVIDER) };
                pieces.iter().map(|piece| Act::text(piece)).chain([end]).collect::<Vec<_>>()
            });
            let first = acts.next().unwrap();
            acts.fold(Script::new(first), Script::then)
        });
        let retry = Retry::new().attempts(if retries { 3 } else { 1 }).backoff(Duration::ZERO, Duration::ZERO);
        let (runtime, _, tools) = runtime(builder().around(retry), effects);
        let views = Views::default();
        let fallback = over(&tools).on_delta_sink(Arc::new(views.clone()));
        let tokio = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let caller = ada(&runtime);
        let (result, report) = tokio.block_on(fallback.run(&caller, ()));
        let text = result.as_deref().unwrap_or_default();
        let seen = views.seen();
        prop_assert_eq!(report.answered().is_some(), result.is_ok());
        prop_assert_eq!(seen.all.as_str(), text);
        let last = seen.log.last().map_or(0, |(call, ..)| *call);
        for (call, fold) in &seen.per_call {
            let expected = if *call == last { text } else { "" };
            prop_assert_eq!(fold.as_str(), expected);
        }
    }
}
