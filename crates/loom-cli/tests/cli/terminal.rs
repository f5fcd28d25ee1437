//! What a terminal gets: colours unless they are not wanted, and no text that drives it.

use std::process::{Command, Stdio};

use crate::support::Folder;
use crate::support::peer::Peer;

/// Runs loom on a terminal of its own, made by `script` of util-linux; `None` where that is not installed.
fn on_a_terminal(folder: &Folder, args: &str, variables: &[(&str, &str)]) -> Option<String> {
    let command = format!("'{}' {args}", env!("CARGO_BIN_EXE_loom"));
    let mut script = Command::new("script");
    script.args(["--quiet", "--return", "--command", &command, "/dev/null"]).current_dir(folder.path());
    script
        .env("LOOM_DB", folder.db())
        .env("TERM", "xterm")
        .env_remove("NO_COLOR")
        .envs(variables.iter().copied());
    let Ok(output) = script.stdin(Stdio::null()).output() else {
        println!("skipped: `script` makes the terminal, and there is none");
        return None;
    };
    assert!(output.status.success(), "{output:?}");
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn colours_go_to_a_terminal_that_wants_them_and_nowhere_else() {
    let folder = Folder::new();
    let plan = "plan 'repaint the shed'";
    let Some(coloured) = on_a_terminal(&folder, plan, &[]) else { return };
    assert!(coloured.contains("\u{1b}[1mplan\u{1b}[0m"), "{coloured}");
    for plain in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let shown = on_a_terminal(&folder, plan, &[plain]).unwrap();
        assert!(!shown.contains('\u{1b}') && shown.contains("plan\r\n"), "{shown}");
    }
    let piped = folder.run(&["plan", "repaint the shed"]).ok();
    assert!(!piped.out.contains('\u{1b}') && !piped.err.contains('\u{1b}'), "{piped:?}");
}

#[test]
fn a_reset_is_seen_on_the_terminal_before_the_second_attempt() {
    let folder = Folder::new();
    let Some(shown) = on_a_terminal(&folder, "ask --offline flaky 'name three rivers'", &[("NO_COLOR", "1")])
    else {
        return;
    };
    let lines: Vec<&str> = shown.lines().map(str::trim_end).collect();
    let at = lines.iter().position(|line| *line == "attempt 2").unwrap();
    assert!(
        lines[at + 1].starts_with(lines[at - 1]) && lines[at + 1].len() > lines[at - 1].len(),
        "{lines:?}"
    );
}

/// A model's escape sequences are shown, not obeyed; through a pipe they are its bytes.
#[test]
fn a_model_cannot_drive_the_terminal() {
    let folder = Folder::new();
    let peer = Peer::saying(&["\u{1b}]0;owned\u{7}", "\u{1b}[2Jgone\u{202e}\r"]);
    let ask = format!("ask hi --base-url {}", peer.base_url());
    let Some(shown) = on_a_terminal(&folder, &ask, &[("NO_COLOR", "1")]) else { return };
    assert!(shown.contains("\u{241b}]0;owned\u{2407}\u{241b}[2Jgone"), "{shown:?}");
    assert!(!shown.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{shown:?}");
    let piped = folder.run(&["ask", "hi", "--base-url", &peer.base_url()]).ok();
    assert!(piped.out.contains("\u{1b}[2Jgone\u{202e}\r"), "{piped:?}");
}
