//! Where a kit runs: a thread and a runtime of its own, so that a subject that blocks or panics is reported and does
//! not take the test with it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::report::{Check, Report};

/// How long, in real time, a subject may keep its thread before it is said to block.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// How long, in virtual time, a call may take before it is said never to end.
pub(crate) const ENDS_WITHIN: Duration = Duration::from_secs(24 * 3600);

/// Runs the checks on a thread of their own, in virtual time, and gives their report. Where they do not come back
/// within [`PATIENCE`], or unwind, the report says so; the thread is then left behind.
pub(crate) fn bounded<F>(subject: &str, checks: impl FnOnce(Report) -> F + Send + 'static) -> Report
where
    F: Future<Output = Report>,
{
    let (give, given) = mpsc::sync_channel(1);
    let report = Report::new(subject);
    let started = thread::Builder::new().name("loom-kit".to_owned()).spawn(move || {
        let ran = catch_unwind(AssertUnwindSafe(|| in_virtual_time(checks(report))));
        // Nobody listens any more where the patience is over.
        let _ = give.send(ran);
    });
    let mut report = Report::new(subject);
    if let Err(error) = started {
        report.fault(Check::Ends, format!("no thread to run on: {error}"));
        return report;
    }
    match given.recv_timeout(PATIENCE) {
        Ok(Ok(Ok(told))) => return told,
        Ok(Ok(Err(error))) => report.fault(Check::Ends, format!("no runtime to run on: {error}")),
        Ok(Err(_)) => report.fault(Check::NoPanic, "it panicked outside of every call"),
        Err(_) => {
            report.fault(Check::NeverBlocks, format!("it kept its thread for {} s", PATIENCE.as_secs()));
        }
    }
    report
}

fn in_virtual_time<T>(checks: impl Future<Output = T>) -> std::io::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
    Ok(runtime.block_on(checks))
}

/// Awaits in virtual time; `None` where nothing more will happen.
pub(crate) async fn ends<F: Future>(future: F) -> Option<F::Output> {
    tokio::time::timeout(ENDS_WITHIN, future).await.ok()
}
