//! Who a call runs as: principal chain, delegation, actor, and the execution it belongs to.

use std::sync::Arc;

/// The execution a call runs as (spec row T6).
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RunAs {
    /// The flow's id: what flow-scoped grants key on.
    pub workflow_id: Arc<str>,
    /// The execution's id.
    pub execution_id: Arc<str>,
}

impl RunAs {
    /// The identity of one execution of one flow.
    #[must_use]
    pub fn new(workflow_id: impl Into<Arc<str>>, execution_id: impl Into<Arc<str>>) -> Self {
        Self { workflow_id: workflow_id.into(), execution_id: execution_id.into() }
    }
}

/// A delegation: the holder may call the covered tools on the issuer's behalf, and no others.
///
/// The runtime refuses a tool that the delegation does not cover before it asks the authorizer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Delegation {
    issuer: Arc<str>,
    covered: Arc<[Arc<str>]>,
}

impl Delegation {
    /// A delegation by `issuer` that covers `tools`.
    #[must_use]
    pub fn new<T: Into<Arc<str>>>(issuer: impl Into<Arc<str>>, tools: impl IntoIterator<Item = T>) -> Self {
        Self { issuer: issuer.into(), covered: tools.into_iter().map(Into::into).collect() }
    }

    /// Who delegated.
    #[must_use]
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Whether the delegation covers `tool`.
    #[must_use]
    pub fn covers(&self, tool: &str) -> bool {
        self.covered.iter().any(|covered| &**covered == tool)
    }

    /// The covered tools.
    pub fn covered(&self) -> impl Iterator<Item = &str> {
        self.covered.iter().map(|tool| &**tool)
    }
}

/// Who asks: a principal, the chain it acts for, its delegation and the actor that really typed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Principal {
    id: Arc<str>,
    chain: Vec<Arc<str>>,
    delegation: Option<Delegation>,
    actor: Option<Arc<str>>,
}

impl Principal {
    /// A principal with no chain behind it.
    #[must_use]
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self { id: id.into(), chain: Vec::new(), delegation: None, actor: None }
    }

    /// Whom the principal acts for, nearest first.
    #[must_use]
    pub fn on_behalf_of<S: Into<Arc<str>>>(mut self, chain: impl IntoIterator<Item = S>) -> Self {
        self.chain = chain.into_iter().map(Into::into).collect();
        self
    }

    /// The delegation it holds.
    #[must_use]
    pub fn with_delegation(mut self, delegation: Delegation) -> Self {
        self.delegation = Some(delegation);
        self
    }

    /// The actor: the person or service that acts through this principal.
    #[must_use]
    pub fn with_actor(mut self, actor: impl Into<Arc<str>>) -> Self {
        self.actor = Some(actor.into());
        self
    }

    /// The principal's id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The full chain: the principal itself, then whom it acts for.
    pub fn chain(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&*self.id).chain(self.chain.iter().map(|link| &**link))
    }

    /// The delegation it holds.
    #[must_use]
    pub fn delegation(&self) -> Option<&Delegation> {
        self.delegation.as_ref()
    }

    /// The actor.
    #[must_use]
    pub fn actor(&self) -> Option<&str> {
        self.actor.as_deref()
    }
}

/// Everything an authorizer decides on besides tool and input. Fixed for a [`Caller`](crate::Caller).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    pub(crate) principal: Principal,
    pub(crate) run_as: Option<RunAs>,
    /// `transient:<label>`, built once; the tool's own when absent.
    pub(crate) transient_id: Option<Arc<str>>,
}

impl Identity {
    /// An identity that belongs to no execution: its calls are `transient:<label>`.
    #[must_use]
    pub fn new(principal: Principal) -> Self {
        Self { principal, run_as: None, transient_id: None }
    }

    /// The identity of an execution.
    #[must_use]
    pub fn execution(principal: Principal, run_as: RunAs) -> Self {
        Self { principal, run_as: Some(run_as), transient_id: None }
    }

    /// Who asks.
    #[must_use]
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    /// The execution it runs as, if any.
    #[must_use]
    pub fn run_as(&self) -> Option<&RunAs> {
        self.run_as.as_ref()
    }

    pub(crate) fn set_label(&mut self, label: &str) {
        self.transient_id = Some(format!("transient:{label}").into());
    }
}

impl Default for Identity {
    /// The principal `anonymous`, in no execution.
    fn default() -> Self {
        Self::new(Principal::new("anonymous"))
    }
}
