//! The synchronisation that the gate is built on, in one place so that a model checker can stand in for it.

pub(crate) use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
pub(crate) use std::sync::{Mutex, MutexGuard};

/// A number that tells the running threads apart; never 0.
#[inline]
pub(crate) fn thread_token() -> usize {
    thread_local! {
        static PLACE: u8 = const { 0 };
    }
    PLACE.try_with(|place| std::ptr::from_ref(place).addr()).unwrap_or(usize::MAX)
}
