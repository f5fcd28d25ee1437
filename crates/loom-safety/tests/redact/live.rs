//! Live text and the output are one text, in any split, and nothing of a match is in either.

use futures::executor::block_on;
use loom_effect_runtime::{
    Call, CallError, DeltaForm, EffectRuntime, ErrorName, Lane, Output, OutputMiddleware, Signal, Step,
};
use loom_safety::{
    DenyPattern, DenyPatterns, GUARD_TEXT_BYTES_MAX, PiiRule, PiiValidator, Placeholder, Redaction,
    SafetyMiddleware, reference,
};
use proptest::prelude::*;
use serde_json::Value;

use crate::generate;
use crate::stage::{CARD, Says, View, cut, masking, runtime, say};

/// The text with `[x]` for whatever any pair of the brute-force oracle covers.
fn redacted_by_oracle(text: &str) -> String {
    let mut pairs: Vec<(usize, usize)> =
        PiiRule::ALL.iter().flat_map(|rule| reference::matches(rule.id().as_str(), text)).collect();
    pairs.sort_unstable();
    let mut redacted = String::new();
    let mut at = 0;
    let mut pairs = pairs.into_iter().peekable();
    while let Some((start, mut end)) = pairs.next() {
        while let Some((_, further)) = pairs.next_if(|(start, _)| *start < end) {
            end = end.max(further);
        }
        redacted.push_str(&text[at..start]);
        redacted.push_str("[x]");
        at = end;
    }
    redacted + &text[at..]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(96) })]

    /// D21: in any split the fold of the live text is the output's text, which is the whole text redacted: every byte
    /// that a match covers is gone, every other byte stands, and nothing matches in it.
    #[test]
    fn live_text_and_output_are_the_redacted_text_in_any_split(
        text in generate::text(), lengths in prop::collection::vec(1..9_usize, 1..6),
    ) {
        let (output, view) = say(Says::new(cut(&text, &lengths)), masking());
        let output = output.unwrap();
        prop_assert_eq!(&output, &redacted_by_oracle(&text), "of {:?}", &text);
        prop_assert_eq!(view.ever(), output.as_str());
        for rule in PiiRule::ALL {
            prop_assert_eq!(reference::earliest(rule.id().as_str(), &output), None, "{:?}", output);
        }
    }

    /// D21: where the words around a value share no three bytes with it, no three bytes of it are left in the view, the
    /// output or an error.
    #[test]
    fn no_three_bytes_of_a_value_are_left(
        digits in "[0-9]{14}", before in "[a-z ]{0,12} ", after in " [a-z ]{0,12}",
        lengths in prop::collection::vec(1..6_usize, 1..4), fails in any::<bool>(),
    ) {
        let value = generate::with_luhn(&format!("4{digits}"));
        let text = format!("{before}{value}{after}");
        let mut says = Says::new(cut(&text, &lengths));
        if fails {
            says = says.after_failing(&[&text]);
        }
        let (output, view) = say(says, masking());
        let told = format!("{output:?} {}", view.ever());
        prop_assert!(value.as_bytes().windows(3).all(|run| !told.contains(str::from_utf8(run).unwrap())), "{}", told);
        prop_assert_eq!(view.fold(), format!("{before}[x]{after}"));
    }
}

/// D21: nothing of a lane is delivered before it ends, and a guard behind gets the redacted text.
#[test]
fn a_lane_is_held_whole_and_a_guard_behind_judges_what_is_passed_on() {
    let deny = DenyPatterns::new([DenyPattern::literal("zephyr")]).unwrap();
    let builder = || EffectRuntime::builder().allow_all_calls().output_middleware(masking());
    let behind = |validators: Vec<Box<dyn loom_safety::SafetyValidator>>| {
        let runtime = builder()
            .output_middleware(SafetyMiddleware::new(validators))
            .effect(Says::new(["pay 4111 1111 1111 ", "1111 to zephyr"]))
            .build()
            .unwrap();
        let view = View::default();
        let tool = runtime.tool::<Value, String>("says").unwrap();
        let call = runtime.invoke_transient(tool, Value::Null).on_delta_sink(view.clone());
        (block_on(call.into_future()), view.ever())
    };
    let (output, seen) = behind(vec![PiiValidator::default().into()]);
    assert_eq!((output.unwrap().as_str(), seen.as_str()), ("pay [x] to zephyr", "pay [x] to zephyr"));
    let (output, seen) = behind(vec![deny.into()]);
    assert_eq!((output.unwrap_err().rule(), seen.as_str()), (Some("deny.1"), ""));
}

/// D11: an attempt that fails delivers nothing of what it held, and the next begins with nothing of it.
#[test]
fn a_failed_attempt_leaves_nothing_and_the_next_has_a_guard_of_its_own() {
    let says = Says::new(["1111 1111", " ok"]).after_failing(&["mine is 4111 1111 "]);
    let (output, view) = say(says, masking());
    assert_eq!(output.unwrap(), "1111 1111 ok");
    assert_eq!((view.fold().as_str(), view.ever().as_str()), ("1111 1111 ok", "1111 1111 ok"));
    let (output, view) = say(Says::new(["x"]).after_failing(&["a"]).after_failing(&[CARD]), masking());
    assert!(output.is_err());
    assert_eq!(view.ever(), "");
}

/// D8: an abort delivers nothing of what is held.
#[test]
fn an_aborted_call_delivers_nothing() {
    let signal = Signal::new();
    let raised = signal.clone();
    let aborting = loom_effect_runtime::inspect("aborting", masking_form(), move |_, _| {
        raised.abort(std::sync::Arc::new(std::io::Error::other("enough")));
        Step::Go
    });
    let runtime = runtime(Says::new(["pay ", CARD]), aborting);
    let view = View::default();
    let tool = runtime.tool::<Value, String>("says").unwrap();
    let call = runtime.invoke_transient(tool, Value::Null).on_delta_sink(view.clone()).signal(signal);
    assert!(block_on(call.into_future()).unwrap_err().abort_reason().is_some());
    assert_eq!(view.ever(), "");
}

/// The redaction's delta form, to stand beside another inspection.
fn masking_form() -> Option<std::sync::Arc<dyn DeltaForm>> {
    struct Form(Redaction);
    impl DeltaForm for Form {
        fn kinds(&self) -> loom_effect_runtime::DeltaKinds {
            self.0.delta_form().unwrap().kinds()
        }
        fn guard(
            &self,
            call: &loom_effect_runtime::CallInfo,
            lane: Lane,
        ) -> Box<dyn loom_effect_runtime::DeltaGuard> {
            self.0.delta_form().unwrap().guard(call, lane)
        }
    }
    Some(std::sync::Arc::new(Form(masking())))
}

/// D19: text over the bound severs, and nothing of it is delivered; at the bound it passes.
#[test]
fn text_over_the_limit_severs_and_is_not_flushed() {
    let at_limit = "x".repeat(GUARD_TEXT_BYTES_MAX);
    let (output, view) = say(Says::new([at_limit.as_str()]), masking());
    assert_eq!((output.unwrap().len(), view.ever().len()), (GUARD_TEXT_BYTES_MAX, GUARD_TEXT_BYTES_MAX));
    let (output, view) = say(Says::new([at_limit.as_str(), "x"]), masking());
    let error = output.unwrap_err();
    assert_eq!((error.name(), error.rule()), (ErrorName::SafetyViolation, Some("text-limit")));
    assert_eq!(view.ever(), "");
}

/// A redaction whose placeholders make the text longer than its bound refuses it.
#[test]
fn a_result_over_the_limit_is_refused() {
    let deny = DenyPatterns::new([DenyPattern::literal("x")]).unwrap();
    let redaction = Redaction::new([deny.into()], Placeholder::text("-".repeat(64))).unwrap();
    let (output, view) = say(Says::new(["x".repeat(20_000)]), redaction);
    assert_eq!((output.unwrap_err().rule(), view.ever().as_str()), (Some("text-limit"), ""));
}

/// D20: reasoning is redacted on a lane of its own; tool-call arguments are not covered and reach no sink.
#[test]
fn reasoning_is_redacted_and_tool_call_arguments_are_withheld() {
    let says = Says::on_lanes([
        (Lane::REASONING, "their 4111 1111 "),
        (Lane::REASONING, "1111 1111; "),
        (Lane::tool_arguments(0), r#"{"card":"\u0034111 1111 1111 1111"}"#),
        (Lane::TEXT, "done"),
    ]);
    let (output, view) = say(says, masking());
    assert_eq!(output.unwrap(), "done");
    assert!(view.ever() == "their [x]; done" || view.ever() == "donetheir [x]; ", "{}", view.ever());
}

/// D13: a redaction that gives no delta form blinds the stream; the output is redacted all the same.
#[test]
fn a_redaction_without_a_form_blinds() {
    struct Formless(Redaction);
    impl OutputMiddleware for Formless {
        fn name(&self) -> &str {
            "formless"
        }
        fn inspect(&self, call: &Call, output: &mut Output) -> Step {
            self.0.inspect(call, output)
        }
        fn delta_form(&self) -> Option<&dyn DeltaForm> {
            None
        }
    }
    assert!(masking().delta_form().is_some());
    let (output, view) = say(Says::new(["pay ", CARD]), Formless(masking()));
    assert_eq!((output.unwrap().as_str(), view.ever().as_str()), ("pay [x]", ""));
}

/// D23: a match in two lanes is seen in neither; the output, which is one text, then differs and fails the call.
#[test]
fn a_match_over_two_blocks_is_not_seen_and_fails_where_the_output_is_one_text() {
    struct Joins;
    impl loom_effect_runtime::Effect for Joins {
        type Input = Value;
        type Output = String;
        fn id(&self) -> &str {
            "says"
        }
        async fn execute(
            &self,
            _input: &Value,
            cx: &loom_effect_runtime::EffectContext<'_>,
        ) -> Result<String, CallError> {
            cx.deltas().text("4111 1111 ")?;
            cx.deltas().write(Lane::new(loom_effect_runtime::DeltaKind::Text, 0, 1), "1111 1111")?;
            Ok(CARD.to_owned())
        }
        fn live_text(output: &String, piece: &mut dyn FnMut(&str)) -> bool {
            piece(output);
            true
        }
        fn repeatable(&self) -> bool {
            true
        }
    }
    let runtime = runtime(Joins, masking());
    let view = View::default();
    let tool = runtime.tool::<Value, String>("says").unwrap();
    let call = runtime.invoke_transient(tool, Value::Null).on_delta_sink(view.clone());
    assert_eq!(block_on(call.into_future()).unwrap_err().name(), ErrorName::OutputInvalid);
}
