//! The audit trail of taint: every unwrap and every endorsement, with its call site.
//!
//! One hook a process, installed once. It is told of [`unwrap_tainted`](crate::Tainted::unwrap_tainted),
//! [`expose_tainted`](crate::Tainted::expose_tainted) and [`endorse`](crate::Tainted::endorse); it never gets content.

use std::cell::Cell;
use std::fmt;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::OnceLock;

use crate::origin::Origins;

type Hook = Box<dyn Fn(&UnwrapEvent<'_>) + Send + Sync>;

static HOOK: OnceLock<Hook> = OnceLock::new();

thread_local! {
    static INSIDE_HOOK: Cell<bool> = const { Cell::new(false) };
}

/// What left its taint, and where in the source that was written.
#[non_exhaustive]
#[derive(Clone, Copy, Debug)]
pub struct UnwrapEvent<'a> {
    /// The call site of the unwrap.
    pub location: &'static Location<'static>,
    /// The origins of the value.
    pub origins: &'a Origins,
    /// By which way it left.
    pub kind: UnwrapKind,
}

impl fmt::Display for UnwrapEvent<'_> {
    /// One line, such as `expose_tainted of llm:plan at src/tail.rs:12:9`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} at {}", self.kind, self.origins, self.location)
    }
}

/// The ways by which a value leaves its taint.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnwrapKind {
    /// `unwrap_tainted`: the value itself.
    Unwrap,
    /// `expose_tainted`: a borrow of the value.
    Expose,
    /// `endorse`: a small value, through a validator.
    Endorse {
        /// The validator's name.
        endorser: &'static str,
        /// Whether it accepted the value.
        accepted: bool,
    },
}

impl fmt::Display for UnwrapKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unwrap => f.write_str("unwrap_tainted"),
            Self::Expose => f.write_str("expose_tainted"),
            Self::Endorse { endorser, accepted: true } => write!(f, "endorse (`{endorser}` accepted)"),
            Self::Endorse { endorser, accepted: false } => write!(f, "endorse (`{endorser}` refused)"),
        }
    }
}

/// A hook is in place already; the first one stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an audit hook is installed already; a process has one")]
pub struct AlreadyInstalled;

/// Installs the process's audit hook. It is called on the unwrapping thread, before the value is handed out.
///
/// A panic in the hook is swallowed, and an unwrap that the hook itself does is not reported: it cannot hurt the
/// caller. With no hook installed an unwrap costs one atomic load.
///
/// # Errors
/// [`AlreadyInstalled`] when there is one; it cannot be replaced, so that no later code can silence it.
pub fn install(hook: impl Fn(&UnwrapEvent<'_>) + Send + Sync + 'static) -> Result<(), AlreadyInstalled> {
    HOOK.set(Box::new(hook)).map_err(|_| AlreadyInstalled)
}

#[inline]
pub(crate) fn record(location: &'static Location<'static>, origins: &Origins, kind: UnwrapKind) {
    if let Some(hook) = HOOK.get() {
        report(hook, &UnwrapEvent { location, origins, kind });
    }
}

#[cold]
fn report(hook: &Hook, event: &UnwrapEvent<'_>) {
    // A hook that unwraps would call itself without end, and a thread in teardown has no flag to ask.
    let entered = INSIDE_HOOK.try_with(|inside| !inside.replace(true)).unwrap_or(false);
    if !entered {
        return;
    }
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| hook(event))) {
        // Dropping a panic's payload may itself panic.
        std::mem::forget(payload);
    }
    INSIDE_HOOK.with(|inside| inside.set(false));
}
