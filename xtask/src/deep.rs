//! What is too long for a run of `ci`: every bench with its gates, the concurrency models and the fuzz targets for far
//! longer, the real model asked by many at once, and what needs a tool that takes minutes to install.

use std::process::ExitCode;

use crate::args::{Args, Grammar};
use crate::stop::Stop;
use crate::workspace::Workspace;
use crate::{bench, ci, deny, fuzz, semver};

/// Schedules that each concurrency model explores here, where its own default keeps `ci` short.
const SHUTTLE_ITERATIONS: &str = "50000";

pub(crate) fn run(workspace: &Workspace, words: &[String]) -> Result<ExitCode, Stop> {
    let args = Args::parse(words, Grammar { switches: &["--strict"], ..Grammar::default() })?;
    eprintln!("deep: the concurrency models, {SHUTTLE_ITERATIONS} schedules each");
    let models = ci::run_models(workspace, SHUTTLE_ITERATIONS)?;
    eprintln!("deep: the fuzz targets");
    let fuzzed = fuzz::run_deep(workspace)?;
    eprintln!("deep: every bench");
    let benches = bench::run(workspace, &[])? == ExitCode::SUCCESS;
    eprintln!("deep: the real model");
    let real_model = ci::run_real_model_longer(workspace, args.has("--strict"))?;
    eprintln!("deep: the dependency tree");
    let denied = came_to("deny", deny::holds(workspace));
    eprintln!("deep: the public interfaces");
    let compared = came_to("semver", semver::holds(workspace));
    let ok = models && fuzzed && benches && real_model && denied && compared;
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A tool that cannot be installed fails its own part, and the others have run all the same.
fn came_to(name: &str, held: Result<bool, Stop>) -> bool {
    held.unwrap_or_else(|stop| {
        eprintln!("{name}: {stop}");
        false
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_did_not_run_is_a_part_that_failed() {
        assert!(came_to("deny", Ok(true)));
        assert!(!came_to("deny", Ok(false)) && !came_to("deny", Err(Stop::Unavailable("no network".into()))));
    }
}
