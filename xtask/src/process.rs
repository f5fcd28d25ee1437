//! Child processes with a deadline, their output captured in order or passed through.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::stop::{During, Stop};

/// A step that runs longer than this hangs; it is ended and counts as failed.
pub(crate) const STEP_SECONDS_MAX: u64 = 20 * 60;

const POLL_MILLISECONDS: u64 = 20;

/// Where a child's output goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// To the terminal, as it comes.
    Live,
    /// Kept, both streams in one, and told only if the step fails.
    Kept,
}

/// How a child ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ran {
    pub(crate) ok: bool,
    /// Whether it was ended at its deadline.
    pub(crate) overdue: bool,
    /// With which code, unless a signal ended it.
    pub(crate) code: Option<i32>,
    /// What it wrote, if it was kept.
    pub(crate) output: String,
}

/// Runs a command to its end, or to the deadline of a step.
pub(crate) fn run(command: &mut Command, output: Output, log: &Path) -> Result<Ran, Stop> {
    run_within(command, output, log, Duration::from_secs(STEP_SECONDS_MAX))
}

/// Runs a command to its end, or to a deadline of its own; there it is ended with all that it started.
pub(crate) fn run_within(
    command: &mut Command,
    output: Output,
    log: &Path,
    limit: Duration,
) -> Result<Ran, Stop> {
    command.stdin(Stdio::null());
    if output == Output::Kept {
        if let Some(folder) = log.parent() {
            std::fs::create_dir_all(folder).during("making the log folder")?;
        }
        let file = File::create(log).during("making the log")?;
        command.stdout(file.try_clone().during("making the log")?).stderr(file);
    }
    let name = command.get_program().to_string_lossy().into_owned();
    let mut child = command.spawn().map_err(|error| not_started(&name, &error))?;
    let ended = wait(&mut child, limit).during(&format!("waiting for {name}"))?;
    let mut kept = match output {
        Output::Kept => String::from_utf8_lossy(&std::fs::read(log).during("reading the log")?).into_owned(),
        Output::Live => String::new(),
    };
    if ended.is_none() {
        kept.push_str(&format!("\nended after {} s without an end of its own\n", limit.as_secs()));
        if output == Output::Live {
            eprintln!("{}", kept.trim());
        }
    }
    let ok = ended.is_some_and(|status| status.success());
    let code = ended.and_then(|status| status.code());
    Ok(Ran { ok, overdue: ended.is_none(), code, output: kept })
}

/// A program that is not there is what the machine lacks; one that is there and does not start is a fault.
fn not_started(name: &str, error: &std::io::Error) -> Stop {
    let told = format!("starting {name}: {error}");
    if error.kind() == std::io::ErrorKind::NotFound { Stop::Unavailable(told) } else { Stop::Failed(told) }
}

/// Waits until the child ends; at the deadline it is killed with all that it started, and `None` comes back.
fn wait(child: &mut Child, limit: Duration) -> std::io::Result<Option<ExitStatus>> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if start.elapsed() > limit {
            let started = descendants(child.id());
            child.kill()?;
            started.into_iter().for_each(|id| signal(id, "KILL"));
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(POLL_MILLISECONDS));
    }
}

/// Sends a signal through the shell's own `kill`; whether it arrived is seen by what it did.
pub(crate) fn signal(id: u32, name: &str) {
    let script = format!("kill -{name} {id} 2>/dev/null");
    drop(Command::new("sh").args(["-c", &script]).stdin(Stdio::null()).status());
}

/// The processes that `id` started and theirs, as far as the kernel tells; none where there is no /proc.
fn descendants(id: u32) -> Vec<u32> {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{id}/task")) else { return Vec::new() };
    let children =
        threads.flatten().filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    let ids: Vec<u32> = children
        .flat_map(|list| list.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<_>>())
        .collect();
    ids.into_iter().flat_map(|id| std::iter::once(id).chain(descendants(id))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn both_streams_are_kept_in_the_order_they_were_written() {
        let log = std::env::temp_dir().join(format!("xtask-process-{}.log", std::process::id()));
        let ran = run(&mut shell("echo a; echo b >&2; echo c; exit 3"), Output::Kept, &log).unwrap();
        std::fs::remove_file(log).unwrap();
        assert_eq!((ran.ok, ran.overdue, ran.output.as_str()), (false, false, "a\nb\nc\n"));
    }

    #[test]
    fn what_was_written_before_the_deadline_is_kept() {
        let log = std::env::temp_dir().join(format!("xtask-overdue-{}.log", std::process::id()));
        let ran =
            run_within(&mut shell("echo a; exec sleep 600"), Output::Kept, &log, Duration::from_secs(1));
        std::fs::remove_file(log).unwrap();
        let ran = ran.unwrap();
        assert!(!ran.ok && ran.overdue && ran.output.starts_with("a\n"), "{ran:?}");
    }

    #[test]
    fn a_child_past_its_deadline_is_ended_with_all_that_it_started() {
        let mut child = shell("sleep 600 & wait").spawn().unwrap();
        let started = loop {
            let started = descendants(child.id());
            if !started.is_empty() {
                break started;
            }
            std::thread::yield_now();
        };
        assert!(wait(&mut child, Duration::ZERO).unwrap().is_none());
        let gone = |id: &u32| {
            let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
            stat.is_empty() || stat.contains(") Z ")
        };
        while !started.iter().all(gone) {
            std::thread::yield_now();
        }
    }
}
