//! D11: attempts and resets: eager, to both sinks, with fresh guards; the fold is the recorded output.

use loom_effect_runtime::*;
use proptest::prelude::*;

use crate::support::{
    Act, Log, Recorder, Scripted, ask, hold_back, inspect_with, plan, replace, run, sever_on, stubborn,
};

fn retried(effect: Scripted, times: u32) -> EffectRuntime {
    EffectRuntime::builder().allow_all_calls().around(stubborn(times)).effect(effect).build().unwrap()
}

/// D11: attempt n > 1 begins with a reset to both sinks, before its effect runs, even where no attempt has text.
#[test]
fn the_reset_is_eager() {
    let log = Log::new();
    let [one, two] = [(); 2].map(|()| log.clone());
    let effect = Scripted::new([Act::with(move |_| one.say("runs 1")), Act::Fail(ErrorName::Provider)])
        .then([Act::with(move |cx| two.say(format!("runs {}", cx.attempt())))])
        .sink(Recorder::into_log(&log, "configured "));
    let runtime = retried(effect, 2);
    let call =
        runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(Recorder::into_log(&log, "call "));
    let (result, report) = run(call.reported());
    result.unwrap();
    assert_eq!(log.lines(), ["runs 1", "call <reset 2>", "configured <reset 2>", "runs 2"]);
    assert_eq!((report.attempts, report.streamed), (2, false));
}

/// D11: a configured sink alone gets the eager reset too.
#[test]
fn a_configured_sink_alone_is_reset() {
    let configured = Recorder::new();
    let effect = Scripted::new([Act::Fail(ErrorName::Provider)]).then([]).sink(configured.clone());
    let runtime = retried(effect, 2);
    run(runtime.invoke_transient(plan(&runtime), ask("x")).into_future()).unwrap();
    assert_eq!(configured.lines(), ["<reset 2>"]);
}

/// D11: text that a failed attempt's guard held back is dropped with it; the next attempt's guard is fresh.
#[test]
fn held_text_of_a_failed_attempt_is_dropped() {
    let sink = Recorder::new();
    let effect =
        Scripted::new([Act::text("abcdef"), Act::Fail(ErrorName::Provider)]).then([Act::text("uvwxyz")]);
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .output_middleware(inspect_with(hold_back(4)))
        .around(stubborn(2))
        .effect(effect)
        .build()
        .unwrap();
    run(runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink.clone()).into_future())
        .unwrap();
    assert_eq!(sink.lines(), ["ab", "<reset 2>", "uv", "wxyz", "<done>"]);
}

/// D11: a word split over two attempts is no word.
#[test]
fn guards_do_not_see_the_text_of_an_older_attempt() {
    let effect = Scripted::new([Act::text("sec"), Act::Fail(ErrorName::Provider)]).then([Act::text("ret")]);
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .output_middleware(inspect_with(sever_on("secret")))
        .around(stubborn(2))
        .effect(effect)
        .build()
        .unwrap();
    let sink = Recorder::new();
    run(runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink.clone()).into_future())
        .unwrap();
    assert_eq!(sink.fold(), "ret");
}

/// D11: an end mark of a failed attempt is not the next one's: where that does not stream, no done is sent.
#[test]
fn an_end_mark_of_a_failed_attempt_is_gone() {
    let effect = Scripted::new([Act::End(None), Act::Fail(ErrorName::Provider)]).then([Act::answer("")]);
    let runtime = retried(effect, 2);
    let sink = Recorder::new();
    let (result, report) =
        run(runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink.clone()).reported());
    result.unwrap();
    assert_eq!((sink.lines(), report.streamed), (vec!["<reset 2>".to_owned()], false));
}

/// D11: usage is the sum of what was reported, over attempts; unknown stays unknown; done carries the last one's.
#[test]
fn usage_is_summed_over_attempts() {
    let report = |effect: Scripted| {
        let sink = Recorder::new();
        let runtime = retried(effect, 3);
        let call = runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink.clone());
        let (_, report) = run(call.reported());
        (report.usage, sink.lines().last().cloned())
    };
    let fail = || Act::Fail(ErrorName::Provider);
    let streamed = Scripted::new([Act::text("a"), Act::End(Some(Usage::new(1, 2))), fail()])
        .then([fail()])
        .then([Act::text("b"), Act::End(Some(Usage::new(10, 20)))]);
    assert_eq!(report(streamed), (Some(Usage::new(11, 22)), Some("<done 10/20>".to_owned())));
    let quiet = Scripted::new([Act::Usage(Usage::new(1, 2)), fail()]).then([Act::Usage(Usage::new(3, 4))]);
    assert_eq!(report(quiet).0, Some(Usage::new(4, 6)));
    assert_eq!(report(Scripted::new([fail()]).then([Act::text("a"), Act::End(None)])).0, None);
    let half = Usage { input_tokens: None, output_tokens: Some(5) };
    let halves = Scripted::new([Act::Usage(half), fail()]).then([Act::Usage(half)]);
    assert_eq!(report(halves).0, Some(Usage { input_tokens: None, output_tokens: Some(10) }));
}

/// D11: an effect that is not repeatable may run again until a delta of it was delivered, and then no more.
#[test]
fn an_effect_that_is_not_repeatable_runs_again_only_before_its_first_delta() {
    let fail = || Act::Fail(ErrorName::Provider);
    let before = Scripted::new([fail()]).then([Act::text("a")]).once_only();
    let runtime = retried(before.clone(), 2);
    run(runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(Recorder::new()).into_future())
        .unwrap();
    assert_eq!(before.executions(), 2);
    let after = Scripted::new([Act::text("a"), fail()]).then([Act::text("b")]).once_only();
    let runtime = retried(after.clone(), 2);
    let sink = Recorder::new();
    let call = runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink.clone());
    assert_eq!(run(call.into_future()).unwrap_err().name(), ErrorName::NotRepeatable);
    assert_eq!((after.executions(), sink.lines()), (1, vec!["a".to_owned()]));
    run(runtime.invoke_transient(plan(&runtime), ask("x")).into_future()).unwrap();
    assert_eq!(after.executions(), 3, "with no sink nothing was delivered");
}

/// One act of a random attempt: mostly text, now and then an end mark.
fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        8 => "[a-zé€𝄞]{0,6}".prop_map(Act::Text),
        1 => Just(Act::Yield),
        1 => Just(Act::End(None)),
        1 => "[a-z]{1,3}".prop_map(|text| Act::Write(Lane::REASONING, text)),
        1 => "[a-z]{1,3}".prop_map(|text| Act::Write(Lane::new(DeltaKind::Text, 1, 0), text)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    /// D11: whatever attempts do, folding what a sink got (text appends, reset clears) gives the recorded output's
    /// text where the successful attempt streamed, and nothing where it did not.
    #[test]
    fn the_fold_is_the_recorded_output(
        attempts in proptest::collection::vec(proptest::collection::vec(act(), 0..8), 1..4),
        held in 0_usize..6,
        replaced in any::<bool>(),
    ) {
        let last = attempts.len() as u32;
        let mut scripts = attempts.into_iter().enumerate().map(|(at, mut acts)| {
            if at as u32 + 1 < last {
                acts.push(Act::Fail(ErrorName::Provider));
            }
            acts
        });
        let mut effect = Scripted::new(scripts.next().unwrap());
        for script in scripts {
            effect = effect.then(script);
        }
        let configured = ChoiceZero(Recorder::new());
        let sink = ChoiceZero(Recorder::new());
        let mut builder = EffectRuntime::builder().allow_all_calls().around(stubborn(last));
        builder = builder.output_middleware(inspect_with(hold_back(held)));
        if replaced {
            builder = builder.output_middleware(inspect("replaces", replace('a', 'b'), |_, output| {
                let answer = output.get_mut::<crate::support::Answer>().unwrap();
                answer.text = answer.text.replace('a', "b");
                Step::Go
            }));
        }
        let runtime = builder.effect(effect.sink(ChoiceZero(configured.0.clone()))).build().unwrap();
        let call = runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(ChoiceZero(sink.0.clone()));
        let (result, report) = run(call.reported());
        let expected = if report.streamed { result.unwrap().text } else { String::new() };
        prop_assert_eq!(sink.0.fold(), expected.clone());
        prop_assert_eq!(configured.0.fold(), expected);
        prop_assert_eq!(report.attempts, last);
        let done = sink.0.lines().iter().any(|line| line == "<done>");
        prop_assert_eq!(done, report.streamed);
        let resets = (2..=last).map(|n| format!("<reset {n}>")).collect::<Vec<_>>();
        let got = sink.0.lines().into_iter().filter(|line| line.starts_with("<reset")).collect::<Vec<_>>();
        prop_assert_eq!(got, resets);
    }
}

/// Records the text of choice 0 only: what the output's text is.
struct ChoiceZero(Recorder);

impl DeltaSink for ChoiceZero {
    fn deliver(&self, call: &CallRef<'_>, delta: &EffectDelta<'_>) {
        if !matches!(delta, EffectDelta::Text { lane, .. } if lane.choice() != 0) {
            self.0.deliver(call, delta);
        }
    }
}
