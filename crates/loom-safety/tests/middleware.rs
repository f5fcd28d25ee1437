//! Safety middleware in a real runtime: input, output and live text.

#![expect(clippy::panic, reason = "a validator that panics is what is tested")]

mod stage;

use std::panic::panic_any;

use futures::executor::block_on;
use loom_classify::{Origins, Tainted};
use loom_effect_runtime::{DeltaKinds, ErrorName, Lane, OutputMiddleware};
use loom_safety::{
    DeltaCheck, DeltaJudge, DeltaWindow, DenyPattern, DenyPatterns, Finding, Judges, Phase, PiiValidator,
    RuleId, SafetyMiddleware, SafetyValidator, delta_window,
};
use serde_json::{Value, json};
use stage::{Stage, Write};

const CARD: &str = "4111 1111 1111 1111";

fn pii() -> SafetyMiddleware {
    SafetyMiddleware::new([PiiValidator::default().into()])
}

/// A third party's validator: refuses `!!!`, with or without a delta form of its own.
struct Shout(Option<Box<dyn DeltaCheck>>);

fn shout(text: &str) -> Result<(), Finding> {
    text.find("!!!").map_or(Ok(()), |at| Err(Finding::new(RuleId::new("shout"), at..at + 3)))
}

impl SafetyValidator for Shout {
    fn name(&self) -> &str {
        "shout"
    }
    fn check(&self, _phase: Phase, text: &str) -> Result<(), Finding> {
        shout(text)
    }
    fn delta(&self) -> Option<&dyn DeltaCheck> {
        self.0.as_deref()
    }
}

/// D10: the delta that completes a match reaches no sink, the call fails with rule, offset and length, and nothing
/// tells the text.
#[test]
fn a_stream_is_severed_before_the_offending_delta() {
    let stage =
        Stage::saying(&["pay é ", "4111 1111", " 1111 ", "1111 today"], json!("unused")).guarded_by(pii());
    let error = block_on(stage.call(json!({}))).unwrap_err();
    assert_eq!(stage.seen(), "pay é 4111 1111 1111 ");
    let violation = error.violation().unwrap();
    assert_eq!(error.name(), ErrorName::SafetyViolation);
    assert_eq!((violation.rule(), violation.offset(), violation.length()), ("pii.card", Some(6), Some(19)));
    assert!(!format!("{error} {error:?}").contains("4111"), "{error:?}");
    assert!(stage.warnings().is_empty());
}

/// D10: text that no rule matches streams byte for byte, and its output passes.
#[test]
fn clean_text_streams_and_its_output_passes() {
    let stage =
        Stage::saying(&["order 4111 ", "1111 1111 1112", " 🙂"], json!("order 4111 1111 1111 1112 🙂"))
            .guarded_by(pii());
    assert!(block_on(stage.call(json!({}))).is_ok());
    assert_eq!(stage.seen(), "order 4111 1111 1111 1112 🙂");
}

/// D10: a validator that inspects output without a delta form makes the runtime refuse the sinks, with one warning
/// that names it; the output is judged.
#[test]
fn a_validator_without_a_delta_form_blinds_the_stream_and_still_judges_the_output() {
    let blind = || SafetyMiddleware::new([PiiValidator::default().into(), Shout(None).into()]);
    assert!(blind().delta_form().is_none() && pii().delta_form().is_some());
    let stage = Stage::saying(&["fine", " text"], json!("fine text")).guarded_by(blind());
    assert_eq!(block_on(stage.call(json!({}))).unwrap(), json!("fine text"));
    assert_eq!(stage.seen(), "");
    let warnings = stage.warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    for part in ["streaming disabled: inspects output without a delta form", "safety:shout", "say"] {
        assert!(warnings[0].contains(part), "{part} in {warnings:?}");
    }
    let loud = Stage::saying(&[], json!(["no!!!"])).guarded_by(blind());
    assert_eq!(block_on(loud.call(json!({}))).unwrap_err().rule(), Some("shout"));
}

/// D10: a validator that judges input only has no say on streams.
#[test]
fn a_validator_of_input_alone_blinds_nothing() {
    let deny = DenyPatterns::new([DenyPattern::literal("zephyr")]).unwrap().judging(Judges::InputOnly);
    let stage = Stage::saying(&["zephyr"], json!("zephyr")).guarded_by(SafetyMiddleware::new([deny.into()]));
    assert!(block_on(stage.call(json!({}))).is_ok());
    assert_eq!(stage.seen(), "zephyr");
    assert_eq!(block_on(stage.call(json!("to zephyr"))).unwrap_err().rule(), Some("deny.1"));
}

/// D13: a third party's validator with a windowed delta form keeps the stream and severs it.
#[test]
fn a_windowed_validator_of_a_third_party_severs() {
    let windowed = Shout(Some(Box::new(delta_window(DeltaWindow::DEFAULT, shout))));
    let stage = Stage::saying(&["no", "!!", "! never"], json!("unused"))
        .guarded_by(SafetyMiddleware::new([windowed.into()]));
    let error = block_on(stage.call(json!({}))).unwrap_err();
    let violation = error.violation().unwrap();
    assert_eq!((violation.rule(), violation.offset(), violation.length()), ("shout", Some(2), Some(3)));
    assert_eq!(stage.seen(), "no!!");
}

/// D10: what the delta form severs in a stream, the output form refuses where nothing was streamed, under the same
/// rule and at the same place.
#[test]
fn the_same_text_gets_the_same_verdict_streamed_and_not() {
    for text in
        ["é 4111-1111-1111-1111", "mail jane@example.com", "ssn 536-22-1234", "DE89 3704 0044 0532 0130 00"]
    {
        let streamed =
            block_on(Stage::saying(&[text], json!(text)).guarded_by(pii()).call(json!({}))).unwrap_err();
        let whole = block_on(Stage::saying(&[], json!(text)).guarded_by(pii()).call(json!({}))).unwrap_err();
        let violation = streamed.violation().unwrap();
        assert_eq!(streamed.rule(), whole.rule(), "{text}");
        assert_eq!(violation.offset().zip(violation.length()), whole.refusal().unwrap().span(), "{text}");
    }
}

/// D10: every string, key and number of the output is judged, what a tainted wrapper holds included.
#[test]
fn every_text_of_the_output_is_judged_wherever_it_stands() {
    let tainted = serde_json::to_value(Tainted::new(CARD.to_owned(), Origins::none())).unwrap();
    let number = json!({"n": 4_111_111_111_111_111_u64});
    for output in [
        json!({"a": [{"b": CARD}]}),
        json!({CARD: 1}),
        number,
        json!({"n": 4_111_111_111_111_111.0}),
        tainted,
    ] {
        let stage = Stage::saying(&[], output.clone()).guarded_by(pii());
        let error = block_on(stage.call(json!({}))).unwrap_err();
        assert_eq!((error.name(), error.rule()), (ErrorName::SafetyViolation, Some("pii.card")), "{output}");
    }
    let stage =
        Stage::saying(&[], json!("")).typed(Tainted::new(CARD.to_owned(), Origins::none())).guarded_by(pii());
    assert_eq!(block_on(stage.call_typed()).unwrap_err().rule(), Some("pii.card"));
}

/// D10: the input phase refuses before the effect runs, on every text of the very input.
#[test]
fn input_is_refused_before_the_effect_runs() {
    for input in [
        json!(CARD),
        json!({"messages": [{"content": ["x", CARD]}]}),
        json!({"jane@example.com": null}),
        json!([4_111_111_111_111_111_u64]),
    ] {
        let stage = Stage::saying(&["never"], json!("never")).guarded_by(pii());
        assert_eq!(block_on(stage.call(input)).unwrap_err().name(), ErrorName::SafetyViolation);
        assert_eq!((stage.executions(), stage.seen()), (0, String::new()));
    }
}

/// D11: the judges of an attempt are fresh: a value whose halves two attempts wrote is none.
#[test]
fn each_attempt_has_judges_of_its_own() {
    let stage = Stage::attempts(&[&["4111 1111 "], &["1111 1111"]], json!("1111 1111")).guarded_by(pii());
    assert!(block_on(stage.call(json!({}))).is_ok());
    assert_eq!((stage.executions(), stage.seen()), (2, "1111 1111".to_owned()));
}

/// D20: reasoning and tool-call arguments pass the same guards, each lane with a state of its own, and JSON escapes
/// hide nothing.
#[test]
fn every_lane_is_guarded_with_a_state_of_its_own() {
    let arguments = Lane::tool_arguments(0);
    for (writes, severed) in [
        (vec![Write(Lane::REASONING, "card 4111 1111"), Write(Lane::REASONING, " 1111 1111")], true),
        (vec![Write(arguments, "{\"to\":\"jane\\u00"), Write(arguments, "40example.com\"}")], true),
        (vec![Write(Lane::TEXT, "4111 1111"), Write(Lane::REASONING, " 1111 1111")], false),
        (vec![Write(arguments, "4111 1111"), Write(Lane::tool_arguments(1), " 1111 1111")], false),
    ] {
        let stage = Stage::writing(writes, json!("")).wanting(DeltaKinds::ALL).guarded_by(pii());
        assert_eq!(block_on(stage.call(json!({}))).is_err_and(|error| error.violation().is_some()), severed);
    }
}

/// D23: what this form does not see: a value split over two calls or over two strings, encodings, full-width
/// digits.
#[test]
fn stated_limits_are_limits() {
    for output in [
        json!(["4111 1111", "1111 1111"]),
        json!("NDExMTExMTExMTExMTExMQ=="),
        json!("4111%201111%201111%201111"),
        json!("４１１１１１１１１１１１１１１１"),
    ] {
        assert!(block_on(Stage::saying(&[], output).guarded_by(pii()).call(json!({}))).is_ok());
    }
    let stage = Stage::saying(&["1111 1111"], json!("1111 1111")).guarded_by(pii());
    assert!((0..2).all(|_| block_on(stage.call(json!({}))).is_ok()));
}

/// A validator that fails in one of three ways.
#[derive(Clone, Copy, PartialEq)]
enum Broken {
    InCheck,
    InJudge,
    WithoutItsForm,
}

impl SafetyValidator for Broken {
    fn name(&self) -> &str {
        "broken"
    }
    fn check(&self, _phase: Phase, _text: &str) -> Result<(), Finding> {
        if *self == Self::InCheck { panic_any("check") } else { Ok(()) }
    }
    fn delta(&self) -> Option<&dyn DeltaCheck> {
        let registering = ASKED.with(|asked| asked.replace(asked.get() + 1)) < 2;
        (*self != Self::WithoutItsForm || registering).then_some(self)
    }
}

thread_local!(static ASKED: std::cell::Cell<u32> = const { std::cell::Cell::new(0) });

impl DeltaCheck for Broken {
    fn judge(&self) -> Box<dyn DeltaJudge> {
        delta_window(DeltaWindow::DEFAULT, |_: &str| panic_any("judge")).judge()
    }
}

/// D10: a validator that panics, or that denies the delta form it had at registration, refuses: nothing passes
/// unjudged.
#[test]
fn a_broken_validator_fails_closed() {
    for (broken, input, deltas) in [
        (Broken::InCheck, json!("x"), &[][..]),
        (Broken::InJudge, json!({}), &["text"]),
        (Broken::WithoutItsForm, json!({}), &["text"]),
    ] {
        ASKED.set(0);
        let stage =
            Stage::saying(deltas, json!(Value::Null)).guarded_by(SafetyMiddleware::new([broken.into()]));
        assert!(block_on(stage.call(input)).is_err_and(|error| error.is_refusal()));
        assert_eq!(stage.seen(), "");
    }
}
