//! Calls of the kit's own effect round a subject, and what is looked at in them.

pub(super) mod aborts;
pub(super) mod came;
pub(super) mod cancels;
#[cfg(feature = "allocations")]
pub(super) mod costs;
pub(super) mod echo;
pub(super) mod failures;
pub(super) mod forms;
pub(super) mod hostile;
pub(super) mod keys;
pub(super) mod manners;
pub(super) mod meters;
pub(super) mod probe;
pub(super) mod refusals;
pub(super) mod stage;
pub(super) mod wear;
pub(super) mod words;
