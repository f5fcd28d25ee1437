//! What asks a process to end, and how it is heard, on each system.

/// The system has no way to do this at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not on this platform: {what}")]
pub(crate) struct NotOnThisPlatform {
    /// What is missing.
    pub(crate) what: &'static str,
}

#[cfg(unix)]
pub(crate) use unix::Requests;

#[cfg(windows)]
pub(crate) use windows::Requests;

#[cfg(not(any(unix, windows)))]
pub(crate) use other::Requests;

#[cfg(unix)]
mod unix {
    use std::io;

    use tokio::signal::unix::{Signal, SignalKind, signal};

    /// SIGINT and SIGTERM.
    ///
    /// The handler of SIGXFSZ only exists: without one the system ends a process whose file grows past its limit, before
    /// the store can say that it is full.
    pub(crate) struct Requests {
        interrupt: Signal,
        terminate: Signal,
        _file_size: Signal,
    }

    impl Requests {
        /// Listens from now on; within a runtime with I/O.
        pub(crate) fn listen() -> io::Result<Self> {
            Ok(Self {
                interrupt: signal(SignalKind::interrupt())?,
                terminate: signal(SignalKind::terminate())?,
                _file_size: signal(SignalKind::from_raw(libc::SIGXFSZ))?,
            })
        }

        /// Waits for the next one.
        pub(crate) async fn next(&mut self) {
            tokio::select! {
                _ = self.interrupt.recv() => {}
                _ = self.terminate.recv() => {}
            }
        }
    }
}

#[cfg(windows)]
mod windows {
    use std::io;

    use tokio::signal::windows::{CtrlBreak, CtrlC, CtrlClose, ctrl_break, ctrl_c, ctrl_close};

    /// Ctrl-C, Ctrl-Break, and a console that is being closed.
    pub(crate) struct Requests {
        interrupt: CtrlC,
        terminate: CtrlBreak,
        closed: CtrlClose,
    }

    impl Requests {
        /// Listens from now on; within a runtime with I/O.
        pub(crate) fn listen() -> io::Result<Self> {
            Ok(Self { interrupt: ctrl_c()?, terminate: ctrl_break()?, closed: ctrl_close()? })
        }

        /// Waits for the next one.
        pub(crate) async fn next(&mut self) {
            tokio::select! {
                _ = self.interrupt.recv() => {}
                _ = self.terminate.recv() => {}
                _ = self.closed.recv() => {}
            }
        }
    }
}

/// Compiled for tests everywhere, so that it does not decay where nobody builds it.
#[cfg(any(test, not(any(unix, windows))))]
mod other {
    use std::io;

    use super::NotOnThisPlatform;

    /// Nothing: a command that nobody can interrupt does not start.
    pub(crate) struct Requests;

    impl Requests {
        pub(crate) fn listen() -> io::Result<Self> {
            let missing = NotOnThisPlatform { what: "signals that interrupt a command" };
            Err(io::Error::new(io::ErrorKind::Unsupported, missing))
        }

        #[cfg_attr(test, expect(dead_code, reason = "nobody holds one to wait on"))]
        pub(crate) async fn next(&mut self) {
            std::future::pending().await
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{NotOnThisPlatform, other};

    #[test]
    fn a_system_without_signals_is_told_what_it_lacks() {
        let refused = other::Requests::listen().err().unwrap();
        let missing = refused.get_ref().and_then(|inner| inner.downcast_ref::<NotOnThisPlatform>()).unwrap();
        assert_eq!(missing.to_string(), "not on this platform: signals that interrupt a command");
    }
}
