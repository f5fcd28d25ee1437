//! D11, D21: the live text is compared with the output's; a difference fails the call.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};

use loom_effect_runtime::*;

use crate::support::{
    Act, Answer, Recorder, Scripted, ask, inspect_with, pass, plan, replace, run, stubborn,
};

fn over(effect: Scripted) -> EffectRuntime {
    EffectRuntime::builder().allow_all_calls().effect(effect).build().unwrap()
}

/// The error name of a followed call, or its report.
fn followed(runtime: &EffectRuntime, sink: &Recorder) -> Result<CallReport, ErrorName> {
    let call = runtime.invoke_transient(plan(runtime), ask("x")).on_delta_sink(sink.clone());
    let (result, report) = run(call.reported());
    result.map(|_| report).map_err(|error| error.name())
}

/// D11: an inspector that rewrites, with a form that does nothing, fails the call: no done, no half-true view.
#[test]
fn a_rewriting_inspector_with_a_form_that_does_nothing_fails_the_call() {
    let sink = Recorder::new();
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .output_middleware(inspect("redactor", pass(), |_, output| {
            output.get_mut::<Answer>().unwrap().text = "[redacted]".to_owned();
            Step::Go
        }))
        .effect(Scripted::new([Act::text("hello "), Act::text("world")]))
        .build()
        .unwrap();
    assert_eq!(followed(&runtime, &sink), Err(ErrorName::OutputInvalid));
    assert_eq!(sink.lines(), ["hello ", "world"], "and no done");
}

/// D21: a redaction whose form does the same keeps the stream, and the fold is the recorded output.
#[test]
fn a_redaction_that_does_the_same_live_keeps_the_stream() {
    let sink = Recorder::new();
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .output_middleware(inspect("redactor", replace('l', '*'), |_, output| {
            output
                .edit(|json| json["text"] = json["text"].as_str().unwrap().replace('l', "*").into())
                .unwrap();
            Step::Go
        }))
        .effect(Scripted::new([Act::text("hello "), Act::text("world")]))
        .build()
        .unwrap();
    let report = followed(&runtime, &sink).unwrap();
    assert!(report.streamed && report.checked);
    assert_eq!(sink.fold(), "he**o wor*d");
}

/// D11: text that differs in order, length, a trailing zero or a single byte differs.
#[test]
fn every_difference_counts() {
    for output in ["ba", "a", "abc", "ab\0", "", "Ab"] {
        let runtime = over(Scripted::new([Act::text("a"), Act::text("b"), Act::answer(output)]));
        assert_eq!(followed(&runtime, &Recorder::new()), Err(ErrorName::OutputInvalid), "{output:?}");
    }
    let runtime = over(Scripted::new([Act::text("a"), Act::text("b"), Act::answer("ab")]));
    assert!(followed(&runtime, &Recorder::new()).unwrap().checked);
}

/// D11: an effect that states no live text is delivered, and the report says that nobody compared.
#[test]
fn an_effect_that_states_no_live_text_is_unchecked() {
    let sink = Recorder::new();
    let report =
        followed(&over(Scripted::new([Act::text("a"), Act::answer("z"), Act::Unstated])), &sink).unwrap();
    assert!(report.streamed && !report.checked);
    assert_eq!(sink.lines(), ["a", "<done>"]);
}

/// D11: without a sink there is no view to compare.
#[test]
fn without_a_sink_nothing_is_compared() {
    let runtime = over(Scripted::new([Act::text("a"), Act::answer("z")]));
    let (result, report) = run(runtime.invoke_transient(plan(&runtime), ask("x")).reported());
    assert_eq!(result.unwrap().text, "z");
    assert!(!report.streamed && !report.checked);
}

/// D11: an effect that ended its stream without text, but answers with text, has not streamed its answer.
#[test]
fn a_stream_that_ended_empty_over_an_output_with_text_is_no_stream() {
    let sink = Recorder::new();
    let outcome = followed(&over(Scripted::new([Act::End(None), Act::answer("abc")])), &sink);
    let streamed = outcome.is_ok_and(|report| report.streamed);
    assert!(!streamed, "the fold is empty and the output is not");
    assert!(!sink.lines().contains(&"<done>".to_owned()));
}

/// D11: an un-joined pump's text is lost, and the comparison catches it.
#[test]
fn a_pump_that_was_not_joined_is_caught() {
    let pumps: Arc<Mutex<Vec<Deltas>>> = Arc::default();
    let effect = Scripted::new([Act::Pump(Arc::clone(&pumps)), Act::text("a"), Act::answer("ab")]);
    let sink = Recorder::new();
    assert_eq!(followed(&over(effect), &sink), Err(ErrorName::OutputInvalid));
    assert!(pumps.lock().unwrap()[0].text("b").is_err());
    assert_eq!(sink.lines(), ["a"]);
}

/// D11: a mismatch is no refusal: it may be tried again, behind a reset.
#[test]
fn a_mismatch_may_be_retried() {
    let sink = Recorder::new();
    let effect = Scripted::new([Act::text("a"), Act::answer("z")]).then([Act::text("b")]);
    let runtime =
        EffectRuntime::builder().allow_all_calls().around(stubborn(2)).effect(effect).build().unwrap();
    assert_eq!(followed(&runtime, &sink).unwrap().attempts, 2);
    assert_eq!(sink.lines(), ["a", "<reset 2>", "b", "<done>"]);
}

/// D11: only text of choice 0 is the output's; other choices, reasoning and arguments are not compared.
#[test]
fn only_the_text_of_choice_zero_is_compared() {
    let effect = Scripted::new([
        Act::text("a"),
        Act::write(Lane::new(DeltaKind::Text, 1, 0), "other"),
        Act::write(Lane::REASONING, "hm"),
        Act::write(Lane::tool_arguments(0), "{}"),
    ]);
    let sink = Recorder::new().wanting(DeltaKinds::ALL);
    assert!(followed(&over(effect), &sink).unwrap().checked);
}

/// D11: once the guards have finished, the room is latched: what a pump writes while the live text is being compared
/// is delivered to nobody.
#[test]
fn nothing_is_delivered_while_the_live_text_is_compared() {
    static ASKED: Mutex<Option<(SyncSender<()>, Receiver<()>)>> = Mutex::new(None);

    struct Handshake(Arc<Mutex<Option<Deltas>>>);
    impl Effect for Handshake {
        type Input = u8;
        type Output = String;
        fn id(&self) -> &str {
            "handshake"
        }
        async fn execute(&self, _: &u8, cx: &EffectContext<'_>) -> Result<String, CallError> {
            *self.0.lock().unwrap() = Some(cx.deltas());
            cx.deltas().text("a")?;
            Ok("a".to_owned())
        }
        fn live_text(output: &String, piece: &mut dyn FnMut(&str)) -> bool {
            if let Some((asked, written)) = ASKED.lock().unwrap().take() {
                asked.send(()).unwrap();
                written.recv().unwrap();
            }
            piece(output);
            true
        }
    }

    let pump: Arc<Mutex<Option<Deltas>>> = Arc::default();
    let sink = Recorder::new().wanting(DeltaKinds::ALL);
    let (asked, is_asked) = sync_channel(1);
    let (has_written, written) = sync_channel(1);
    *ASKED.lock().unwrap() = Some((asked, written));
    let held = Arc::clone(&pump);
    let writer = std::thread::spawn(move || {
        is_asked.recv().unwrap();
        let pump = held.lock().unwrap().take().unwrap();
        let lanes = [Lane::new(DeltaKind::Text, 0, 1), Lane::tool_arguments(0), Lane::TEXT];
        let written = lanes.map(|lane| pump.write(lane, "LATE").is_ok());
        has_written.send(()).unwrap();
        written
    });
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .output_middleware(inspect_with(pass()))
        .effect(Handshake(pump))
        .build()
        .unwrap();
    run(runtime.invoke_transient("handshake", 1_u8).on_delta_sink(sink.clone()).into_future()).unwrap();
    assert_eq!(writer.join().unwrap(), [false; 3]);
    assert_eq!(sink.lines(), ["a", "<done>"]);
}
