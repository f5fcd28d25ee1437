//! Where a store lies and how it is opened.

use std::path::{Path, PathBuf};
use std::time::Duration;

use loom_workflow::store::StoreError;

/// How long a second writer waits for the first by default, in milliseconds.
pub const LOCK_WAIT_MS_DEFAULT: u64 = 5_000;

/// Where a store lies and how it is opened.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SqliteOptions {
    pub(crate) path: PathBuf,
    pub(crate) access: Access,
    pub(crate) max_page_count: Option<u32>,
    pub(crate) lock_wait: Duration,
}

/// What a store may do with its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Create,
    Write,
    Read,
}

impl SqliteOptions {
    /// A store at a path, or at a `file:…` URI with `mode=ro`, `mode=rw` or `mode=rwc`.
    ///
    /// A plain path and `rwc` create the file (0600) and missing folders (0700); a file that exists keeps its mode.
    ///
    /// # Errors
    /// [`StoreError::BadLocation`] for an empty path, a database in memory, or a URI with a host, another parameter or
    /// mode, or two modes.
    pub fn new(location: impl AsRef<Path>) -> Result<Self, StoreError> {
        let location = location.as_ref();
        let (path, access) = match location.to_str().and_then(|text| text.strip_prefix("file:")) {
            Some(uri) => parse_uri(uri)?,
            None => (location.to_owned(), Access::Create),
        };
        if path.as_os_str().is_empty() || path.as_os_str() == ":memory:" {
            return Err(bad("expected the path of a file; for a store in memory use the memory store"));
        }
        if path.as_os_str().as_encoded_bytes().contains(&0) {
            return Err(bad("expected a path without NUL bytes"));
        }
        let lock_wait = Duration::from_millis(LOCK_WAIT_MS_DEFAULT);
        Ok(Self { path, access, max_page_count: None, lock_wait })
    }

    /// The same for reading only, as `mode=ro`: no lock, and nothing but reads.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.access = Access::Read;
        self
    }

    /// The most pages (4096 bytes each) the file may have; a write past it answers `Full` and leaves the store open.
    #[must_use]
    pub fn max_page_count(mut self, pages: u32) -> Self {
        self.max_page_count = Some(pages);
        self
    }

    /// How long to wait for another writer before `Locked`; [`LOCK_WAIT_MS_DEFAULT`] unless said.
    #[must_use]
    pub fn lock_wait(mut self, wait: Duration) -> Self {
        self.lock_wait = wait;
        self
    }
}

fn parse_uri(uri: &str) -> Result<(PathBuf, Access), StoreError> {
    let uri = uri.split_once('#').map_or(uri, |(before, _)| before);
    let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
    let path = match path.strip_prefix("//") {
        Some(rest) => rest.strip_prefix("localhost").unwrap_or(rest),
        None => path,
    };
    if uri.starts_with("//") && !path.starts_with('/') {
        return Err(bad("expected a `file:` URI without a host"));
    }
    let mut access = None;
    for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
        let asked = match parameter {
            "mode=ro" => Access::Read,
            "mode=rw" => Access::Write,
            "mode=rwc" => Access::Create,
            _ => return Err(bad("expected no URI parameter but `mode=ro`, `mode=rw` or `mode=rwc`")),
        };
        // Which of two would hold is a guess, and one of them may promise not to write.
        if access.replace(asked).is_some() {
            return Err(bad("expected one `mode` in the URI"));
        }
    }
    Ok((PathBuf::from(percent_decoded(path)?), access.unwrap_or(Access::Create)))
}

fn percent_decoded(text: &str) -> Result<String, StoreError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
        let (Some(high), Some(low)) = (digit(rest.next()), digit(rest.next())) else {
            return Err(bad("expected two hexadecimal digits after each `%` of the URI"));
        };
        bytes.push(u8::try_from(high * 16 + low).unwrap_or(0));
    }
    String::from_utf8(bytes).map_err(|_| bad("expected a URI whose escapes are UTF-8"))
}

const fn bad(what: &'static str) -> StoreError {
    StoreError::BadLocation { what }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_is_a_path_or_a_file_uri() {
        let read = |text: &str| SqliteOptions::new(text).map(|options| (options.path, options.access));
        assert_eq!(read("a?b.db").unwrap(), (PathBuf::from("a?b.db"), Access::Create));
        assert_eq!(read("file:a.db?mode=ro").unwrap(), (PathBuf::from("a.db"), Access::Read));
        assert_eq!(read("file:///x/a%20b.db?mode=rw").unwrap(), (PathBuf::from("/x/a b.db"), Access::Write));
        assert_eq!(read("file://localhost/x.db#part").unwrap(), (PathBuf::from("/x.db"), Access::Create));
        for text in [
            "",
            ":memory:",
            "file:",
            "file::memory:",
            "file:a?mode=memory",
            "file:a?vfs=unix-none",
            "file://host/a",
            "file:a%2",
            "file:a%00b",
            "file:%ff",
            "file:a?cache=shared",
            "file:a?mode=ro&mode=rwc",
            "file:a?mode=ro&mode=ro",
        ] {
            assert!(matches!(read(text), Err(StoreError::BadLocation { .. })), "{text} was accepted");
        }
    }
}
