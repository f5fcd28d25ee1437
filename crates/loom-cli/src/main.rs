//! The `loom` command: governed plans and prompts, streamed live, journaled, and replayed.
//!
//! It is for people at a terminal and for scripts; programs use the library crates. What it shows is in `docs/cli.md`.

mod args;
mod commands;
mod exit;
mod flow;
mod live;
mod model;
mod offline;
mod render;
mod signals;
mod store;

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;

use loom_effect_runtime::{ErrorName, Signal};

use args::{Args, Command};
use exit::{Exit, Failure};
use render::Screen;

const WELCOME: &str = "\
loom asks models through guards, journals what was decided, and replays it.

Three commands to try, none of which needs a key or a network:

  loom plan \"repaint the garden shed\"     a plan, streamed and journaled
  loom logs                               what the journal holds
  loom ask --offline flaky \"hello\"        a stream that breaks, and its second attempt

`loom --help` shows the rest.
";

fn main() -> ExitCode {
    let line: Vec<OsString> = std::env::args_os().collect();
    let args = match Args::read(&line) {
        Ok(args) => args,
        Err(error) => error.exit(),
    };
    ExitCode::from(run(args).code())
}

fn run(args: Args) -> Exit {
    let Some(command) = args.command else {
        // Whoever closed stdout does not want to be welcomed.
        let _ = io::stdout().write_all(WELCOME.as_bytes());
        return Exit::Ok;
    };
    let stop = Signal::new();
    let screen = Arc::new(Screen::new(args.json, stop.clone()));
    let result = start(command, &screen, &stop);
    match (screen.closed(), result) {
        (Some(io::ErrorKind::BrokenPipe), _) => Exit::Ok,
        (Some(kind), _) => {
            screen.note(&format!("error: stdout cannot be written: {kind}\nhint: what was recorded is kept; `loom logs` shows it"));
            Exit::Failed
        }
        (None, Ok(())) => Exit::Ok,
        (None, Err(failure)) => {
            screen.show(|view| view.failed(&failure));
            failure.exit
        }
    }
}

fn start(mut command: Command, screen: &Arc<Screen>, stop: &Signal) -> Result<(), Failure> {
    commands::read_words(&mut command)?;
    let system = |error: io::Error| {
        Failure::named(
            ErrorName::EffectFailed,
            format!("the system does not let loom start: {}", error.kind()),
        )
    };
    signals::listen(stop.clone()).map_err(system)?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build().map_err(system)?;
    runtime.block_on(async {
        match command {
            Command::Plan(args) => commands::plan::run(args, screen, stop).await,
            Command::Ask(args) => commands::ask::run(args, screen, stop).await,
            Command::Logs(args) => commands::logs::run(args, screen, stop).await,
            Command::Replay(args) => commands::replay::run(args, screen).await,
        }
    })
}
