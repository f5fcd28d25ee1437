//! What a command shows: one view for people, one of JSON lines for programs.

mod json;
mod neutral;
mod terminal;
mod time;

use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

use loom_effect_runtime::{DeltaKinds, Signal, Usage};
use loom_llm::FinishReason;
use loom_workflow::record::{Event, Record};
use loom_workflow::store::Head;
use serde::Serialize;
use serde_json::Value;

use crate::exit::Failure;
use crate::flow::Plan;
use crate::signals::OutputClosed;
use crate::stdout::Stdout;

use json::JsonLines;
pub(crate) use json::error_line;
pub(crate) use neutral::neutral;
use terminal::{Style, Terminal};

/// The facts that a command has to show, in the order in which they may come.
///
/// An error is of the place where data goes. What is said to a person goes to stderr, where a failed write is nobody's
/// loss.
pub(crate) trait View: Send {
    /// The execution that the command is about.
    fn execution_id(&mut self, id: &str) -> io::Result<()>;
    /// A piece of live text, as the guards let it through.
    fn text(&mut self, text: &str) -> io::Result<()>;
    /// What was shown of the text so far is void.
    fn reset(&mut self, attempt: u32) -> io::Result<()>;
    /// A piece of live reasoning; a person is shown the answer alone.
    fn reasoning(&mut self, _text: &str) -> io::Result<()> {
        Ok(())
    }
    /// A tool call of the whole answer.
    fn tool_call(&mut self, call: &Asked<'_>) -> io::Result<()>;
    /// The text is whole.
    fn done(&mut self, done: &Done<'_>) -> io::Result<()>;
    /// The command failed.
    fn failed(&mut self, failure: &Failure) -> io::Result<()>;
    /// The plan, at the very end.
    fn plan(&mut self, plan: &Plan) -> io::Result<()>;
    /// One execution of a list.
    fn execution(&mut self, head: &Head) -> io::Result<()>;
    /// One event of an execution.
    fn event(&mut self, record: &Record) -> io::Result<()>;
    /// A replay was served with so many effect calls.
    fn replayed(&mut self, effect_calls: u64) -> io::Result<()>;
    /// A crate was begun in that folder.
    fn created(&mut self, folder: &Path) -> io::Result<()>;
    /// Something said to a person.
    fn note(&mut self, text: &str);
}

/// A tool call as the model wrote it. Nobody carries it out.
#[derive(Debug, Serialize)]
pub(crate) struct Asked<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<&'a str>,
    /// Verbatim; empty where the model gave none.
    pub(crate) arguments: &'a str,
}

/// How a whole answer ended, as far as it is known.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Done<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) usage: Option<Usage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) finish_reason: Option<FinishReason>,
    /// Whether the model, or its provider, declined to answer; the answer may be its words of refusal.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) refused: bool,
    /// Why, in the provider's words, where it gave any beside the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) explanation: Option<&'a str>,
}

/// A view that sinks and commands share. The first failed write stops the command.
pub(crate) struct Screen {
    view: Mutex<Box<dyn View>>,
    kinds: DeltaKinds,
    stop: Signal,
    closed: OnceLock<io::ErrorKind>,
}

impl Screen {
    /// The view that the command line asks for, on stdout and stderr.
    pub(crate) fn new(json: bool, stop: Signal) -> Self {
        let (out, style) = (Stdout::new(stop.clone()), Style::of_process());
        let view: Box<dyn View> = if json {
            Box::new(JsonLines::new(out, io::stderr(), style))
        } else {
            Box::new(Terminal::new(out, io::stderr(), style))
        };
        let kinds = if json { DeltaKinds::TEXT | DeltaKinds::REASONING } else { DeltaKinds::TEXT };
        Self { view: Mutex::new(view), kinds, stop, closed: OnceLock::new() }
    }

    /// The kinds of live text that are shown.
    pub(crate) fn kinds(&self) -> DeltaKinds {
        self.kinds
    }

    /// Shows something. Once a write has failed nothing more is shown.
    pub(crate) fn show(&self, show: impl FnOnce(&mut dyn View) -> io::Result<()>) {
        if self.closed.get().is_some() {
            return;
        }
        let mut view = self.view.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = show(&mut **view) {
            let kind = *self.closed.get_or_init(|| error.kind());
            self.stop.abort_with(OutputClosed(kind));
        }
    }

    /// Says something to a person.
    pub(crate) fn note(&self, text: &str) {
        self.view.lock().unwrap_or_else(PoisonError::into_inner).note(text);
    }

    /// Why nothing more is shown, if that is so.
    pub(crate) fn closed(&self) -> Option<io::ErrorKind> {
        self.closed.get().copied()
    }
}

/// Whether colours may go to that stream.
fn coloured(stream: &impl IsTerminal) -> bool {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    stream.is_terminal() && set("NO_COLOR").is_none() && set("TERM").is_none_or(|term| term != "dumb")
}

/// An event's content; null for a kind that this version does not know.
fn payload(event: &Event) -> Value {
    fn of(event: &impl Serialize) -> Value {
        serde_json::to_value(event).unwrap_or_default()
    }
    match event {
        Event::ExecutionStarted(event) => of(event),
        Event::StepStarted(event) => of(event),
        Event::StepCompleted(event) => of(event),
        Event::StepFailed(event) => of(event),
        Event::DecisionRecorded(event) => of(event),
        Event::DomainEvent(event) => of(event),
        Event::EffectDenied(event) => of(event),
        Event::CancelRequested(event) => of(event),
        Event::ExecutionCompleted(event) => of(event),
        Event::ExecutionFailed(event) => of(event),
        Event::ExecutionCancelled(event) => of(event),
        _ => Value::Null,
    }
}
