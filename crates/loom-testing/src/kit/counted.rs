//! Counting allocations.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// How many allocations this thread makes meanwhile; none are seen without the feature. A panic goes on once the count
/// is over: counts nest only so deep, and one that is unwound through would never end.
pub(crate) fn allocations(run: impl FnOnce()) -> u64 {
    let mut ran = Ok(());
    let run = || ran = catch_unwind(AssertUnwindSafe(run));
    #[cfg(feature = "allocations")]
    let count = allocation_counter::measure(run).count_total;
    #[cfg(not(feature = "allocations"))]
    let count = {
        run();
        0
    };
    match ran {
        Ok(()) => count,
        Err(panic) => resume_unwind(panic),
    }
}
