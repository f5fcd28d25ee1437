//! JSON lines for programs; what is said to a person still goes to stderr.

use std::io::{self, Write};
use std::path::Path;

use loom_workflow::record::{Record, StepPath};
use loom_workflow::store::Head;
use serde::Serialize;
use serde_json::{Value, json};

use super::terminal::Style;
use super::{Asked, Done, View, payload};
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

    fn done(&mut self, done: &Done<'_>) -> io::Result<()> {
        self.line(&DoneLine { done })
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
        self.line(&ErrorLine::from(failure))
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

    fn created(&mut self, folder: &Path) -> io::Result<()> {
        self.line(&json!({"created": {"path": folder.to_string_lossy()}}))
    }

    fn note(&mut self, text: &str) {
        let _ = writeln!(self.err, "{}", self.style.err(text));
    }
}

/// The line that a failure is; for one that comes before there is a view.
pub(crate) fn error_line(failure: &Failure) -> String {
    // Texts and a number are JSON, whatever they hold.
    serde_json::to_string(&ErrorLine::from(failure)).unwrap_or_default()
}

#[derive(Serialize)]
struct ToolCallLine<'a> {
    tool_call: &'a Asked<'a>,
}

#[derive(Serialize)]
struct DoneLine<'a> {
    done: &'a Done<'a>,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_s: Option<u32>,
}

impl<'a> From<&'a Failure> for ErrorLine<'a> {
    fn from(failure: &'a Failure) -> Self {
        let Failure { name, message, retry_after_s, .. } = failure;
        Self { error: Named { name: name.as_str(), message, retry_after_s: *retry_after_s } }
    }
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
    use loom_effect_runtime::{CallError, Usage, Violation};
    use loom_llm::FinishReason;

    use super::*;

    fn lines(show: impl FnOnce(&mut dyn View) -> io::Result<()>) -> String {
        lines_of(false, show)
    }

    fn lines_of(out_terminal: bool, show: impl FnOnce(&mut dyn View) -> io::Result<()>) -> String {
        let style = Style { out_terminal, err_terminal: false, out_colours: false, err_colours: false };
        let mut view = JsonLines::new(Vec::new(), Vec::new(), style);
        show(&mut view).unwrap();
        String::from_utf8(view.out).unwrap()
    }

    #[test]
    fn done_is_an_object_whose_usage_is_absent_when_unknown() {
        let told = |done: Done<'_>| lines(|view| view.done(&done));
        assert_eq!(told(Done::default()), "{\"done\":{}}\n");
        let cut = told(Done { finish_reason: Some(FinishReason::Length), ..Done::default() });
        assert_eq!(cut, "{\"done\":{\"finish_reason\":\"length\"}}\n");
        let known = Usage { input_tokens: None, output_tokens: Some(2) };
        let known = told(Done { usage: Some(known), ..Done::default() });
        assert_eq!(known, "{\"done\":{\"usage\":{\"outputTokens\":2}}}\n");
    }

    #[test]
    fn an_explanation_cannot_drive_a_terminal_and_a_pipe_gets_it_as_it_is() {
        let done = Done { refused: true, explanation: Some("no\u{202e}"), ..Done::default() };
        let terminal = lines_of(true, |view| view.done(&done));
        assert_eq!(terminal, "{\"done\":{\"refused\":true,\"explanation\":\"no\u{fffd}\"}}\n");
        assert!(lines(|view| view.done(&done)).contains("no\u{202e}"));
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
