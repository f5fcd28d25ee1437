//! The workspace's own tasks: `cargo xtask ci` is the only definition of green, each of its steps is a command of
//! its own, and `bench`, `fuzz`, `deny`, `semver`, `deep` and `model` are what a green run does not need.
//!
//! Nothing of the workspace is linked here, so a task still runs when a crate does not compile.

mod args;
mod bench;
mod ci;
mod deep;
mod deny;
mod finding;
mod fuzz;
mod judge;
mod kit;
mod layers;
mod model;
mod new_middleware;
mod process;
mod public;
#[path = "../../crates/loom-cli/src/scaffold/mod.rs"]
mod scaffold;
mod semver;
mod source;
mod stop;
mod suite;
mod terminal;
mod tidy;
mod tools;
mod trace;
mod workspace;

use std::process::ExitCode;

use stop::Stop;
use terminal::say;
use workspace::Workspace;

const USAGE: &str = "\
usage: cargo xtask COMMAND [OPTIONS]

  ci [--strict] [--sabotage NAME]   every step below up to `real-model`, one verdict line each
  fmt | layers | tidy | trace | public | kit | judges | clippy | test | compile-fail
  doc-test | docs | features | package | strangers | shuttle | real-model
                                    one step alone; the judges among them take --sabotage NAME
  bench [NAMES…] [--update]         run the benches, count instructions, check the gates (--sabotage slow)
  fuzz [--seconds N]                the fuzz targets, for so long each (--sabotage dropped-byte | swallowed-error)
  deny                              the dependency tree against deny.toml
                                    (--sabotage banned-license | banned-crate | unknown-source)
  semver                            the public interfaces against the latest tag v*, else, and only told, the commit before
  deep [--strict]                   what is too long for ci: all benches, the concurrency models and the fuzz targets
                                    for longer, the real model asked by many at once, deny, semver
  new-middleware NAME [--path DIR]  a crate of its own in DIR/NAME that builds and passes its conformance kit
  model up | down | status          a small real model on loopback, under target/model

  --strict      a judge's advice counts as a finding, and a skip as a failure
  --sabotage    plant the named fault and see it reported (exit 1); `cargo xtask judges --list` names them
  --update      rewrite docs/bench-baseline.json with this run's instruction counts

exit codes: 0 ok · 1 something failed · 2 usage";

fn main() -> ExitCode {
    if let Some(code) = public::stand_in() {
        return code;
    }
    let words: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&words) {
        Ok(code) => code,
        Err(Stop::Usage(message)) => {
            eprintln!("xtask: {message}\n\n{USAGE}");
            ExitCode::from(2)
        }
        Err(stop) => {
            eprintln!("xtask: {stop}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(words: &[String]) -> Result<ExitCode, Stop> {
    let Some((command, rest)) = words.split_first() else {
        return Err(Stop::Usage("expected a command".into()));
    };
    if command == "help" || words.iter().any(|word| word == "--help" || word == "-h") {
        say(USAGE);
        return Ok(ExitCode::SUCCESS);
    }
    let workspace = Workspace::find()?;
    match command.as_str() {
        "ci" => ci::run(&workspace, rest),
        "bench" => bench::run(&workspace, rest),
        "fuzz" => fuzz::run(&workspace, rest),
        "deny" => deny::run(&workspace, rest),
        "semver" => semver::run(&workspace, rest),
        "deep" => deep::run(&workspace, rest),
        "model" => model::run(&workspace, rest),
        "new-middleware" => new_middleware::run(&workspace, rest),
        "judges" if rest.iter().any(|word| word == "--list") => judge::list(rest),
        step => ci::run_alone(&workspace, step, rest),
    }
}
