//! The witness that the authorizer let a call through.

use std::ops::Deref;

use crate::data::Input;
use crate::error::{CallError, Refusal};

/// Made by the authorizer's step alone. It holds the shared borrow of the input: after it nobody can get a `&mut`,
/// and no attempt runs without it.
pub(crate) struct Authorized<'i>(&'i Input);

impl<'i> Authorized<'i> {
    /// Called where the authorizer said Go, and nowhere else.
    pub(super) fn by_authorizer(input: &'i Input) -> Self {
        Self(input)
    }
}

impl Deref for Authorized<'_> {
    type Target = Input;

    fn deref(&self) -> &Input {
        self.0
    }
}

/// Cannot happen while the path asks the authorizer first; refused rather than assumed.
#[cold]
pub(super) fn missing() -> CallError {
    Refusal::capability_denied("authorizer").into()
}
