//! Who may call what.

use std::time::Duration;

use super::{Step, WAIT_DEADLINE_DEFAULT, Waiting, undecided};
use crate::call::Call;
use crate::data::Input;
use crate::error::Refusal;
use crate::identity::RunAs;
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

    /// Decides whether the caller may act as another execution. Asked before `authorize`, where a call says
    /// [`run_as`](crate::CallBuilder::run_as). Nobody may, unless this says so.
    fn may_act_as(&self, _call: &Call, _run_as: &RunAs) -> Result<(), Refusal> {
        Err(Refusal::new(ErrorName::CapabilityInvokeDenied, "run_as"))
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

    fn may_act_as(&self, _call: &Call, _run_as: &RunAs) -> Result<(), Refusal> {
        Ok(())
    }
}
