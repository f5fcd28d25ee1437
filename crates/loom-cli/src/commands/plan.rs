//! `loom plan`: a durable decision, streamed while it is made.

use std::sync::Arc;

use loom_effect_runtime::{ErrorName, Signal};
use loom_workflow::record::ExecutionId;
use loom_workflow::{StartOptions, Workflow, WorkflowError};

use super::stopped;
use crate::args::PlanArgs;
use crate::exit::Failure;
use crate::flow::{FLOW, PLAN_TOKENS_MAX, PLAN_TOOL, Plan, PlanInput, Planner, plan_flow, request};
use crate::live::Live;
use crate::model::{Grant, Setting, principal};
use crate::render::{Done, Screen};
use crate::signals::is_interrupted;
use crate::store;

pub(crate) const GRANT: Grant = Grant { tool: PLAN_TOOL, flow: Some(FLOW) };

pub(crate) async fn run(args: PlanArgs, screen: &Arc<Screen>, stop: &Signal) -> Result<(), Failure> {
    let id = match args.execution_id {
        Some(text) => {
            ExecutionId::new(text).map_err(|error| Failure::usage(error, "give another --execution-id"))?
        }
        None => ExecutionId::mint(),
    };
    let setting = Setting::read(&args.model)?;
    let input = PlanInput { goal: args.goal, model: args.model.model };
    // The journal keeps the goal from its first event on; the decision's own call is judged again.
    setting.guards.judge(PLAN_TOOL, request(&input)).await?;
    let store = store::open(&args.store, screen, stop).await?;
    let model = setting.open(GRANT, PLAN_TOKENS_MAX, screen).await?;
    let live = Live::new(screen);
    let planner = Planner { tool: model.tool, live: Arc::clone(&live) };
    let workflow = Workflow::builder(model.runtime.clone(), store)
        .flow(plan_flow(Some(planner)))
        .build()
        .map_err(|error| Failure::named(ErrorName::EffectFailed, error))?;
    if stop.is_aborted() {
        return Err(stopped(stop));
    }
    let options = StartOptions::new().execution_id(id.clone()).principal(principal());
    let handle = workflow.start::<Plan>(FLOW, &input, options).await?;
    live.begin(id.as_str());
    let outcome = tokio::select! {
        outcome = handle.wait_for_completion() => outcome,
        reason = stop.aborted() => {
            // What was cancelled is recorded before the command ends.
            handle.cancel_with(reason);
            handle.wait_for_completion().await
        }
    };
    let plan = outcome.map_err(|error| failure(error, stop))?;
    if let Some(usage) = live.done() {
        screen.show(|view| view.done(&Done { usage, ..Done::default() }));
    }
    screen.show(|view| view.plan(&plan));
    Ok(())
}

fn failure(error: WorkflowError, stop: &Signal) -> Failure {
    match error {
        WorkflowError::Cancelled { .. } if is_interrupted(stop) => {
            Failure::named(ErrorName::ExecutionCancelled, "interrupted; the execution was cancelled")
        }
        error => error.into(),
    }
}
