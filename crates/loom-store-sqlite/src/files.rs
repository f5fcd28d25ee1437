//! The files around a database: folder, permissions, the writer's lock.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use loom_workflow::store::{DatabaseFault, FullCause, StoreError};

use crate::options::Access;
use crate::platform::{open_unfollowed, private_file, private_folder, sync_folder};

/// The pause between two tries for the lock.
const LOCK_POLL_STEP_MS: u64 = 25;

/// The bytes that a lock file may hold: a process id.
const LOCK_TEXT_BYTES_MAX: u64 = 32;

/// How much room a probe asks for: as much as the largest single write around a commit.
const PROBE_BYTES: usize = 64 * 1024;

/// Finds the database's real path, creating folders where the access says so; nothing else is made or opened.
pub(crate) fn resolve(path: &Path, access: Access) -> Result<PathBuf, StoreError> {
    let there = fs::metadata(path);
    if there.as_ref().is_ok_and(fs::Metadata::is_dir) {
        return Err(StoreError::NotADatabase { fault: DatabaseFault::Folder });
    }
    // `file_name` leaves out a separator or a `.` at the end, which the file system does not.
    let whole = path.as_os_str().as_encoded_bytes();
    let name = path
        .file_name()
        .filter(|name| whole.ends_with(name.as_encoded_bytes()))
        .ok_or(StoreError::BadLocation { what: "expected a path that ends in a file name" })?;
    match there {
        Ok(there) if there.is_file() => {
            return fs::canonicalize(path).map_err(|error| failed("finding the file", &error));
        }
        Ok(_) => return Err(StoreError::NotADatabase { fault: DatabaseFault::Format }),
        Err(_) if path.is_symlink() => {
            return Err(StoreError::BadLocation {
                what: "expected a link to a file, got one that leads nowhere",
            });
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound && access == Access::Create => {}
        Err(error) => return Err(failed("opening the file", &error)),
    }
    let folder =
        path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    create_folder(folder)?;
    let folder = fs::canonicalize(folder).map_err(|error| failed("finding the folder", &error))?;
    Ok(folder.join(name))
}

/// Creates an empty file, readable by its owner alone; SQLite gives `-wal` and `-shm` the same mode.
///
/// A file that exists is never opened here: closing it would drop the locks that SQLite holds on it in this process
/// (sqlite.org/howtocorrupt.html, section 2.2).
pub(crate) fn create_file(path: &Path) -> Result<(), StoreError> {
    match private_file(OpenOptions::new().write(true).create_new(true))?.open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(failed("creating the file", &error)),
    }
}

/// Takes the writer's lock, waiting for another writer as long as it may and somebody still wants it.
pub(crate) fn lock(path: &Path, wait: Duration, wanted: impl Fn() -> bool) -> Result<File, StoreError> {
    let mut file = open_lock(&beside(path, ".lock"))?;
    let until = Instant::now() + wait;
    loop {
        match file.try_lock() {
            Ok(()) => break,
            Err(TryLockError::Error(error)) => return Err(failed("locking", &error)),
            Err(TryLockError::WouldBlock) if Instant::now() < until && wanted() => {
                std::thread::sleep(Duration::from_millis(LOCK_POLL_STEP_MS).min(wait));
            }
            Err(TryLockError::WouldBlock) => return Err(StoreError::Locked { holder: holder(&mut file) }),
        }
    }
    // The name of the holder only helps the one who waits; a full disk must not keep a store from opening.
    let _ = file.set_len(0).and_then(|()| file.write_all(format!("{}\n", std::process::id()).as_bytes()));
    Ok(file)
}

/// Asks the file system itself why a write failed: SQLite tells a size limit and a broken disk by the same code.
pub(crate) fn probe(path: &Path) -> Option<FullCause> {
    let length = |file: &Path| fs::metadata(file).map_or(0, |file| file.len());
    let end = length(path).max(length(&beside(path, "-wal"))).max(length(&beside(path, "-shm")));
    let probe = beside(path, &format!(".{}.probe", std::process::id()));
    let mut options = OpenOptions::new();
    // Where no file can be private, no writer got this far.
    let mut file = match private_file(options.write(true).create_new(true)).ok()?.open(&probe) {
        Ok(file) => file,
        // What is there already is not ours to write or to remove; then nothing is asked, and nothing is said.
        Err(error) => return full_cause(error.kind()),
    };
    let written = file
        .seek(SeekFrom::Start(end))
        .and_then(|_| file.write_all(&[0; PROBE_BYTES]))
        .and_then(|()| file.sync_data());
    drop(file);
    // One that cannot be removed stays: the cause is worth more than the room it takes.
    let _ = fs::remove_file(&probe);
    written.err().and_then(|error| full_cause(error.kind()))
}

/// The path of a file that lies beside the database.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

/// A file operation's failure as the store's.
pub(crate) fn failed(doing: &'static str, error: &io::Error) -> StoreError {
    match full_cause(error.kind()) {
        Some(cause) => StoreError::Full { cause },
        None => StoreError::Io { doing, kind: error.kind() },
    }
}

const fn full_cause(kind: io::ErrorKind) -> Option<FullCause> {
    match kind {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Some(FullCause::Disk),
        io::ErrorKind::FileTooLarge => Some(FullCause::FileSize),
        _ => None,
    }
}

/// Opens or makes the lock file, and no other file than that: its text is written over.
fn open_lock(path: &Path) -> Result<File, StoreError> {
    let other =
        StoreError::BadLocation { what: "expected a lock file beside the store, got a link or no file" };
    if fs::symlink_metadata(path).is_ok_and(|there| !there.is_file()) {
        return Err(other);
    }
    let mut options = OpenOptions::new();
    private_file(options.read(true).write(true).create(true).truncate(false))?;
    // What takes the lock file's place after that look is neither followed nor waited for.
    open_unfollowed(&mut options)?;
    let file = options.open(path).map_err(|error| failed("opening the lock file", &error))?;
    if file.metadata().is_ok_and(|there| there.is_file()) { Ok(file) } else { Err(other) }
}

fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.seek(SeekFrom::Start(0)).ok()?;
    Read::take(file, LOCK_TEXT_BYTES_MAX).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

fn create_folder(folder: &Path) -> Result<(), StoreError> {
    let not_created = |error: io::Error| failed("creating the folder", &error);
    let missing: Vec<_> =
        folder.ancestors().take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists()).collect();
    private_folder(DirBuilder::new().recursive(true))?.create(folder).map_err(not_created)?;
    for created in missing {
        // A folder survives a power loss only once the one that names it is synced.
        let parent = created
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty())
            .unwrap_or_else(|| Path::new("."));
        sync_folder(parent)?.map_err(not_created)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// T16: a probe neither writes over nor removes what it did not make, and leaves nothing of its own.
    #[test]
    fn a_probe_leaves_the_files_of_others_alone() {
        let folder = std::env::temp_dir().join(format!("loom-probe-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("loom.db");
        assert_eq!(probe(&path), None);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        let pid = std::process::id();
        let others = [".probe".to_owned(), format!(".{pid}.probe")].map(|suffix| beside(&path, &suffix));
        for other in &others {
            fs::write(other, "years of work").unwrap();
        }
        assert_eq!(probe(&path), None);
        for other in &others {
            assert_eq!(fs::read_to_string(other).unwrap(), "years of work");
        }
        fs::remove_dir_all(folder).unwrap();
    }
}
