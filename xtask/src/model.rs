//! A small real model on loopback: `model up | down | status`.
//!
//! Everything lies under `target/model` and nothing of it is committed. The weights come under their own terms,
//! which are named before anything is fetched.

mod install;
mod lease;
mod server;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use crate::args::{Args, Grammar};
use crate::process::Output;
use crate::stop::{During, Stop};
use crate::terminal::say;
use crate::workspace::Workspace;
pub(crate) use lease::Lease;
use server::{Life, Server};

/// Where the model, its Python and its server's notes lie, under cargo's target folder.
const FOLDER: &str = "model";
/// For a person at a slow line, who sees what goes on and can end it.
const INSTALL_SECONDS_MAX: u64 = 30 * 60;
const START_SECONDS_MAX: u64 = 300;

pub(crate) fn run(workspace: &Workspace, words: &[String]) -> Result<ExitCode, Stop> {
    let args = Args::parse(words, Grammar { words_max: 1, ..Grammar::default() })?;
    let folder = folder(&workspace.target);
    match args.words.first().map(String::as_str) {
        Some("up") => up(folder),
        Some("down") => down(folder),
        Some("status") => Ok(match Server::at(folder).base_url() {
            Some(url) => {
                say(url);
                ExitCode::SUCCESS
            }
            None => {
                say("down");
                ExitCode::FAILURE
            }
        }),
        _ => Err(Stop::Usage("`model` expects up, down or status".into())),
    }
}

fn up(folder: PathBuf) -> Result<ExitCode, Stop> {
    // Two of these at once would install into one folder and start two servers; the second waits for the first.
    let lock = lock_file(&folder)?;
    lock.lock().during("waiting for the lock")?;
    let server = Server::at(folder.clone());
    if let Some(url) = server.base_url() {
        say(url);
        return Ok(ExitCode::SUCCESS);
    }
    server.stop()?;
    let python = install::ensure(&folder, Output::Live, Duration::from_secs(INSTALL_SECONDS_MAX))?;
    let started = server.start(&python, Life::OfItsOwn, Duration::from_secs(START_SECONDS_MAX))?;
    say(started.base_url);
    Ok(ExitCode::SUCCESS)
}

/// Ends the server, unless a task is bringing it up or asks it.
fn down(folder: PathBuf) -> Result<ExitCode, Stop> {
    let lock = lock_file(&folder)?;
    if !lease::try_hold(&lock)? {
        return Err(Stop::failed("a task uses the model server or is bringing it up; it was left alone"));
    }
    Server::at(folder).stop()?;
    say("down");
    Ok(ExitCode::SUCCESS)
}

fn folder(target: &Path) -> PathBuf {
    target.join(FOLDER)
}

/// The file that whoever installs, starts, leases or ends the server locks.
fn lock_file(folder: &Path) -> Result<std::fs::File, Stop> {
    std::fs::create_dir_all(folder).during("making the model's folder")?;
    std::fs::File::create(folder.join("lock")).during("making the lock")
}

/// The last line that says anything.
fn last_line(text: &str) -> Option<&str> {
    text.lines().rev().map(str::trim).find(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_a_task_uses_is_not_taken_down() {
        let folder = std::env::temp_dir().join(format!("xtask-down-{}", std::process::id()));
        let lock = lock_file(&folder).unwrap();
        lock.lock().unwrap();
        let told = down(folder.clone()).unwrap_err().to_string();
        assert_eq!(told, "a task uses the model server or is bringing it up; it was left alone");
        drop(lock);
        assert_eq!(down(folder.clone()), Ok(ExitCode::SUCCESS));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
