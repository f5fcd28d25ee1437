//! Journals that cannot be used: locked, full, read-only, or something else altogether.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Command;

use loom_store_sqlite::{SqliteOptions, SqliteStore};
use loom_workflow::record::{
    DecisionId, DecisionRecorded, Draft, ExecutionId, ExecutionStarted, FlowName, StepId, StepPath,
};
use loom_workflow::store::{Append, EventStore, Fence, Start};
use serde_json::json;

use crate::support::peer::Peer;
use crate::support::{Folder, Ran, Running};

#[test]
fn a_locked_journal_names_its_holder_and_loses_nothing() {
    let folder = Folder::new();
    let peer = Peer::serve(|number, answer| {
        answer.begin();
        answer.say("{\"steps\": [\n");
        if number == 0 {
            answer.wait_for_hang_up();
        }
    });
    let plan = ["plan", "repaint", "--execution-id", "first", "--base-url", &peer.base_url()];
    let mut holder = Running::start(&mut folder.loom(&plan));
    assert_eq!(holder.line(), "{\"steps\": [\n");
    let second = folder.run(&["plan", "repaint", "--json"]).exit(1);
    let (name, message) = second.error();
    assert_eq!(name, "StoreLockedError");
    assert!(message.contains(&format!("process {}", holder.child.id())), "{message}");
    assert!(second.err.contains("waiting for another process"), "{second:?}");
    holder.signal("INT");
    assert_eq!(holder.finish().0.code(), Some(130));
    folder.run(&["plan", "repaint"]).ok();
    assert_eq!(folder.executions().len(), 2, "the one that found no room to write was never begun");
}

#[test]
fn ctrl_c_ends_the_wait_for_the_lock() {
    let folder = Folder::new();
    let held = fs::File::create(folder.path().join("loom.db.lock")).unwrap();
    held.lock().unwrap();
    let mut plan = Running::start(&mut folder.loom(&["plan", "repaint"]));
    let mut told = BufReader::new(plan.child.stderr.take().unwrap()).lines();
    assert!(told.any(|line| line.unwrap().contains("waiting for another process")));
    plan.signal("INT");
    assert_eq!(plan.child.wait().unwrap().code(), Some(130));
}

/// T15: a journal that other code has written is blocked, in sight, and its records stay as they were.
#[test]
fn a_journal_that_does_not_fit_the_code_is_blocked() {
    let folder = Folder::new();
    let id = ExecutionId::new("shed-1").unwrap();
    let input = json!({"goal": "repaint", "model": "default"});
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = SqliteStore::open(SqliteOptions::new(folder.db()).unwrap()).await.unwrap();
        let mut started = ExecutionStarted::new(FlowName::new("plan").unwrap(), "1".to_owned(), input);
        started.identity = Some(json!({"id": "loom-cli"}));
        store.start(Start::new(id.clone(), 1, started)).await.unwrap();
        let decision =
            DecisionRecorded::new(DecisionId::new("outline").unwrap(), json!({"steps": ["Buy paint"]}));
        let path = StepPath::root(&StepId::new("outline").unwrap(), 1);
        let draft = Draft::new(2, decision).with_path(path);
        store.append(Append::new(id, Fence::new(1, 1), vec![draft])).await.unwrap();
    });
    let before = folder.run(&["logs", "shed-1", "--json"]).ok();
    assert_eq!(folder.run(&["replay", "shed-1", "--json"]).exit(5).error().0, "NondeterminismError");
    assert_eq!(folder.executions()[0].1, "running", "a replay writes nothing");
    let resumed = folder.run(&["plan", "repaint", "--execution-id", "shed-1", "--json"]).exit(5);
    let (name, message) = resumed.error();
    assert_eq!(name, "NondeterminismError");
    assert!(message.contains("sequence 2") && message.contains("outline"), "{message}");
    assert_eq!(folder.executions()[0].1, "blocked");
    assert_eq!(folder.run(&["logs", "shed-1", "--json"]).ok().out, before.out);
}

/// Runs loom in a shell that limits how large a file may grow, in blocks of 512 bytes.
fn limited(folder: &Folder, blocks: u32, args: &[&str]) -> Ran {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -f {blocks} && exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_loom")]);
    Ran::of(command.args(args).env("LOOM_DB", folder.db()).current_dir(folder.path()))
}

/// SIGXFSZ does not end the process: a file that may not grow is a full store, and what was recorded is kept.
#[test]
fn a_full_journal_is_a_typed_error_and_keeps_what_it_has() {
    let folder = Folder::new();
    let new = limited(&folder, 1, &["plan", "repaint", "--json"]).exit(1);
    assert_eq!(new.error().0, "StoreFullError", "{new:?}");
    for file in fs::read_dir(folder.path()).unwrap() {
        fs::remove_file(file.unwrap().path()).unwrap();
    }
    folder.run(&["plan", "repaint", "--execution-id", "kept"]).ok();
    let full = limited(&folder, 16, &["plan", "repaint the fence", "--json"]).exit(1);
    let (name, message) = full.error();
    assert_eq!(name, "StoreFullError");
    assert!(message.contains("ulimit -f"), "{message}");
    folder.run(&["replay", "kept"]).ok();
    folder.run(&["plan", "repaint the fence"]).ok();
}

#[test]
fn a_journal_for_reading_only_is_not_written() {
    let folder = Folder::new();
    folder.run(&["plan", "repaint"]).ok();
    let bytes = fs::read(folder.db()).unwrap();
    let read_only = format!("file:{}?mode=ro", folder.db().display());
    let ran = folder.run(&["plan", "repaint", "--db", &read_only, "--json"]).exit(2);
    let (name, message) = ran.error();
    assert_eq!(name, "StoreError");
    assert!(message.contains("mode=ro"), "{message}");
    assert!(ran.err.contains("hint: a plan is recorded: drop `mode=ro`"), "{ran:?}");
    assert!(!ran.err.contains("offline"), "no model was made: {ran:?}");
    assert_eq!(fs::read(folder.db()).unwrap(), bytes);
}

#[test]
fn what_is_no_journal_is_left_as_it_is() {
    let folder = Folder::new();
    let file = folder.path().join("notes.txt");
    fs::write(&file, "these are my notes, and they are long enough to be looked at".repeat(40)).unwrap();
    let notes = fs::read(&file).unwrap();
    let other = folder.path().join("other.db");
    rusqlite::Connection::open(&other)
        .unwrap()
        .execute_batch("CREATE TABLE mine (x); PRAGMA user_version = 7;")
        .unwrap();
    for path in [file.as_path(), folder.path(), other.as_path()] {
        let path = path.to_str().unwrap();
        for command in [vec!["plan", "repaint"], vec!["logs"], vec!["replay", "shed-1"]] {
            let ran = folder.run(&[command.as_slice(), &["--db", path, "--json"]].concat()).exit(1);
            assert_eq!(ran.error().0, "StoreError", "{path} {ran:?}");
            assert!(ran.error().1.contains("no loom store"), "{path} {ran:?}");
            assert!(!ran.err.contains("offline"), "the journal comes before the model: {ran:?}");
        }
    }
    assert_eq!(fs::read(&file).unwrap(), notes);
    let ran = folder.run(&["logs", "--db", "file:x?vfs=none"]).exit(2);
    assert!(ran.err.contains("mode=ro"), "{ran:?}");
}
