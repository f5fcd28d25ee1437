//! The `loom` command: governed plans and prompts, streamed live, journaled, and replayed.
//!
//! It is for people at a terminal and for scripts; programs use the library crates. What it shows is in `docs/cli.md`.

mod args;
mod bounded;
mod commands;
mod exit;
mod flow;
mod guards;
mod live;
mod model;
mod offline;
mod platform;
mod provider;
mod render;
mod scaffold;
mod signals;
mod stdout;
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
    let exit = match Args::read(&line) {
        Ok(args) => run(args),
        Err(error) => told(&error, &line),
    };
    ExitCode::from(exit.code())
}

/// Tells what is no command: help and version, or a mistake.
fn told(error: &clap::Error, line: &[OsString]) -> Exit {
    let printed = error.print().and_then(|()| io::stdout().flush());
    if !error.use_stderr() {
        return shown(printed);
    }
    if line.iter().take_while(|arg| *arg != "--").any(|arg| arg == "--json") {
        // The exit code tells the mistake, also where nobody reads of it.
        let _ = writeln!(io::stdout(), "{}", render::error_line(&Failure::usage(args::mistake(error), "")));
    }
    Exit::Usage
}

/// How a text that is all of the output ends the process: whoever closed stdout does not want it.
fn shown(written: io::Result<()>) -> Exit {
    match written.map_err(|error| error.kind()) {
        Ok(()) | Err(io::ErrorKind::BrokenPipe) => Exit::Ok,
        Err(kind) => {
            let _ = writeln!(io::stderr(), "error: stdout cannot be written: {kind}");
            Exit::Failed
        }
    }
}

fn run(args: Args) -> Exit {
    let Some(command) = args.command else {
        if args.json {
            let _ = io::stderr().write_all(WELCOME.as_bytes());
            return Exit::Ok;
        }
        let mut stdout = io::stdout();
        return shown(stdout.write_all(WELCOME.as_bytes()).and_then(|()| stdout.flush()));
    };
    let stop = Signal::new();
    let screen = Arc::new(Screen::new(args.json, stop.clone()));
    let result = start(command, &screen, &stop);
    match (screen.closed(), result) {
        (Some(io::ErrorKind::BrokenPipe), _) => Exit::Ok,
        (Some(io::ErrorKind::TimedOut), _) if signals::is_interrupted(&stop) => {
            screen.note("error: interrupted, and nobody reads stdout");
            Exit::Interrupted
        }
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
        let missing = error.get_ref().and_then(|inner| inner.downcast_ref::<platform::NotOnThisPlatform>());
        let why = missing.map_or_else(|| error.kind().to_string(), ToString::to_string);
        Failure::named(ErrorName::EffectFailed, format!("the system does not let loom start: {why}"))
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
            Command::New { kind } => commands::new::run(kind, screen),
        }
    })
}
