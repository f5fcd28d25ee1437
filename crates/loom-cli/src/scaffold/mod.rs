//! New crates for who extends Loom, each outside of any workspace.
//!
//! `cargo xtask` includes this module by its path, so that both write the same crate; it therefore needs nothing but the
//! standard library.

mod name;

use std::fmt::{self, Write as _};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use name::InvalidName;

/// The version of the interface that a new crate asks for: this one's.
const VERSION: &str = "0.1.0";
/// The compiler that a new crate needs at least.
const RUST: &str = "1.95";

/// The files of a new middleware: where they go, and what is in them.
const MIDDLEWARE: [(&str, &str); 5] = [
    ("Cargo.toml", include_str!("middleware/Cargo.toml.in")),
    ("README.md", include_str!("middleware/README.md.in")),
    (".gitignore", include_str!("middleware/gitignore.in")),
    ("src/lib.rs", include_str!("middleware/lib.rs.in")),
    ("tests/kit.rs", include_str!("middleware/kit.rs.in")),
];

/// The crates that a new one finds by path where they are not published.
const NEEDED: [&str; 3] = ["loom-classify", "loom-effect-runtime", "loom-testing"];

/// A crate that was not made. Nothing of it is left behind.
#[derive(Debug)]
pub(crate) enum ScaffoldError {
    /// The name is none that a crate may have.
    Name(InvalidName),
    /// Something lies at the place already.
    Taken(PathBuf),
    /// What shall hold it is no folder.
    NoFolder(PathBuf),
    /// The folder given for Loom's crates does not hold one of them.
    NoCrate {
        /// The folder.
        folder: PathBuf,
        /// What is missing.
        missing: &'static str,
    },
    /// Writing failed.
    Io {
        /// What was written.
        path: PathBuf,
        /// Why it failed.
        error: io::Error,
    },
}

impl ScaffoldError {
    /// Whether the command line is to blame rather than the disk.
    pub(crate) fn is_usage(&self) -> bool {
        !matches!(self, Self::Io { .. })
    }
}

impl fmt::Display for ScaffoldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(error) => error.fmt(f),
            Self::Taken(path) => write!(f, "{} is there already; nothing is overwritten", path.display()),
            Self::NoFolder(path) => {
                write!(f, "{} is no folder; expected one, or a place for one", path.display())
            }
            Self::NoCrate { folder, missing } => {
                write!(
                    f,
                    "{} does not hold {missing}; expected a folder with Loom's crates",
                    folder.display()
                )
            }
            Self::Io { path, error } => write!(f, "writing {}: {error}", path.display()),
        }
    }
}

impl std::error::Error for ScaffoldError {}

/// Writes a new middleware crate called `name` into a folder of that name in `parent`, which is made where it is
/// missing, and gives the crate's folder. Where `crates` says where Loom's own crates lie, the new one finds them there.
///
/// # Errors
/// [`ScaffoldError`]; what was begun is removed again, folders round the crate included.
pub(crate) fn middleware(name: &str, parent: &Path, crates: Option<&Path>) -> Result<PathBuf, ScaffoldError> {
    name::check(name).map_err(ScaffoldError::Name)?;
    let settings = crates.map(settings).transpose()?;
    if parent.exists() && !parent.is_dir() {
        return Err(ScaffoldError::NoFolder(parent.to_path_buf()));
    }
    let missing: Vec<&Path> = parent.ancestors().take_while(|folder| !folder.exists()).collect();
    let made = make(parent, name, settings.as_deref());
    if made.is_err() {
        // Only what is empty is removed: what another process put there meanwhile stays.
        for folder in missing {
            let _ = fs::remove_dir(folder);
        }
    }
    made
}

fn make(parent: &Path, name: &str, settings: Option<&str>) -> Result<PathBuf, ScaffoldError> {
    fs::create_dir_all(parent).map_err(|error| ScaffoldError::Io { path: parent.to_path_buf(), error })?;
    let folder = parent.join(name);
    // Making it is the check: two that are begun at once do not share a folder.
    fs::create_dir(&folder).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => ScaffoldError::Taken(folder.clone()),
        _ => ScaffoldError::Io { path: folder.clone(), error },
    })?;
    let written = fill(&folder, name, settings);
    if written.is_err() {
        // What failed is told; whether the rest could be removed changes nothing about it.
        let _ = fs::remove_dir_all(&folder);
    }
    written.map(|()| folder)
}

fn fill(folder: &Path, name: &str, settings: Option<&str>) -> Result<(), ScaffoldError> {
    for (path, template) in MIDDLEWARE {
        write(&folder.join(path), &filled(template, name))?;
    }
    settings.map_or(Ok(()), |settings| write(&folder.join(".cargo/config.toml"), settings))
}

fn filled(template: &str, name: &str) -> String {
    template
        .replace("{{name}}", name)
        .replace("{{lib}}", &name.replace('-', "_"))
        .replace("{{version}}", VERSION)
        .replace("{{rust}}", RUST)
}

fn write(path: &Path, text: &str) -> Result<(), ScaffoldError> {
    let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
    let written = folder.and_then(|()| fs::write(path, text));
    written.map_err(|error| ScaffoldError::Io { path: path.to_path_buf(), error })
}

/// Cargo settings that take Loom's crates from a folder.
fn settings(crates: &Path) -> Result<String, ScaffoldError> {
    let no_crate = |missing| ScaffoldError::NoCrate { folder: crates.to_path_buf(), missing };
    let folder = crates.canonicalize().map_err(|_| no_crate("loom-effect-runtime"))?;
    let mut text = "# Loom's crates are not on crates.io yet: they are taken from this folder. Remove this file once they are.\n\
                    [patch.crates-io]\n"
        .to_owned();
    for needed in NEEDED {
        let place = folder.join(needed);
        if !place.join("Cargo.toml").is_file() {
            return Err(no_crate(needed));
        }
        // A path that is no Unicode cannot stand in TOML at all.
        let place = place.to_str().ok_or_else(|| no_crate(needed))?;
        let _ = writeln!(text, "{needed} = {{ path = {} }}", toml_string(place));
    }
    Ok(text)
}

/// A basic string of TOML, whose escapes are not Rust's.
fn toml_string(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    /// D13: the first thing that a new crate's documentation says is the obligation.
    #[test]
    fn the_first_doc_comment_states_the_obligation() {
        let (_, lib) = MIDDLEWARE.into_iter().find(|(path, _)| *path == "src/lib.rs").unwrap();
        let first: String = lib.lines().take_while(|line| line.starts_with("//!")).take(5).collect();
        assert!(
            first.contains("whoever rewrites or refuses output answers for the live text too"),
            "{first}"
        );
    }

    #[test]
    fn a_path_with_any_character_is_a_string_of_toml() {
        assert_eq!(
            toml_string("/a \"b\"\\\t\u{7f}\u{85}\u{301}é"),
            "\"/a \\\"b\\\"\\\\\\u0009\\u007F\\u0085\u{301}é\""
        );
    }

    #[test]
    fn every_placeholder_is_filled() {
        for (path, template) in MIDDLEWARE {
            let text = filled(template, "my-guard");
            assert!(!text.contains("{{") && !text.contains("}}"), "{path}");
        }
        let lib = filled(MIDDLEWARE[3].1, "my-guard");
        assert!(lib.contains("use my_guard::RefuseWord") && lib.contains("\"my-guard.word\""));
    }

    /// The version is written by hand where xtask includes this file too; the package knows its own.
    #[test]
    fn the_version_asked_for_is_the_packages_own() {
        assert_eq!(VERSION, env!("CARGO_PKG_VERSION"));
        assert_eq!(RUST, env!("CARGO_PKG_RUST_VERSION"));
    }
}
