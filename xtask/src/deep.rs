//! What is too long for a run of `ci`: every bench with its gates, the concurrency models and the fuzz targets for far
//! longer, and the real model asked by many at once.

use std::process::ExitCode;

use crate::args::{Args, Grammar};
use crate::stop::Stop;
use crate::workspace::Workspace;
use crate::{bench, ci, fuzz};

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
    Ok(if models && fuzzed && benches && real_model { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
