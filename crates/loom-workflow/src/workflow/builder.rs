//! Building a workflow.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use loom_effect_runtime::EffectRuntime;

use super::{Inner, Parts, Registry, Workflow};
use crate::engine::Tools;
use crate::error::WorkflowBuildError;
use crate::flow::Flow;
use crate::record::FlowName;
use crate::store::EventStore;

/// Collects flows.
#[must_use]
#[derive(Debug)]
pub struct WorkflowBuilder {
    runtime: EffectRuntime,
    store: StoreBox,
    flows: Vec<Flow>,
}

impl WorkflowBuilder {
    pub(super) fn new(runtime: EffectRuntime, store: Arc<dyn EventStore>) -> Self {
        Self { runtime, store: StoreBox(store), flows: Vec::new() }
    }

    /// Registers a flow. Several revisions of one name may be registered: the last one starts, the others go on with
    /// what is pinned to them.
    pub fn flow(mut self, flow: Flow) -> Self {
        self.flows.push(flow);
        self
    }

    /// Freezes everything.
    ///
    /// # Errors
    /// [`WorkflowBuildError`], when a name or revision is no id or is registered twice.
    pub fn build(self) -> Result<Workflow, WorkflowBuildError> {
        let mut flows: BTreeMap<FlowName, Vec<Flow>> = BTreeMap::new();
        for flow in self.flows {
            let name = flow.checked()?;
            let revisions = flows.entry(name).or_default();
            if revisions.iter().any(|other| other.revision() == flow.revision()) {
                let (flow, revision) = (flow.name().to_owned(), flow.revision().to_owned());
                return Err(WorkflowBuildError::Duplicate { flow, revision });
            }
            revisions.push(flow);
        }
        let tools = catch_unwind(AssertUnwindSafe(|| Tools::of(&self.runtime)))
            .map_err(|_| WorkflowBuildError::Panicked)?;
        let parts = Parts {
            clock: self.runtime.clock(),
            runtime: self.runtime,
            store: self.store.0,
            tools: Arc::new(tools),
            flows,
        };
        Ok(Workflow(Arc::new(Inner { parts: Arc::new(parts), registry: Arc::new(Registry::default()) })))
    }
}

/// A store has no debug form of its own to ask for.
struct StoreBox(Arc<dyn EventStore>);

impl std::fmt::Debug for StoreBox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("EventStore(..)")
    }
}
