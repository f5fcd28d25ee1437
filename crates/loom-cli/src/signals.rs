//! What ends a command from outside: Ctrl-C, SIGTERM, and a reader of stdout that went away.

use std::io;
use std::time::Duration;

use loom_effect_runtime::Signal;

use crate::exit::Exit;
use crate::platform::Requests;

/// The person at the terminal, or whoever supervises the process, asked it to end.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("interrupted")]
pub(crate) struct Interrupted;

/// Nobody reads what the command writes.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("stdout cannot be written: {0}")]
pub(crate) struct OutputClosed(pub(crate) io::ErrorKind);

/// Whether the command was interrupted.
pub(crate) fn is_interrupted(stop: &Signal) -> bool {
    stop.reason().is_some_and(|reason| reason.is::<Interrupted>())
}

/// How long a command may take to end after it was interrupted, in seconds.
const SHUTDOWN_GRACE_S: u64 = 10;

/// Raises `stop` at the first request to end, and ends the process at the second, or when it has not ended by itself after
/// [`SHUTDOWN_GRACE_S`].
///
/// It has a thread of its own: a command that is stuck, in a file that never opens or a stderr that nobody reads, ends
/// all the same.
pub(crate) fn listen(stop: Signal) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
    let entered = runtime.enter();
    let mut requests = Requests::listen()?;
    drop(entered);
    let listen = move || runtime.block_on(end(&stop, &mut requests));
    std::thread::Builder::new().name("signals".to_owned()).spawn(listen).map(drop)
}

async fn end(stop: &Signal, requests: &mut Requests) {
    requests.next().await;
    stop.abort_with(Interrupted);
    let _ = tokio::time::timeout(Duration::from_secs(SHUTDOWN_GRACE_S), requests.next()).await;
    std::process::exit(i32::from(Exit::Interrupted.code()));
}
