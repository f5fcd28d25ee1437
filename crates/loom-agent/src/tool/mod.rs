//! Tools as a model is told of them, each with the governed tool that it stands for.

mod arguments;
mod result;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use futures::future::{BoxFuture, FutureExt};
use loom_classify::endorse::Rejected;
use loom_classify::{Fenced, Origins, Tainted};
use loom_effect_runtime::{CallError, Data, Invocation, Invoke, Signal, Tool, Usage};
use loom_llm::ToolSpec;
use serde_json::Value;

pub use arguments::Arguments;

use crate::error::Unanswerable;

/// A tool of a model: what the model is told of it, the governed tool that it stands for, and how the model's
/// arguments become that tool's input.
///
/// Arguments are the model's words. There is no default by which they become input (spec row D9): the tool is made
/// with a declared endorsement, [`new`](Self::new), or with an unwrap that says so, [`unwrapping`](Self::unwrapping).
pub struct AgentTool {
    spec: ToolSpec,
    begin: Box<Begin>,
}

/// A tool call under way: what the model is shown, and what the call reported of its usage.
pub(crate) type Running = BoxFuture<'static, (Result<Fenced<String>, CallError>, Option<Usage>)>;

type Begin =
    dyn Fn(&Arguments, &dyn Invoke, Option<Signal>) -> Result<Running, CallError> + Send + Sync + 'static;

impl AgentTool {
    /// A tool whose input `endorse` makes of the model's arguments, each parsed into a small type or put behind a
    /// [`Fenced`] field of the input. Arguments that it rejects are a failure that the model is told of as
    /// `InputInvalidError`, without a word of why.
    ///
    /// Tainted text is not prompt text, and not the text of an input either:
    ///
    /// ```
    /// # use loom_agent::AgentTool;
    /// # use loom_classify::endorse::BoundedText;
    /// # use loom_effect_runtime::Tool;
    /// # use loom_llm::ToolSpec;
    /// fn forecast(tool: Tool<String, String>, spec: ToolSpec) -> AgentTool {
    ///     AgentTool::new(tool, spec, |arguments| {
    ///         let city = arguments.field::<String>("city")?.endorse(&BoundedText::chars(1, 64))?;
    ///         Ok(city.as_str().to_owned())
    ///     })
    /// }
    /// ```
    pub fn new<I, O, F>(tool: Tool<I, O>, spec: ToolSpec, endorse: F) -> Self
    where
        I: Data,
        O: Data,
        F: Fn(&Arguments) -> Result<I, Rejected> + Send + Sync + 'static,
    {
        Self::with(tool, spec, move |arguments| Ok((endorse(arguments)?, Origins::none())))
    }

    /// A tool that takes the model's arguments as they are, and says so: `unwrap` is where they leave their taint, and
    /// its call site, where the tool is registered, is the audit trail.
    ///
    /// The object is read as the tool's input type; where the model passed nothing, the input is what that type reads
    /// from `null`. The results are shown to the model with the arguments' origins, since nothing has judged those.
    ///
    /// ```
    /// # use loom_agent::AgentTool;
    /// # use loom_effect_runtime::Tool;
    /// # use loom_llm::ToolSpec;
    /// # use serde_json::Value;
    /// fn search(tool: Tool<Value, String>, spec: ToolSpec) -> AgentTool {
    ///     AgentTool::unwrapping(tool, spec, |arguments| arguments.unwrap_tainted())
    /// }
    /// ```
    pub fn unwrapping<I, O, F>(tool: Tool<I, O>, spec: ToolSpec, unwrap: F) -> Self
    where
        I: Data,
        O: Data,
        F: Fn(Tainted<Value>) -> Value + Send + Sync + 'static,
    {
        Self::with(tool, spec, move |arguments| {
            let (value, origins) = match arguments.object() {
                Some(object) => (unwrap(object.clone()), object.origins().clone()),
                None => (Value::Null, Origins::none()),
            };
            let unfit = |_| Rejected::new("arguments", "arguments of the type that the tool takes");
            Ok((serde_json::from_value(value).map_err(unfit)?, origins))
        })
    }

    /// What the model is told of it.
    #[must_use]
    pub fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn with<I: Data, O: Data>(
        tool: Tool<I, O>,
        spec: ToolSpec,
        input: impl Fn(&Arguments) -> Result<(I, Origins), Rejected> + Send + Sync + 'static,
    ) -> Self {
        let begin = move |arguments: &Arguments, by: &dyn Invoke, signal: Option<Signal>| {
            let input = caught(|| input(arguments)).ok_or(Unanswerable::ArgumentsPanicked)?;
            let (input, origins) = input.map_err(|_| Unanswerable::UnfitArguments)?;
            let mut call = Invocation::new(tool, input);
            if let Some(signal) = signal {
                call = call.signal(signal);
            }
            let shown =
                move |output: O| Ok(caught(|| result::text(&output, origins)).ok_or(Unanswerable::NoText)??);
            let running = call.by(by);
            Ok(running.map(move |(result, report)| (result.and_then(shown), report.usage)).boxed())
        };
        Self { spec, begin: Box::new(begin) }
    }

    /// Begins the governed call. Nothing runs before it is polled.
    pub(crate) fn begin(
        &self,
        arguments: &Arguments,
        by: &dyn Invoke,
        signal: Option<Signal>,
    ) -> Result<Running, CallError> {
        (self.begin)(arguments, by, signal)
    }
}

impl fmt::Debug for AgentTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentTool").field("name", &self.spec.name).finish_non_exhaustive()
    }
}

/// What third parties wrote may panic; that is a failure of the call and not of the run.
fn caught<R>(code: impl FnOnce() -> R) -> Option<R> {
    match catch_unwind(AssertUnwindSafe(code)) {
        Ok(value) => Some(value),
        Err(payload) => {
            // Dropping a panic's payload may itself panic.
            std::mem::forget(payload);
            None
        }
    }
}
