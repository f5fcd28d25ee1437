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

/// A full disk behind stdout is told, and is no success.
#[cfg(target_os = "linux")]
#[test]
fn stdout_that_cannot_be_written_is_a_failure() {
    let folder = Folder::new();
    let mut command = folder.loom(&["ask", "hi"]);
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = command.stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("stdout cannot be written"));
}

/// A command that is stuck, here in a write that nobody reads, is ended by the next Ctrl-C.
#[cfg(target_os = "linux")]
#[test]
fn a_second_ctrl_c_exits_at_once() {
    let folder = Folder::new();
    let flood = "x".repeat(500_000);
    let peer = Peer::serve(move |_, answer| {
        answer.begin();
        answer.say("a\n");
        answer.say(&flood);
        answer.wait_for_hang_up();
    });
    let args = ["ask", "hi", "--max-tokens", "1000000", "--base-url", &peer.base_url()];
    let mut ask = Running::start(&mut folder.loom(&args));
    assert_eq!(ask.line(), "a\n");
    // The number of the write call, 1 on x86-64 and 64 on aarch64, and stdout: the main thread waits in it.
    let stuck = format!("/proc/{}/syscall", ask.child.id());
    loop {
        let Ok(call) = std::fs::read_to_string(&stuck) else {
            println!("skipped: this system does not tell what a process waits for");
            return;
        };
        if call.starts_with("1 0x1 ") || call.starts_with("64 0x1 ") {
            break;
        }
        std::thread::yield_now();
    }
    let status = loop {
        ask.signal("INT");
        if let Some(status) = ask.child.try_wait().unwrap() {
            break status;
        }
        std::thread::yield_now();
    };
    assert_eq!(status.code(), Some(130));
}
