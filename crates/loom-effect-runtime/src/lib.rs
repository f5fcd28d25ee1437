//! Effects, middleware, and the one governed path of a call.
//!
//! Depend on this crate to write an effect, a middleware, a guard or a sink, or to call effects without a workflow.
//! Every model and tool call takes one path: it is authorised, fenced against tainted text, admitted, metered,
//! cancellable, and its live text reaches a sink only through guards.
//!
//! ```
//! use loom_effect_runtime::{CallError, Effect, EffectContext, EffectDelta, EffectRuntime, before, Refusal, Step};
//! use std::sync::{Arc, Mutex};
//!
//! struct Greet;
//!
//! impl Effect for Greet {
//!     type Input = String;
//!     type Output = String;
//!     fn id(&self) -> &str { "greet" }
//!     async fn execute(&self, name: &String, cx: &EffectContext<'_>) -> Result<String, CallError> {
//!         let deltas = cx.deltas();
//!         deltas.text("hello ")?;
//!         deltas.text(name)?;
//!         Ok(format!("hello {name}"))
//!     }
//!     fn live_text(output: &String, piece: &mut dyn FnMut(&str)) -> bool {
//!         piece(output);
//!         true
//!     }
//! }
//!
//! # futures::executor::block_on(async {
//! let runtime = EffectRuntime::builder()
//!     .allow_all_calls()
//!     .middleware(before("kill-switch", |call, _input| {
//!         if call.tool() == "shell" { Step::Deny(Refusal::quota("killed")) } else { Step::Go }
//!     }))
//!     .effect(Greet)
//!     .build()?;
//! let greet = runtime.tool::<String, String>("greet")?;
//! let seen = Arc::new(Mutex::new(String::new()));
//! let view = Arc::clone(&seen);
//! let output = runtime
//!     .invoke_transient(greet, "Ada".to_owned())
//!     .on_delta(move |delta| if let EffectDelta::Text { text, .. } = delta {
//!         view.lock().unwrap().push_str(text.unwrap_tainted());
//!     })
//!     .await?;
//! assert_eq!(output, "hello Ada");
//! assert_eq!(*seen.lock().unwrap(), "hello Ada");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! # The path
//!
//! ```text
//!  caller ── invoke_transient / scope / ctx.run ── sink, signals, label, principal
//!    │
//!  rewrite        InputMiddleware ┐ what fails here is told
//!  coerce         to the type     ┘ only to whom the authorizer lets through
//!    │
//!  authorize      Authorizer ───────────── from here on nobody can change the input
//!  guard, mode    no taint outside a fence, 8 MiB, 128 levels; journaled or transient
//!    │
//!  before         Middleware, in order
//!    │
//!  around         Around: holds proofs (Opaque), never outputs ◄─┐ one room after
//!    │                                                           │ the other
//!  ┌─ attempt ─────────────────────────────────────────────────┐ │
//!  │ execute    Effect ── text ─► latch → Meter → DeltaGuard   │ │
//!  │    │                          → per-call sink → configured│ │
//!  │ inspect    OutputMiddleware, in order                     │─┘
//!  │ finish     guards flush, and may still sever              │
//!  │ compare    live text against Effect::live_text            │
//!  └───────────────────────────────────────────────────────────┘
//!    │
//!  after          in reverse, for every hook that said Go
//!  settle, done   nothing is delivered any more; usage to the per-call sink
//!    │
//!  result, and on request a report: attempts, streamed, checked, usage
//! ```
//!
//! # Who writes what
//!
//! | you want to | implement |
//! |---|---|
//! | do work that is governed | [`Effect`] |
//! | let pass or refuse by input and facts; hear of outcomes; count live text | [`Middleware`], [`MeterForm`] |
//! | change input | [`InputMiddleware`] |
//! | judge or rewrite output, and so live text | [`OutputMiddleware`], [`DeltaForm`], [`DeltaGuard`] |
//! | try again, limit time, serve what was kept | [`Around`] |
//! | decide who may call what | [`Authorizer`] |
//! | see live text | [`DeltaSink`] |
//!
//! `docs/guides/` has a page for each, and the crate `loom-testing` a conformance kit.
//!
//! Builds with `panic = "abort"` void what is promised here about panics.

mod call;
mod caught;
mod clock;
mod data;
mod delta;
mod effect;
mod error;
mod flow;
mod hook;
mod identity;
mod names;
mod path;
mod runtime;
mod signal;
mod sync;
mod warning;

pub use call::{
    Call, CallInfo, CallKey, CallOptions, CallRef, CallReport, DurableStep, Emitter, MemoKey, Outcome,
    ResourceTotals, Seam,
};
pub use clock::{Clock, TokioClock};
pub use data::{Data, Input, Output, Payload, Place, ViewError};
pub use delta::{
    DELTA_STREAM_DELTAS_MAX, DeltaForm, DeltaGuard, DeltaKind, DeltaKinds, DeltaReceiver, DeltaSink,
    DeltaStreamSink, Deltas, EffectDelta, LANES_MAX, Lagged, Lane, LiveDelta, Meter, MeterForm, Outlet,
    OwnedDelta, RetractableSink, Stopped, Usage, Verdict, delta_stream,
};
pub use effect::{Effect, EffectContext, EffectMode};
pub use error::{
    AbortError, AbortReason, CallError, CancelKind, DecideScopeClosedError, ExecutionCancelledError,
    FailureChannel, Refusal, RetryAdvice, TypedFailure, Violation,
};
pub use flow::InFlow;
pub use hook::{
    AfterFn, Around, AroundFn, AuthorizeFn, Authorizer, BeforeFn, BeforeWaitFn, InputMiddleware, InspectFn,
    Kept, Middleware, Next, Opaque, OutputMiddleware, RewriteFn, Running, Step, WAIT_DEADLINE_DEFAULT,
    Waiting, after, around, authorize, before, before_wait, inspect, rewrite,
};
pub use identity::{Delegation, Identity, Principal, RunAs};
pub use loom_classify;
pub use names::ErrorName;
pub use runtime::engine;
pub use runtime::{
    AnyInvocation, AnyInvoked, AnyLaunch, BuildError, CallBuilder, Caller, EffectRuntime, ID_BYTES_MAX,
    Invocation, Invoke, Launch, NeedsAuthorizer, Ready, Reported, RuntimeBuilder, Settled, Tool, ToolRef,
};
pub use signal::{Signal, Signals};
pub use warning::Warning;

// What the README shows is compiled and run with the other examples.
#[doc = include_str!("../README.md")]
#[cfg(doctest)]
struct Readme;
