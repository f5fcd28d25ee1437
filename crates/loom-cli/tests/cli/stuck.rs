//! Output that cannot be written, and commands that wait for what never comes.

use std::fs;
use std::process::Command;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use crate::support::peer::Peer;
use crate::support::{Folder, Running};

/// How long a command may take to end after one signal, in seconds: the grace that `docs/cli.md` names, and room for a
/// busy machine.
const ENDED_AFTER_S_MAX: u64 = 10 + 20;

/// A model whose answers are no plans, and together more than a pipe holds, also where their pieces are told as one.
fn flood() -> Peer {
    Peer::serve(|number, answer| {
        answer.begin();
        // Six bytes of JSON for each byte, and as many of them as the budget of an answer lets through.
        (0..80).for_each(|_| answer.say(&"\u{1}".repeat(100)));
        if number < 2 {
            answer.end();
        } else {
            answer.wait_for_hang_up();
        }
    })
}

/// Waits until a thread of the process is in a write to stdout; false where the system does not tell.
fn is_stuck_in_stdout(process: u32) -> bool {
    let began = Instant::now();
    loop {
        assert!(began.elapsed().as_secs() < ENDED_AFTER_S_MAX, "it never waited for a reader");
        let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else { return false };
        for thread in threads.flatten() {
            let Ok(call) = fs::read_to_string(thread.path().join("syscall")) else {
                println!("skipped: this system does not tell what a process waits for");
                return false;
            };
            // The number of the write call, 1 on x86-64 and 64 on aarch64, and stdout.
            if call.starts_with("1 0x1 ") || call.starts_with("64 0x1 ") {
                return true;
            }
        }
        std::thread::yield_now();
    }
}

/// Waits until the process handles SIGTERM itself.
fn handles_sigterm(process: u32) -> bool {
    let began = Instant::now();
    loop {
        assert!(began.elapsed().as_secs() < ENDED_AFTER_S_MAX, "it never came to handle signals");
        let Ok(status) = fs::read_to_string(format!("/proc/{process}/status")) else { return false };
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        // SIGTERM is the 15th signal.
        if u64::from_str_radix(caught.trim(), 16).unwrap() & (1 << 14) != 0 {
            return true;
        }
        std::thread::yield_now();
    }
}

/// The exit code of a process that ends in time with its output unread; one that does not is killed.
fn ends(running: Running) -> Option<i32> {
    let process = running.child.id();
    let Running { mut child, out: _unread } = running;
    let (sender, ended) = channel();
    std::thread::spawn(move || sender.send(child.wait().unwrap()));
    match ended.recv_timeout(Duration::from_secs(ENDED_AFTER_S_MAX)) {
        Ok(status) => status.code(),
        Err(_) => {
            Command::new("kill").args(["-KILL", &process.to_string()]).status().unwrap();
            panic!("it was still there after {ENDED_AFTER_S_MAX} s");
        }
    }
}

/// D8: one signal is enough where nobody reads stdout: the cancel is recorded, and the journal is free.
#[cfg(target_os = "linux")]
#[test]
fn one_sigterm_ends_a_plan_that_nobody_reads_and_its_cancel_is_recorded() {
    let folder = Folder::new();
    let peer = flood();
    let args = ["plan", "repaint", "--json", "--execution-id", "shed-1", "--base-url", &peer.base_url()];
    let mut plan = Running::start(&mut folder.loom(&args));
    assert!(plan.line().contains("shed-1"));
    if !is_stuck_in_stdout(plan.child.id()) {
        return;
    }
    plan.signal("TERM");
    assert_eq!(ends(plan), Some(130));
    assert_eq!(folder.kinds("shed-1"), ["EXECUTION_STARTED", "CANCEL_REQUESTED", "EXECUTION_CANCELLED"]);
    folder.run(&["plan", "repaint"]).ok();
}

/// A command that waits for what no signal can reach, here a file that never opens, is ended when its grace is over.
#[cfg(target_os = "linux")]
#[test]
fn one_sigterm_ends_a_command_that_is_stuck_in_the_system() {
    let folder = Folder::new();
    assert!(Command::new("mkfifo").arg(folder.path().join("deny.txt")).status().unwrap().success());
    let ask = Running::start(&mut folder.loom(&["ask", "hi", "--deny", "deny.txt"]));
    if !handles_sigterm(ask.child.id()) {
        return;
    }
    ask.signal("TERM");
    assert_eq!(ends(ask), Some(130));
}

/// The second signal waits for nothing.
#[cfg(target_os = "linux")]
#[test]
fn a_second_ctrl_c_exits_at_once() {
    let folder = Folder::new();
    assert!(Command::new("mkfifo").arg(folder.path().join("deny.txt")).status().unwrap().success());
    let mut ask = Running::start(&mut folder.loom(&["ask", "hi", "--deny", "deny.txt"]));
    if !handles_sigterm(ask.child.id()) {
        return;
    }
    let asked = Instant::now();
    let status = loop {
        ask.signal("INT");
        if let Some(status) = ask.child.try_wait().unwrap() {
            break status;
        }
        std::thread::yield_now();
    };
    assert_eq!(status.code(), Some(130));
    assert!(asked.elapsed().as_secs() < 9, "it waited for the grace of the first");
}

/// A full disk behind stdout is told, and is no success: neither for an answer, nor for what is all of the output.
#[cfg(target_os = "linux")]
#[test]
fn stdout_that_cannot_be_written_is_a_failure() {
    let folder = Folder::new();
    for args in [&["ask", "hi"][..], &[], &["--help"], &["plan", "--help"], &["--version"]] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = folder.loom(args).stdout(full).output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{args:?}: {err}");
        assert!(err.contains("stdout cannot be written"), "{args:?}: {err}");
    }
}

#[test]
fn a_reader_that_went_away_is_no_failure() {
    let folder = Folder::new();
    for args in [&[][..], &["--help"], &["--version"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = folder.loom(args).stdout(writer).output().unwrap();
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]), "{args:?}");
    }
}
