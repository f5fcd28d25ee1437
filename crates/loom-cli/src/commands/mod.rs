//! The commands, and what they share.

pub(crate) mod ask;
pub(crate) mod logs;
pub(crate) mod new;
pub(crate) mod plan;
pub(crate) mod replay;

use loom_classify::guard::REQUEST_BYTES_MAX;
use loom_effect_runtime::{ErrorName, Signal};

use crate::args::Command;
use crate::bounded::{Unreadable, read_text};
use crate::exit::{Failure, SAY_IT_SHORTER};
use crate::signals::is_interrupted;

/// What the rest of a request may take beside the words: instructions, example, schema, and the names in them.
const REQUEST_FRAMING_BYTES: usize = 64 << 10;

/// The most bytes that are read of stdin: what fits into a request.
const STDIN_BYTES_MAX: u64 = (REQUEST_BYTES_MAX - REQUEST_FRAMING_BYTES) as u64;

/// A command that was stopped before it began.
pub(crate) fn stopped(stop: &Signal) -> Failure {
    let message = if is_interrupted(stop) { "interrupted" } else { "stdout was closed" };
    Failure::named(ErrorName::Abort, message)
}

/// Puts the words of stdin where the command line says `-`, before anything else: then Ctrl-C still ends the reading.
pub(crate) fn read_words(command: &mut Command) -> Result<(), Failure> {
    let (words, what) = match command {
        Command::Plan(args) => (&mut args.goal, "goal"),
        Command::Ask(args) => (&mut args.prompt, "prompt"),
        Command::Logs(_) | Command::Replay(_) | Command::New { .. } => return Ok(()),
    };
    if words == "-" {
        *words = read_stdin(what)?;
    }
    if words.trim().is_empty() {
        return Err(Failure::usage(format!("the {what} is empty"), "say one, or pipe it in and say `-`"));
    }
    Ok(())
}

fn read_stdin(what: &str) -> Result<String, Failure> {
    read_text(std::io::stdin(), STDIN_BYTES_MAX).map_err(|unreadable| match unreadable {
        Unreadable::TooLong { .. } => Failure::usage(format!("the {what} {unreadable}"), SAY_IT_SHORTER),
        Unreadable::Io(_) => Failure::usage(format!("stdin {unreadable}"), "pipe a text into it"),
        Unreadable::NotUtf8 => Failure::usage(format!("the {what} {unreadable}"), "pipe a text into it"),
    })
}
