//! Fallback: one tool after the other, until one answers.

mod policy;
mod report;
#[cfg(test)]
mod tests;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use loom_effect_runtime::{CallError, Data, DeltaSink, Invocation, Invoke, RetractableSink, Signal, Tool};

use crate::retry::Decides;
pub use policy::FALLBACK_TOOLS_MAX;
use policy::{goes_on, input_panicked, too_many, when_panicked};
pub use report::{FallbackReport, FallbackTry};

/// Calls one tool, and where it fails the next one. Each try is a call of its own: authorizer, guards, meters, arounds
/// and deadlines of the runtime see each of them.
///
/// It stands outside the runtime and calls through whoever is given to [`Fallback::run`]: a caller, or the scope of a
/// decider.
///
/// # What the next tool is tried for
/// The failures that a [`Retry`](crate::Retry) calls passing, once the retries of the try's own call are used up;
/// [`Fallback::when`] decides otherwise. A refusal, a sever or an abort ends it at once (spec row T11): another tool is
/// no way round them. There is no pause between two tools, and a tool that is not repeatable is no hindrance: another
/// effect runs.
///
/// # Live view
/// A sink follows all tries. What a failed one delivered is taken back with a reset, under the failed call's own
/// reference, before the next one begins and where no further one does; not after an abort, when nothing is delivered
/// any more (spec row D6). So the text of a view is the text of the tool that answered, or none (spec row D11).
/// Each call of the tools' own configured sinks is left as it ended.
///
/// ```
/// use loom_effect_runtime::{CallError, Effect, EffectContext, EffectRuntime, Identity, Principal};
/// use loom_middleware::Fallback;
///
/// /// A model that answers or is down.
/// struct Model(&'static str, bool);
///
/// impl Effect for Model {
///     type Input = String;
///     type Output = String;
///     fn id(&self) -> &str { self.0 }
///     async fn execute(&self, asked: &String, _cx: &EffectContext<'_>) -> Result<String, CallError> {
///         let answer = format!("{} says {asked}", self.0);
///         self.1.then_some(answer).ok_or_else(|| CallError::failed(std::io::Error::other("down")))
///     }
/// }
///
/// # let tokio = tokio::runtime::Builder::new_current_thread().build()?;
/// # tokio.block_on(async {
/// let runtime = EffectRuntime::builder()
///     .allow_all_calls()
///     .effect(Model("large", false))
///     .effect(Model("small", true))
///     .build()?;
/// let fallback = Fallback::<String, String>::new(runtime.tool("large")?).or(runtime.tool("small")?);
/// let caller = runtime.caller(Identity::new(Principal::new("ada")));
/// let (answer, report) = fallback.run(&caller, "hello".to_owned()).await;
/// assert_eq!(answer?, "small says hello");
/// assert_eq!((report.answered(), report.failures().count()), (Some(1), 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a fallback does nothing until it is run"]
pub struct Fallback<I, O> {
    primary: Tool<I, O>,
    others: Vec<Tool<I, O>>,
    when: Option<Arc<Decides>>,
    sink: Option<Arc<dyn DeltaSink>>,
    signal: Option<Signal>,
}

impl<I: Data, O: Data> Fallback<I, O> {
    /// Tries `primary` first.
    pub fn new(primary: Tool<I, O>) -> Self {
        Self { primary, others: Vec::new(), when: None, sink: None, signal: None }
    }

    /// Tries `tool` where those before it failed. With more than [`FALLBACK_TOOLS_MAX`] tools every run is refused.
    pub fn or(mut self, tool: Tool<I, O>) -> Self {
        self.others.push(tool);
        self
    }

    /// Decides for which failures the next tool is tried, in place of the default. Never asked about a refusal, a sever
    /// or an abort.
    pub fn when(mut self, goes_on: impl Fn(&CallError) -> bool + Send + Sync + 'static) -> Self {
        self.when = Some(Arc::new(goes_on));
        self
    }

    /// Follows the live view of all tries with a sink (spec row D1). A second one replaces the first.
    pub fn on_delta_sink(mut self, sink: Arc<dyn DeltaSink>) -> Self {
        self.sink = Some(sink);
        self
    }

    /// Adds a signal to the cancellation of every try (spec row D8). A second one replaces the first.
    pub fn signal(mut self, signal: Signal) -> Self {
        self.signal = Some(signal);
        self
    }

    /// Tries the tools in order, as calls of `by`, each with a copy of `input`.
    ///
    /// # Errors
    /// The failure of the last try; those before it are in the report. An abort gives the aborter's own reason. More
    /// tools than there may be: `QuotaExceededError`, rule `fallback.tools`, and none is tried. An input whose `Clone`
    /// panics: `InputInvalidError`.
    ///
    /// # Panics
    /// Never by itself; a panic in the closure given to [`Fallback::when`] ends it with the rule `fallback.panicked`.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the try that runs; nothing more is delivered.
    pub async fn run(&self, by: &dyn Invoke, input: I) -> (Result<O, CallError>, FallbackReport) {
        let mut report = FallbackReport::default();
        if self.others.len() >= FALLBACK_TOOLS_MAX {
            return (Err(too_many()), report);
        }
        let sink = self.sink.clone().map(|sink| Arc::new(RetractableSink::new(sink)));
        let (mut tool, mut others, mut input) = (self.primary, self.others.iter(), Some(input));
        loop {
            // Asked here too, so that no further tool is heard of once the caller has given up.
            if let Some(reason) = self.signal.as_ref().and_then(Signal::reason) {
                return (Err(CallError::aborted(reason)), report);
            }
            let next = others.next();
            let copied = match next {
                Some(_) => catch_unwind(AssertUnwindSafe(|| input.clone())).unwrap_or(None),
                None => input.take(),
            };
            let Some(copied) = copied else { return (Err(input_panicked()), report) };
            let (result, told) = self.invocation(tool, copied, sink.as_ref()).by(by).await;
            report.tries.push(FallbackTry { error: result.as_ref().err().cloned(), report: told });
            let error = match result {
                Ok(output) => return (Ok(output), report),
                Err(error) => error,
            };
            if let Some(sink) = &sink
                && !self.was_aborted(&error)
            {
                sink.retract();
            }
            match (self.goes_on(&error), next) {
                (Ok(true), Some(next)) => tool = *next,
                (Ok(_), _) => return (Err(error), report),
                (Err(panicked), _) => return (Err(panicked), report),
            }
        }
    }

    fn invocation(&self, tool: Tool<I, O>, input: I, sink: Option<&Arc<RetractableSink>>) -> Invocation<O> {
        let mut call = Invocation::new(tool, input);
        if let Some(sink) = sink {
            call = call.on_delta_sink(Arc::clone(sink) as Arc<dyn DeltaSink>);
        }
        match &self.signal {
            Some(signal) => call.signal(signal.clone()),
            None => call,
        }
    }

    fn was_aborted(&self, error: &CallError) -> bool {
        error.abort_reason().is_some() || self.signal.as_ref().is_some_and(Signal::is_aborted)
    }

    fn goes_on(&self, error: &CallError) -> Result<bool, CallError> {
        catch_unwind(AssertUnwindSafe(|| goes_on(error, self.when.as_deref()))).map_err(|_| when_panicked())
    }
}

impl<I, O> Clone for Fallback<I, O> {
    fn clone(&self) -> Self {
        Self {
            primary: self.primary,
            others: self.others.clone(),
            when: self.when.clone(),
            sink: self.sink.clone(),
            signal: self.signal.clone(),
        }
    }
}

impl<I, O> std::fmt::Debug for Fallback<I, O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fallback")
            .field("primary", &self.primary)
            .field("others", &self.others)
            .field("sink", &self.sink.is_some())
            .field("signal", &self.signal)
            .finish_non_exhaustive()
    }
}
