//! Recorded streams of real providers, read from outside the repository; tests say when they are absent.

use std::path::PathBuf;

/// The recorded streams in that folder by their names: the data of each event; empty, with the reason printed, where
/// there are none on this machine.
pub(crate) fn streams(folder: &str) -> Vec<(String, Vec<String>)> {
    let root = std::env::var_os("LOOM_SHARED").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")),
        PathBuf::from,
    );
    let folder = root.join("fixtures/wire").join(folder);
    let Ok(entries) = std::fs::read_dir(&folder) else {
        eprintln!("skipped: no recorded streams at {} (set LOOM_SHARED)", folder.display());
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        let lines = text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
        (path.file_name().unwrap().to_string_lossy().into_owned(), lines)
    };
    paths.into_iter().map(read).collect()
}
