//! Programs that a task needs and no toolchain brings: installed once, each at its one version, under `target/tools`.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::process::{self, Output};
use crate::stop::Stop;
use crate::workspace::{Workspace, cargo, without_own};

/// How long a tool may compile, on a slow machine that does other things too.
const INSTALL_SECONDS_MAX: u64 = 60 * 60;

/// A program of a package of the same name.
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
}

impl Tool {
    /// The program, ready to be given arguments, in the workspace's folder.
    pub(crate) fn command(&self, workspace: &Workspace) -> Result<Command, Stop> {
        let program = self.ready(workspace)?;
        let mut command = without_own(Command::new(program));
        command.current_dir(&workspace.root).env("CARGO_TERM_COLOR", "never");
        Ok(command)
    }

    /// Where the program lies, installed if it is not there in this version.
    fn ready(&self, workspace: &Workspace) -> Result<PathBuf, Stop> {
        let root = workspace.target.join("tools");
        let program = root.join("bin").join(self.name);
        if self.is_version(&program) {
            return Ok(program);
        }
        eprintln!("xtask: installing {} {}, some minutes of compiling", self.name, self.version);
        let mut install = cargo();
        install.current_dir(&workspace.root).args(["install", "--locked", "--quiet", self.name]);
        install.args(["--version", self.version]).arg("--root").arg(&root);
        let ran =
            process::run_within(&mut install, Output::Live, &root, Duration::from_secs(INSTALL_SECONDS_MAX))?;
        if ran.ok && self.is_version(&program) {
            Ok(program)
        } else {
            Err(Stop::Failed(format!("{} {} cannot be installed", self.name, self.version)))
        }
    }

    fn is_version(&self, program: &PathBuf) -> bool {
        let asked = Command::new(program).arg("--version").stdin(Stdio::null()).output();
        asked.is_ok_and(|told| self.states(&String::from_utf8_lossy(&told.stdout)))
    }

    /// Whether a program's answer to `--version` is this one.
    fn states(&self, told: &str) -> bool {
        told.split_whitespace().last() == Some(self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_of_a_tool_is_not_the_tool() {
        let tool = Tool { name: "cargo-deny", version: "0.20.2" };
        assert!(tool.states("cargo-deny 0.20.2\n"));
        assert!(!tool.states("cargo-deny 0.20.20\n") && !tool.states(""));
        assert!(!tool.is_version(&PathBuf::from("no-such-program-anywhere")));
    }
}
