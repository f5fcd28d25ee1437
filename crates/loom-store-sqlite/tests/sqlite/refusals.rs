//! Bad input and bad luck: each is a typed error that says what to do, and loses nothing.

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::time::Duration;

use crate::scratch::{Scratch, named};
use crate::store_conformance::{append, head_of, id, start, step};
use futures::future::join;
use loom_store_sqlite::{SqliteOptions, SqliteStore};
use loom_workflow::record::{DomainEvent, Draft, RecordFault};
use loom_workflow::store::{DatabaseFault, Durability, EventStore, FullCause, Head, List, Read, StoreError};
use serde_json::json;

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn big(bytes: usize) -> Draft {
    Draft::new(1, DomainEvent::new("big".into(), json!("x".repeat(bytes))))
}

async fn begun(store: &SqliteStore, execution: &str) -> Head {
    head_of(store.start(start(execution, "flow", json!(1))).await.unwrap())
}

#[tokio::test]
async fn missing_folders_are_made_for_the_owner_alone_and_so_are_all_files() {
    let scratch = Scratch::new();
    let folder = scratch.folder().join("a/b");
    let store = SqliteStore::open(SqliteOptions::new(folder.join("loom.db")).unwrap()).await.unwrap();
    begun(&store, "a").await;
    assert_eq!((mode(&folder), mode(folder.parent().unwrap())), (0o700, 0o700));
    for name in ["loom.db", "loom.db-wal", "loom.db-shm", "loom.db.lock"] {
        assert_eq!(mode(&folder.join(name)), 0o600, "{name}");
    }
    assert_eq!(store.durability(), Durability::Sync);
}

#[tokio::test]
async fn what_is_no_store_is_refused_and_left_as_it_was() {
    let scratch = Scratch::new();
    let not = |fault| StoreError::NotADatabase { fault };
    assert_eq!(scratch.refused(scratch.folder()).await, not(DatabaseFault::Folder));
    for (text, name) in [("hello", "short"), (&*"x".repeat(10_000), "long")] {
        let path = scratch.folder().join(name);
        std::fs::write(&path, text).unwrap();
        assert_eq!(scratch.refused(&path).await, not(DatabaseFault::Format));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
    let other = scratch.folder().join("other.db");
    rusqlite::Connection::open(&other).unwrap().execute_batch("CREATE TABLE t (a)").unwrap();
    let before = std::fs::read(&other).unwrap();
    assert_eq!(scratch.refused(&other).await, not(DatabaseFault::OtherApplication));
    assert_eq!(std::fs::read(&other).unwrap(), before);
    drop(scratch.open().await);
    rusqlite::Connection::open(scratch.db()).unwrap().execute_batch("PRAGMA user_version = 9").unwrap();
    assert_eq!(scratch.refused(scratch.db()).await, not(DatabaseFault::NewerLayout { got: 9, supported: 1 }));
    let empty = scratch.folder().join("empty");
    std::fs::write(&empty, "").unwrap();
    assert_eq!(
        scratch.refused(format!("file:{}?mode=ro", empty.display())).await,
        not(DatabaseFault::Format)
    );
}

#[tokio::test]
async fn a_path_where_nothing_is_makes_nothing_unless_it_may() {
    let scratch = Scratch::new();
    for mode in ["ro", "rw"] {
        let refused = scratch
            .refused(format!("file:{}?mode={mode}", scratch.folder().join("no/loom.db").display()))
            .await;
        assert!(matches!(refused, StoreError::Io { kind: std::io::ErrorKind::NotFound, .. }), "{refused}");
    }
    let file = scratch.folder().join("file");
    std::fs::write(&file, "").unwrap();
    assert!(matches!(scratch.refused(file.join("loom.db")).await, StoreError::Io { .. }));
    assert_eq!(std::fs::read_dir(scratch.folder()).unwrap().count(), 1);
}

#[tokio::test]
async fn a_location_that_can_hold_no_file_is_refused_before_anything_is_made() {
    let scratch = Scratch::new();
    let (folder, file, link) =
        (scratch.folder(), scratch.folder().join("file"), scratch.folder().join("link"));
    std::fs::write(&file, "").unwrap();
    std::os::unix::fs::symlink(folder.join("nowhere"), &link).unwrap();
    let socket = folder.join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let bad = [link, folder.join("new/"), folder.join("new/."), folder.join("file/"), folder.join("no/new/")];
    for path in bad {
        let refused = scratch.refused(&path).await;
        assert!(matches!(refused, StoreError::BadLocation { .. }), "{}: {refused}", path.display());
    }
    for path in [Path::new("/dev/null"), &socket] {
        let not = StoreError::NotADatabase { fault: DatabaseFault::Format };
        assert_eq!(scratch.refused(path).await, not, "{}", path.display());
    }
    let folders = [folder.join("."), folder.join("")];
    for path in folders {
        assert_eq!(scratch.refused(path).await, StoreError::NotADatabase { fault: DatabaseFault::Folder });
    }
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 3, "nothing was made");
}

/// T16: what stands in the lock's place is not followed and not written over.
#[tokio::test]
async fn a_lock_file_that_is_a_link_or_no_file_is_refused_and_its_target_kept() {
    let scratch = Scratch::new();
    let (precious, lock) = (scratch.folder().join("precious"), scratch.beside(".lock"));
    std::fs::write(&precious, "years of work").unwrap();
    for target in [&precious, &scratch.folder().join("nowhere")] {
        std::os::unix::fs::symlink(target, &lock).unwrap();
        let refused = scratch.refused(scratch.db()).await;
        assert!(matches!(refused, StoreError::BadLocation { .. }), "{refused}");
        std::fs::remove_file(&lock).unwrap();
    }
    std::fs::create_dir(&lock).unwrap();
    let refused = scratch.refused(scratch.db()).await;
    assert!(matches!(refused, StoreError::BadLocation { .. }), "{refused}");
    std::fs::remove_dir(&lock).unwrap();
    assert_eq!(std::fs::read_to_string(&precious).unwrap(), "years of work");
    assert_eq!(std::fs::read_dir(scratch.folder()).unwrap().count(), 1, "nothing was made");
}

/// T16: a start for which no record has a place is refused whole: no execution without its first record stays behind.
#[tokio::test]
async fn a_start_past_the_last_place_leaves_nothing_behind() {
    let scratch = Scratch::new();
    drop(scratch.open().await);
    for last in [i64::MAX >> 24, i64::MAX] {
        let crowd = rusqlite::Connection::open(scratch.db()).unwrap();
        let full = "INSERT OR REPLACE INTO execution VALUES (?1, 'last', 'flow', 'running', 1, 1, 1, 1, 1)";
        crowd.execute(full, [last]).unwrap();
        drop(crowd);
        let store = scratch.open().await;
        let refused = store.start(start("a", "flow", json!(1))).await.unwrap_err();
        assert!(matches!(refused, StoreError::Malformed { .. }), "{refused}");
        assert_eq!(store.head(&id("a")).await.unwrap(), None);
    }
}

#[tokio::test]
async fn a_store_opened_for_reading_sees_a_living_writer_and_refuses_to_write() {
    let scratch = Scratch::new();
    let writer = scratch.open().await;
    let head = begun(&writer, "a").await;
    let uri = format!("file:{}?mode=ro", scratch.db().display());
    let reader = SqliteStore::open(SqliteOptions::new(uri).unwrap()).await.unwrap();
    writer.append(append(&head, vec![step(1)])).await.unwrap();
    assert_eq!(reader.read(Read::from_start(id("a"))).await.unwrap().records.len(), 2);
    assert_eq!(reader.list(List::newest(5)).await.unwrap().heads.len(), 1);
    assert_eq!(reader.append(append(&head, vec![step(1)])).await, Err(StoreError::ReadOnly));
    assert_eq!(reader.start(start("b", "flow", json!(1))).await, Err(StoreError::ReadOnly));
    assert_eq!(reader.take_over(&id("a")).await, Err(StoreError::ReadOnly));
}

#[tokio::test]
async fn a_store_in_a_folder_that_cannot_be_written_is_read() {
    let scratch = Scratch::new();
    let store = scratch.open().await;
    begun(&store, "a").await;
    drop(store);
    std::fs::set_permissions(scratch.db(), PermissionsExt::from_mode(0o444)).unwrap();
    std::fs::set_permissions(scratch.folder(), PermissionsExt::from_mode(0o555)).unwrap();
    let mut child =
        scratch.child(std::env::current_exe().unwrap(), &[], "refusals::reader_in_a_closed_folder");
    if std::fs::metadata("/proc/self").is_ok_and(|me| me.uid() == 0) {
        child.uid(65_534).gid(65_534);
    }
    let output = child.output();
    std::fs::set_permissions(scratch.folder(), PermissionsExt::from_mode(0o755)).unwrap();
    let Ok(output) = output else { return println!("skipped: another user may not run the test binary") };
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        said.contains("read 1 of 1, may not write: true"),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[tokio::test]
#[ignore = "run as a child process without write access"]
async fn reader_in_a_closed_folder() {
    let path = named();
    let store = SqliteStore::open(SqliteOptions::new(&path).unwrap().read_only()).await.unwrap();
    let records = store.read(Read::from_start(id("a"))).await.unwrap().records.len();
    let listed = store.list(List::newest(5)).await.unwrap().heads.len();
    let closed = std::fs::write(path.with_extension("try"), "").is_err();
    println!("read {records} of {listed}, may not write: {closed}");
}

/// T16: a second writer waits, then is refused by the holder's process id; readers need no lock.
#[tokio::test]
async fn a_second_writer_waits_and_then_names_the_first() {
    let scratch = Scratch::new();
    let mut child = scratch
        .child(std::env::current_exe().unwrap(), &[], "refusals::writer_that_holds_on")
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.ends_with("holding")));
    let hasty = SqliteOptions::new(scratch.db()).unwrap().lock_wait(Duration::from_millis(40));
    let refused = SqliteStore::open(hasty).await.err().unwrap();
    assert_eq!(refused, StoreError::Locked { holder: Some(child.id()) });
    assert_eq!(refused.stable_name(), "StoreLockedError");
    assert!(refused.to_string().contains(&child.id().to_string()));
    let reader = SqliteStore::open(SqliteOptions::new(scratch.db()).unwrap().read_only()).await.unwrap();
    assert_eq!(reader.list(List::newest(5)).await.unwrap().heads.len(), 1);
    let stdin = child.stdin.take();
    let (store, ()) = join(scratch.open(), async { drop(stdin) }).await;
    begun(&store, "b").await;
    let again = SqliteOptions::new(scratch.db()).unwrap().lock_wait(Duration::ZERO);
    let refused = SqliteStore::open(again).await.err().unwrap();
    assert_eq!(
        refused,
        StoreError::Locked { holder: Some(std::process::id()) },
        "one writer within a process too"
    );
    child.wait().unwrap();
}

#[tokio::test]
#[ignore = "run as a child process that holds the lock until its input ends"]
async fn writer_that_holds_on() {
    let store = SqliteStore::open(SqliteOptions::new(named()).unwrap()).await.unwrap();
    begun(&store, "a").await;
    println!("holding");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

/// T16: a store at its page limit refuses what does not fit, serves the rest, and loses nothing.
#[tokio::test]
async fn a_store_at_its_page_limit_stays_readable_and_takes_what_fits() {
    let scratch = Scratch::new();
    let store =
        SqliteStore::open(SqliteOptions::new(scratch.db()).unwrap().max_page_count(40)).await.unwrap();
    let (a, b) = (begun(&store, "a").await, begun(&store, "b").await);
    let (large, small) =
        join(store.append(append(&a, vec![big(1_000_000)])), store.append(append(&b, vec![step(1)]))).await;
    let full = large.unwrap_err();
    assert_eq!(
        (&full, full.stable_name()),
        (&StoreError::Full { cause: FullCause::Configured }, "StoreFullError")
    );
    let b = small.expect("a neighbour that fits is not refused");
    let mut head = a;
    while let Ok(next) = store.append(append(&head, vec![big(5_000)])).await {
        head = next;
    }
    assert!(head.last_seq > 5);
    assert_eq!(store.head(&id("a")).await.unwrap(), Some(head.clone()));
    assert_eq!(store.read(Read::from_start(id("a"))).await.unwrap().records.len() as u64, head.last_seq);
    store.append(append(&b, vec![step(2)])).await.unwrap();
    drop(store);
    scratch.open().await.append(append(&head, vec![big(100_000)])).await.unwrap();
}

/// T16: at the process's file size limit the store says so, closes, and has lost nothing.
#[tokio::test]
async fn a_file_size_limit_is_a_full_store_and_loses_nothing() {
    let scratch = Scratch::new();
    drop(scratch.open().await);
    let exe = std::env::current_exe().unwrap();
    let script = "trap '' XFSZ; ulimit -f 600; exec \"$0\" \"$@\"";
    let before = ["-c", script, exe.to_str().unwrap()];
    let output = scratch.child("sh", &before, "refusals::writer_with_a_file_size_limit").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let last =
        said.lines().rfind(|line| line.starts_with("ack ")).unwrap_or_else(|| panic!("no ack: {said}"));
    assert!(said.contains("refused: StoreFullError FileSize"), "{said}");
    assert!(said.contains("later: StoreError Closed Closed"), "{said}");
    let mut left = std::fs::read_dir(scratch.folder()).unwrap().map(|file| file.unwrap().file_name());
    assert!(!left.any(|name| name.to_string_lossy().ends_with("probe")));
    let store = scratch.open().await;
    let head = store.head(&id("a")).await.unwrap().unwrap();
    assert!(
        head.last_seq >= last["ack ".len()..].parse().unwrap(),
        "{last} was acknowledged, {} are stored",
        head.last_seq
    );
    store.append(append(&head, vec![big(100_000)])).await.unwrap();
}

#[tokio::test]
#[ignore = "run as a child process under `ulimit -f`"]
async fn writer_with_a_file_size_limit() {
    let store = SqliteStore::open(SqliteOptions::new(named()).unwrap()).await.unwrap();
    println!();
    let mut head = begun(&store, "a").await;
    let error = loop {
        match store.append(append(&head, vec![big(5_000)])).await {
            Ok(next) => head = next,
            Err(error) => break error,
        }
        println!("ack {}", head.last_seq);
    };
    let StoreError::Full { cause } = error else { panic!("{error}") };
    println!("refused: {} {cause:?}", error.stable_name());
    let later = store.append(append(&head, vec![step(1)])).await.unwrap_err();
    let read = store.head(&id("a")).await.unwrap_err();
    println!("later: {} {later:?} {read:?}", later.stable_name());
}

/// T16: a damaged byte is a typed error that names the record; what stands before it is still served.
#[tokio::test]
async fn a_damaged_record_is_named_and_its_neighbours_are_served() {
    let scratch = Scratch::new();
    let store = scratch.open().await;
    let head = begun(&store, "a").await;
    let said = |text: &str| Draft::new(1, DomainEvent::new("said".into(), json!(text)));
    store.append(append(&head, vec![said("one"), said("CANARY"), said("three")])).await.unwrap();
    drop(store);
    let mut bytes = std::fs::read(scratch.db()).unwrap();
    let at = bytes.windows(6).position(|window| window == b"CANARY").unwrap();
    for damaged in [b'D', 0xff] {
        bytes[at] = damaged;
        std::fs::write(scratch.db(), &bytes).unwrap();
        let store = scratch.open().await;
        let error = store.read(Read::from_start(id("a"))).await.unwrap_err();
        let StoreError::Corrupt { seq: Some(3), fault } = error else { panic!("{error}") };
        assert!(matches!(fault, RecordFault::Checksum { .. } | RecordFault::Layout));
        assert!(!error.to_string().contains("CANARY"));
        assert_eq!(store.read(Read::from_start(id("a")).with_limit(2)).await.unwrap().records.len(), 2);
        assert_eq!(store.read(Read::from_seq(id("a"), 4)).await.unwrap().records.len(), 1);
    }
}

/// T16: a record that is gone, or lies where another belongs, is a typed error and not a shorter journal.
#[tokio::test]
async fn a_missing_or_moved_record_is_named() {
    let scratch = Scratch::new();
    let store = scratch.open().await;
    let head = begun(&store, "a").await;
    store.append(append(&head, vec![step(1), step(2)])).await.unwrap();
    drop(store);
    let sabotage = |sql: &str| rusqlite::Connection::open(scratch.db()).unwrap().execute_batch(sql).unwrap();
    let read = async || scratch.open().await.read(Read::from_start(id("a"))).await.unwrap_err();
    sabotage("UPDATE log SET key = key + 1 WHERE key & 16777215 = 3");
    let missing = |seq| StoreError::Corrupt { seq: Some(seq), fault: RecordFault::Missing };
    assert_eq!(scratch.open().await.read(Read::from_seq(id("a"), 3)).await, Err(missing(3)));
    sabotage(
        "DELETE FROM log WHERE key & 16777215 = 2; UPDATE log SET key = key - 2 WHERE key & 16777215 = 4",
    );
    assert!(matches!(
        read().await,
        StoreError::Corrupt { seq: Some(2), fault: RecordFault::Checksum { .. } }
    ));
    sabotage("DELETE FROM log WHERE key & 16777215 = 1");
    assert!(matches!(read().await, StoreError::Corrupt { .. }));
}

/// T16: damage to any page of the file is a typed error or goes unnoticed only where it changes nothing that is read.
#[tokio::test]
async fn any_damaged_byte_is_an_error_or_changes_nothing() {
    let scratch = Scratch::new();
    let store = scratch.open().await;
    let head = begun(&store, "a").await;
    store.append(append(&head, (1..40).map(step).collect())).await.unwrap();
    let whole = store.read(Read::from_start(id("a"))).await.unwrap();
    drop(store);
    let bytes = std::fs::read(scratch.db()).unwrap();
    let mut errors = 0;
    for at in (0..bytes.len()).step_by(bytes.len() / 300) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x55;
        std::fs::write(scratch.db(), &damaged).unwrap();
        let options = SqliteOptions::new(scratch.db()).unwrap().read_only();
        let answer = match SqliteStore::open(options).await {
            Ok(store) => store.read(Read::from_start(id("a"))).await,
            Err(error) => Err(error),
        };
        match answer {
            Ok(page) if page.next_seq.is_none() && page.records.len() == 40 => {
                assert_eq!(page, whole, "byte {at}")
            }
            Ok(page) => assert_eq!(page.records[..], whole.records[..page.records.len()], "byte {at}"),
            Err(_) => errors += 1,
        }
    }
    assert!(errors > 20, "only {errors} damages were noticed");
}
