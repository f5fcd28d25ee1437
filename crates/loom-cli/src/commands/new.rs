//! `loom new`: the beginning of a crate that extends Loom.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use loom_effect_runtime::ErrorName;

use crate::args::{NewArgs, NewKind};
use crate::exit::Failure;
use crate::render::Screen;
use crate::scaffold;

pub(crate) fn run(kind: NewKind, screen: &Arc<Screen>) -> Result<(), Failure> {
    let NewKind::Middleware(NewArgs { name, path, crates }) = kind;
    let crates = crates.or_else(built_from);
    let made = scaffold::middleware(&name, &path, crates.as_deref()).map_err(|error| {
        if error.is_usage() {
            Failure::usage(&error, "say another name, or another place with --path or --crates")
        } else {
            Failure::named(ErrorName::EffectFailed, &error)
        }
    })?;
    screen.show(|view| view.created(&made));
    if crates.is_none() {
        screen.note("note: Loom's crates are not on crates.io yet; say where they lie with --crates DIR");
    }
    screen.note(&format!("next: cd {} && cargo test", made.display()));
    Ok(())
}

/// The crates of the checkout that this command was built from, while it is there.
fn built_from() -> Option<PathBuf> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?;
    crates.join("loom-effect-runtime").join("Cargo.toml").is_file().then(|| crates.to_path_buf())
}
