//! Building a runtime.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use loom_classify::guard::RequestLimits;

use super::{Caller, Coverage, EffectRuntime, HookNames, OnWarn, RuntimeInner, ToolEntry};
use crate::caught::caught;
use crate::clock::{Clock, TokioClock};
use crate::effect::Effect;
use crate::hook::{AllowAll, Around, Authorizer, InputMiddleware, Middleware, OutputMiddleware};
use crate::identity::Identity;
use crate::warning::Warning;

/// The longest id of a tool, in bytes.
pub const ID_BYTES_MAX: usize = 128;

/// State of a builder that nobody has said yet who may call for.
#[derive(Debug)]
pub struct NeedsAuthorizer(());

/// State of a builder that can build.
pub struct Ready(Box<dyn Authorizer>);

impl std::fmt::Debug for Ready {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Ready")
    }
}

/// A runtime cannot be built so.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// Two effects have one id.
    #[error("two effects are registered under the id `{id}`")]
    DuplicateId {
        /// The id.
        id: String,
    },
    /// An id is empty, longer than [`ID_BYTES_MAX`] bytes, or holds `/` or `~`.
    #[error("`{id}` is no id: expected 1 to {ID_BYTES_MAX} bytes without `/` and `~`")]
    InvalidId {
        /// The id.
        id: String,
    },
    /// An effect or hook panicked when it was asked about itself.
    #[error("a {what} panicked when it was registered")]
    Panicked {
        /// What it was.
        what: &'static str,
    },
    /// There is no effect at all.
    #[error("a runtime needs at least one effect")]
    NoEffect,
}

/// Collects effects and hooks; hooks of one kind run in the order they are added.
#[must_use]
pub struct RuntimeBuilder<State> {
    state: State,
    parts: Parts,
}

struct Parts {
    tools: Vec<ToolEntry>,
    rewriters: Vec<Box<dyn InputMiddleware>>,
    middlewares: Vec<Box<dyn Middleware>>,
    inspectors: Vec<Box<dyn OutputMiddleware>>,
    arounds: Vec<Box<dyn Around>>,
    limits: RequestLimits,
    clock: Arc<dyn Clock>,
    on_warn: OnWarn,
    failure: Option<BuildError>,
}

impl RuntimeBuilder<NeedsAuthorizer> {
    pub(super) fn new() -> Self {
        let parts = Parts {
            tools: Vec::new(),
            rewriters: Vec::new(),
            middlewares: Vec::new(),
            inspectors: Vec::new(),
            arounds: Vec::new(),
            limits: RequestLimits::default(),
            clock: Arc::new(TokioClock),
            on_warn: Arc::new(|warning: &Warning<'_>| tracing::warn!("{warning}")),
            failure: None,
        };
        Self { state: NeedsAuthorizer(()), parts }
    }

    /// Says who may call.
    pub fn authorizer(self, authorizer: impl Authorizer) -> RuntimeBuilder<Ready> {
        RuntimeBuilder { state: Ready(Box::new(authorizer)), parts: self.parts }
    }

    /// Says aloud that every call is allowed.
    pub fn allow_all_calls(self) -> RuntimeBuilder<Ready> {
        self.authorizer(AllowAll)
    }
}

impl<State> RuntimeBuilder<State> {
    /// Registers an effect under its own id.
    pub fn effect(mut self, effect: impl Effect) -> Self {
        match caught(|| ToolEntry::new(effect)) {
            Ok(entry) => self.parts.tools.push(entry),
            Err(_) => self.fail(BuildError::Panicked { what: "effect" }),
        }
        self
    }

    /// Adds a rewriter of input.
    pub fn input_middleware(mut self, middleware: impl InputMiddleware) -> Self {
        self.parts.rewriters.push(Box::new(middleware));
        self
    }

    /// Adds pass-through middleware.
    pub fn middleware(mut self, middleware: impl Middleware) -> Self {
        self.parts.middlewares.push(Box::new(middleware));
        self
    }

    /// Adds an inspector of output. Its delta form is asked for when the runtime is built.
    pub fn output_middleware(mut self, middleware: impl OutputMiddleware) -> Self {
        self.parts.inspectors.push(Box::new(middleware));
        self
    }

    /// Adds an around; the first added is the outermost.
    pub fn around(mut self, around: impl Around) -> Self {
        self.parts.arounds.push(Box::new(around));
        self
    }

    /// Bounds of a request: by default 8 MiB and 128 levels.
    pub fn request_limits(mut self, limits: RequestLimits) -> Self {
        self.parts.limits = limits;
        self
    }

    /// Where time comes from: by default the system's clock and tokio's timer.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.parts.clock = Arc::new(clock);
        self
    }

    /// Where warnings go: by default `tracing::warn!`. What it does cannot hurt a call.
    pub fn on_warn(mut self, on_warn: impl Fn(&Warning<'_>) + Send + Sync + 'static) -> Self {
        self.parts.on_warn = Arc::new(on_warn);
        self
    }

    fn fail(&mut self, failure: BuildError) {
        self.parts.failure.get_or_insert(failure);
    }
}

impl RuntimeBuilder<Ready> {
    /// Freezes everything.
    ///
    /// # Errors
    /// [`BuildError`], when ids clash or are no ids, or something panicked when it was asked about itself.
    pub fn build(self) -> Result<EffectRuntime, BuildError> {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        let Self { state: Ready(authorizer), parts } = self;
        if let Some(failure) = parts.failure {
            return Err(failure);
        }
        let by_id = index(&parts.tools)?;
        let names = HookNames {
            rewriters: names(&parts.rewriters, |hook| hook.name().to_owned())?,
            middlewares: names(&parts.middlewares, |hook| hook.name().to_owned())?,
            inspectors: names(&parts.inspectors, |hook| hook.name().to_owned())?,
        };
        let metered = metered(&parts.middlewares)?;
        let coverage = Coverage::of(&parts.inspectors, &names.inspectors)
            .map_err(|_| BuildError::Panicked { what: "output middleware" })?;
        let inner = RuntimeInner {
            number: NUMBER.fetch_add(1, Ordering::Relaxed),
            tools: parts.tools.into(),
            by_id,
            authorizer,
            rewriters: parts.rewriters.into(),
            middlewares: parts.middlewares.into(),
            metered: metered.into(),
            inspectors: parts.inspectors.into(),
            arounds: parts.arounds.into(),
            names,
            coverage,
            limits: parts.limits,
            clock: parts.clock,
            on_warn: parts.on_warn,
        };
        Ok(EffectRuntime { caller: Caller::new(Arc::new(inner), Identity::default()) })
    }
}

impl<State> std::fmt::Debug for RuntimeBuilder<State> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RuntimeBuilder").field("tools", &self.parts.tools.len()).finish_non_exhaustive()
    }
}

fn index(tools: &[ToolEntry]) -> Result<HashMap<Arc<str>, u32>, BuildError> {
    if tools.is_empty() {
        return Err(BuildError::NoEffect);
    }
    let mut by_id = HashMap::with_capacity(tools.len());
    for (at, entry) in tools.iter().enumerate() {
        if !is_id(&entry.id) {
            return Err(BuildError::InvalidId { id: entry.id.to_string() });
        }
        if by_id.insert(Arc::clone(&entry.id), at as u32).is_some() {
            return Err(BuildError::DuplicateId { id: entry.id.to_string() });
        }
    }
    Ok(by_id)
}

fn is_id(id: &str) -> bool {
    (1..=ID_BYTES_MAX).contains(&id.len()) && !id.contains(['/', '~'])
}

fn names<T: ?Sized>(hooks: &[Box<T>], name: impl Fn(&T) -> String) -> Result<Vec<String>, BuildError> {
    caught(|| hooks.iter().map(|hook| name(hook)).collect())
        .map_err(|_| BuildError::Panicked { what: "hook" })
}

fn metered(hooks: &[Box<dyn Middleware>]) -> Result<Vec<usize>, BuildError> {
    caught(|| hooks.iter().enumerate().filter(|(_, hook)| hook.meter().is_some()).map(|(at, _)| at).collect())
        .map_err(|_| BuildError::Panicked { what: "middleware" })
}
