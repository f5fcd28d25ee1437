//! The layout of the file, version 1, and how connections are opened on it.
//!
//! Records lie in a rowid table whose key is `creation ordinal of the execution * 2^24 + sequence`: one B-tree gives
//! the order of the journal, the uniqueness of a sequence and the range of a read, with no secondary index in the
//! path of an append, and a rowid table keeps payloads inline where a keyed one without rowid spills them from about 1 KB.

use std::path::Path;

use loom_workflow::store::{DatabaseFault, StoreError};
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::fault::Trouble;
use crate::reading::{Frozen, Reading};

/// Marks the file as ours: `Loom` in ASCII.
const APPLICATION_ID: u32 = 0x4C6F_6F6D;

/// The layout's version.
const LAYOUT_VERSION: u32 = 1;

/// The pages after which the log is written back into the file (80 MiB: rarer checkpoints stall the committer less often).
const CHECKPOINT_PAGES: u32 = 20_000;

/// The size to which the write-ahead log is cut back after a checkpoint.
const LOG_BYTES_KEPT: u32 = 16 * 1024 * 1024;

const LAYOUT: &str = "
CREATE TABLE execution (
  ordinal INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, flow TEXT NOT NULL, status TEXT NOT NULL,
  epoch INTEGER NOT NULL, last_seq INTEGER NOT NULL, bytes INTEGER NOT NULL,
  started_at_ms INTEGER NOT NULL, updated_at_ms INTEGER NOT NULL
) STRICT;
CREATE TABLE log (
  key INTEGER PRIMARY KEY, version INTEGER NOT NULL, at_ms INTEGER NOT NULL, kind TEXT NOT NULL, path TEXT,
  effect TEXT, input_schema_hash TEXT, revision TEXT, payload TEXT NOT NULL, crc32c INTEGER NOT NULL
) STRICT;
CREATE VIEW event AS
  SELECT e.id AS execution, l.key & 16777215 AS seq, l.at_ms, l.kind, l.path, l.payload
  FROM log l JOIN execution e ON e.ordinal = l.key >> 24;
";

/// Opens the one writing connection, and lays an empty file out.
pub(crate) fn open_writer(path: &Path, max_page_count: Option<u32>) -> Result<Connection, Trouble> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    let fresh = is_fresh(&connection)?;
    guard(&connection)?;
    let mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    if !mode.eq_ignore_ascii_case("wal") {
        let doing = "switching to a write-ahead log (it needs a local file system)";
        return Err(StoreError::Io { doing, kind: std::io::ErrorKind::Unsupported }.into());
    }
    // fullfsync is for macOS, whose fsync does not reach the disk.
    connection.execute_batch(
        "PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON;",
    )?;
    connection.execute_batch(&format!(
        "PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}; PRAGMA journal_size_limit = {LOG_BYTES_KEPT};"
    ))?;
    if let Some(pages) = max_page_count {
        connection.execute_batch(&format!("PRAGMA max_page_count = {pages}"))?;
    }
    if fresh {
        let transaction = connection.transaction()?;
        transaction.execute_batch(LAYOUT)?;
        transaction.execute_batch(&format!(
            "PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {LAYOUT_VERSION};"
        ))?;
        transaction.commit()?;
    }
    Ok(connection)
}

/// Opens a reading connection; it needs no writable file, and no writable folder once the last writer has closed.
pub(crate) fn open_reader(path: &Path) -> Result<Reading, Trouble> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = Connection::open_with_flags(path, flags).map_err(Trouble::from).and_then(checked);
    match opened {
        // The shared-memory file cannot be made here.
        Err(Trouble::Sql(error))
            if matches!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly)) =>
        {
            open_frozen(path)
        }
        opened => Ok(Reading { connection: opened?, frozen: None }),
    }
}

/// Opens a file that is whole without a log, and reads it without locks: a writer with more rights than this process
/// may still come, so each answer is given only if the file is as it was.
fn open_frozen(path: &Path) -> Result<Reading, Trouble> {
    let frozen = Some(Frozen::new(path)?);
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let uri = format!("file:{}?immutable=1", percent_encoded(path));
    Ok(Reading { connection: checked(Connection::open_with_flags(uri, flags)?)?, frozen })
}

fn checked(connection: Connection) -> Result<Connection, Trouble> {
    if is_fresh(&connection)? {
        return Err(StoreError::NotADatabase { fault: DatabaseFault::Format }.into());
    }
    guard(&connection)?;
    connection.execute_batch("PRAGMA query_only = ON")?;
    Ok(connection)
}

/// Whether the file is empty; what is neither empty nor ours is refused before anything is written.
fn is_fresh(connection: &Connection) -> Result<bool, Trouble> {
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    let tables = number("SELECT count(*) FROM sqlite_schema")?;
    let application = number("PRAGMA application_id")?;
    let version = number("PRAGMA user_version")?;
    match (tables, application, version) {
        (0, 0, 0) => Ok(true),
        (_, ours, 1..) if ours == i64::from(APPLICATION_ID) => match u32::try_from(version) {
            Ok(LAYOUT_VERSION) => Ok(false),
            Ok(got) => Err(newer(got)),
            Err(_) => Err(newer(u32::MAX)),
        },
        _ => Err(StoreError::NotADatabase { fault: DatabaseFault::OtherApplication }.into()),
    }
}

fn newer(got: u32) -> Trouble {
    StoreError::NotADatabase { fault: DatabaseFault::NewerLayout { got, supported: LAYOUT_VERSION } }.into()
}

/// What every connection keeps to: no temporary file ever holds a record, and a crafted schema runs nothing.
fn guard(connection: &Connection) -> Result<(), rusqlite::Error> {
    connection.execute_batch(
        "PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;",
    )
}

fn percent_encoded(path: &Path) -> String {
    let mut text = String::new();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
                text.push(char::from(*byte))
            }
            other => text.push_str(&format!("%{other:02X}")),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use loom_workflow::record::ExecutionId;

    use super::*;

    /// T16: SQLite before 3.52 can damage a write-ahead log when it is reset while another connection reads.
    #[test]
    fn the_bundled_sqlite_is_past_the_log_reset_bug() {
        assert!(rusqlite::version_number() >= 3_052_000, "{}", rusqlite::version());
    }

    /// T16: a reader without locks answers nothing more once a writer has come, nor after it has gone again.
    #[test]
    fn a_file_read_without_locks_is_refused_once_it_has_changed() {
        let path = std::env::temp_dir().join(format!("loom-schema-{}.db", ExecutionId::mint()));
        crate::files::create_file(&path).unwrap();
        drop(open_writer(&path, None).unwrap());
        let count = |reading: &Reading| {
            reading.ask(|connection| {
                Ok(connection.query_row("SELECT count(*) FROM execution", [], |row| row.get::<_, i64>(0))?)
            })
        };
        let busy = |answer| {
            let Err(Trouble::Refused(StoreError::Io { kind, .. })) = answer else { panic!("{answer:?}") };
            assert_eq!(kind, std::io::ErrorKind::ResourceBusy);
        };
        let reading = open_frozen(&path).unwrap();
        let writer = open_writer(&path, None).unwrap();
        assert_eq!(count(&reading).unwrap(), 0, "a writer that only opened the file changes nothing");
        let sql = "INSERT INTO execution VALUES (1, 'a', 'flow', 'running', 1, 1, 1, 1, 1)";
        writer.execute_batch(sql).unwrap();
        busy(count(&reading));
        let Err(Trouble::Refused(StoreError::Io { kind, .. })) = open_frozen(&path) else { panic!("opened") };
        assert_eq!(kind, std::io::ErrorKind::PermissionDenied, "the file alone is not whole");
        drop(writer);
        busy(count(&reading));
        assert_eq!(count(&open_frozen(&path).unwrap()).unwrap(), 1);
        std::fs::remove_file(path).unwrap();
    }
}
