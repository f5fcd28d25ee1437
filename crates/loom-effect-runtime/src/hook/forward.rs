//! Hooks behind pointers are hooks: a shared one, or one chosen at run time.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;

use super::{Around, Authorizer, InputMiddleware, Middleware, Next, Opaque, OutputMiddleware, Step, Waiting};
use crate::call::{Call, CallRef, Outcome};
use crate::data::{Input, Output};
use crate::delta::{DeltaForm, DeltaKinds, DeltaSink, EffectDelta, MeterForm};
use crate::error::{CallError, Refusal};
use crate::identity::Identity;

macro_rules! forward {
    ($($pointer:ident),+) => {$(
        impl<T: DeltaSink + ?Sized> DeltaSink for $pointer<T> {
            fn deliver(&self, call: &CallRef<'_>, delta: &EffectDelta<'_>) {
                (**self).deliver(call, delta);
            }

            fn wants(&self) -> DeltaKinds {
                (**self).wants()
            }
        }

        impl<T: Middleware + ?Sized> Middleware for $pointer<T> {
            fn name(&self) -> &str {
                (**self).name()
            }

            fn before(&self, call: &Call, input: &Input) -> Step {
                (**self).before(call, input)
            }

            fn before_wait<'a>(&'a self, call: &'a Call, input: &'a Input) -> Waiting<'a> {
                (**self).before_wait(call, input)
            }

            fn after(&self, call: &Call, outcome: &Outcome<'_>) {
                (**self).after(call, outcome);
            }

            fn meter(&self) -> Option<&dyn MeterForm> {
                (**self).meter()
            }

            fn deadline(&self) -> Duration {
                (**self).deadline()
            }
        }

        impl<T: InputMiddleware + ?Sized> InputMiddleware for $pointer<T> {
            fn name(&self) -> &str {
                (**self).name()
            }

            fn rewrite(&self, call: &Call, input: &mut Input) -> Step {
                (**self).rewrite(call, input)
            }

            fn rewrite_wait<'a>(&'a self, call: &'a Call, input: &'a mut Input) -> Waiting<'a> {
                (**self).rewrite_wait(call, input)
            }

            fn deadline(&self) -> Duration {
                (**self).deadline()
            }
        }

        impl<T: OutputMiddleware + ?Sized> OutputMiddleware for $pointer<T> {
            fn name(&self) -> &str {
                (**self).name()
            }

            fn inspect(&self, call: &Call, output: &mut Output) -> Step {
                (**self).inspect(call, output)
            }

            fn inspect_wait<'a>(&'a self, call: &'a Call, output: &'a mut Output) -> Waiting<'a> {
                (**self).inspect_wait(call, output)
            }

            fn delta_form(&self) -> Option<&dyn DeltaForm> {
                (**self).delta_form()
            }

            fn deadline(&self) -> Duration {
                (**self).deadline()
            }
        }

        impl<T: Around + ?Sized> Around for $pointer<T> {
            fn name(&self) -> &str {
                (**self).name()
            }

            fn around<'a>(&'a self, call: &'a Call, next: Next<'a>) -> BoxFuture<'a, Result<Opaque<'a>, CallError>> {
                (**self).around(call, next)
            }
        }

        impl<T: Authorizer + ?Sized> Authorizer for $pointer<T> {
            fn authorize(&self, call: &Call, input: &Input) -> Step {
                (**self).authorize(call, input)
            }

            fn authorize_wait<'a>(&'a self, call: &'a Call, input: &'a Input) -> Waiting<'a> {
                (**self).authorize_wait(call, input)
            }

            fn may_act_as(&self, call: &Call, caller: &Identity) -> Result<(), Refusal> {
                (**self).may_act_as(call, caller)
            }

            fn deadline(&self) -> Duration {
                (**self).deadline()
            }
        }
    )+};
}

forward!(Arc, Box);
