//! The honest inspector on a real runtime: live text and output are one text.

#![expect(clippy::unwrap_used, reason = "test code outside a test function")]

use std::sync::{Arc, Mutex};

use loom_effect_runtime::{
    CallError, CallReport, DeltaKinds, DeltaSink, Effect, EffectContext, EffectDelta, EffectRuntime,
    ErrorName, Lane, around,
};
use proptest::prelude::*;
use serde_json::{Value, json};
use stranger_redactor::Redactor;

const SECRET: &str = "abab";
const MASK: &str = "*";

/// Streams its input, piece by piece, and gives the whole as its answer; fails in its first attempt if asked to.
struct Echo {
    fail_first: bool,
}

#[derive(Clone, serde::Serialize, serde::Deserialize)]
struct Answer {
    text: String,
    notes: Vec<String>,
}

impl Effect for Echo {
    type Input = Vec<String>;
    type Output = Answer;

    fn id(&self) -> &str {
        "echo"
    }

    async fn execute(&self, pieces: &Vec<String>, cx: &EffectContext<'_>) -> Result<Answer, CallError> {
        for piece in pieces {
            cx.deltas().text(piece)?;
        }
        if self.fail_first && cx.attempt() == 1 {
            return Err(CallError::named(ErrorName::EffectFailed, "cut"));
        }
        cx.deltas().end(None);
        Ok(Answer { text: pieces.concat(), notes: vec![format!("{SECRET}!")] })
    }

    fn live_text(output: &Answer, piece: &mut dyn FnMut(&str)) -> bool {
        piece(&output.text);
        true
    }

    fn repeatable(&self) -> bool {
        true
    }
}

struct Seen {
    output: Answer,
    report: CallReport,
    /// Text as it is, `<n>` for a reset, `.` for done.
    view: String,
}

async fn call(pieces: Vec<String>, fail_first: bool) -> Seen {
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .output_middleware(Redactor::new(SECRET, MASK).unwrap())
        .around(around("again", |_, mut next| {
            Box::pin(async move {
                match next.run().await {
                    Ok(proof) => Ok(proof),
                    Err(_) => next.run().await,
                }
            })
        }))
        .effect(Echo { fail_first })
        .build()
        .unwrap();
    let seen = Arc::new(Mutex::new(String::new()));
    let sink = Arc::clone(&seen);
    let tool = runtime.tool::<Vec<String>, Answer>("echo").unwrap();
    let (output, report) = runtime
        .invoke_transient(tool, pieces)
        .on_delta(move |delta| {
            let mut seen = sink.lock().unwrap();
            match delta {
                EffectDelta::Text { text, .. } => seen.push_str(text.unwrap_tainted()),
                EffectDelta::Reset { attempt, .. } => seen.push_str(&format!("<{attempt}>")),
                _ => seen.push('.'),
            }
        })
        .reported()
        .await;
    let view = seen.lock().unwrap().clone();
    Seen { output: output.unwrap(), report, view }
}

fn run<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

proptest! {
    /// D11: however the model splits its text, the fold of the live text is the redacted output.
    #[test]
    fn live_text_equals_output_in_every_split(pieces in proptest::collection::vec("[abc]{0,6}", 0..8)) {
        let whole = pieces.concat();
        let seen = run(call(pieces, false));
        prop_assert_eq!(&seen.output.text, &whole.replace(SECRET, MASK));
        prop_assert_eq!(&seen.view, &format!("{}.", seen.output.text));
        prop_assert!(seen.report.streamed && seen.report.checked);
    }

    /// D11: what the first attempt held back is gone with it; the fold after the reset is the output.
    #[test]
    fn what_an_attempt_held_does_not_reach_the_next(pieces in proptest::collection::vec("[abc]{1,6}", 1..6)) {
        let seen = run(call(pieces, true));
        let (first, second) = seen.view.split_once("<2>").unwrap();
        prop_assert_eq!(second, &format!("{}.", seen.output.text));
        prop_assert!(seen.output.text.starts_with(first));
    }
}

#[tokio::test]
async fn every_text_of_a_typed_output_is_redacted() {
    let seen = call(vec!["x".to_owned(), SECRET.to_owned()], false).await;
    assert_eq!(seen.output.notes, ["*!"]);
    assert_eq!(seen.output.text, "x*");
}

/// Gives JSON and streams all three kinds.
struct Kinds;

impl Effect for Kinds {
    type Input = Value;
    type Output = Value;

    fn id(&self) -> &str {
        "kinds"
    }

    async fn execute(&self, input: &Value, cx: &EffectContext<'_>) -> Result<Value, CallError> {
        let deltas = cx.deltas();
        deltas.write(Lane::REASONING, "because ab")?;
        deltas.write(Lane::REASONING, "ab")?;
        deltas.text("so abab")?;
        deltas.write(Lane::tool_arguments(0), r#"{"q":"ab\u0061b"}"#)?;
        Ok(input.clone())
    }
}

#[derive(Clone, Default)]
struct Everything(Arc<Mutex<Vec<(&'static str, String)>>>);

impl DeltaSink for Everything {
    fn deliver(&self, _call: &loom_effect_runtime::CallRef<'_>, delta: &EffectDelta<'_>) {
        let kind = match delta {
            EffectDelta::Text { .. } => "text",
            EffectDelta::Reasoning { .. } => "reasoning",
            EffectDelta::ToolArguments { .. } => "arguments",
            _ => return,
        };
        self.0.lock().unwrap().push((kind, delta.text().unwrap_tainted().to_owned()));
    }

    fn wants(&self) -> DeltaKinds {
        DeltaKinds::ALL
    }
}

/// D10: a kind that the form does not cover is delivered to nobody, and said aloud once.
#[tokio::test]
async fn reasoning_is_redacted_and_uncovered_tool_arguments_are_delivered_to_nobody() {
    let warnings = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&warnings);
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .output_middleware(Redactor::new(SECRET, MASK).unwrap())
        .on_warn(move |warning| heard.lock().unwrap().push(warning.to_string()))
        .effect(Kinds)
        .build()
        .unwrap();
    let sink = Everything::default();
    let input = json!({"abab": [{"deep": "xababx"}], "n": 1, "none": null});
    let output = runtime.invoke_transient("kinds", input).on_delta_sink(sink.clone()).await.unwrap();
    assert_eq!(output, json!({"*": [{"deep": "x*x"}], "n": 1, "none": null}));
    let seen = sink.0.lock().unwrap();
    let fold =
        |kind| seen.iter().filter(|(of, _)| *of == kind).map(|(_, text)| text.as_str()).collect::<String>();
    assert_eq!(fold("reasoning"), "because *");
    assert_eq!(fold("text"), "so *");
    assert_eq!(fold("arguments"), "");
    let warnings = warnings.lock().unwrap();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("stranger-redactor") && warnings[0].contains("kinds"));
}

/// A choice whose name is the secret: what is left of it is no choice any more.
#[derive(Clone, serde::Serialize, serde::Deserialize)]
enum Named {
    #[serde(rename = "abab")]
    Secret,
}

struct Chooses;

impl Effect for Chooses {
    type Input = ();
    type Output = Named;

    fn id(&self) -> &str {
        "chooses"
    }

    async fn execute(&self, (): &(), _cx: &EffectContext<'_>) -> Result<Named, CallError> {
        Ok(Named::Secret)
    }
}

#[tokio::test]
async fn an_output_that_cannot_be_redacted_is_refused() {
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .output_middleware(Redactor::new(SECRET, MASK).unwrap())
        .effect(Chooses)
        .build()
        .unwrap();
    let error = runtime.invoke_transient("chooses", ()).await.unwrap_err();
    assert_eq!(error.name(), ErrorName::SafetyViolation);
    assert_eq!(error.rule(), Some("stranger_redactor.does_not_fit"));
}
