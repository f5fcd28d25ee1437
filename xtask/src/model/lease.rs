//! The model server for as long as a task needs it: the one that is up, or one that ends with the task.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use super::install;
use super::server::{Life, Server};
use crate::process::Output;
use crate::stop::{During, Stop};

/// The Python packages, some 290 MB, fetched and unpacked.
const INSTALL_SECONDS_MAX: u64 = 240;
const START_SECONDS_MAX: u64 = 120;
/// Another task may lease the server first; it has it for so long at most.
const LOCK_SECONDS_MAX: u64 = 300;
const POLL_MILLISECONDS: u64 = 100;

/// A model server that is well. Dropping it ends the server, unless it was up before.
pub(crate) struct Lease {
    base_url: String,
    server: Server,
    /// The server's process, if it was started for this lease. It is leashed: it ends even if nothing is dropped.
    own: Option<Child>,
    /// Held until the end, so that no other task takes a server on that ends with this one.
    _lock: File,
}

impl Lease {
    /// Takes the server that is up, or installs what is missing and starts one. What the installation writes is kept,
    /// so that its last words are told where it fails. [`Stop::Unavailable`] says that the server cannot be installed
    /// on this machine; whatever else goes wrong, with one that is installed too, is a failure.
    pub(crate) fn take(target: &Path) -> Result<Self, Stop> {
        let folder = super::folder(target);
        let lock = super::lock_file(&folder)?;
        hold(&lock, Duration::from_secs(LOCK_SECONDS_MAX))?;
        let server = Server::at(folder.clone());
        if let Some(base_url) = server.base_url() {
            return Ok(Self { base_url, server, own: None, _lock: lock });
        }
        server.stop()?;
        let python = install::ensure(&folder, Output::Kept, Duration::from_secs(INSTALL_SECONDS_MAX))?;
        let started = server.start(&python, Life::Leashed, Duration::from_secs(START_SECONDS_MAX))?;
        Ok(Self { base_url: started.base_url, server, own: Some(started.process), _lock: lock })
    }

    /// What to pass as a base URL.
    pub(crate) fn base_url(&self) -> &str {
        &self.base_url
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(mut own) = self.own.take() else { return };
        if let Err(stop) = self.server.stop() {
            eprintln!("{stop}");
        }
        // Whatever its notes said, this process is the server.
        drop(own.kill());
        drop(own.wait());
    }
}

/// Waits for the lock, so long at most.
fn hold(lock: &File, limit: Duration) -> Result<(), Stop> {
    let start = Instant::now();
    while !try_hold(lock)? {
        if start.elapsed() >= limit {
            let seconds = limit.as_secs();
            return Err(Stop::Failed(format!("another task kept the model server for {seconds} s")));
        }
        std::thread::sleep(Duration::from_millis(POLL_MILLISECONDS));
    }
    Ok(())
}

/// Takes the lock unless another has it; whether it was taken.
pub(super) fn try_hold(lock: &File) -> Result<bool, Stop> {
    match lock.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error).during("locking the model's folder"),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn a_lock_that_another_holds_is_waited_for_no_longer_than_the_limit() {
        let path = std::env::temp_dir().join(format!("xtask-lease-{}", std::process::id()));
        let (first, second) = (File::create(&path).unwrap(), File::create(&path).unwrap());
        hold(&first, Duration::ZERO).unwrap();
        let told = hold(&second, Duration::ZERO).unwrap_err().to_string();
        assert_eq!(told, "another task kept the model server for 0 s");
        drop(first);
        hold(&second, Duration::ZERO).unwrap();
        std::fs::remove_file(path).unwrap();
    }

    /// A target folder with an environment that counts as installed and whose Python ends at once, badly.
    fn with_dead_server(name: &str) -> PathBuf {
        let target = std::env::temp_dir().join(format!("xtask-{name}-{}", std::process::id()));
        let folder = crate::model::folder(&target);
        std::fs::create_dir_all(folder.join("venv/bin")).unwrap();
        std::os::unix::fs::symlink("/bin/false", folder.join("venv/bin/python")).unwrap();
        std::fs::write(folder.join("installed"), install::pins()).unwrap();
        target
    }

    #[test]
    fn an_installed_server_that_does_not_start_is_a_failure_and_not_a_lack() {
        let target = with_dead_server("dead-server");
        let taken = Lease::take(&target);
        std::fs::remove_dir_all(target).unwrap();
        let Err(Stop::Failed(told)) = taken.map(drop) else { panic!("expected a failure") };
        assert!(told.starts_with("the model server ended with exit status: 1"), "{told}");
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_a_failure_and_not_a_lack() {
        let file = std::env::temp_dir().join(format!("xtask-no-folder-{}", std::process::id()));
        std::fs::write(&file, "").unwrap();
        let taken = Lease::take(&file);
        std::fs::remove_file(file).unwrap();
        assert!(matches!(taken.map(drop), Err(Stop::Failed(_))));
    }
}
