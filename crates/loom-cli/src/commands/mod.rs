//! The four commands, and what they share.

pub(crate) mod ask;
pub(crate) mod logs;
pub(crate) mod plan;
pub(crate) mod replay;

use std::io::Read;

use loom_effect_runtime::{ErrorName, Signal};

use crate::exit::Failure;
use crate::signals::is_interrupted;

/// The most bytes that are read of stdin: what a request may have.
const STDIN_BYTES_MAX: u64 = 8 << 20;

/// A command that was stopped before it began.
pub(crate) fn stopped(stop: &Signal) -> Failure {
    let message = if is_interrupted(stop) { "interrupted" } else { "stdout was closed" };
    Failure::named(ErrorName::Abort, message)
}

/// The words of an argument, or of stdin where the argument is `-`.
fn words(argument: String, what: &str) -> Result<String, Failure> {
    let text = if argument == "-" { read_stdin(what)? } else { argument };
    if text.trim().is_empty() {
        return Err(Failure::usage(format!("the {what} is empty"), format!("say one, or pipe it: loom … -")));
    }
    Ok(text)
}

fn read_stdin(what: &str) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().take(STDIN_BYTES_MAX + 1).read_to_end(&mut bytes);
    read.map_err(|error| Failure::usage(format!("stdin cannot be read: {}", error.kind()), "pipe a text into it"))?;
    if bytes.len() as u64 > STDIN_BYTES_MAX {
        let message = format!("the {what} has more than {STDIN_BYTES_MAX} bytes");
        return Err(Failure::usage(message, "say it shorter"));
    }
    String::from_utf8(bytes).map_err(|_| Failure::usage(format!("the {what} is not UTF-8"), "pipe a text into it"))
}
