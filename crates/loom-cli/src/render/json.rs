//! JSON lines for programs; what is said to a person still goes to stderr.

use std::io::{self, Write};

use loom_effect_runtime::Usage;
use loom_llm::FinishReason;
use loom_workflow::record::{Record, StepPath};
use loom_workflow::store::Head;
use serde::Serialize;
use serde_json::{Value, json};

use super::terminal::Style;
use super::{Asked, View, payload};
use crate::exit::{Failure, Severed};
use crate::flow::Plan;

pub(super) struct JsonLines<O, E> {
    out: O,
    err: E,
    style: Style,
}

impl<O: Write, E: Write> JsonLines<O, E> {
    pub(super) fn new(out: O, err: E, style: Style) -> Self {
        Self { out, err, style }
    }

    fn line(&mut self, value: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_string(value)?;
        line.push('\n');
        self.out.write_all(self.style.out(&line).as_bytes())?;
        self.out.flush()
    }
}

impl<O: Write + Send, E: Write + Send> View for JsonLines<O, E> {
    fn execution_id(&mut self, id: &str) -> io::Result<()> {
        self.line(&json!({"execution_id": id}))
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        self.line(&json!({"text": text}))
    }

    fn reset(&mut self, attempt: u32) -> io::Result<()> {
        self.line(&json!({"reset": {"attempt": attempt}}))
    }

    fn reasoning(&mut self, text: &str) -> io::Result<()> {
        self.line(&json!({"reasoning": text}))
    }

    fn tool_call(&mut self, call: &Asked<'_>) -> io::Result<()> {
        self.line(&ToolCallLine { tool_call: call })
    }

    fn done(&mut self, usage: Option<Usage>, finish_reason: Option<FinishReason>) -> io::Result<()> {
        self.line(&DoneLine { done: Done { usage, finish_reason } })
    }

    fn failed(&mut self, failure: &Failure) -> io::Result<()> {
        let Failure { name, message, hint, .. } = failure;
        self.note(&format!("error: {message} ({name})"));
        if let Some(hint) = hint {
            self.note(&format!("hint: {hint}"));
        }
        if let Some(severed) = &failure.severed {
            self.line(&SeveredLine { severed })?;
        }
        self.line(&ErrorLine { error: Named { name: name.as_str(), message } })
    }

    fn plan(&mut self, plan: &Plan) -> io::Result<()> {
        self.line(&json!({"plan": plan}))
    }

    fn execution(&mut self, head: &Head) -> io::Result<()> {
        self.line(&json!({"execution": {
            "id": head.execution.as_str(),
            "flow": head.flow.as_str(),
            "status": head.status.as_str(),
            "events": head.last_seq,
            "epoch": head.epoch,
            "bytes": head.bytes,
            "started_at_ms": head.started_at_ms,
            "updated_at_ms": head.updated_at_ms,
        }}))
    }

    fn event(&mut self, record: &Record) -> io::Result<()> {
        self.line(&EventLine {
            event: EventFields {
                seq: record.seq,
                at_ms: record.at_ms,
                kind: record.event.kind().as_str(),
                path: record.path.as_ref().map(StepPath::as_str),
                payload: payload(&record.event),
            },
        })
    }

    fn replayed(&mut self, effect_calls: u64) -> io::Result<()> {
        self.line(&json!({"replay": {"effect_calls": effect_calls}}))
    }

    fn note(&mut self, text: &str) {
        let _ = writeln!(self.err, "{}", self.style.err(text));
    }
}

/// The line that a failure is; for one that comes before there is a view.
pub(crate) fn error_line(failure: &Failure) -> String {
    let error = Named { name: failure.name.as_str(), message: &failure.message };
    // Two texts are JSON, whatever they hold.
    serde_json::to_string(&ErrorLine { error }).unwrap_or_default()
}

#[derive(Serialize)]
struct ToolCallLine<'a> {
    tool_call: &'a Asked<'a>,
}

#[derive(Serialize)]
struct DoneLine {
    done: Done,
}

#[derive(Serialize)]
struct Done {
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Usage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    finish_reason: Option<FinishReason>,
}

/// The name first, for the eye: programs do not care.
#[derive(Serialize)]
struct ErrorLine<'a> {
    error: Named<'a>,
}

#[derive(Serialize)]
struct Named<'a> {
    name: &'static str,
    message: &'a str,
}

#[derive(Serialize)]
struct SeveredLine<'a> {
    severed: &'a Severed,
}

#[derive(Serialize)]
struct EventLine<'a> {
    event: EventFields<'a>,
}

#[derive(Serialize)]
struct EventFields<'a> {
    seq: u64,
    at_ms: u64,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'a str>,
    payload: Value,
}

#[cfg(test)]
mod tests {
    use loom_effect_runtime::{CallError, Violation};

    use super::*;

    fn lines(show: impl FnOnce(&mut dyn View) -> io::Result<()>) -> String {
        let style =
            Style { out_terminal: false, err_terminal: false, out_colours: false, err_colours: false };
        let mut view = JsonLines::new(Vec::new(), Vec::new(), style);
        show(&mut view).unwrap();
        String::from_utf8(view.out).unwrap()
    }

    #[test]
    fn done_is_an_object_whose_usage_is_absent_when_unknown() {
        assert_eq!(lines(|view| view.done(None, None)), "{\"done\":{}}\n");
        let cut = lines(|view| view.done(None, Some(FinishReason::Length)));
        assert_eq!(cut, "{\"done\":{\"finish_reason\":\"length\"}}\n");
        let known = Usage { input_tokens: None, output_tokens: Some(2) };
        assert_eq!(
            lines(|view| view.done(Some(known), None)),
            "{\"done\":{\"usage\":{\"outputTokens\":2}}}\n"
        );
    }

    #[test]
    fn a_sever_is_told_before_its_error_and_never_with_its_text() {
        let failure = Failure::from(CallError::from(Violation::safety("pii.card").at(4, 19)));
        let lines = lines(|view| view.failed(&failure));
        let (severed, error) = lines.split_once('\n').unwrap();
        assert_eq!(severed, r#"{"severed":{"rule":"pii.card","offset":4,"length":19}}"#);
        assert!(error.starts_with(r#"{"error":{"name":"SafetyViolationError","message":"#), "{error}");
    }

    #[test]
    fn text_is_one_line_whatever_it_holds() {
        assert_eq!(lines(|view| view.text("a\n\u{1b}\"")), "{\"text\":\"a\\n\\u001b\\\"\"}\n");
    }
}
