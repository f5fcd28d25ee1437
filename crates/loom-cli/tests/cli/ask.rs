//! `loom ask`: one governed call, streamed, and nothing recorded.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use crate::support::peer::Peer;
use crate::support::{Folder, Ran, fold};

#[test]
fn the_offline_model_answers_the_prompt_and_says_on_stderr_that_it_is_offline() {
    let ran = Folder::new().run(&["ask", "name three rivers"]).ok();
    assert!(ran.out.contains("name three rivers") && ran.out.ends_with('\n'), "{ran:?}");
    assert_eq!(ran.err.lines().filter(|line| line.starts_with("offline: ")).count(), 1, "{ran:?}");
}

/// T1: a transient call takes no store and leaves nothing behind.
#[test]
fn nothing_is_recorded() {
    let folder = Folder::new();
    folder.run(&["ask", "name three rivers"]).ok();
    folder.run(&["ask", "--offline", "leaky", "name three rivers"]).exit(3);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_pipe_gets_the_model_s_bytes_exactly() {
    let peer = Peer::saying(&["red \u{1b}[31m", "\r\n", "日本", "語\n"]);
    let ran = Folder::new().run(&["ask", "hi", "--base-url", &peer.base_url()]).ok();
    assert_eq!(ran.out, "red \u{1b}[31m\r\n日本語\n");
    assert_eq!(ran.err, "", "nothing to say to a person");
    let request = peer.requests().remove(0);
    assert_eq!(request.body["messages"][0]["content"], "hi");
    assert_eq!((&request.body["max_tokens"], &request.body["model"]), (&1024.into(), &"default".into()));
}

/// D11: a broken attempt is reset: a newline, `attempt 2` on stderr, then the whole text again.
#[test]
fn a_break_in_mid_stream_is_tried_again_from_the_start() {
    let ran = Folder::new().run(&["ask", "--offline", "flaky", "name three rivers"]).ok();
    let (broken, whole) = ran.out.split_once('\n').unwrap();
    assert!(!broken.is_empty() && whole.starts_with(broken) && whole.len() > broken.len() + 1, "{ran:?}");
    assert!(ran.err.lines().any(|line| line == "attempt 2"), "{ran:?}");
}

/// D10: a card number in the stream severs it: the last digit is not shown, and the text is in no error.
#[test]
fn a_leak_is_severed_by_default_and_let_through_where_no_rule_is_asked_for() {
    let folder = Folder::new();
    let severed = folder.run(&["ask", "--offline", "leaky", "hi"]).exit(3);
    assert!(severed.err.contains("SafetyViolationError") && severed.err.contains("pii.card"), "{severed:?}");
    assert!(!severed.out.contains("1111 1111 1111") && !severed.err.contains("4111"), "{severed:?}");
    let passed = folder.run(&["ask", "--offline", "leaky", "hi", "--rules", "none"]).ok();
    assert!(passed.out.contains("4111 1111 1111 1111"), "{passed:?}");
}

#[test]
fn deny_patterns_come_from_a_file_and_are_named_by_number() {
    let folder = Folder::new();
    fs::write(folder.path().join("deny.txt"), "# words\nzephyr\n/by rule[s]?/\n").unwrap();
    let by_default = folder.run(&["ask", "hi", "--deny", "deny.txt"]).exit(3);
    assert!(by_default.err.contains("deny.2") && !by_default.err.contains("by rule,"), "{by_default:?}");
    let alone =
        folder.run(&["ask", "--offline", "leaky", "hi", "--rules", "deny", "--deny", "deny.txt"]).exit(3);
    assert!(alone.out.contains("4111 1111 1111 1111"), "the deny rules alone know no cards: {alone:?}");
    let both =
        folder.run(&["ask", "--offline", "leaky", "hi", "--rules", "deny,pii", "--deny", "deny.txt"]).exit(3);
    assert!(both.err.contains("pii.card"), "{both:?}");
}

#[test]
fn a_prompt_that_breaks_a_rule_never_leaves() {
    let peer = Peer::saying(&["never"]);
    let refused = Folder::new().run(&[
        "ask",
        "my card is 4111 1111 1111 1111",
        "--base-url",
        &peer.base_url(),
        "--json",
    ]);
    let (name, message) = refused.exit(3).error();
    assert_eq!(name, "SafetyViolationError");
    assert!(message.contains("pii.card") && !message.contains("4111"), "{message}");
    assert!(peer.requests().is_empty());
}

/// D7: a provider that heeds no bound is severed before the piece that breaks the budget is shown.
#[test]
fn a_stream_beyond_its_budget_is_refused() {
    let peer = Peer::saying(&["0123456789abcdef"; 40]);
    let args = ["ask", "hi", "--base-url", &peer.base_url(), "--max-tokens", "8", "--json"];
    let ran = Folder::new().run(&args).exit(4);
    assert_eq!(ran.error().0, "QuotaExceededError");
    assert_eq!(
        fold(&ran.json()).len(),
        8 * 16,
        "8 tokens, each of at most four estimated ones of four bytes"
    );
}

#[test]
fn the_answer_is_cut_at_max_tokens_and_a_person_is_told() {
    let ran = Folder::new().run(&["ask", "name three rivers", "--max-tokens", "3"]).ok();
    assert_eq!(ran.out, "The offline model\n");
    assert!(ran.err.contains("--max-tokens"), "{ran:?}");
}

#[test]
fn a_reply_in_one_piece_is_shown_whole() {
    let peer = Peer::serve(|_, answer| {
        let body = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"all at once"}}]}"#;
        answer.status("200 OK", "application/json", body);
    });
    let ran = Folder::new().run(&["ask", "hi", "--json", "--base-url", &peer.base_url()]).ok();
    assert_eq!(fold(&ran.json()), "all at once");
    assert_eq!(ran.out.lines().last(), Some(r#"{"done":{}}"#), "usage that nobody told is absent");
}

#[test]
fn a_prompt_can_be_piped_and_one_that_is_too_large_is_refused_before_anything_starts() {
    let folder = Folder::new();
    let piped = |bytes: &[u8]| {
        let mut command = folder.loom(&["ask", "-"]);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let bytes = bytes.to_vec();
        let writer = std::thread::spawn(move || stdin.write_all(&bytes));
        let output = child.wait_with_output().unwrap();
        let _ = writer.join().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    };
    assert!(piped(b"name three rivers").ok().out.contains("name three rivers"));
    let large = piped(&vec![b'x'; (8 << 20) - (64 << 10) + 1]).exit(2);
    assert!(
        large.err.contains("more than 8323072 bytes") && large.err.contains("say it shorter"),
        "{large:?}"
    );
    assert!(piped(&[0xff]).exit(2).err.contains("not UTF-8"));
    assert!(piped(b" \n").exit(2).err.contains("empty"));
}

/// What stdin may bring fits into a request, and what does not fit is typed and told how to be mended.
#[test]
fn a_prompt_of_the_most_bytes_is_asked_and_one_that_a_long_name_pushes_out_is_refused() {
    let folder = Folder::new();
    let prompt = folder.path().join("prompt");
    fs::write(&prompt, vec![b'x'; (8 << 20) - (64 << 10)]).unwrap();
    let name = "m".repeat(100_000);
    let asked = |more: &[&str]| {
        let mut command = folder.loom(&[&["ask", "-", "--json", "--rules", "none"], more].concat());
        Ran::of(command.stdin(fs::File::open(&prompt).unwrap()))
    };
    asked(&[]).ok();
    let ran = asked(&["--model", &name]).exit(2);
    assert_eq!(ran.error().0, "InputInvalidError");
    assert!(ran.err.contains("hint: say it shorter"), "{ran:?}");
}
