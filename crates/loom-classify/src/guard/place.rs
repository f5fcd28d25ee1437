//! The second pass over a refused request: where does the untrusted content stand?

use std::fmt;
use std::ops::ControlFlow;

use serde::Serialize;

use crate::marker::MARKER_KEY;
use crate::origin::{GatheredOrigins, Origins};
use crate::walk::{Visit, walk};

/// Untrusted content stands in a request where only trusted content may stand (spec row D9).
///
/// It says where and, if that is certain, of what origin; it never quotes the request. A path names the fields of
/// structs and the variants of enums, which the program's author wrote; every other step, be it a key that is data
/// or a place in a list, is `*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UntrustedContentError {
    path: String,
    origins: Origins,
}

impl UntrustedContentError {
    /// The place, such as `/messages/*/content`; empty for the request as a whole.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The origins, if the content is a typed [`Tainted`](crate::Tainted). None for a marker in data, whose own
    /// statement could be anybody's text.
    #[must_use]
    pub fn origins(&self) -> &Origins {
        &self.origins
    }
}

impl fmt::Display for UntrustedContentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("untrusted content")?;
        if !self.origins.is_empty() {
            write!(f, " of {}", self.origins)?;
        }
        if !self.path.is_empty() {
            write!(f, " at `{}`", self.path)?;
        }
        f.write_str(
            " in a request that takes trusted content there; endorse it, or pass it in a fenced field",
        )
    }
}

impl std::error::Error for UntrustedContentError {}

/// Goes through `value` again, up to the first untrusted content outside a fence.
pub(super) fn find<T: Serialize + ?Sized>(value: &T) -> UntrustedContentError {
    let mut finder = Finder::default();
    // However the walk ends, what the finder has seen is the answer.
    let _ = walk(value, &mut finder);
    UntrustedContentError { path: finder.path.unwrap_or_default(), origins: finder.origins.into_origins() }
}

#[derive(Default)]
struct Finder {
    /// The step into each open container, outermost first; `None` where there is no name.
    steps: Vec<Option<&'static str>>,
    /// The step to what comes next.
    next: Option<&'static str>,
    fences: u32,
    path: Option<String>,
    origins: GatheredOrigins,
}

impl Finder {
    fn found(&mut self, last: Option<Option<&'static str>>) {
        // The first container is the request itself, which no step leads to.
        let steps = self.steps.iter().copied().chain(last).skip(1);
        self.path = Some(steps.flat_map(|step| ["/", step.unwrap_or("*")]).collect());
    }

    fn step(&mut self, name: &str, step: Option<&'static str>) -> ControlFlow<()> {
        if name == MARKER_KEY && self.fences == 0 && self.path.is_none() {
            self.found(None);
            return ControlFlow::Break(());
        }
        self.next = step;
        ControlFlow::Continue(())
    }
}

impl Visit for Finder {
    fn key(&mut self, key: &str) -> ControlFlow<()> {
        self.step(key, None)
    }

    fn field(&mut self, name: &'static str) -> ControlFlow<()> {
        self.step(name, Some(name))
    }

    fn enter(&mut self) -> ControlFlow<()> {
        self.steps.push(self.next.take());
        ControlFlow::Continue(())
    }

    fn leave(&mut self) -> ControlFlow<()> {
        self.steps.pop();
        self.next = None;
        ControlFlow::Continue(())
    }

    fn fence_enter(&mut self) -> ControlFlow<()> {
        self.fences += 1;
        ControlFlow::Continue(())
    }

    fn fence_leave(&mut self) -> ControlFlow<()> {
        self.fences -= 1;
        ControlFlow::Continue(())
    }

    fn taint_enter(&mut self) -> ControlFlow<()> {
        if self.fences == 0 && self.path.is_none() {
            self.found(Some(self.next));
        }
        ControlFlow::Continue(())
    }

    fn taint_leave(&mut self) -> ControlFlow<()> {
        if self.fences == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn origin(&mut self, origin: &str) -> ControlFlow<()> {
        if self.fences == 0 {
            self.origins.insert_wire(origin);
        }
        ControlFlow::Continue(())
    }
}
