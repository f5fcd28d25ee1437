//! What is too long for a run of `ci`: every bench with its gates, and the concurrency models for far longer.

use std::process::ExitCode;

use crate::args::{Args, Grammar};
use crate::stop::Stop;
use crate::workspace::Workspace;
use crate::{bench, ci};

/// Schedules that each concurrency model explores here, where its own default keeps `ci` short.
const SHUTTLE_ITERATIONS: &str = "50000";

pub(crate) fn run(workspace: &Workspace, words: &[String]) -> Result<ExitCode, Stop> {
    Args::parse(words, Grammar::default())?;
    eprintln!("deep: the concurrency models, {SHUTTLE_ITERATIONS} schedules each");
    let models = ci::run_models(workspace, SHUTTLE_ITERATIONS)?;
    eprintln!("deep: every bench");
    let benches = bench::run(workspace, &[])?;
    Ok(if models && benches == ExitCode::SUCCESS { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
