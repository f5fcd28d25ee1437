//! Middleware for governed calls: retry, timeout, deadline, fallback, kill switch, admission.
//!
//! Depend on this crate to build a runtime whose calls are tried again, bounded in time, stopped by an operator, or held
//! to an execution's ceilings, and to go on to another tool where one fails. Everything here is written against the
//! public API of `loom_effect_runtime` alone, so each folder is also a pattern for middleware of your own.
//!
//! - [`Retry`]: tries a failed attempt again after a jittered pause, or as the failure advises, or by a policy for its
//!   name ([`Retry::on`]); never a refusal, a sever or an abort.
//! - [`Timeout`]: drops an attempt, or a whole call, after so long.
//! - [`Deadline`]: a budget of time that many calls share, such as an agent's whole run.
//! - [`KillSwitch`]: refuses calls, severs running streams and drops running attempts, per tool or all at once.
//! - [`Memo`]: serves the outputs that it kept of the tools it is told of, and lets calls that overlap share one run.
//! - [`Admission`]: refuses a call of an execution that has used up its calls or tokens.
//! - [`Fallback`]: calls one tool, and where it fails the next one; it stands outside the runtime, and each try is a
//!   governed call of its own.
//!
//! # The order to register in
//! Hooks of a kind run in the order they are registered, so arounds stand outermost first. What ends everything stands
//! in front; what each attempt needs stands behind the retry:
//!
//! | | registered as | why there |
//! | --- | --- | --- |
//! | 1 | `middleware(kill_switch.clone())`, `middleware(deadline.clone())`, `middleware(admission)` | refuse before anything runs; the cheapest first |
//! | 2 | `around(deadline.running())` | ends attempts and the pauses between them |
//! | 3 | a memo | what it serves needs neither retry nor timeout |
//! | 4 | `around(Timeout::after(..))` | one limit over all attempts of the call |
//! | 5 | `around(Retry::new())` | |
//! | 6 | `around(Timeout::after(..))` | a limit for each attempt, which the retry tries again |
//! | 7 | `around(kill_switch.running())` | drops the attempt that runs; a refusal, so the retry ends with it |
//!
//! ```
//! use loom_effect_runtime::{CallError, Effect, EffectContext, EffectRuntime, ErrorName, Identity, Principal};
//! use loom_middleware::{Admission, Deadline, ErrorPolicy, Fallback, KillSwitch, Retry, Timeout};
//! use std::sync::atomic::{AtomicU32, Ordering};
//! use std::time::Duration;
//!
//! /// Hangs the first time, then answers.
//! struct Slow(AtomicU32);
//!
//! impl Effect for Slow {
//!     type Input = String;
//!     type Output = String;
//!     fn id(&self) -> &str { "slow" }
//!     async fn execute(&self, name: &String, _cx: &EffectContext<'_>) -> Result<String, CallError> {
//!         if self.0.fetch_add(1, Ordering::Relaxed) == 0 {
//!             std::future::pending::<()>().await;
//!         }
//!         Ok(format!("hello {name}"))
//!     }
//! }
//!
//! /// Never answers.
//! struct Down;
//!
//! impl Effect for Down {
//!     type Input = String;
//!     type Output = String;
//!     fn id(&self) -> &str { "down" }
//!     async fn execute(&self, _name: &String, _cx: &EffectContext<'_>) -> Result<String, CallError> {
//!         Err(CallError::named(ErrorName::Provider, "the line was cut"))
//!     }
//! }
//!
//! let (switch, deadline) = (KillSwitch::new(), Deadline::within(Duration::from_secs(600)));
//! let runtime = EffectRuntime::builder()
//!     .allow_all_calls()
//!     .middleware(switch.clone())
//!     .middleware(deadline.clone())
//!     .middleware(Admission::new().calls_max(100))
//!     .around(deadline.running())
//!     .around(Timeout::after(Duration::from_secs(120)))
//!     .around(Retry::new().on(ErrorName::Provider, ErrorPolicy::attempts(5)))
//!     .around(Timeout::after(Duration::from_secs(20)).tool("slow", Duration::from_secs(40)))
//!     .around(switch.running())
//!     .effect(Slow(AtomicU32::new(0)))
//!     .effect(Down)
//!     .build()?;
//! let (down, slow) = (runtime.tool::<String, String>("down")?, runtime.tool("slow")?);
//! let caller = runtime.caller(Identity::new(Principal::new("ada")));
//!
//! # let tokio = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
//! # tokio.block_on(async {
//! let fallback = Fallback::new(down).or(slow);
//! let (answer, report) = fallback.run(&caller, "Ada".to_owned()).await;
//! assert_eq!(answer?, "hello Ada");
//! assert_eq!(report.answered(), Some(1), "`down` did not answer, `slow` did");
//! let attempts: Vec<u32> = report.tries.iter().map(|tried| tried.report.attempts).collect();
//! assert_eq!(attempts, [5, 2]);
//!
//! switch.engage_tool("slow", "incident-7");
//! let refused = runtime.invoke_transient(slow, "Ada".to_owned()).await.unwrap_err();
//! assert_eq!(refused.rule(), Some("kill_switch.incident-7"));
//!
//! tokio::time::sleep(Duration::from_secs(600)).await;
//! let refused = runtime.invoke_transient(down, "Ada".to_owned()).await.unwrap_err();
//! assert_eq!((refused.name(), refused.rule()), (ErrorName::DeadlineExceeded, Some("deadline")));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Inside
//! Each middleware is a folder with the same rooms: `mod.rs` (what it is, its builder, its control flow), `policy.rs`
//! (what it decides: pure figures and bounds), `state.rs` (what it keeps between calls, where it keeps anything) and
//! `tests.rs` (its leaves, tested). Whatever needs a room of its own stands beside them under its noun: the kill
//! switch's and the deadline's `running.rs`, the retry's `errors.rs` and `jitter.rs`, the fallback's `report.rs`, the memo's
//! `flight.rs`, `store.rs` and `hash.rs`.

mod admission;
mod deadline;
mod fallback;
mod kill_switch;
mod memo;
mod retry;
mod timed;
mod timeout;

pub use admission::Admission;
pub use deadline::{DEADLINE_RULE, Deadline, DeadlineRunning};
pub use fallback::{FALLBACK_TOOLS_MAX, Fallback, FallbackReport, FallbackTry};
pub use kill_switch::{KILL_SWITCH_RULE, KillRunning, KillSwitch, TOOLS_ENGAGED_MAX};
pub use memo::{
    FLIGHTS_DEFAULT, FLIGHTS_MAX, FOLLOWERS_DEFAULT, FOLLOWERS_MAX, MEMO_CAPACITY_MAX, Memo, MemoCounts, Ttl,
};
pub use retry::{
    ATTEMPTS_DEFAULT, ATTEMPTS_MAX, DELAY_CAP_DEFAULT, DELAY_FIRST_DEFAULT, ErrorPolicy,
    RETRY_AFTER_MAX_DEFAULT, Retry,
};
pub use timeout::Timeout;

// What the README shows is compiled and run with the other examples.
#[doc = include_str!("../README.md")]
#[cfg(doctest)]
struct Readme;
