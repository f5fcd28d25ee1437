//! What ends a command from outside.

use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};

use crate::support::peer::Peer;
use crate::support::{Folder, Running};

/// A model that says one line and then waits until the client hangs up, which it tells.
fn waiting(hung_up: Sender<()>) -> Peer {
    let hung_up = Mutex::new(hung_up);
    Peer::serve(move |_, answer| {
        answer.begin();
        answer.say("{\n");
        answer.wait_for_hang_up();
        let _ = hung_up.lock().unwrap().send(());
    })
}

/// D8: an interrupt in mid-stream closes the connection, and the journal ends with the cancel and no decision.
#[test]
fn ctrl_c_and_sigterm_cancel_a_plan_and_leave_a_sound_journal() {
    for signal in ["INT", "TERM"] {
        let folder = Folder::new();
        let (sender, hung_up) = channel();
        let peer = waiting(sender);
        let args = ["plan", "repaint", "--execution-id", "shed-1", "--base-url", &peer.base_url()];
        let mut plan = Running::start(&mut folder.loom(&args));
        assert_eq!(plan.line(), "{\n");
        plan.signal(signal);
        hung_up.recv().unwrap();
        let (status, _, err) = plan.finish();
        assert_eq!(status.code(), Some(130), "{err}");
        assert!(err.contains("interrupted") && err.contains("loom logs shed-1"), "{err}");
        assert_eq!(folder.kinds("shed-1"), ["EXECUTION_STARTED", "CANCEL_REQUESTED", "EXECUTION_CANCELLED"]);
        let replayed = folder.run(&["replay", "shed-1"]).exit(130);
        assert!(replayed.out.contains("0 effect calls"), "{replayed:?}");
        folder.run(&["plan", "repaint"]).ok();
    }
}

#[test]
fn ctrl_c_ends_an_answer_and_its_connection() {
    let folder = Folder::new();
    let (sender, hung_up) = channel();
    let peer = waiting(sender);
    let mut ask = Running::start(&mut folder.loom(&["ask", "hi", "--json", "--base-url", &peer.base_url()]));
    assert_eq!(ask.line(), "{\"text\":\"{\\n\"}\n");
    ask.signal("INT");
    hung_up.recv().unwrap();
    let (status, rest, err) = ask.finish();
    assert_eq!(status.code(), Some(130), "{err}");
    assert_eq!(rest, "{\"error\":{\"name\":\"AbortError\",\"message\":\"interrupted\"}}\n");
}

#[test]
fn ctrl_c_ends_the_wait_for_a_prompt_on_stdin() {
    let folder = Folder::new();
    let mut command = folder.loom(&["ask", "-"]);
    let mut ask = Running::start(command.stdin(std::process::Stdio::piped()));
    ask.signal("INT");
    assert!(!ask.child.wait().unwrap().success());
}

/// The reader went away: nothing is said, the execution is cancelled, and it is nobody's failure.
#[test]
fn a_closed_pipe_cancels_silently() {
    let folder = Folder::new();
    let (sender, closed) = channel::<()>();
    let closed = Mutex::new(closed);
    let peer = Peer::serve(move |_, answer| {
        answer.begin();
        answer.say("{\n");
        closed.lock().unwrap().recv().unwrap();
        answer.say("more");
        answer.wait_for_hang_up();
    });
    let args = ["plan", "repaint", "--execution-id", "shed-1", "--base-url", &peer.base_url()];
    let mut plan = Running::start(&mut folder.loom(&args));
    assert_eq!(plan.line(), "{\n");
    let Running { mut child, out } = plan;
    drop(out);
    sender.send(()).unwrap();
    let status = child.wait().unwrap();
    let mut err = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut err).unwrap();
    assert_eq!((status.code(), err.as_str()), (Some(0), ""));
    assert_eq!(folder.kinds("shed-1"), ["EXECUTION_STARTED", "CANCEL_REQUESTED", "EXECUTION_CANCELLED"]);
}

#[test]
fn logs_into_a_closed_pipe_are_no_failure() {
    let folder = Folder::new();
    folder.run(&["plan", "repaint"]).ok();
    let mut command = folder.loom(&["logs"]);
    let Running { mut child, out } = Running::start(&mut command);
    drop(out);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
