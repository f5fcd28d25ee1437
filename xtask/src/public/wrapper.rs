//! This executable in rustc's place: it compiles a crate as cargo asked, then writes the crate's public surface.
//!
//! Rustdoc's JSON is unstable, so rustdoc gets `RUSTC_BOOTSTRAP`, and rustdoc alone: cargo, rustc and the build scripts
//! never see it, which would let them take nightly paths and would compile every crate that watches it again.

use std::path::PathBuf;
use std::process::{Command, ExitCode, ExitStatus};

/// Set where this executable stands in for rustc.
pub(super) const MARKER: &str = "XTASK_PUBLIC_SURFACE";

/// The options of a rustc command that say what the crate is, not how its code is made; each takes a value.
const CARRIED: [&str; 6] = ["--crate-name", "--edition", "--cfg", "--check-cfg", "--extern", "-L"];

/// Stands in for rustc where cargo started this executable as its wrapper; `None` everywhere else.
pub(crate) fn stand_in() -> Option<ExitCode> {
    std::env::var_os(MARKER)?;
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (rustc, arguments) = words.split_first()?;
    let mut ended = status(Command::new(rustc).args(arguments));
    if ended == Some(0)
        && let Some(wanted) = Library::of(arguments)
    {
        let rustdoc = std::env::var_os("RUSTDOC").unwrap_or_else(|| "rustdoc".into());
        ended = status(Command::new(rustdoc).env("RUSTC_BOOTSTRAP", "1").args(wanted.rustdoc_arguments()));
    }
    Some(ended.map_or(ExitCode::FAILURE, ExitCode::from))
}

fn status(command: &mut Command) -> Option<u8> {
    let told = command.status().inspect_err(|error| eprintln!("xtask: starting a compiler: {error}"));
    told.ok().as_ref().and_then(ExitStatus::code).and_then(|code| u8::try_from(code).ok())
}

/// Where the surface of a library lies, given the stem of its metadata file: it is made and removed with that.
pub(super) fn folder(artifact: &std::path::Path) -> Option<PathBuf> {
    let stem = artifact.file_stem()?.to_str()?.strip_prefix("lib")?;
    Some(artifact.with_file_name(format!("{stem}.public")))
}

/// A library as a rustc command describes it.
#[derive(Debug, PartialEq, Eq)]
struct Library {
    carried: Vec<String>,
    folder: PathBuf,
}

impl Library {
    /// Reads a rustc command; `None` for a question to the compiler, a binary, a test or a build script.
    fn of(arguments: &[String]) -> Option<Self> {
        let mut carried = Vec::new();
        let (mut name, mut extra, mut out, mut library) = (None, None, None, false);
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let (option, attached) = match argument.split_once('=') {
                Some((option, value)) if option.starts_with("--") => (option, Some(value.to_owned())),
                _ => (argument.as_str(), None),
            };
            let takes_value =
                CARRIED.contains(&option) || ["--crate-type", "--out-dir", "-C"].contains(&option);
            if !takes_value {
                match option {
                    "--test" => return None,
                    path if path.ends_with(".rs") => carried.push(path.to_owned()),
                    _ => {}
                }
                continue;
            }
            let value = attached.or_else(|| rest.next().cloned())?;
            match option {
                "--crate-type" => library = value == "lib",
                "--out-dir" => out = Some(PathBuf::from(&value)),
                "-C" => extra = value.strip_prefix("extra-filename=").map(str::to_owned).or(extra),
                _ => {
                    if option == "--crate-name" {
                        name = Some(value.clone());
                    }
                    carried.extend([option.to_owned(), value]);
                }
            }
        }
        let folder = folder(&out?.join(format!("lib{}{}.rmeta", name?, extra?)))?;
        library.then_some(Self { carried, folder })
    }

    fn rustdoc_arguments(&self) -> Vec<String> {
        let said = ["--crate-type", "lib", "--cap-lints", "allow", "-Z", "unstable-options"];
        let mut arguments: Vec<String> = said.map(str::to_owned).to_vec();
        arguments.extend(["--output-format".to_owned(), "json".to_owned(), "--out-dir".to_owned()]);
        arguments.push(self.folder.to_string_lossy().into_owned());
        arguments.extend(self.carried.iter().cloned());
        arguments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn library(command: &str) -> Option<Library> {
        let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
        Library::of(&words)
    }

    #[test]
    fn what_a_crate_is_is_carried_over_and_how_its_code_is_made_is_not() {
        let command = "--crate-name a --edition=2024 crates/a/src/lib.rs --error-format=json --crate-type lib \
                       --emit=dep-info,metadata -C embed-bitcode=no -C metadata=1 -C extra-filename=-77 --out-dir /t/deps \
                       --warn=unused --cfg feature=\"x\" --extern b=/t/deps/libb.rmeta -L dependency=/t/deps";
        let read = library(command).unwrap();
        let carried = "--crate-name a --edition 2024 crates/a/src/lib.rs --cfg feature=\"x\" \
                       --extern b=/t/deps/libb.rmeta -L dependency=/t/deps";
        assert_eq!(read.carried.join(" "), carried);
        assert_eq!(read.folder, PathBuf::from("/t/deps/a-77.public"));
        let arguments = read.rustdoc_arguments().join(" ");
        assert!(arguments.contains("--output-format json --out-dir /t/deps/a-77.public"), "{arguments}");
    }

    #[test]
    fn only_a_library_has_a_surface() {
        let of = |kind: &str| {
            library(&format!("--crate-name a src/x.rs {kind} -C extra-filename=-7 --out-dir /t"))
        };
        assert!(of("--crate-type lib").is_some());
        for other in ["--crate-type bin", "--test", "--crate-type lib --test", "--crate-type proc-macro"] {
            assert_eq!(of(other), None, "{other}");
        }
        assert_eq!(library("-vV"), None);
        assert_eq!(library("- --crate-name ___ --print=file-names --crate-type lib"), None);
    }

    #[test]
    fn a_surface_lies_beside_the_metadata_that_it_was_made_with() {
        let beside = folder("/t/deps/liba-77.rmeta".as_ref());
        assert_eq!(beside, Some(PathBuf::from("/t/deps/a-77.public")));
        assert_eq!(folder("/t/deps/a-77".as_ref()), None);
    }
}
