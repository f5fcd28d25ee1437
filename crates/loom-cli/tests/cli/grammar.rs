//! The JSON lines, to the letter: their form and their order.

use serde_json::{Value, json};

use crate::support::{Folder, fold, order};

/// The lines, with what no two runs have in common replaced.
fn golden(folder: &Folder, args: &[&str], code: i32) -> Vec<Value> {
    let lines = folder.run(&[args, &["--json"]].concat()).exit(code).json();
    let mut short: Vec<Value> = Vec::new();
    for mut line in lines {
        if let Some(id) = line.get_mut("execution_id") {
            assert_eq!(id.as_str().unwrap().len(), 36, "a UUID");
            *id = json!("ID");
        }
        if let Some(piece) = line.get("text").and_then(Value::as_str) {
            assert!(!piece.is_empty());
            if let Some(text) = short.last_mut().and_then(|last| last.get_mut("text")) {
                *text = json!(text.as_str().unwrap().to_owned() + piece);
                continue;
            }
        }
        short.push(line);
    }
    short
}

#[test]
fn an_answer() {
    assert_eq!(
        golden(&Folder::new(), &["ask", "hi there", "--max-tokens", "4"], 0),
        [
            json!({"text": "The offline model read"}),
            json!({"done": {"usage": {"inputTokens": 2, "outputTokens": 4}, "finish_reason": "length"}})
        ]
    );
}

#[test]
fn an_answer_that_broke_once() {
    assert_eq!(
        golden(&Folder::new(), &["ask", "hi there", "--max-tokens", "4", "--offline", "flaky"], 0),
        [
            json!({"text": "The offline"}),
            json!({"reset": {"attempt": 2}}),
            json!({"text": "The offline model read"}),
            json!({"done": {"usage": {"inputTokens": 2, "outputTokens": 4}, "finish_reason": "length"}}),
        ]
    );
}

#[test]
fn a_severed_answer() {
    assert_eq!(
        golden(&Folder::new(), &["ask", "hi", "--offline", "leaky"], 3),
        [
            json!({"text": "The offline model read 1 words: \"hi\". The card on file is 4111 1111 1111"}),
            json!({"severed": {"rule": "pii.card", "offset": 58, "length": 19}}),
            json!({"error": {
                "name": "SafetyViolationError",
                "message": "severed by rule `pii.card` at offset 58, length 19",
            }}),
        ]
    );
}

#[test]
fn a_plan() {
    let steps = [
        "Write down what \"repaint shed\" means when done",
        "Gather what repaint and shed need",
        "Do the smallest useful part of repaint shed",
        "Look at the result and note what is left",
    ];
    let lines = golden(&Folder::new(), &["plan", "repaint the shed"], 0);
    assert_eq!(order(&lines), ["execution_id", "text", "done", "plan"]);
    assert_eq!(lines[0], json!({"execution_id": "ID"}));
    let said: Value = serde_json::from_str(&fold(&lines)).unwrap();
    assert_eq!(said["steps"], json!(steps));
    assert_eq!(lines[2]["done"]["usage"]["outputTokens"].as_u64().map(|tokens| tokens > 20), Some(true));
    assert_eq!(lines[3], json!({"plan": {"steps": steps}}));
}

#[test]
fn a_plan_that_was_severed_or_never_came() {
    let folder = Folder::new();
    let severed = golden(&folder, &["plan", "repaint", "--offline", "leaky"], 3);
    assert_eq!(order(&severed), ["execution_id", "text", "severed", "error"]);
    let never = golden(&folder, &["plan", "repaint", "--offline", "nonsense"], 1);
    assert_eq!(order(&never), ["execution_id", "text", "reset", "text", "reset", "text", "error"]);
    assert_eq!(
        (&never[2], &never[4]),
        (&json!({"reset": {"attempt": 2}}), &json!({"reset": {"attempt": 3}}))
    );
}

#[test]
fn a_replay_and_the_logs() {
    let folder = Folder::new();
    folder.run(&["plan", "repaint the shed", "--execution-id", "shed-1"]).ok();
    let replay = folder.run(&["replay", "shed-1", "--json"]).ok();
    assert_eq!(order(&replay.json()), ["execution_id", "replay", "plan"]);
    assert_eq!(replay.json()[1], json!({"replay": {"effect_calls": 0}}));
    let list = folder.run(&["logs", "--json"]).ok().json();
    assert_eq!(order(&list), ["execution"]);
    assert_eq!(
        (&list[0]["execution"]["id"], &list[0]["execution"]["status"]),
        (&json!("shed-1"), &json!("completed"))
    );
    let events = folder.run(&["--json", "logs", "shed-1"]).ok().json();
    assert_eq!((order(&events), events.len()), (vec!["event".to_owned()], 3));
    assert_eq!(events[2]["event"]["kind"], "EXECUTION_COMPLETED");
}

/// What is said to a person stays on stderr, so that stdout is JSON lines and nothing else.
#[test]
fn an_error_is_a_line_for_programs_and_a_hint_for_people() {
    let ran = Folder::new().run(&["logs", "--json"]).exit(1);
    assert_eq!(order(&ran.json()), ["error"]);
    assert!(ran.err.starts_with("error: ") && ran.err.contains("\nhint: "), "{ran:?}");
}
