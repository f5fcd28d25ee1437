//! A small real model on loopback: `model up | down | status`.
//!
//! Everything lies under `target/model` and nothing of it is committed. The weights come under their own terms,
//! which are named before anything is fetched.

mod install;
mod server;

use std::process::ExitCode;

use crate::args::{Args, Grammar};
use crate::stop::{During, Stop};
use crate::terminal::say;
use crate::workspace::Workspace;
use server::Server;

/// Where the model, its Python and its server's notes lie, under cargo's target folder.
const FOLDER: &str = "model";

pub(crate) fn run(workspace: &Workspace, words: &[String]) -> Result<ExitCode, Stop> {
    let args = Args::parse(words, Grammar { words_max: 1, ..Grammar::default() })?;
    let folder = workspace.target.join(FOLDER);
    match args.words.first().map(String::as_str) {
        Some("up") => up(folder),
        Some("down") => {
            Server::at(folder).stop()?;
            say("down");
            Ok(ExitCode::SUCCESS)
        }
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

fn up(folder: std::path::PathBuf) -> Result<ExitCode, Stop> {
    std::fs::create_dir_all(&folder).during("making the model's folder")?;
    // Two of these at once would install into one folder and start two servers; the second waits for the first.
    let lock = std::fs::File::create(folder.join("lock")).during("making the lock")?;
    lock.lock().during("waiting for the lock")?;
    let server = Server::at(folder.clone());
    if let Some(url) = server.base_url() {
        say(url);
        return Ok(ExitCode::SUCCESS);
    }
    server.stop()?;
    let python = install::ensure(&folder)?;
    say(server.start(&python)?);
    Ok(ExitCode::SUCCESS)
}
