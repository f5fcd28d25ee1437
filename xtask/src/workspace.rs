//! The workspace on disk: where it is, what cargo says of it, and its committed text.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::source;
use crate::stop::{During, Stop};

/// A file larger than this is data, not text that a judge reads.
const FILE_BYTES_MAX: u64 = 2 * 1024 * 1024;

/// Where the workspace lies and what cargo says of it.
#[derive(Debug)]
pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    /// Cargo's target folder, wherever the environment puts it.
    pub(crate) target: PathBuf,
    /// `cargo metadata` of the members, without their dependencies' own.
    pub(crate) metadata: Value,
}

impl Workspace {
    /// Asks cargo, from the folder this task was built in.
    pub(crate) fn find() -> Result<Self, Stop> {
        let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = manifest.parent().ok_or_else(|| Stop::failed("xtask lies in no folder"))?.to_path_buf();
        let output = cargo()
            .args(["metadata", "--format-version", "1", "--no-deps"])
            .current_dir(&root)
            .output()
            .during("starting cargo metadata")?;
        if !output.status.success() {
            return Err(Stop::Failed(format!(
                "cargo metadata: {}",
                String::from_utf8_lossy(&output.stderr).trim()
            )));
        }
        let metadata: Value = serde_json::from_slice(&output.stdout).during("reading cargo metadata")?;
        let target = metadata.get("target_directory").and_then(Value::as_str).unwrap_or("target");
        Ok(Self { target: root.join(target), root, metadata })
    }

    /// The members, as cargo describes them.
    pub(crate) fn packages(&self) -> impl Iterator<Item = &Value> {
        self.metadata.get("packages").and_then(Value::as_array).into_iter().flatten()
    }

    /// Every text file that is committed or would be.
    pub(crate) fn tree(&self) -> Result<Tree, Stop> {
        let mut files = BTreeMap::new();
        for path in listed(&self.root)? {
            let whole = self.root.join(&path);
            let Ok(about) = whole.symlink_metadata() else { continue };
            if !about.is_file() {
                continue;
            }
            let text = if about.len() > FILE_BYTES_MAX {
                String::new()
            } else {
                String::from_utf8_lossy(&std::fs::read(&whole).during(&format!("reading {path}"))?)
                    .into_owned()
            };
            files.insert(path, text);
        }
        Ok(Tree::new(files))
    }
}

/// The cargo that runs this task, without what it told this task of itself: build scripts that watch such variables
/// would otherwise run again, and all that depends on them, at each change between `cargo xtask` and plain cargo.
pub(crate) fn cargo() -> Command {
    without_own(Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())))
}

/// A command without what cargo told this task of itself.
pub(crate) fn without_own(mut command: Command) -> Command {
    const OWN: [&str; 4] = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_"];
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if OWN.iter().any(|own| text.starts_with(own)) {
            command.env_remove(&name);
        }
    }
    command
}

/// The text of a package's field, or nothing.
pub(crate) fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// Whether a member is packed and published: all that lie among the crates are.
pub(crate) fn is_published(package: &Value) -> bool {
    let folder = Path::new(text(package, "manifest_path")).parent().and_then(Path::parent);
    folder.is_some_and(|folder| folder.ends_with("crates"))
}

/// Committed text by its path from the root, with the Rust files taken apart.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    /// Path, with `/` between folders, to text.
    pub(crate) files: BTreeMap<String, String>,
    /// Path of each Rust file to its lines.
    pub(crate) sources: BTreeMap<String, Vec<source::Line>>,
}

impl Tree {
    pub(crate) fn new(files: BTreeMap<String, String>) -> Self {
        let rust = files.iter().filter(|(path, _)| path.ends_with(".rs"));
        let sources = rust.map(|(path, text)| (path.clone(), source::lines(text))).collect();
        Self { files, sources }
    }

    /// A tree of these files.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        Self::new(files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect())
    }

    /// Puts one file in, as if it were committed.
    pub(crate) fn plant(&mut self, path: &str, text: &str) {
        self.files.insert(path.to_owned(), text.to_owned());
        if path.ends_with(".rs") {
            self.sources.insert(path.to_owned(), source::lines(text));
        }
    }

    /// The text of one file, if it is there.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }
}

/// Git's list of what is or would be committed; where git cannot tell, every file but build output.
fn listed(root: &Path) -> Result<Vec<String>, Stop> {
    let git = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output();
    if let Ok(output) = git
        && output.status.success()
    {
        let paths = String::from_utf8_lossy(&output.stdout).into_owned();
        return Ok(paths.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect());
    }
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let entries =
            std::fs::read_dir(root.join(&folder)).during(&format!("listing {}", folder.display()))?;
        for entry in entries {
            let entry = entry.during("listing the workspace")?;
            let name = entry.file_name();
            if name == "target" || name == ".git" {
                continue;
            }
            let path = folder.join(name);
            if entry.file_type().during("listing the workspace")?.is_dir() {
                folders.push(path);
            } else {
                found.push(path.to_string_lossy().replace('\\', "/"));
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_lies_among_the_crates_is_packed_and_nothing_else() {
        let lies = |path: &str| is_published(&json!({ "manifest_path": path }));
        assert!(lies("/a/crates/loom-x/Cargo.toml"));
        assert!(
            !lies("/a/xtask/Cargo.toml") && !lies("/a/tests/Cargo.toml") && !lies("/a/crates/x/y/Cargo.toml")
        );
    }
}
