//! D4 and D6: both sinks fire, in order; a sink cannot hurt the call; done is the runtime's.

use std::sync::{Arc, Mutex};

use loom_effect_runtime::*;

use crate::support::{Act, Log, Recorder, Scripted, SinkThat, ask, hold_all, plan, run, stubborn};

/// A runtime over `effect` whose warnings go to the log, each behind `warning: `.
fn warned(effect: Scripted, log: &Log) -> EffectRuntime {
    let log = log.clone();
    EffectRuntime::builder()
        .allow_all_calls()
        .on_warn(move |warning| log.say(format!("warning: {warning}")))
        .effect(effect)
        .build()
        .unwrap()
}

/// D4: per-call first, then the effect's configured sink, delta by delta.
#[test]
fn both_sinks_fire_and_the_per_call_one_is_first() {
    let log = Log::new();
    let effect =
        Scripted::new([Act::text("a"), Act::text("b")]).sink(Recorder::into_log(&log, "configured "));
    let runtime = warned(effect, &log);
    let call = runtime.invoke_transient(plan(&runtime), ask("x"));
    run(call.on_delta_sink(Recorder::into_log(&log, "call ")).into_future()).unwrap();
    assert_eq!(log.lines(), ["call a", "configured a", "call b", "configured b", "call <done>"]);
}

/// D6: a panicking per-call sink keeps no delta from the configured one, and is reported once a call.
#[test]
fn a_panicking_sink_is_isolated_and_reported_once() {
    let log = Log::new();
    let effect = Scripted::new([Act::text("a"), Act::Fail(ErrorName::Provider)])
        .then([Act::text("b"), Act::text("c")])
        .sink(Recorder::into_log(&log, ""));
    let reports = log.clone();
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .on_warn(move |warning| reports.say(format!("{warning:?}")))
        .around(stubborn(2))
        .effect(effect)
        .build()
        .unwrap();
    let call = || runtime.invoke_transient(plan(&runtime), ask("x")).on_delta(|_| panic!("scripted"));
    assert_eq!(run(call().into_future()).unwrap().text, "bc");
    let warning = r#"SinkPanicked { tool: "plan" }"#;
    assert_eq!(log.lines(), [warning, "a", "<reset 2>", "b", "c"]);
    run(call().into_future()).unwrap();
    assert_eq!(log.lines().iter().filter(|line| *line == warning).count(), 2, "once a call");
}

/// D6: a panicking configured sink keeps no delta from the per-call one.
#[test]
fn a_panicking_configured_sink_hurts_nobody() {
    let log = Log::new();
    let panics = SinkThat(|_: &CallRef<'_>, _: &EffectDelta<'_>| panic!("scripted"));
    let runtime = warned(Scripted::new([Act::text("a"), Act::text("b")]).sink(panics), &log);
    let call = runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(Recorder::into_log(&log, ""));
    run(call.into_future()).unwrap();
    assert_eq!(log.lines(), ["a", "warning: a delta sink of `plan` panicked", "b", "<done>"]);
}

/// D6: the reporter itself may panic; the call goes on.
#[test]
fn a_panicking_on_warn_hurts_nobody() {
    let sink = Recorder::new();
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .on_warn(|_| panic!("scripted"))
        .effect(Scripted::new([Act::text("a")]).sink(sink.clone()))
        .build()
        .unwrap();
    let call = runtime.invoke_transient(plan(&runtime), ask("x")).on_delta(|_| panic!("scripted"));
    assert_eq!(run(call.into_future()).unwrap().text, "a");
    assert_eq!(sink.lines(), ["a"]);
}

/// D6: done only after the call succeeded: not on an effect's failure, an inspector's refusal, or an abort.
#[test]
fn nothing_terminal_is_sent_on_failure() {
    let refuses = || inspect("refuses", crate::support::pass(), |_, _| Step::Deny(Refusal::safety("no")));
    let end = Act::End(Some(Usage::new(1, 2)));
    let cases: [(Scripted, bool); 4] = [
        (Scripted::new([Act::text("a"), end.clone(), Act::Fail(ErrorName::Provider)]), false),
        (Scripted::new([Act::text("a"), end.clone(), Act::Panic]), false),
        (Scripted::new([Act::text("a"), end.clone()]), true),
        (Scripted::new([Act::text("a"), end, Act::answer("other")]), false),
    ];
    for (effect, refused) in cases {
        let builder = EffectRuntime::builder().allow_all_calls().effect(effect);
        let builder = if refused { builder.output_middleware(refuses()) } else { builder };
        let runtime = builder.build().unwrap();
        let sink = Recorder::new();
        let call = runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink.clone());
        run(call.into_future()).unwrap_err();
        assert_eq!(sink.lines(), ["a"]);
    }
}

/// D6: the effect's own end marker is held until the call has succeeded, and its usage is kept.
#[test]
fn the_end_mark_is_held() {
    let log = Log::new();
    let told = log.clone();
    let effect = Scripted::new([
        Act::text("a"),
        Act::End(Some(Usage::new(3, 4))),
        Act::with(move |_| told.say("after the mark")),
        Act::Yield,
    ]);
    let runtime = warned(effect, &log);
    let call = runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(Recorder::into_log(&log, ""));
    let (_, report) = run(call.reported());
    assert_eq!(log.lines(), ["a", "after the mark", "<done 3/4>"]);
    assert_eq!(report.usage, Some(Usage::new(3, 4)));
}

/// D6: done goes to the per-call sink where the attempt streamed: text, or a stream that ended empty; else not.
#[test]
fn done_only_where_the_attempt_streamed() {
    let lines = |acts: Vec<Act>| {
        let (sink, configured) = (Recorder::new(), Recorder::new());
        let effect = Scripted::new(acts).sink(configured.clone());
        let runtime = warned(effect, &Log::new());
        let call = runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink.clone());
        let (result, report) = run(call.reported());
        result.unwrap();
        assert!(!configured.lines().iter().any(|line| line.starts_with("<done")));
        (sink.lines(), report.streamed)
    };
    assert_eq!(lines(vec![Act::answer("x")]), (vec![], false));
    assert_eq!(lines(vec![Act::End(None)]), (vec!["<done>".to_owned()], true));
    assert_eq!(lines(vec![Act::text("a")]), (vec!["a".to_owned(), "<done>".to_owned()], true));
}

/// D6: nothing is delivered once the call has settled, however it settled, even if a pump writes on.
#[test]
fn nothing_is_delivered_after_settle() {
    for last in [Act::answer("early"), Act::Fail(ErrorName::Provider), Act::Panic] {
        let pumps = Arc::new(Mutex::new(Vec::new()));
        let sink = Recorder::new();
        let effect = Scripted::new([Act::text("early"), Act::Pump(Arc::clone(&pumps)), last]);
        let runtime = warned(effect.sink(sink.clone()), &Log::new());
        let call = runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink.clone());
        let settled = run(call.into_future()).is_ok();
        let before = sink.lines();
        let pump = pumps.lock().unwrap().pop().unwrap();
        assert!(matches!(pump.text("late"), Err(Stopped::Closed)));
        pump.end(Some(Usage::new(9, 9)));
        assert_eq!(sink.lines(), before);
        assert_eq!(before.len(), if settled { 3 } else { 2 });
    }
}

/// D6: nothing is delivered once the caller has dropped the call, and its future is gone.
#[test]
fn nothing_is_delivered_after_the_caller_dropped_the_call() {
    let pumps = Arc::new(Mutex::new(Vec::new()));
    let sink = Recorder::new();
    let effect = Scripted::new([Act::text("a"), Act::Pump(Arc::clone(&pumps)), Act::Park]);
    let runtime = warned(effect.clone(), &Log::new());
    let call = runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink.clone());
    run(async {
        let mut call = Box::pin(call.into_future());
        assert!(futures::poll!(call.as_mut()).is_pending());
    });
    assert_eq!(effect.dropped(), 1);
    assert!(pumps.lock().unwrap()[0].text("late").is_err());
    assert_eq!(sink.lines(), ["a"]);
}

/// D6: a sink that writes back into its own channel is refused, not deadlocked, and the call goes on.
#[test]
fn a_sink_that_writes_back_is_refused() {
    let pumps: Arc<Mutex<Vec<Deltas>>> = Arc::default();
    let log = Log::new();
    let (own, answers) = (Arc::clone(&pumps), log.clone());
    let echo = SinkThat(move |_: &CallRef<'_>, delta: &EffectDelta<'_>| {
        let pump = own.lock().unwrap()[0].clone();
        answers.say(format!("{} {:?}", crate::support::sinks::line(delta), pump.text("echo")));
    });
    let runtime = warned(Scripted::new([Act::Pump(pumps), Act::text("a"), Act::text("b")]), &log);
    let call = runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(echo);
    assert_eq!(run(call.into_future()).unwrap().text, "ab");
    assert_eq!(log.lines()[..2], ["a Err(Busy)", "b Err(Busy)"]);
}

/// D6: a sink that drops the last owner of the call ends it: the other sink gets nothing more, nothing deadlocks.
#[test]
fn a_sink_that_drops_the_call_ends_it() {
    type Slot =
        Arc<Mutex<Option<futures::future::BoxFuture<'static, Result<crate::support::Answer, CallError>>>>>;
    let slot: Slot = Arc::default();
    let pumps: Arc<Mutex<Vec<Deltas>>> = Arc::default();
    let configured = Recorder::new();
    let effect = Scripted::new([Act::Pump(Arc::clone(&pumps)), Act::Park]).sink(configured.clone());
    let runtime = warned(effect.clone(), &Log::new());
    let dropping = Arc::clone(&slot);
    let drops = move |_: &EffectDelta<'_>| drop(dropping.lock().unwrap().take());
    let mut call: futures::future::BoxFuture<'static, _> =
        Box::pin(runtime.invoke_transient(plan(&runtime), ask("x")).on_delta(drops).into_future());
    run(async { assert!(futures::poll!(call.as_mut()).is_pending()) });
    *slot.lock().unwrap() = Some(call);
    let pump = pumps.lock().unwrap()[0].clone();
    let _ = pump.text("a");
    assert_eq!(effect.dropped(), 1);
    assert!(configured.lines().is_empty(), "the call was over before the second sink's turn");
    assert!(matches!(pump.text("b"), Err(Stopped::Closed)));
}

/// D6: held tails flow out before done, through both sinks.
#[test]
fn held_tails_flow_out_before_done() {
    let sink = Recorder::new();
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .output_middleware(inspect("holds", hold_all(), |_, _| Step::Go))
        .effect(Scripted::new([Act::text("a"), Act::text("b")]))
        .build()
        .unwrap();
    let call = runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink.clone());
    let (_, report) = run(call.reported());
    assert_eq!(sink.lines(), ["ab", "<done>"]);
    assert!(report.streamed && report.checked);
}
