//! Registered effects and the handles on them.

use std::any::TypeId;
use std::marker::PhantomData;
use std::sync::Arc;

use loom_classify::{Origins, TaintOrigin};
use serde_json::Value;

use super::{Caller, RuntimeInner};
use crate::data::Data;
use crate::delta::DeltaSink;
use crate::effect::{DynEffect, Effect, EffectMode, Erased};
use crate::error::CallError;
use crate::names::ErrorName;

/// One registered effect, with everything asked of it once.
pub(crate) struct ToolEntry {
    pub(crate) id: Arc<str>,
    pub(crate) transient_id: Arc<str>,
    pub(crate) effect: Box<dyn DynEffect>,
    pub(crate) sink: Option<Arc<dyn DeltaSink>>,
    pub(crate) mode: Option<EffectMode>,
    pub(crate) repeatable: bool,
    pub(crate) schema: Option<Value>,
    pub(crate) origins: Origins,
    pub(crate) input_type: TypeId,
    pub(crate) output_type: TypeId,
}

impl ToolEntry {
    pub(super) fn new<E: Effect>(effect: E) -> Self {
        let id: Arc<str> = effect.id().into();
        Self {
            transient_id: format!("transient:{id}").into(),
            sink: effect.delta_sink(),
            mode: effect.mode(),
            repeatable: effect.repeatable(),
            schema: effect.input_schema(),
            origins: Origins::from(TaintOrigin::new(effect.origin_kind(), &id)),
            input_type: TypeId::of::<E::Input>(),
            output_type: TypeId::of::<E::Output>(),
            effect: Box::new(Erased(effect)),
            id,
        }
    }
}

/// A typed handle on an effect: an index. A wrong input or output type does not compile at the call site.
pub struct Tool<I, O> {
    index: u32,
    runtime: u64,
    types: PhantomData<fn(I) -> O>,
}

impl<I: Data, O: Data> Tool<I, O> {
    pub(super) fn find(runtime: &RuntimeInner, id: &str) -> Result<Self, CallError> {
        let index = runtime.find(id)?;
        let entry = runtime.tool(index);
        if entry.input_type != TypeId::of::<I>() || entry.output_type != TypeId::of::<O>() {
            return Err(CallError::named(ErrorName::InputInvalid, "the effect takes or gives another type"));
        }
        Ok(Self { index, runtime: runtime.number, types: PhantomData })
    }
}

impl<I, O> Clone for Tool<I, O> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<I, O> Copy for Tool<I, O> {}

impl<I, O> std::fmt::Debug for Tool<I, O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tool").field("index", &self.index).finish()
    }
}

/// What names a tool in a call: a typed [`Tool`] or its id. Sealed.
pub trait ToolRef<I: Data>: sealed::Sealed<I> {
    /// What the call gives: the effect's type by handle, JSON by id.
    type Out: Data;

    /// Whether input and output are known to be the effect's own types.
    #[doc(hidden)]
    const TYPED: bool;

    #[doc(hidden)]
    fn resolve(&self, caller: &Caller) -> Result<u32, CallError>;
}

impl<I: Data, O: Data> ToolRef<I> for Tool<I, O> {
    type Out = O;

    const TYPED: bool = true;

    fn resolve(&self, caller: &Caller) -> Result<u32, CallError> {
        if caller.runtime().number == self.runtime {
            Ok(self.index)
        } else {
            Err(CallError::named(ErrorName::ToolNotFound, "the handle belongs to another runtime"))
        }
    }
}

impl<I: Data> ToolRef<I> for &str {
    type Out = Value;

    const TYPED: bool = false;

    fn resolve(&self, caller: &Caller) -> Result<u32, CallError> {
        caller.runtime().find(self)
    }
}

impl<I: Data> ToolRef<I> for &String {
    type Out = Value;

    const TYPED: bool = false;

    fn resolve(&self, caller: &Caller) -> Result<u32, CallError> {
        caller.runtime().find(self)
    }
}

mod sealed {
    /// Kept private: resolving is the runtime's contract with itself.
    pub trait Sealed<I> {}
    impl<I, O> Sealed<I> for super::Tool<I, O> {}
    impl<I> Sealed<I> for &str {}
    impl<I> Sealed<I> for &String {}
}
