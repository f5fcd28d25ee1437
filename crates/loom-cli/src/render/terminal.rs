//! The view for people: text as it comes, and a plain pipe where stdout is no terminal.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write};
use std::path::Path;

use loom_workflow::record::Record;
use loom_workflow::store::Head;

use super::neutral::neutral;
use super::{Asked, Done, View, coloured, payload, time};
use crate::exit::Failure;
use crate::flow::Plan;

/// The most characters of an event's content that a terminal shows; a pipe gets all of it.
const CONTENT_CHARS_MAX: usize = 100;

const DIM: &str = "\u{1b}[2m";
const BOLD: &str = "\u{1b}[1m";
const RED: &str = "\u{1b}[1;31m";
const YELLOW: &str = "\u{1b}[33m";

/// What the two streams are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Style {
    /// Whether stdout is a terminal: then text that others wrote, a model or a journal, cannot drive it.
    pub(super) out_terminal: bool,
    /// The same of stderr.
    pub(super) err_terminal: bool,
    pub(super) out_colours: bool,
    pub(super) err_colours: bool,
}

impl Style {
    pub(super) fn of_process() -> Self {
        let (out, err) = (io::stdout(), io::stderr());
        Self {
            out_terminal: out.is_terminal(),
            err_terminal: err.is_terminal(),
            out_colours: coloured(&out),
            err_colours: coloured(&err),
        }
    }

    /// A text as stdout may get it.
    pub(super) fn out<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.out_terminal { neutral(text).into() } else { text.into() }
    }

    /// A text as stderr may get it.
    pub(super) fn err<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.err_terminal { neutral(text).into() } else { text.into() }
    }
}

pub(super) struct Terminal<O, E> {
    out: O,
    err: E,
    style: Style,
    /// Text was shown and its last line is open.
    open_line: bool,
    /// Text was shown since the start or the last reset.
    shown: bool,
    execution: Option<String>,
}

impl<O: Write, E: Write> Terminal<O, E> {
    pub(super) fn new(out: O, err: E, style: Style) -> Self {
        Self { out, err, style, open_line: false, shown: false, execution: None }
    }

    fn end_line(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.open_line) {
            self.out.write_all(b"\n")?;
            self.out.flush()?;
        }
        Ok(())
    }

    fn line(&mut self, colour: &str, line: &str) -> io::Result<()> {
        self.end_line()?;
        let line = paint(self.style.out_colours, colour, &self.style.out(line));
        self.out.write_all(format!("{line}\n").as_bytes())?;
        self.out.flush()
    }

    /// Says something to a person. A terminal shows both streams, so an open line of text is ended first.
    fn say(&mut self, colour: &str, text: &str) -> io::Result<()> {
        if self.style.out_terminal {
            self.end_line()?;
        }
        let text = self.style.err(text);
        let _ = writeln!(self.err, "{}", paint(self.style.err_colours, colour, &text));
        Ok(())
    }
}

impl<O: Write + Send, E: Write + Send> View for Terminal<O, E> {
    fn execution_id(&mut self, id: &str) -> io::Result<()> {
        self.execution = Some(id.to_owned());
        Ok(())
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        self.open_line = !text.ends_with('\n');
        self.shown = true;
        self.out.write_all(self.style.out(text).as_bytes())?;
        self.out.flush()
    }

    fn reset(&mut self, attempt: u32) -> io::Result<()> {
        if std::mem::take(&mut self.shown) {
            // Also after text that ended with a line break: the next text begins after an empty line.
            self.open_line = false;
            self.out.write_all(b"\n")?;
            self.out.flush()?;
        }
        self.say(YELLOW, &format!("attempt {attempt}"))
    }

    fn tool_call(&mut self, call: &Asked<'_>) -> io::Result<()> {
        let name = neutral(call.name.unwrap_or("without a name"));
        self.say(
            YELLOW,
            &format!("the model calls the tool {name}; nobody carries it out (--json shows the arguments)"),
        )
    }

    fn done(&mut self, _done: &Done<'_>) -> io::Result<()> {
        self.end_line()
    }

    fn failed(&mut self, failure: &Failure) -> io::Result<()> {
        self.end_line()?;
        self.say(RED, &format!("error: {} ({})", failure.message, failure.name))?;
        if let Some(hint) = &failure.hint {
            self.say("", &format!("hint: {hint}"))?;
        }
        if let Some(id) = self.execution.take() {
            self.say(DIM, &format!("its journal: loom logs {id}"))?;
        }
        Ok(())
    }

    fn plan(&mut self, plan: &Plan) -> io::Result<()> {
        self.line(BOLD, "plan")?;
        for (at, step) in plan.steps.iter().enumerate() {
            self.line("", &format!("  {}. {step}", at + 1))?;
        }
        if let Some(id) = self.execution.take() {
            self.line("", &format!("execution {id}"))?;
            self.say(DIM, &format!("look at it: loom logs {id}\nserve it again: loom replay {id}"))?;
        }
        Ok(())
    }

    fn execution(&mut self, head: &Head) -> io::Result<()> {
        let Head { execution, flow, status, last_seq, .. } = head;
        let started = time::utc(head.started_at_ms);
        let (status, flow) = (status.as_str(), neutral(flow.as_str()));
        let id = neutral(execution.as_str());
        self.line("", &format!("{id}  {started}  {status:<9}  {last_seq:>5} events  {flow}"))
    }

    fn event(&mut self, record: &Record) -> io::Result<()> {
        let mut line =
            format!("{:>4}  {}  {:<20}", record.seq, time::utc(record.at_ms), record.event.kind().as_str());
        let mut content = payload(&record.event).to_string();
        if let Some(path) = &record.path {
            content = format!("{path} {content}");
        }
        if self.style.out_terminal && content.chars().count() > CONTENT_CHARS_MAX {
            content = content.chars().take(CONTENT_CHARS_MAX).chain(['…']).collect();
        }
        // Writing to a String cannot fail.
        let _ = write!(line, "  {content}");
        self.line("", &line)
    }

    fn replayed(&mut self, effect_calls: u64) -> io::Result<()> {
        let id = self.execution.take().unwrap_or_default();
        self.line("", &format!("execution {id}, served from its journal: {effect_calls} effect calls"))
    }

    fn created(&mut self, folder: &Path) -> io::Result<()> {
        let folder = self.style.out(&folder.to_string_lossy()).into_owned();
        self.line("", &folder)
    }

    fn note(&mut self, text: &str) {
        // Where the open line cannot be ended, the next text meets the same error.
        let _ = self.say(DIM, text);
    }
}

fn paint(colours: bool, colour: &str, text: &str) -> String {
    if colours && !colour.is_empty() { format!("{colour}{text}\u{1b}[0m") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIPE: Style =
        Style { out_terminal: false, err_terminal: false, out_colours: false, err_colours: false };
    const TERMINAL: Style =
        Style { out_terminal: true, err_terminal: true, out_colours: true, err_colours: true };

    fn shown(style: Style, show: impl FnOnce(&mut dyn View) -> io::Result<()>) -> (String, String) {
        let mut view = Terminal::new(Vec::new(), Vec::new(), style);
        show(&mut view).unwrap();
        (String::from_utf8(view.out).unwrap(), String::from_utf8(view.err).unwrap())
    }

    #[test]
    fn a_pipe_gets_the_text_byte_for_byte_and_a_terminal_none_that_drives_it() {
        let driven = "red \u{1b}[31m\r\n";
        assert_eq!(shown(PIPE, |view| view.text(driven)).0, driven);
        assert_eq!(shown(TERMINAL, |view| view.text(driven)).0, "red \u{241b}[31m\u{240d}\n");
    }

    #[test]
    fn a_reset_is_a_newline_then_the_attempt_then_the_whole_text_again() {
        let twice = |view: &mut dyn View| {
            view.text("ab")?;
            view.reset(2)?;
            view.text("abc")?;
            view.done(&Done::default())
        };
        assert_eq!(shown(PIPE, twice), ("ab\nabc\n".to_owned(), "attempt 2\n".to_owned()));
        let (out, err) = shown(TERMINAL, twice);
        assert_eq!((out.as_str(), err.as_str()), ("ab\nabc\n", "\u{1b}[33mattempt 2\u{1b}[0m\n"));
        let silent = shown(PIPE, |view| view.reset(2));
        assert_eq!(silent, (String::new(), "attempt 2\n".to_owned()), "nothing was shown, nothing is ended");
    }

    #[test]
    fn a_note_does_not_land_in_the_middle_of_a_line() {
        let noted = |view: &mut dyn View| {
            view.text("ab")?;
            view.note("wait");
            view.text("c")
        };
        assert_eq!(shown(TERMINAL, noted).0, "ab\nc");
        assert_eq!(shown(PIPE, noted).0, "abc", "a pipe gets the text as it is");
    }
}
