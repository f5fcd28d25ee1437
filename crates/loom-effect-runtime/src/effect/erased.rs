//! An effect without its types: what the registry holds.

use std::any::{Any, TypeId};

use futures::future::BoxFuture;

use super::{Effect, EffectContext};
use crate::data::{Data, Input, Output, ViewError, parse};
use crate::error::CallError;
use crate::names::ErrorName;

/// The object-safe form of an [`Effect`].
pub(crate) trait DynEffect: Send + Sync {
    fn ready(
        &self,
        input: &Input,
        cx: &EffectContext<'_>,
        place: &mut Output,
    ) -> Option<Result<(), CallError>>;

    fn execute<'a>(
        &'a self,
        input: &'a Input,
        cx: &'a EffectContext<'a>,
        place: &'a mut Output,
    ) -> BoxFuture<'a, Result<(), CallError>>;

    /// Shows the output's live text; false where the effect states none.
    fn live_text(&self, output: &Output, piece: &mut dyn FnMut(&str)) -> bool;

    /// The input as the effect's own type, made through the JSON view when it is another; `None` when it fits.
    fn coerce(&self, input: &Input) -> Result<Option<Box<Input>>, ViewError>;

    fn new_place(&self) -> Box<Output>;
}

/// The adapter from the typed form.
pub(crate) struct Erased<E>(pub(crate) E);

impl<E: Effect> DynEffect for Erased<E> {
    fn ready(
        &self,
        input: &Input,
        cx: &EffectContext<'_>,
        place: &mut Output,
    ) -> Option<Result<(), CallError>> {
        let Some(input) = input.get::<E::Input>() else { return Some(Err(misfit())) };
        let given = self.0.ready(input, cx)?;
        Some(given.and_then(|output| put(place, output)))
    }

    fn execute<'a>(
        &'a self,
        input: &'a Input,
        cx: &'a EffectContext<'a>,
        place: &'a mut Output,
    ) -> BoxFuture<'a, Result<(), CallError>> {
        Box::pin(async move {
            let Some(input) = input.get::<E::Input>() else { return Err(misfit()) };
            let output = self.0.execute(input, cx).await?;
            put(place, output)
        })
    }

    fn live_text(&self, output: &Output, piece: &mut dyn FnMut(&str)) -> bool {
        output.get::<E::Output>().is_some_and(|output| E::live_text(output, piece))
    }

    fn coerce(&self, input: &Input) -> Result<Option<Box<Input>>, ViewError> {
        if (input.payload() as &dyn Any).type_id() == TypeId::of::<E::Input>() {
            return Ok(None);
        }
        let typed: E::Input = parse(input.json()?)?;
        Ok(Some(Box::new(Input::new(typed))))
    }

    fn new_place(&self) -> Box<Output> {
        Box::new(Output::<Option<E::Output>>::empty())
    }
}

fn put<O: Data>(place: &mut Output, output: O) -> Result<(), CallError> {
    if place.put(output) { Ok(()) } else { Err(misfit()) }
}

/// Cannot happen while the path coerces first; refused rather than assumed.
#[cold]
fn misfit() -> CallError {
    CallError::named(ErrorName::InputInvalid, "input or output has another type than the effect's")
}
