//! Every crate as it would be published: packed, unpacked side by side, and checked there.
//!
//! Cargo's own verification builds each package anew; here all of them are one workspace in the ordinary target folder,
//! so that what they depend on is not compiled twice.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;

use super::{Job, Verdict, cargo};
use crate::process;
use crate::stop::{During, Stop};
use crate::workspace::{Workspace, is_published, text};

/// Packs, unpacks and checks.
pub(super) fn run(job: &Job<'_>) -> Result<Verdict, Stop> {
    let packages = match Packages::pack(job)? {
        Ok(packages) => packages,
        Err(failed) => return Ok(failed),
    };
    let mut cargo = cargo::command(job);
    cargo.current_dir(&packages.folder).args(["check", "--workspace", "--all-features", "--lib", "--bins"]);
    cargo::run(job, cargo.env("CARGO_TARGET_DIR", &job.workspace.target))
}

/// Unpacked packages, each in a folder of its crate's name, and together a workspace.
pub(super) struct Packages {
    pub(super) folder: PathBuf,
    names: Vec<String>,
}

impl Packages {
    /// Packs all crates and unpacks them; the inner error is a package that cannot be made.
    pub(super) fn pack(job: &Job<'_>) -> Result<Result<Self, Verdict>, Stop> {
        let names = published(job.workspace);
        let mut cargo = cargo::command(job);
        // What is being changed is packed as it is; ci sees a clean clone.
        cargo.args(["package", "--no-verify", "--allow-dirty", "--quiet"]);
        cargo.args(names.iter().flat_map(|name| ["--package", name]));
        let packed = cargo::run(job, &mut cargo)?;
        if !packed.ok {
            return Ok(Err(packed));
        }
        // Strangers name this place in their manifests, wherever the environment puts the target folder.
        let folder = job.workspace.root.join("target").join("xtask").join("packages");
        if folder.exists() {
            std::fs::remove_dir_all(&folder).during("removing old packages")?;
        }
        std::fs::create_dir_all(&folder).during("making a folder for packages")?;
        let packages = Self { folder, names };
        for package in job.workspace.packages().filter(|package| is_published(package)) {
            packages.unpack(job, text(package, "name"), text(package, "version"))?;
        }
        let manifest = packages.manifest();
        std::fs::write(packages.folder.join("Cargo.toml"), manifest)
            .during("writing the packages' workspace")?;
        let lock = job.workspace.root.join("Cargo.lock");
        std::fs::copy(lock, packages.folder.join("Cargo.lock")).during("copying the lock file")?;
        Ok(Ok(packages))
    }

    fn unpack(&self, job: &Job<'_>, name: &str, version: &str) -> Result<(), Stop> {
        let archive = job.workspace.target.join("package").join(format!("{name}-{version}.crate"));
        let mut tar = Command::new("tar");
        tar.arg("-xzf").arg(&archive).arg("-C").arg(&self.folder);
        let ran = process::run(&mut tar, job.output, &cargo::log(job))?;
        if !ran.ok {
            return Err(Stop::Failed(format!("unpacking {}: {}", archive.display(), ran.output)));
        }
        let unpacked = self.folder.join(format!("{name}-{version}"));
        std::fs::rename(&unpacked, self.folder.join(name)).during(&format!("unpacking {name}"))
    }

    /// The packages as one workspace in which each finds the others.
    fn manifest(&self) -> String {
        let members: Vec<String> = self.names.iter().map(|name| format!("{name:?}")).collect();
        let mut patch = "[patch.crates-io]\n".to_owned();
        for name in &self.names {
            let _ = writeln!(patch, "{name} = {{ path = {name:?} }}");
        }
        format!(
            "[workspace]\nresolver = \"3\"\nmembers = [{}]\n\n{patch}\n[profile.dev]\ndebug = 0\n",
            members.join(", ")
        )
    }
}

/// The names of the crates that are packed.
fn published(workspace: &Workspace) -> Vec<String> {
    workspace
        .packages()
        .filter(|package| is_published(package))
        .map(|package| text(package, "name").to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packages_are_one_workspace_in_which_each_finds_the_others() {
        let names = ["loom-a", "loom-b"].map(str::to_owned).to_vec();
        let packages = Packages { folder: PathBuf::from("/t"), names };
        assert_eq!(
            packages.manifest(),
            "[workspace]\nresolver = \"3\"\nmembers = [\"loom-a\", \"loom-b\"]\n\n[patch.crates-io]\nloom-a = { path = \
             \"loom-a\" }\nloom-b = { path = \"loom-b\" }\n\n[profile.dev]\ndebug = 0\n"
        );
    }
}
