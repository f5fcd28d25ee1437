//! Rustdoc's JSON of every library crate, made by cargo only where something has changed.

use std::fs::File;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::wrapper;
use crate::process::{self, Output};
use crate::stop::{During, Stop};
use crate::workspace::{Workspace, cargo, text};

/// One library crate's name and its document.
pub(super) struct Document {
    pub(super) package: String,
    pub(super) json: Value,
}

/// Has cargo check the libraries with this executable as the members' wrapper, and reads what that wrote.
///
/// A wrapper's units have places of their own, as clippy's have: what the steps `clippy`, `test` and `docs` compiled
/// stays, and dependencies are shared with them. `cargo doc` would take turns with the step `docs`, each making the
/// other's output stale.
pub(super) fn of(workspace: &Workspace) -> Result<Vec<Document>, Stop> {
    let folder = workspace.target.join("xtask");
    std::fs::create_dir_all(&folder).during("making the log folder")?;
    let (told, log) = (folder.join("public.json"), folder.join("public.log"));
    let mut command = cargo();
    command
        .args([
            "check",
            "--workspace",
            "--all-features",
            "--lib",
            "--message-format",
            "json-render-diagnostics",
        ])
        .current_dir(&workspace.root)
        .env(wrapper::MARKER, "1")
        .env("RUSTC_WORKSPACE_WRAPPER", std::env::current_exe().during("finding this executable")?)
        .stdout(File::create(&told).during("making the log")?)
        .stderr(File::create(&log).during("making the log")?);
    let ran = process::run(&mut command, Output::Live, &log)?;
    if !ran.ok {
        let said = std::fs::read_to_string(&log).unwrap_or_default();
        return Err(Stop::failed(format!("the surfaces could not be made:\n{}", said.trim())));
    }
    let messages = std::fs::read_to_string(&told).during("reading cargo's messages")?;
    let mut all = Vec::new();
    for (package, path) in libraries(workspace).map(|(package, name)| (package, surface(&messages, name))) {
        let path = path.ok_or_else(|| Stop::failed(format!("cargo told of no library of {package}")))?;
        let text = std::fs::read(&path).during(&format!("reading {}", path.display()))?;
        let json = serde_json::from_slice(&text).during(&format!("reading the surface of {package}"))?;
        all.push(Document { package: package.to_owned(), json });
    }
    Ok(all)
}

/// The packages below `crates/` that have a library, with the library's name.
pub(super) fn libraries(workspace: &Workspace) -> impl Iterator<Item = (&str, &str)> {
    let crates = workspace.root.join("crates");
    let shipped = workspace
        .packages()
        .filter(move |package| Path::new(text(package, "manifest_path")).starts_with(&crates));
    shipped.filter_map(|package| Some((text(package, "name"), library(package)?)))
}

fn library(package: &Value) -> Option<&str> {
    let targets = package.get("targets").and_then(Value::as_array).into_iter().flatten();
    targets.into_iter().find(|target| is_library(target)).map(|target| text(target, "name"))
}

fn is_library(target: &Value) -> bool {
    target.get("kind").and_then(Value::as_array).is_some_and(|kinds| kinds.iter().any(|kind| kind == "lib"))
}

/// Where the surface of a library lies, by cargo's messages.
fn surface(messages: &str, name: &str) -> Option<PathBuf> {
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let artifact = messages.into_iter().find(|message| {
        text(message, "reason") == "compiler-artifact"
            && message.get("target").is_some_and(|target| text(target, "name") == name && is_library(target))
    })?;
    let files = artifact.get("filenames").and_then(Value::as_array)?;
    let file = files.iter().filter_map(Value::as_str).find(|file| file.ends_with(".rmeta"))?;
    Some(wrapper::folder(Path::new(file))?.join(format!("{name}.json")))
}
