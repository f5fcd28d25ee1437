//! Third-party code runs under a catch, everywhere.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Marks that third-party code panicked; what follows from it is decided where it was called.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Panicked;

/// Runs `code` under a catch. What it leaves half-done behind its borrows belongs to the call that now fails.
#[inline]
pub(crate) fn caught<R>(code: impl FnOnce() -> R) -> Result<R, Panicked> {
    catch_unwind(AssertUnwindSafe(code)).map_err(|_| Panicked)
}
