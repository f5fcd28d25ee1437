//! Who may call what.

use std::time::Duration;

use super::{Step, WAIT_DEADLINE_DEFAULT, Waiting, undecided};
use crate::call::Call;
use crate::data::Input;
use crate::error::Refusal;
use crate::identity::Identity;
use crate::names::ErrorName;

/// Decides whether an identity may make a call (spec row T6).
///
/// It sees workflow id, execution id, the full principal chain, delegation and actor through [`Call`], and the input
/// that the effect would get (the raw one where it does not fit the effect's type).
///
/// # Panics
/// A panic denies. So does a deadline.
pub trait Authorizer: Send + Sync + 'static {
    /// Decides.
    fn authorize(&self, call: &Call, input: &Input) -> Step;

    /// Asked only after [`Step::Wait`].
    fn authorize_wait<'a>(&'a self, _call: &'a Call, _input: &'a Input) -> Waiting<'a> {
        undecided(ErrorName::CapabilityDenied)
    }

    /// Decides whether `caller` may ask as [`Call::identity`](crate::CallInfo::identity), which is another. Asked before
    /// `authorize`, where a call says [`run_as`](crate::CallBuilder::run_as) or
    /// [`principal`](crate::CallBuilder::principal). Nobody may, unless this says so.
    ///
    /// # Errors
    /// The refusal, by default `CapabilityInvokeDeniedError`.
    fn may_act_as(&self, _call: &Call, _caller: &Identity) -> Result<(), Refusal> {
        Err(Refusal::new(ErrorName::CapabilityInvokeDenied, "act_as_another"))
    }

    /// How long a waiting decision may take.
    fn deadline(&self) -> Duration {
        WAIT_DEADLINE_DEFAULT
    }
}

/// What [`allow_all_calls`](crate::RuntimeBuilder::allow_all_calls) says aloud.
pub(crate) struct AllowAll;

impl Authorizer for AllowAll {
    fn authorize(&self, _call: &Call, _input: &Input) -> Step {
        Step::Go
    }

    fn may_act_as(&self, _call: &Call, _caller: &Identity) -> Result<(), Refusal> {
        Ok(())
    }
}
