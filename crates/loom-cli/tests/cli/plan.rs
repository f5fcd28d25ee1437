//! `loom plan`: a decision that is streamed, endorsed, journaled and served again.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::support::peer::Peer;
use crate::support::{Folder, Ran, fold, order};
use serde_json::json;

#[test]
fn a_plan_is_streamed_journaled_and_told_how_to_look_at() {
    let folder = Folder::new();
    let ran = folder.run(&["plan", "repaint the garden shed"]).ok();
    let executions = folder.executions();
    let [(id, status)] = executions.as_slice() else { panic!("{executions:?}") };
    assert_eq!(status, "completed");
    assert!(ran.out.starts_with("{\"steps\": ["), "the model's own text comes first: {ran:?}");
    assert!(ran.out.contains("\n  1. Write down what \"repaint garden shed\" means when done\n"), "{ran:?}");
    assert!(ran.out.ends_with(&format!("execution {id}\n")), "{ran:?}");
    for told in [format!("loom logs {id}"), format!("loom replay {id}"), "offline: ".to_owned()] {
        assert!(ran.err.contains(&told), "{ran:?}");
    }
    assert_eq!(folder.kinds(id), ["EXECUTION_STARTED", "DECISION_RECORDED", "EXECUTION_COMPLETED"]);
}

#[test]
fn the_journal_is_kept_in_the_data_home_for_its_owner_alone() {
    let folder = Folder::new();
    let mut command = folder.loom(&["plan", "repaint the shed"]);
    Ran::of(command.env_remove("LOOM_DB").env("XDG_DATA_HOME", folder.path().join("data"))).ok();
    let mode = |path: &str| fs::metadata(folder.path().join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("data/loom"), mode("data/loom/loom.db")), (0o700, 0o600));
    let mut command = folder.loom(&["plan", "repaint the shed"]);
    Ran::of(command.env_remove("LOOM_DB").env("HOME", folder.path())).ok();
    assert!(folder.path().join(".local/share/loom/loom.db").exists());
}

/// D11: the broken attempt's text is void, and what is folded is the answer that the plan was read from.
#[test]
fn a_plan_survives_a_break_in_mid_stream() {
    let folder = Folder::new();
    let ran = folder.run(&["plan", "--offline", "flaky", "--json", "repaint the shed"]).ok();
    let lines = ran.json();
    assert_eq!(order(&lines), ["execution_id", "text", "reset", "text", "done", "plan"]);
    let answer: serde_json::Value = serde_json::from_str(&fold(&lines)).unwrap();
    assert_eq!(answer["steps"], lines.last().unwrap()["plan"]["steps"]);
}

/// D8: a severed decision ends the log with the failure, by name and rule, and holds no decision.
#[test]
fn a_severed_plan_is_recorded_as_severed() {
    let folder = Folder::new();
    let ran = folder.run(&["plan", "--offline", "leaky", "--json", "pay the painter"]).exit(3);
    let lines = ran.json();
    assert_eq!(order(&lines), ["execution_id", "text", "severed", "error"]);
    let severed = &lines[lines.len() - 2]["severed"];
    assert_eq!((&severed["rule"], &severed["length"]), (&json!("pii.card"), &json!(19)));
    assert_eq!(ran.error().0, "SafetyViolationError");
    let id = lines[0]["execution_id"].as_str().unwrap();
    assert_eq!(folder.kinds(id), ["EXECUTION_STARTED", "EXECUTION_FAILED"]);
    let logged = folder.run(&["logs", "--json", id]).ok();
    assert!(logged.out.contains("SafetyViolationError") && !logged.out.contains("1111"), "{logged:?}");
}

/// What a guard refuses in a goal is not kept: there is no execution, and no byte of it in the journal.
#[test]
fn a_goal_that_a_guard_refuses_is_journaled_nowhere() {
    let folder = Folder::new();
    folder.run(&["plan", "repaint"]).ok();
    fs::write(folder.path().join("deny.txt"), "zephyr\n").unwrap();
    let peer = Peer::saying(&["never"]);
    for goal in ["pay with 4111 1111 1111 1111", "ask zephyr"] {
        let args = ["plan", goal, "--json", "--deny", "deny.txt", "--execution-id", "x-1"];
        let ran = folder.run(&[&args[..], &["--base-url", &peer.base_url()]].concat()).exit(3);
        assert_eq!(ran.error().0, "SafetyViolationError");
        assert_eq!(order(&ran.json()), ["error"], "{ran:?}");
        assert!(!ran.err.contains("loom logs"), "{ran:?}");
    }
    assert!(peer.requests().is_empty());
    assert_eq!(folder.executions().len(), 1);
    for file in fs::read_dir(folder.path()).unwrap().map(Result::unwrap) {
        let bytes = fs::read(file.path()).unwrap();
        assert!(!bytes.windows(9).any(|window| window == b"4111 1111"), "{:?}", file.path());
    }
    let fresh = Folder::new();
    fresh.run(&["plan", "pay with 4111 1111 1111 1111"]).exit(3);
    assert!(!fresh.db().exists());
    fresh.run(&["plan", "pay with 4111 1111 1111 1111", "--rules", "none"]).ok();
}

/// A goal whose request would be too large is refused like one that a guard refuses.
#[test]
fn a_goal_that_fits_no_request_is_journaled_nowhere() {
    let folder = Folder::new();
    let goal = folder.path().join("goal");
    fs::write(&goal, vec![b'x'; (8 << 20) - (64 << 10)]).unwrap();
    let name = "m".repeat(100_000);
    let mut command = folder.loom(&["plan", "-", "--json", "--rules", "none", "--model", &name]);
    let ran = Ran::of(command.stdin(fs::File::open(&goal).unwrap())).exit(2);
    assert_eq!(ran.error().0, "InputInvalidError");
    assert!(ran.err.contains("hint: say it shorter") && !folder.db().exists(), "{ran:?}");
}

#[test]
fn a_model_that_answers_nonsense_is_asked_three_times_and_then_refused() {
    let peer = Peer::saying(&["the weather is ", "fine"]);
    let folder = Folder::new();
    let ran = folder.run(&["plan", "repaint the shed", "--base-url", &peer.base_url(), "--json"]).exit(1);
    let (name, message) = ran.error();
    assert_eq!(name, "PlanInvalidError");
    assert!(message.contains("3 attempts") && !message.contains("weather"), "{message}");
    assert_eq!(order(&ran.json()), ["execution_id", "text", "reset", "text", "reset", "text", "error"]);
    assert_eq!(peer.requests().len(), 3);
    assert_eq!(folder.run(&["plan", "--offline", "nonsense", "x y z"]).code, Some(1));
}

#[test]
fn the_attempts_of_all_calls_are_numbered_as_one_and_one_end_is_told() {
    let plan = json!({"steps": ["Buy paint"], "notes": "dropped"}).to_string();
    let peer = Peer::serve(move |number, answer| {
        answer.begin();
        match number {
            0 => answer.say("no pl"), // breaks
            1 => {
                answer.say("no plan");
                answer.end();
            }
            _ => {
                answer.say(&plan);
                answer.end();
            }
        }
    });
    let ran = Folder::new().run(&["plan", "repaint", "--base-url", &peer.base_url(), "--json"]).ok();
    let lines = ran.json();
    assert_eq!(
        order(&lines),
        ["execution_id", "text", "reset", "text", "reset", "text", "done", "plan"],
        "{ran:?}"
    );
    let resets: Vec<_> = lines.iter().filter_map(|line| line["reset"]["attempt"].as_u64()).collect();
    assert_eq!(resets, [2, 3]);
    assert_eq!(
        lines.last().unwrap(),
        &json!({"plan": {"steps": ["Buy paint"]}}),
        "what was not asked for is dropped"
    );
}

#[test]
fn the_request_asks_for_json_by_a_schema_with_an_example_and_a_bound() {
    let peer = Peer::saying(&[r#"{"steps": ["Buy paint"]}"#]);
    let args = ["plan", "repaint the shed", "--model", "tiny", "--base-url", &peer.base_url()];
    Folder::new().run(&args).ok();
    let body = peer.requests().remove(0).body;
    assert_eq!(
        (&body["model"], &body["max_tokens"], &body["stream"]),
        (&json!("tiny"), &json!(512), &json!(true))
    );
    let steps = &body["response_format"]["json_schema"]["schema"]["properties"]["steps"];
    assert_eq!((&steps["minItems"], &steps["maxItems"]), (&json!(1), &json!(4)));
    assert_eq!((&steps["items"]["minLength"], &steps["items"]["maxLength"]), (&json!(1), &json!(60)));
    assert_eq!(body["messages"].as_array().unwrap().last().unwrap()["content"], "Goal: repaint the shed");
    assert!(body["messages"].to_string().contains("assistant"), "one example stands before the goal");
}

/// T4: an id that exists attaches where flow and input are the same, and is a conflict where they are not.
#[test]
fn an_execution_id_attaches_and_never_runs_twice() {
    let folder = Folder::new();
    let peer = Peer::saying(&[r#"{"steps": ["Buy paint"]}"#]);
    let plan = |goal: &str| {
        folder.run(&["plan", goal, "--execution-id", "shed-1", "--base-url", &peer.base_url(), "--json"])
    };
    let first = plan("repaint the shed").ok();
    let again = plan("repaint the shed").ok();
    assert_eq!(order(&again.json()), ["execution_id", "plan"]);
    assert_eq!(again.json().last(), first.json().last());
    assert_eq!(peer.requests().len(), 1);
    let (name, _) = plan("repaint the fence").exit(2).error();
    assert_eq!(name, "ExecutionConflictError");
    assert_eq!(folder.executions(), [("shed-1".to_owned(), "completed".to_owned())]);
}

/// T16: a process that was killed in mid-decision left a journal that the same command goes on with.
#[test]
fn a_killed_plan_goes_on_under_its_id() {
    let folder = Folder::new();
    let peer = Peer::serve(|number, answer| {
        answer.begin();
        answer.say("{\"steps\": [\n");
        if number == 0 {
            answer.wait_for_hang_up();
        } else {
            answer.say("\"Buy paint\"]}");
            answer.end();
        }
    });
    let args = ["plan", "repaint", "--execution-id", "shed-1", "--base-url", &peer.base_url(), "--json"];
    let mut killed = crate::support::Running::start(&mut folder.loom(&args));
    assert!(killed.line().contains("shed-1") && killed.line().contains("steps"));
    killed.child.kill().unwrap();
    killed.child.wait().unwrap();
    assert_eq!(folder.executions(), [("shed-1".to_owned(), "running".to_owned())]);
    let unfinished = folder.run(&["replay", "shed-1", "--json"]).exit(1);
    assert_eq!(order(&unfinished.json()), ["execution_id", "replay", "error"]);
    let resumed = folder.run(&args).ok();
    assert_eq!(order(&resumed.json()), ["execution_id", "text", "done", "plan"]);
    assert_eq!(folder.executions(), [("shed-1".to_owned(), "completed".to_owned())]);
}
