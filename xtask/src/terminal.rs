//! What is said on stdout.

use std::fmt::Display;
use std::io::Write as _;

/// Prints one line at once. A reader that has gone away (`| head`) is no fault: the exit code still tells.
pub(crate) fn say(line: impl Display) {
    let mut stdout = std::io::stdout().lock();
    drop(writeln!(stdout, "{line}").and_then(|()| stdout.flush()));
}
