//! The trait of vaults, and a value in one.

use std::fmt;
use std::hint::black_box;

use loom_effect_runtime::Identity;

use super::SecretRef;

/// Keeps the values that references stand for, and gives them back to those who may have them.
///
/// # Contract
/// - A value is given back to the identity that it was put for: the same principal with its chain, delegation and
///   actor, in the same execution or, for bare calls, in none. Everybody else gets [`VaultError::Unknown`], as for a
///   reference that was never minted, so that asking tells nothing.
/// - Putting the same value under the same reference for the same identity again is no error: live text and output
///   both put it, and so does every attempt. Another value under it is a [`VaultError::Conflict`].
/// - Bounded, and what does not fit is refused: the call then fails, and nothing of its text is delivered.
/// - No value in `Debug`, `Display` or an error.
///
/// Both methods run inside the call, under the lock of its channel where live text ends: they must not wait for long.
///
/// # Panics
/// A panic refuses the call.
pub trait SecretVault: Send + Sync + 'static {
    /// Keeps `value` for `owner`.
    ///
    /// # Errors
    /// [`VaultError`]; the call is refused.
    fn put(&self, reference: &SecretRef, value: &str, owner: &Identity) -> Result<(), VaultError>;

    /// The value, when `asking` is whom it was put for.
    ///
    /// # Errors
    /// [`VaultError::Unknown`] for everybody else.
    fn resolve(&self, reference: &SecretRef, asking: &Identity) -> Result<Secret, VaultError>;
}

/// Why a vault neither kept nor gave a value.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VaultError {
    /// There is no room for one more.
    #[error("the vault is full")]
    Full,
    /// There is no value under the reference for who asks.
    #[error("no value under this reference for this identity")]
    Unknown,
    /// Another value, or another owner, stands under the reference.
    #[error("another value stands under this reference")]
    Conflict,
    /// The vault cannot be asked.
    #[error("the vault is unavailable")]
    Unavailable,
}

impl VaultError {
    pub(in crate::redact) const fn rule(self) -> &'static str {
        match self {
            Self::Full => "vault.full",
            Self::Unknown => "vault.unknown",
            Self::Conflict => "vault.conflict",
            Self::Unavailable => "vault.unavailable",
        }
    }
}

/// A value out of a vault. It is not shown by `Debug`, has no `Display`, and its bytes are overwritten when it is
/// dropped.
///
/// Overwriting is what safe Rust can do: the compiler is asked, not bound, to keep it. Copies that others made (an
/// effect's output before redaction, an input that a value was put into, memory that the system swapped out) are not
/// reached.
pub struct Secret(Box<str>);

impl Secret {
    /// Takes a copy of `value`.
    #[must_use]
    pub fn new(value: &str) -> Self {
        Self(value.into())
    }

    /// The value. What it is copied into is the caller's to guard.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        let mut bytes = std::mem::take(&mut self.0).into_boxed_bytes();
        bytes.fill(0);
        black_box(&bytes);
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}
