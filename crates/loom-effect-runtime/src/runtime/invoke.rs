//! Whoever can start a governed call, behind one object-safe trait: a caller, or the scope of a decider.

use std::any::Any;
use std::marker::PhantomData;
use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt};

use super::{CallBuilder, Caller, ToolRef};
use crate::call::{CallOptions, CallReport};
use crate::data::Data;
use crate::delta::DeltaSink;
use crate::error::CallError;
use crate::names::ErrorName;
use crate::signal::Signal;

/// What can start a governed call, for code that is handed the power to call and shall not care whose it is.
///
/// A [`Caller`] is one, and so is a workflow's decide scope. Such code gets no more than the calls: it runs as whom
/// the call's starter runs as (spec row T6).
///
/// # Contract
/// [`start`](Self::start) binds the call to the implementor's own [`Caller`] and starts nothing before it is polled;
/// dropping the future cancels the call. Every option of the call is kept.
pub trait Invoke: Send + Sync {
    /// The call, as this one's.
    fn start(&self, call: AnyInvocation) -> BoxFuture<'static, AnyInvoked>;
}

impl Invoke for Caller {
    fn start(&self, call: AnyInvocation) -> BoxFuture<'static, AnyInvoked> {
        let (call, signal) = call.bind(self);
        match signal {
            Some(signal) => call.signal(signal),
            None => call,
        }
        .reported()
        .boxed()
    }
}

/// A tool, its input and the options that any starter lets one say: not anybody's call yet.
///
/// ```
/// # use loom_effect_runtime::{CallError, Effect, EffectContext, EffectRuntime};
/// use loom_effect_runtime::{Identity, Invocation, Invoke, Principal, Tool};
/// # struct Shout;
/// # impl Effect for Shout {
/// #     type Input = String;
/// #     type Output = String;
/// #     fn id(&self) -> &str { "shout" }
/// #     async fn execute(&self, text: &String, _: &EffectContext<'_>) -> Result<String, CallError> {
/// #         Ok(text.to_uppercase())
/// #     }
/// # }
///
/// async fn twice(by: &dyn Invoke, shout: Tool<String, String>) -> Result<String, CallError> {
///     let (once, _) = Invocation::new(shout, "ada".to_owned()).by(by).await;
///     Ok(once?.repeat(2))
/// }
///
/// # futures::executor::block_on(async {
/// let runtime = EffectRuntime::builder().allow_all_calls().effect(Shout).build()?;
/// let caller = runtime.caller(Identity::new(Principal::new("ada")));
/// assert_eq!(twice(&caller, runtime.tool("shout")?).await?, "ADAADA");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[must_use = "an invocation does nothing until somebody starts it"]
pub struct Invocation<O> {
    call: AnyInvocation,
    output: PhantomData<fn() -> O>,
}

impl<O: Data> Invocation<O> {
    /// A call of `tool` with `input`. By typed handle it gives the effect's type; by id any input is taken and JSON
    /// given.
    pub fn new<T, I>(tool: T, input: I) -> Self
    where
        T: ToolRef<I, Out = O> + Send + 'static,
        I: Data,
    {
        let bind = move |caller: &Caller| {
            let mut call = caller.invoke_transient(tool, input);
            let launch: AnyLaunch = Box::new(move |options| {
                if let Some(options) = options {
                    *call.options() = *options;
                }
                let running = call.reported();
                let any = |output: O| Box::new(output) as Box<dyn Any + Send>;
                running.map(move |(result, report)| (result.map(any), report)).boxed()
            });
            CallBuilder::new(launch)
        };
        Self { call: AnyInvocation { bind: Box::new(bind), sink: None, signal: None }, output: PhantomData }
    }

    /// Follows the live view of this call with a sink (spec row D1).
    pub fn on_delta_sink(mut self, sink: Arc<dyn DeltaSink>) -> Self {
        self.call.sink = Some(sink);
        self
    }

    /// Adds a signal to the call's cancellation (spec row D8). A second one replaces the first.
    pub fn signal(mut self, signal: Signal) -> Self {
        self.call.signal = Some(signal);
        self
    }

    /// The call, as `by`'s own: its result and its report. Nothing runs until it is awaited.
    ///
    /// # Errors
    /// What the governed path and `by` answer.
    pub fn by(self, by: &dyn Invoke) -> BoxFuture<'static, (Result<O, CallError>, CallReport)> {
        let typed =
            |output: Box<dyn Any + Send>| output.downcast().map(|output| *output).map_err(|_| alien());
        by.start(self.call).map(move |(result, report)| (result.and_then(typed), report)).boxed()
    }
}

impl<O> std::fmt::Debug for Invocation<O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Invocation").field("call", &self.call).finish()
    }
}

/// An [`Invocation`] whose output type is erased, for who implements [`Invoke`].
#[must_use = "an invocation does nothing until somebody starts it"]
pub struct AnyInvocation {
    bind: Box<Bind>,
    sink: Option<Arc<dyn DeltaSink>>,
    signal: Option<Signal>,
}

type Bind = dyn FnOnce(&Caller) -> CallBuilder<AnyLaunch> + Send;

/// The result and the report of an [`AnyInvocation`]; the output is of the invocation's own type.
pub type AnyInvoked = (Result<Box<dyn Any + Send>, CallError>, CallReport);

/// What launches an [`AnyInvocation`].
pub type AnyLaunch = Box<dyn FnOnce(Option<Box<CallOptions>>) -> BoxFuture<'static, AnyInvoked> + Send>;

impl AnyInvocation {
    /// The call as that caller's own, and the signal that was given to it, which the starter has to compose: it knows
    /// where among its own it stands.
    pub fn bind(self, caller: &Caller) -> (CallBuilder<AnyLaunch>, Option<Signal>) {
        let mut call = (self.bind)(caller);
        if let Some(sink) = self.sink {
            call.options().sink = Some(sink);
        }
        (call, self.signal)
    }
}

impl std::fmt::Debug for AnyInvocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AnyInvocation")
            .field("sink", &self.sink.is_some())
            .field("signal", &self.signal)
            .finish_non_exhaustive()
    }
}

#[cold]
fn alien() -> CallError {
    CallError::named(ErrorName::OutputInvalid, "the starter of the call gave an output of another type")
}
