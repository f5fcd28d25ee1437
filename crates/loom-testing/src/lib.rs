//! What crates that extend Loom test themselves with.
//!
//! Depend on this crate in `[dev-dependencies]`, from tests only.
//!
//! ```
//! use loom_effect_runtime::{EffectRuntime, ErrorName};
//! use loom_testing::{Act, Scripted};
//! use serde_json::{Value, json};
//!
//! # futures::executor::block_on(async {
//! let effect = Scripted::<String>::new([Act::Fail(ErrorName::Provider)]);
//! let runtime = EffectRuntime::builder().allow_all_calls().effect(effect.clone()).build()?;
//! let tool = runtime.tool::<Value, String>("scripted")?;
//! let error = runtime.invoke_transient(tool, json!({})).await.unwrap_err();
//! assert_eq!((error.name(), effect.executions()), (ErrorName::Provider, 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```

mod clock;
pub mod kit;
mod recorder;
mod script;

pub use clock::{VIRTUAL_START_MS, VirtualClock};
pub use recorder::{Recorder, TRANSCRIPT_LINES_MAX};
pub use script::{Act, Answer, FromScript, Scripted};
#[cfg(feature = "llm")]
pub use script::{ScriptedProvider, ScriptedReply};

// What the README shows is compiled and run with the other examples.
#[doc = include_str!("../README.md")]
#[cfg(doctest)]
struct Readme;
