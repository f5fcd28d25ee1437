//! A vault in the process's memory.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use loom_effect_runtime::{Identity, Principal, RunAs};

use super::{Secret, SecretRef, SecretVault, VaultError};

/// Keeps values in memory, up to a stated number and [`BYTES_MAX`](Self::BYTES_MAX) bytes, until they are forgotten
/// or the vault is dropped.
///
/// Nothing is evicted to make room: when it is full the call that would put one more value is refused under
/// `vault.full`. [`forget`](Self::forget) an execution's values when it is over.
pub struct MemoryVault {
    secrets_max: usize,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    entries: HashMap<SecretRef, Entry>,
    bytes: usize,
}

struct Entry {
    principal: Principal,
    run_as: Option<RunAs>,
    secret: Secret,
}

impl Entry {
    /// The label of a bare call is no part of whom a value belongs to.
    fn is_of(&self, identity: &Identity) -> bool {
        self.principal == *identity.principal() && self.run_as.as_ref() == identity.run_as()
    }
}

impl MemoryVault {
    /// How many values [`default`](Self::default) keeps.
    pub const SECRETS_DEFAULT: usize = 10_000;
    /// How many bytes of values any vault of this kind keeps.
    pub const BYTES_MAX: usize = 64 << 20;

    /// A vault of at most `secrets_max` values.
    #[must_use]
    pub fn new(secrets_max: usize) -> Self {
        Self { secrets_max, kept: Mutex::default() }
    }

    /// Forgets every value that was put for `identity`: its references are unknown from now on.
    pub fn forget(&self, identity: &Identity) {
        let mut kept = self.kept();
        kept.entries.retain(|_, entry| !entry.is_of(identity));
        kept.bytes = kept.entries.values().map(|entry| entry.secret.expose().len()).sum();
    }

    /// How many values are kept.
    #[must_use]
    pub fn len(&self) -> usize {
        self.kept().entries.len()
    }

    /// Whether none is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // Nothing is half done when a panic leaves the lock: an entry goes in last.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SecretVault for MemoryVault {
    fn put(&self, reference: &SecretRef, value: &str, owner: &Identity) -> Result<(), VaultError> {
        let mut kept = self.kept();
        if let Some(entry) = kept.entries.get(reference) {
            let same = entry.is_of(owner) && entry.secret.expose() == value;
            return if same { Ok(()) } else { Err(VaultError::Conflict) };
        }
        if kept.entries.len() >= self.secrets_max || value.len() > Self::BYTES_MAX.saturating_sub(kept.bytes)
        {
            return Err(VaultError::Full);
        }
        let (principal, run_as) = (owner.principal().clone(), owner.run_as().cloned());
        kept.bytes += value.len();
        kept.entries.insert(reference.clone(), Entry { principal, run_as, secret: Secret::new(value) });
        Ok(())
    }

    fn resolve(&self, reference: &SecretRef, asking: &Identity) -> Result<Secret, VaultError> {
        let kept = self.kept();
        let entry = kept.entries.get(reference).filter(|entry| entry.is_of(asking));
        entry.map(|entry| Secret::new(entry.secret.expose())).ok_or(VaultError::Unknown)
    }
}

impl Default for MemoryVault {
    fn default() -> Self {
        Self::new(Self::SECRETS_DEFAULT)
    }
}

impl fmt::Debug for MemoryVault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryVault").field("secrets_max", &self.secrets_max).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::RuleId;

    fn reference(digest: u128) -> SecretRef {
        SecretRef::new(&RuleId::new("r"), digest)
    }

    fn identity(principal: &str, execution: Option<&str>) -> Identity {
        let principal = Principal::new(principal.to_owned()).on_behalf_of(["boss"]);
        match execution {
            Some(execution) => Identity::execution(principal, RunAs::new("flow", execution.to_owned())),
            None => Identity::new(principal),
        }
    }

    #[test]
    fn a_value_is_given_back_to_whom_it_was_put_for_and_to_nobody_else() {
        let vault = MemoryVault::default();
        let owner = identity("ada", Some("e1"));
        vault.put(&reference(1), "value", &owner).unwrap();
        assert_eq!(vault.resolve(&reference(1), &owner).unwrap().expose(), "value");
        let alone = Identity::execution(Principal::new("ada"), RunAs::new("flow", "e1"));
        let other_flow =
            Identity::execution(Principal::new("ada").on_behalf_of(["boss"]), RunAs::new("other", "e1"));
        for other in [
            identity("bob", Some("e1")),
            identity("ada", Some("e2")),
            identity("ada", None),
            alone,
            other_flow,
        ] {
            assert_eq!(vault.resolve(&reference(1), &other).unwrap_err(), VaultError::Unknown, "{other:?}");
        }
        assert_eq!(vault.resolve(&reference(2), &owner).unwrap_err(), VaultError::Unknown);
    }

    #[test]
    fn the_same_value_may_be_put_again_and_another_conflicts() {
        let vault = MemoryVault::new(1);
        let owner = identity("ada", None);
        for _ in 0..2 {
            vault.put(&reference(1), "value", &owner).unwrap();
        }
        assert_eq!(vault.put(&reference(1), "other", &owner), Err(VaultError::Conflict));
        assert_eq!(vault.put(&reference(1), "value", &identity("bob", None)), Err(VaultError::Conflict));
        assert_eq!(vault.put(&reference(2), "other", &owner), Err(VaultError::Full));
        assert_eq!(vault.len(), 1);
    }

    #[test]
    fn what_is_forgotten_makes_room_and_is_unknown() {
        let vault = MemoryVault::new(2);
        let (ada, bob) = (identity("ada", Some("e1")), identity("bob", Some("e1")));
        vault.put(&reference(1), "value", &ada).unwrap();
        vault.put(&reference(2), "value", &bob).unwrap();
        vault.forget(&ada);
        assert_eq!(vault.resolve(&reference(1), &ada).unwrap_err(), VaultError::Unknown);
        assert!(vault.resolve(&reference(2), &bob).is_ok());
        vault.put(&reference(3), "value", &ada).unwrap();
    }

    #[test]
    fn the_bytes_of_all_values_are_bounded() {
        let vault = MemoryVault::default();
        let owner = identity("ada", None);
        let half = "x".repeat(MemoryVault::BYTES_MAX / 2);
        vault.put(&reference(1), &half, &owner).unwrap();
        vault.put(&reference(2), &half, &owner).unwrap();
        assert_eq!(vault.put(&reference(3), "x", &owner), Err(VaultError::Full));
        vault.forget(&owner);
        vault.put(&reference(3), "x", &owner).unwrap();
        assert!(!vault.is_empty());
    }

    #[test]
    fn nothing_shows_a_value() {
        let vault = MemoryVault::default();
        let owner = identity("ada", None);
        vault.put(&reference(1), "sesame", &owner).unwrap();
        let secret = vault.resolve(&reference(1), &owner).unwrap();
        assert!(!format!("{vault:?} {secret:?} {:?}", reference(1)).contains("sesame"));
    }
}
