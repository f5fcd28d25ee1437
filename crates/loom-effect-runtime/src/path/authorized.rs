//! The witness that the authorizer let a call through.

use std::ops::Deref;

use crate::data::Input;
use crate::error::{CallError, Refusal};

/// Minted where the authorizer said Go, and nowhere else.
pub(super) struct Proof(());

impl Proof {
    pub(super) fn by_authorizer() -> Self {
        Self(())
    }
}

/// An input behind a proof: what an attempt takes. It holds the shared borrow of the input, so while it lives nobody
/// can get a `&mut`.
pub(crate) struct Authorized<'i>(&'i Input);

impl<'i> Authorized<'i> {
    /// The input behind `proof`. Without one nothing runs.
    #[inline]
    pub(super) fn by(proof: &Option<Proof>, input: &'i Input) -> Result<Self, CallError> {
        match proof {
            Some(Proof(())) => Ok(Self(input)),
            None => Err(Refusal::capability_denied("authorizer").into()),
        }
    }
}

impl Deref for Authorized<'_> {
    type Target = Input;

    fn deref(&self) -> &Input {
        self.0
    }
}
