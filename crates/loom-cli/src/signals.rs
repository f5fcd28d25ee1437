//! What ends a command from outside: Ctrl-C, SIGTERM, and a reader of stdout that went away.

use std::io;

use loom_effect_runtime::Signal;

use crate::exit::Exit;

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

/// Raises `stop` at the first SIGINT or SIGTERM, and ends the process at the second.
///
/// It has a thread of its own: a command that is stuck in a write to a slow pipe can still be ended. The handler of
/// SIGXFSZ only exists: without one the system ends a process whose file grows past its limit, before the store can
/// say that it is full.
#[cfg(unix)]
pub(crate) fn listen(stop: Signal) -> io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};

    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let entered = runtime.enter();
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let file_size = signal(SignalKind::from_raw(libc::SIGXFSZ))?;
    drop(entered);
    let listen = move || {
        let _handled = file_size;
        runtime.block_on(async {
            for count in 1_u32.. {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
                if count > 1 {
                    std::process::exit(i32::from(Exit::Interrupted.code()));
                }
                stop.abort_with(Interrupted);
            }
        });
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(listen).map(drop)
}

/// Raises `stop` at the first Ctrl-C, and ends the process at the second.
#[cfg(not(unix))]
pub(crate) fn listen(stop: Signal) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let listen = move || {
        runtime.block_on(async {
            while tokio::signal::ctrl_c().await.is_ok() {
                if !stop.abort_with(Interrupted) {
                    std::process::exit(i32::from(Exit::Interrupted.code()));
                }
            }
        });
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(listen).map(drop)
}
