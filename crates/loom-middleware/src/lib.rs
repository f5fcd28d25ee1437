//! Middleware for governed calls: retry, kill switch, admission.
//!
//! Depend on this crate to build a runtime whose calls are tried again, stopped by an operator, or held to an
//! execution's ceilings. Everything here is written against the public hooks of `loom_effect_runtime` alone, so each
//! folder is also a pattern for middleware of your own.
//!
//! - [`Retry`]: tries a failed attempt again after a jittered pause, or as the failure advises; never a refusal, a
//!   sever or an abort.
//! - [`KillSwitch`]: refuses calls, severs running streams and drops running attempts, per tool or all at once.
//! - [`Memo`]: serves the outputs that it kept of the tools it is told of, and lets calls that overlap share one run.
//! - [`Admission`]: refuses a call of an execution that has used up its calls or tokens.
//!
//! ```
//! use loom_effect_runtime::{CallError, Effect, EffectContext, EffectRuntime};
//! use loom_middleware::{Admission, KillSwitch, Retry};
//! use std::sync::atomic::{AtomicU32, Ordering};
//!
//! /// Fails once, then answers.
//! struct Flaky(AtomicU32);
//!
//! impl Effect for Flaky {
//!     type Input = String;
//!     type Output = String;
//!     fn id(&self) -> &str { "flaky" }
//!     async fn execute(&self, name: &String, _cx: &EffectContext<'_>) -> Result<String, CallError> {
//!         match self.0.fetch_add(1, Ordering::Relaxed) {
//!             0 => Err(CallError::failed(std::io::Error::other("the line was cut"))),
//!             _ => Ok(format!("hello {name}")),
//!         }
//!     }
//! }
//!
//! let switch = KillSwitch::new();
//! let runtime = EffectRuntime::builder()
//!     .allow_all_calls()
//!     .middleware(switch.clone())
//!     .middleware(Admission::new().calls_max(100))
//!     .around(Retry::new())
//!     .around(switch.running())
//!     .effect(Flaky(AtomicU32::new(0)))
//!     .build()?;
//! let flaky = runtime.tool::<String, String>("flaky")?;
//!
//! # let tokio = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
//! # tokio.block_on(async {
//! let (answer, report) = runtime.invoke_transient(flaky, "Ada".to_owned()).reported().await;
//! assert_eq!(answer?, "hello Ada");
//! assert_eq!(report.attempts, 2);
//!
//! switch.engage_tool("flaky", "incident-7");
//! let refused = runtime.invoke_transient(flaky, "Ada".to_owned()).await.unwrap_err();
//! assert_eq!(refused.rule(), Some("kill_switch.incident-7"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod admission;
mod kill_switch;
mod memo;
mod retry;

pub use admission::Admission;
pub use kill_switch::{KILL_SWITCH_RULE, KillRunning, KillSwitch, TOOLS_ENGAGED_MAX};
pub use memo::{
    FLIGHTS_DEFAULT, FLIGHTS_MAX, FOLLOWERS_DEFAULT, FOLLOWERS_MAX, MEMO_CAPACITY_MAX, Memo, MemoCounts, Ttl,
};
pub use retry::{
    ATTEMPTS_DEFAULT, ATTEMPTS_MAX, DELAY_CAP_DEFAULT, DELAY_FIRST_DEFAULT, RETRY_AFTER_MAX_DEFAULT, Retry,
};
