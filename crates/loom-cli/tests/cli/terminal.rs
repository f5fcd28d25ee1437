//! What a terminal gets: colours unless they are not wanted, and no text that drives it.

use std::fs;
use std::process::{Command, ExitStatus, Stdio};

use loom_store_sqlite::{SqliteOptions, SqliteStore};
use loom_workflow::record::{
    Draft, ExecutionFailed, ExecutionId, ExecutionStarted, FailureRecord, FlowName, SeverRecord,
};
use loom_workflow::store::{Append, EventStore, Fence, Start};
use serde_json::json;

use crate::support::Folder;
use crate::support::peer::Peer;

/// Runs loom on a terminal of its own, made by `script` of util-linux; `None` where that is not installed.
fn on_a_terminal(folder: &Folder, args: &str, variables: &[(&str, &str)]) -> Option<String> {
    let (status, shown) = ended_on_a_terminal(folder, args, variables)?;
    assert!(status.success(), "{status}: {shown}");
    Some(shown)
}

fn ended_on_a_terminal(
    folder: &Folder,
    args: &str,
    variables: &[(&str, &str)],
) -> Option<(ExitStatus, String)> {
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
    Some((output.status, String::from_utf8(output.stdout).unwrap()))
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

/// A journal that somebody else wrote, whose one execution was refused by a rule with this name.
fn foreign_journal(folder: &Folder, rule: &str) {
    let id = ExecutionId::new("shed-1").unwrap();
    let input = json!({"goal": "repaint", "model": "default"});
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = SqliteStore::open(SqliteOptions::new(folder.db()).unwrap()).await.unwrap();
        let mut started = ExecutionStarted::new(FlowName::new("plan").unwrap(), "1".to_owned(), input);
        started.identity = Some(json!({"id": "loom-cli"}));
        store.start(Start::new(id.clone(), 1, started)).await.unwrap();
        let mut failure = FailureRecord::new("SafetyViolationError".to_owned());
        failure.sever = Some(SeverRecord::new(rule.to_owned()));
        let draft = Draft::new(2, ExecutionFailed::new(failure));
        store.append(Append::new(id, Fence::new(1, 1), vec![draft])).await.unwrap();
    });
}

/// Escape sequences out of a journal are shown, not obeyed, on each of the streams that is a terminal and in either
/// view; what is no terminal gets the bytes.
#[test]
fn a_journal_cannot_drive_the_terminal() {
    const DRIVES: [char; 5] = ['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}', '\u{e0041}'];
    let folder = Folder::new();
    foreign_journal(&folder, "owned\u{1b}]0;owned\u{7}\u{9b}2J\u{202e}\u{e0041}");
    let plain = [("NO_COLOR", "1")];
    for args in
        ["replay shed-1", "replay shed-1 --json", "replay shed-1 >out.txt", "replay shed-1 --json >out.txt"]
    {
        let Some((status, shown)) = ended_on_a_terminal(&folder, args, &plain) else { return };
        assert_eq!(status.code(), Some(3), "{args}: {shown}");
        assert!(shown.contains("owned\u{241b}]0;owned\u{2407}"), "{args}: {shown:?}");
        assert!(!shown.contains(DRIVES), "{args}: {shown:?}");
    }
    let line = fs::read_to_string(folder.path().join("out.txt")).unwrap();
    assert!(line.contains('\u{9b}') && line.contains('\u{202e}'), "a file gets it as it is: {line:?}");
    let logged = on_a_terminal(&folder, "logs shed-1", &plain).unwrap();
    assert!(!logged.contains(DRIVES), "{logged:?}");
    let piped = folder.run(&["replay", "shed-1"]).exit(3);
    assert!(piped.err.contains('\u{1b}') && piped.err.contains('\u{202e}'), "{piped:?}");
}
