//! Where the journal is, and how it is opened.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use loom_effect_runtime::Signal;
use loom_store_sqlite::{SqliteOptions, SqliteStore};
use loom_workflow::record::ExecutionId;
use loom_workflow::store::{EventStore, Head, List, StoreError};

use crate::args::StoreArgs;
use crate::exit::Failure;
use crate::render::Screen;
use crate::signals::is_interrupted;

/// After how long a person is told that another process holds the journal, in milliseconds.
const LOCK_NOTE_AFTER_MS: u64 = 300;

/// The executions in which a shortened id is looked for: the newest ones.
const SHORT_ID_EXECUTIONS_MAX: usize = 10_000;

/// How many of them are read at a time.
const SHORT_ID_PAGE: usize = 1_000;

/// The fewest characters of a shortened id.
const SHORT_ID_CHARS_MIN: usize = 4;

/// Opens the journal for writing, waiting for another writer as long as the store does.
pub(crate) async fn open(
    args: &StoreArgs,
    screen: &Screen,
    stop: &Signal,
) -> Result<Arc<SqliteStore>, Failure> {
    let path = path(args)?;
    let options = SqliteOptions::new(&path)?;
    if is_for_reading(&path) {
        return Err(StoreError::ReadOnly.into());
    }
    let opening = SqliteStore::open(options);
    let mut opening = std::pin::pin!(opening);
    let mut told = false;
    loop {
        tokio::select! {
            opened = &mut opening => return Ok(Arc::new(opened?)),
            reason = stop.aborted() => {
                debug_assert!(is_interrupted(stop), "nothing else stops a command this early: {reason}");
                return Err(crate::commands::stopped(stop));
            }
            () = tokio::time::sleep(Duration::from_millis(LOCK_NOTE_AFTER_MS)), if !told => {
                told = true;
                screen.note("waiting for another process that writes to the journal");
            }
        }
    }
}

/// Opens the journal for reading: without the lock, and also where nothing can be written.
pub(crate) async fn open_to_read(args: &StoreArgs) -> Result<Arc<SqliteStore>, Failure> {
    Ok(Arc::new(SqliteStore::open(SqliteOptions::new(path(args)?)?.read_only()).await?))
}

/// The execution of that id, or the one whose id begins so.
pub(crate) async fn find(store: &SqliteStore, text: &str) -> Result<Head, Failure> {
    let id = ExecutionId::new(text).map_err(|error| Failure::usage(error, "`loom logs` lists the ids"))?;
    if let Some(head) = store.head(&id).await? {
        return Ok(head);
    }
    if text.chars().count() < SHORT_ID_CHARS_MIN {
        return Err(StoreError::NotFound.into());
    }
    let mut found = None;
    let mut list = List::newest(SHORT_ID_PAGE);
    for _ in 0..SHORT_ID_EXECUTIONS_MAX / SHORT_ID_PAGE {
        let page = store.list(list).await?;
        for head in page.heads.into_iter().filter(|head| head.execution.as_str().starts_with(text)) {
            if found.replace(head).is_some() {
                let message = "more than one execution has an id that begins so";
                return Err(Failure::usage(message, "give more of the id; `loom logs` lists them"));
            }
        }
        match page.next {
            Some(cursor) => list = List::newest(SHORT_ID_PAGE).with_before(cursor),
            None => break,
        }
    }
    Ok(found.ok_or(StoreError::NotFound)?)
}

fn path(args: &StoreArgs) -> Result<PathBuf, Failure> {
    match &args.db {
        Some(path) => Ok(path.clone()),
        None => default_path(|name| env::var_os(name).filter(|value| !value.is_empty())),
    }
}

/// Whether the location, one that the store accepts, is a URI for reading only; its last mode counts.
fn is_for_reading(location: &Path) -> bool {
    let uri = location.to_str().and_then(|text| text.strip_prefix("file:")).unwrap_or("");
    let uri = uri.split_once('#').map_or(uri, |(before, _)| before);
    let query = uri.split_once('?').map_or("", |(_, query)| query);
    query.split('&').rfind(|parameter| !parameter.is_empty()) == Some("mode=ro")
}

fn default_path(variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, Failure> {
    if let Some(path) = variable("LOOM_DB") {
        return Ok(path.into());
    }
    // The base directory specification of freedesktop.org ignores a path that is not absolute.
    let data = variable("XDG_DATA_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let data = data.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".local/share")));
    let data = data.ok_or_else(|| {
        Failure::usage(
            "there is no home folder to keep the journal in",
            "name one with `--db PATH` or $LOOM_DB",
        )
    })?;
    Ok(data.join("loom/loom.db"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_place_is_loom_db_then_the_data_home_then_the_home() {
        let place = |set: &'static [(&str, &str)]| {
            let variable =
                |name: &str| set.iter().find(|(set, _)| *set == name).map(|(_, value)| value.into());
            default_path(variable).map(|path| path.display().to_string()).ok()
        };
        assert_eq!(place(&[("LOOM_DB", "x.db"), ("HOME", "/h")]).unwrap(), "x.db");
        assert_eq!(place(&[("XDG_DATA_HOME", "/d"), ("HOME", "/h")]).unwrap(), "/d/loom/loom.db");
        assert_eq!(place(&[("XDG_DATA_HOME", "d"), ("HOME", "/h")]).unwrap(), "/h/.local/share/loom/loom.db");
        assert_eq!(place(&[]), None);
    }

    #[test]
    fn a_location_for_reading_is_a_uri_whose_last_mode_says_so() {
        let for_reading = |text: &str| is_for_reading(Path::new(text));
        assert!(for_reading("file:a.db?mode=ro") && for_reading("file:///a?mode=rw&mode=ro&#x"));
        for other in ["file:a.db", "file:a.db?mode=ro&mode=rw", "a.db?mode=ro", "file:a.db#?mode=ro"] {
            assert!(!for_reading(other), "{other}");
        }
    }
}
