//! Stdout, written by a thread of its own: a command whose output nobody reads can still be stopped.

use std::io::{self, ErrorKind, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use loom_effect_runtime::Signal;

/// The most writes that are under way: the next one waits for the answer to the last.
const WRITES_MAX: usize = 1;

/// How often a write that waits looks whether the command was stopped, in milliseconds.
const LOOK_EVERY_MS: u32 = 50;

/// How long a write may wait once the command was stopped, in milliseconds.
const STOPPED_WRITE_MS_MAX: u32 = 1_000;

/// Each write answers what became of it, as a write to stdout itself does, and is flushed.
///
/// A write that waits too long after the command was stopped fails with [`ErrorKind::TimedOut`], and so do all later
/// ones.
pub(crate) struct Stdout {
    stop: Signal,
    writer: Option<Writer>,
    stuck: bool,
}

struct Writer {
    pieces: SyncSender<Vec<u8>>,
    written: Receiver<io::Result<()>>,
}

impl Stdout {
    pub(crate) fn new(stop: Signal) -> Self {
        Self { stop, writer: None, stuck: false }
    }
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.stuck {
            return Err(ErrorKind::TimedOut.into());
        }
        let writer = match self.writer.take() {
            Some(writer) => writer,
            None => Writer::start()?,
        };
        let writer = self.writer.insert(writer);
        writer.pieces.send(bytes.to_vec()).map_err(|_| ErrorKind::Other)?;
        let mut waited_ms = 0;
        while waited_ms < STOPPED_WRITE_MS_MAX {
            match writer.written.recv_timeout(Duration::from_millis(LOOK_EVERY_MS.into())) {
                Ok(written) => return written.map(|()| bytes.len()),
                Err(RecvTimeoutError::Disconnected) => return Err(ErrorKind::Other.into()),
                Err(RecvTimeoutError::Timeout) if self.stop.is_aborted() => waited_ms += LOOK_EVERY_MS,
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
        self.stuck = true;
        Err(ErrorKind::TimedOut.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Writer {
    fn start() -> io::Result<Self> {
        let (pieces, next) = sync_channel::<Vec<u8>>(WRITES_MAX);
        let (answer, written) = sync_channel(WRITES_MAX);
        let write = move || {
            let mut stdout = io::stdout();
            for piece in next {
                if answer.send(stdout.write_all(&piece).and_then(|()| stdout.flush())).is_err() {
                    return;
                }
            }
        };
        thread::Builder::new().name("stdout".to_owned()).spawn(write)?;
        Ok(Self { pieces, written })
    }
}
