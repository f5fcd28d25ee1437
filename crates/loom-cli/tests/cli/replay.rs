//! `loom replay` and `loom logs`: the journal alone, whatever else is missing.

use std::fs;

use crate::support::peer::Peer;
use crate::support::{Folder, Ran, Running, order};
use serde_json::json;

fn first_id(folder: &Folder) -> String {
    folder.executions().remove(0).0
}

/// T15: a decision is served from the journal; neither model nor key nor network is asked.
#[test]
fn a_replay_serves_the_decision_with_0_effect_calls() {
    let folder = Folder::new();
    let peer = Peer::saying(&[r#"{"steps": ["Buy paint"]}"#]);
    folder.run(&["plan", "repaint", "--base-url", &peer.base_url()]).ok();
    assert_eq!(peer.requests().len(), 1);
    let id = first_id(&folder);
    let ran = folder.run(&["replay", &id]).ok();
    assert!(ran.out.contains("0 effect calls") && ran.out.contains("  1. Buy paint\n"), "{ran:?}");
    let lines = folder.run(&["replay", &id, "--json"]).ok().json();
    assert_eq!(
        lines,
        [
            json!({"execution_id": id}),
            json!({"replay": {"effect_calls": 0}}),
            json!({"plan": {"steps": ["Buy paint"]}})
        ]
    );
    assert!(peer.requests().is_empty(), "the model was asked again");
}

/// The exit code of a replay is the one of the run that it serves.
#[test]
fn a_replay_exits_as_the_recorded_outcome_did() {
    let folder = Folder::new();
    let flood = Peer::saying(&["0123456789abcdef"; 600]);
    for (args, code, name) in [
        (vec!["--offline", "leaky"], 3, "SafetyViolationError"),
        (vec!["--offline", "nonsense"], 1, "PlanInvalidError"),
        (vec!["--base-url", &flood.base_url()], 4, "QuotaExceededError"),
        (vec!["--base-url", "http://127.0.0.1:9/v1"], 1, "ProviderError"),
    ] {
        let ran = folder.run(&[&["plan", "repaint the shed", "--json"], args.as_slice()].concat()).exit(code);
        assert_eq!(ran.error().0, name);
        let replayed = folder.run(&["replay", &first_id(&folder), "--json"]).exit(code);
        assert_eq!(replayed.error().0, name);
        let severed = |ran: &Ran| ran.json().iter().find_map(|line| line.get("severed").cloned());
        assert_eq!(severed(&replayed), severed(&ran));
        let plain = folder.run(&["replay", &first_id(&folder)]).exit(code);
        assert!(plain.out.contains("0 effect calls") && plain.err.contains(name), "{plain:?}");
    }
}

#[test]
fn logs_list_the_newest_first_and_no_more_than_asked_for() {
    let folder = Folder::new();
    for number in 1..=3 {
        folder.run(&["plan", "repaint", "--execution-id", &format!("run-{number}")]).ok();
    }
    let ids = |args: &[&str]| -> Vec<String> {
        let heads = folder.run(args).ok().json();
        heads.iter().map(|head| head["execution"]["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(&["logs", "--json"]), ["run-3", "run-2", "run-1"]);
    let two = folder.run(&["logs", "--limit", "2"]).ok();
    assert_eq!(two.out.lines().count(), 2, "{two:?}");
    assert!(two.err.contains("--limit"), "a person is told that there is more: {two:?}");
    let head = folder.run(&["logs", "--json", "--limit", "1"]).ok().json().remove(0);
    assert_eq!((&head["execution"]["flow"], &head["execution"]["events"]), (&json!("plan"), &json!(3)));
}

#[test]
fn events_are_shown_in_order_with_their_content() {
    let folder = Folder::new();
    folder.run(&["plan", "repaint the shed", "--execution-id", "shed-1"]).ok();
    let events = folder.run(&["logs", "shed-1", "--json"]).ok().json();
    let seqs: Vec<_> = events.iter().map(|event| event["event"]["seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs, [1, 2, 3]);
    assert_eq!(events[0]["event"]["payload"]["input"]["goal"], "repaint the shed");
    assert_eq!(events[1]["event"]["path"], "plan");
    let plain = folder.run(&["logs", "shed-1"]).ok();
    assert_eq!(plain.out.lines().count(), 3);
    assert!(plain.out.contains("DECISION_RECORDED"), "{plain:?}");
}

#[test]
fn an_id_may_be_shortened_while_it_stays_unique() {
    let folder = Folder::new();
    folder.run(&["plan", "repaint", "--execution-id", "shed-1"]).ok();
    folder.run(&["plan", "repaint", "--execution-id", "shed-2"]).ok();
    folder.run(&["plan", "repaint", "--execution-id", "fence-1"]).ok();
    assert_eq!(folder.run(&["replay", "fenc", "--json"]).ok().json()[0], json!({"execution_id": "fence-1"}));
    assert!(folder.run(&["replay", "shed"]).exit(2).err.contains("more than one"));
    assert!(folder.run(&["logs", "fen"]).exit(1).err.contains("unknown"), "three characters are too few");
    let unknown = folder.run(&["logs", "garden-1", "--json"]).exit(1);
    assert_eq!(unknown.error().0, "StoreError");
    assert!(unknown.err.contains("hint: `loom logs`"), "{unknown:?}");
    assert_eq!(folder.run(&["replay", "a/b"]).code, Some(2));
}

/// Reading needs neither the lock nor a file that can be written, and leaves the bytes as they are.
#[test]
fn logs_and_replay_read_a_journal_that_is_locked_or_for_reading_only() {
    let folder = Folder::new();
    folder.run(&["plan", "repaint", "--execution-id", "shed-1"]).ok();
    let bytes = fs::read(folder.db()).unwrap();
    let read_only = format!("file:{}?mode=ro", folder.db().display());
    for command in [vec!["logs"], vec!["logs", "shed-1"], vec!["replay", "shed-1"]] {
        folder.run(&[command.as_slice(), &["--db", &read_only]].concat()).ok();
    }
    assert_eq!(fs::read(folder.db()).unwrap(), bytes);

    let peer = Peer::serve(|_, answer| {
        answer.begin();
        answer.say("{\n");
        answer.wait_for_hang_up();
    });
    let mut writer = Running::start(&mut folder.loom(&["plan", "repaint", "--base-url", &peer.base_url()]));
    assert_eq!(writer.line(), "{\n", "the writer is at work and holds the lock");
    folder.run(&["replay", "shed-1"]).ok();
    assert_eq!(folder.executions().first().unwrap().1, "running");
    writer.signal("INT");
    assert_eq!(writer.finish().0.code(), Some(130));
}

#[test]
fn an_empty_journal_lists_nothing_and_a_missing_one_says_how_to_make_it() {
    let folder = Folder::new();
    let missing = folder.run(&["logs", "--json"]).exit(1);
    assert_eq!(missing.error().0, "StoreError");
    assert!(missing.err.contains("loom plan"), "{missing:?}");
    assert_eq!(order(&missing.json()), ["error"]);
}
