//! Recorded streams of real providers, read from outside the repository; nothing is said with them where they are not.

use std::path::PathBuf;

/// The longest recorded event used: longer ones show nothing more and make a run slow.
const EVENT_BYTES_MAX: usize = 1024;

/// The data of the events of each recorded stream of a folder, in order; empty, with the reason printed, where there
/// are none on this machine.
pub(crate) fn streams(folder: &str) -> Vec<Vec<String>> {
    let root = std::env::var_os("LOOM_SHARED").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")),
        PathBuf::from,
    );
    let folder = root.join("fixtures/wire").join(folder);
    let Ok(entries) = std::fs::read_dir(&folder) else {
        eprintln!("without recorded streams: none at {} (set LOOM_SHARED)", folder.display());
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let fits = |line: &&str| !line.is_empty() && line.len() <= EVENT_BYTES_MAX;
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(path).unwrap();
        text.lines().filter(fits).map(str::to_owned).collect()
    };
    paths.into_iter().map(read).collect()
}
