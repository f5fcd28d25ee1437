//! Third-party code runs under a catch, everywhere: also where it is dropped.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Marks that third-party code panicked; what follows from it is decided where it was called.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Panicked;

/// Runs `code` under a catch. What it leaves half-done behind its borrows belongs to the call that now fails.
#[inline]
pub(crate) fn caught<R>(code: impl FnOnce() -> R) -> Result<R, Panicked> {
    catch_unwind(AssertUnwindSafe(code)).map_err(|_| Panicked)
}

/// A third party's value, whose drop cannot unwind into the call either.
pub(crate) struct Contained<T>(Option<T>);

impl<T> Contained<T> {
    #[inline]
    pub(crate) fn new(value: T) -> Self {
        Self(Some(value))
    }

    #[inline]
    pub(crate) fn get(&self) -> Option<&T> {
        self.0.as_ref()
    }

    pub(crate) fn into_inner(mut self) -> Option<T> {
        self.0.take()
    }

    #[inline]
    pub(crate) fn get_mut(&mut self) -> Option<&mut T> {
        self.0.as_mut()
    }
}

impl<T> Drop for Contained<T> {
    #[inline]
    fn drop(&mut self) {
        if let Some(value) = self.0.take() {
            let _ = caught(|| drop(value));
        }
    }
}
