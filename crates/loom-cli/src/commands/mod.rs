//! The four commands, and what they share.

pub(crate) mod ask;
pub(crate) mod logs;
pub(crate) mod plan;
pub(crate) mod replay;

use std::io::Read;

use loom_effect_runtime::{ErrorName, Signal};

use crate::args::Command;
use crate::exit::Failure;
use crate::signals::is_interrupted;

/// The most bytes that are read of stdin: what a request may have.
const STDIN_BYTES_MAX: u64 = 8 << 20;

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
        Command::Logs(_) | Command::Replay(_) => return Ok(()),
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
    let mut bytes = Vec::new();
    let read = std::io::stdin().take(STDIN_BYTES_MAX + 1).read_to_end(&mut bytes);
    read.map_err(|error| {
        Failure::usage(format!("stdin cannot be read: {}", error.kind()), "pipe a text into it")
    })?;
    if bytes.len() as u64 > STDIN_BYTES_MAX {
        let message = format!("the {what} has more than {STDIN_BYTES_MAX} bytes");
        return Err(Failure::usage(message, "say it shorter"));
    }
    String::from_utf8(bytes)
        .map_err(|_| Failure::usage(format!("the {what} is not UTF-8"), "pipe a text into it"))
}
