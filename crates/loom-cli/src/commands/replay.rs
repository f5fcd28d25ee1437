//! `loom replay`: a recorded decision, served from its journal alone.

use std::sync::Arc;

use loom_effect_runtime::ErrorName;
use loom_workflow::{Replayed, Workflow};
use serde::Deserialize;

use super::plan::GRANT;
use crate::args::ReplayArgs;
use crate::exit::Failure;
use crate::flow::{Plan, plan_flow};
use crate::model::no_model;
use crate::render::Screen;
use crate::store;

pub(crate) async fn run(args: ReplayArgs, screen: &Arc<Screen>) -> Result<(), Failure> {
    let store = store::open_to_read(&args.store).await?;
    let head = store::find(&store, &args.id).await?;
    let workflow = Workflow::builder(no_model(GRANT)?, store)
        .flow(plan_flow(None))
        .build()
        .map_err(|error| Failure::named(ErrorName::EffectFailed, error))?;
    let report = workflow.replay(&head.execution).await?;
    screen.show(|view| view.execution_id(head.execution.as_str()));
    screen.show(|view| view.replayed(report.effect_calls));
    match report.outcome {
        Replayed::Ended(outcome) => {
            let plan = Plan::deserialize(outcome?)
                .map_err(|_| Failure::named(ErrorName::OutputInvalid, "the recorded outcome is no plan"))?;
            screen.show(|view| view.plan(&plan));
            Ok(())
        }
        _ => Err(Failure::named(ErrorName::EffectFailed, "the execution has not ended")
            .hint("`loom plan` with the same goal and its --execution-id goes on with it")),
    }
}
