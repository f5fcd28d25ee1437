//! Closures as hooks: named adapters, so that unannotated closures infer.

use std::sync::Arc;

use futures::future::BoxFuture;

use super::{Around, Authorizer, InputMiddleware, Middleware, Next, Opaque, OutputMiddleware, Step, Waiting};
use crate::call::{Call, Outcome};
use crate::data::{Input, Output};
use crate::delta::DeltaForm;
use crate::error::CallError;

macro_rules! named_debug {
    ($adapter:ident) => {
        impl<F> std::fmt::Debug for $adapter<F> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!(stringify!($adapter), "({})"), self.0)
            }
        }
    };
}

/// A `before` hook made of a closure.
pub struct BeforeFn<F>(&'static str, F);

named_debug!(BeforeFn);

/// Makes a [`Middleware`] of a closure that decides before the effect runs.
pub fn before<F>(name: &'static str, hook: F) -> BeforeFn<F>
where
    F: Fn(&Call, &Input) -> Step + Send + Sync + 'static,
{
    BeforeFn(name, hook)
}

impl<F: Fn(&Call, &Input) -> Step + Send + Sync + 'static> Middleware for BeforeFn<F> {
    fn name(&self) -> &str {
        self.0
    }

    fn before(&self, call: &Call, input: &Input) -> Step {
        (self.1)(call, input)
    }
}

/// A waiting `before` hook made of a closure.
pub struct BeforeWaitFn<F>(&'static str, F);

named_debug!(BeforeWaitFn);

/// Makes a [`Middleware`] of a closure that waits before the effect runs.
pub fn before_wait<F>(name: &'static str, hook: F) -> BeforeWaitFn<F>
where
    F: for<'a> Fn(&'a Call, &'a Input) -> Waiting<'a> + Send + Sync + 'static,
{
    BeforeWaitFn(name, hook)
}

impl<F: for<'a> Fn(&'a Call, &'a Input) -> Waiting<'a> + Send + Sync + 'static> Middleware
    for BeforeWaitFn<F>
{
    fn name(&self) -> &str {
        self.0
    }

    fn before(&self, _call: &Call, _input: &Input) -> Step {
        Step::Wait
    }

    fn before_wait<'a>(&'a self, call: &'a Call, input: &'a Input) -> Waiting<'a> {
        (self.1)(call, input)
    }
}

/// An `after` hook made of a closure.
pub struct AfterFn<F>(&'static str, F);

named_debug!(AfterFn);

/// Makes a [`Middleware`] of a closure that hears of outcomes.
pub fn after<F>(name: &'static str, hook: F) -> AfterFn<F>
where
    F: Fn(&Call, &Outcome<'_>) + Send + Sync + 'static,
{
    AfterFn(name, hook)
}

impl<F: Fn(&Call, &Outcome<'_>) + Send + Sync + 'static> Middleware for AfterFn<F> {
    fn name(&self) -> &str {
        self.0
    }

    fn after(&self, call: &Call, outcome: &Outcome<'_>) {
        (self.1)(call, outcome);
    }
}

/// An input rewriter made of a closure.
pub struct RewriteFn<F>(&'static str, F);

named_debug!(RewriteFn);

/// Makes an [`InputMiddleware`] of a closure.
pub fn rewrite<F>(name: &'static str, hook: F) -> RewriteFn<F>
where
    F: Fn(&Call, &mut Input) -> Step + Send + Sync + 'static,
{
    RewriteFn(name, hook)
}

impl<F: Fn(&Call, &mut Input) -> Step + Send + Sync + 'static> InputMiddleware for RewriteFn<F> {
    fn name(&self) -> &str {
        self.0
    }

    fn rewrite(&self, call: &Call, input: &mut Input) -> Step {
        (self.1)(call, input)
    }
}

/// An output inspector made of a closure.
pub struct InspectFn<F> {
    name: &'static str,
    hook: F,
    form: Option<Arc<dyn DeltaForm>>,
}

impl<F> std::fmt::Debug for InspectFn<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "InspectFn({})", self.name)
    }
}

/// Makes an [`OutputMiddleware`] of a closure. `form` is said aloud: `None` blinds the streams of the runtime.
pub fn inspect<F>(name: &'static str, form: Option<Arc<dyn DeltaForm>>, hook: F) -> InspectFn<F>
where
    F: Fn(&Call, &mut Output) -> Step + Send + Sync + 'static,
{
    InspectFn { name, hook, form }
}

impl<F: Fn(&Call, &mut Output) -> Step + Send + Sync + 'static> OutputMiddleware for InspectFn<F> {
    fn name(&self) -> &str {
        self.name
    }

    fn inspect(&self, call: &Call, output: &mut Output) -> Step {
        (self.hook)(call, output)
    }

    fn delta_form(&self) -> Option<&dyn DeltaForm> {
        self.form.as_deref()
    }
}

/// An around made of a closure.
pub struct AroundFn<F>(&'static str, F);

named_debug!(AroundFn);

/// Makes an [`Around`] of a closure.
pub fn around<F>(name: &'static str, hook: F) -> AroundFn<F>
where
    F: for<'a> Fn(&'a Call, Next<'a>) -> BoxFuture<'a, Result<Opaque<'a>, CallError>> + Send + Sync + 'static,
{
    AroundFn(name, hook)
}

impl<F> Around for AroundFn<F>
where
    F: for<'a> Fn(&'a Call, Next<'a>) -> BoxFuture<'a, Result<Opaque<'a>, CallError>> + Send + Sync + 'static,
{
    fn name(&self) -> &str {
        self.0
    }

    fn around<'a>(&'a self, call: &'a Call, next: Next<'a>) -> BoxFuture<'a, Result<Opaque<'a>, CallError>> {
        (self.1)(call, next)
    }
}

/// An authorizer made of a closure.
pub struct AuthorizeFn<F>(F);

impl<F> std::fmt::Debug for AuthorizeFn<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AuthorizeFn")
    }
}

/// Makes an [`Authorizer`] of a closure. Nobody may act as another.
pub fn authorize<F>(decide: F) -> AuthorizeFn<F>
where
    F: Fn(&Call, &Input) -> Step + Send + Sync + 'static,
{
    AuthorizeFn(decide)
}

impl<F: Fn(&Call, &Input) -> Step + Send + Sync + 'static> Authorizer for AuthorizeFn<F> {
    fn authorize(&self, call: &Call, input: &Input) -> Step {
        (self.0)(call, input)
    }
}
