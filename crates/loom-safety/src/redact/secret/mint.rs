//! Where references come from.

use std::hash::{BuildHasher, RandomState};

use loom_effect_runtime::CallInfo;

use super::SecretRef;
use crate::rule::RuleId;

/// Makes references by a hash under a key of its own, which never leaves the process.
pub(in crate::redact) struct Mint(RandomState);

impl Mint {
    pub(in crate::redact) fn new() -> Self {
        Self(RandomState::new())
    }

    /// The reference of `value` in `call`: made from who asks, execution id and step id, with the call key appended
    /// (spec row T8), then rule and value.
    ///
    /// The same value in the same call has one reference, whoever sees it first. Two scope calls of one tool have
    /// two; two bare calls share one only for one value of one principal. The key is there so that a short value
    /// cannot be found by trying all of them; that nobody can make a reference is the vault's doing.
    pub(in crate::redact) fn reference(&self, call: &CallInfo, rule: &RuleId, value: &str) -> SecretRef {
        let identity = call.identity();
        let asker = (identity.principal(), identity.run_as());
        let place = (call.execution_id(), call.step_id(), call.call_key());
        let half = |half: u8| u128::from(self.0.hash_one((half, asker, place, rule, value)));
        SecretRef::new(rule, half(0) << 64 | half(1))
    }
}
