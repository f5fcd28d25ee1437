//! `loom new`: the beginning of a crate that extends Loom.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use loom_effect_runtime::ErrorName;

use crate::args::{NewArgs, NewKind};
use crate::exit::Failure;
use crate::render::Screen;
use crate::scaffold::{self, ScaffoldError};

pub(crate) fn run(kind: NewKind, screen: &Arc<Screen>) -> Result<(), Failure> {
    let NewKind::Middleware(NewArgs { name, path, crates }) = kind;
    let crates = crates.or_else(built_from);
    let made = scaffold::middleware(&name, &path, crates.as_deref()).map_err(|error| failure(&error))?;
    screen.show(|view| view.created(&made));
    if crates.is_none() {
        screen.note("note: Loom's crates are not on crates.io yet; say where they lie with --crates DIR");
    }
    screen.note(&format!("next: cd {} && cargo test", made.display()));
    Ok(())
}

fn failure(error: &ScaffoldError) -> Failure {
    let hint = match error {
        ScaffoldError::Name(_) => "say another name: it is the crate's and its folder's",
        ScaffoldError::Taken(_) => "say another name, or another place with --path DIR",
        ScaffoldError::NoFolder(_) => "say another place with --path DIR",
        ScaffoldError::NoCrate { .. } => "say where Loom's crates lie with --crates DIR",
        ScaffoldError::Io { .. } => "see that the place can be written, or say another with --path DIR",
    };
    if error.is_usage() {
        Failure::usage(error, hint)
    } else {
        Failure::named(ErrorName::EffectFailed, error).hint(hint)
    }
}

/// The crates of the checkout that this command was built from, while it is there.
fn built_from() -> Option<PathBuf> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?;
    crates.join("loom-effect-runtime").join("Cargo.toml").is_file().then(|| crates.to_path_buf())
}
