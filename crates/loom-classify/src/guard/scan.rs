//! The first pass over a request: is there an offence, and what do its fences hold?

use std::ops::ControlFlow;

use super::Guarded;
use crate::marker::{MARKER_KEY, ORIGINS_KEY};
use crate::origin::{GatheredOrigins, TaintOrigin};
use crate::walk::{RAW_JSON_NAME, Scalar, Visit};

/// What a key, a text or a container costs beyond its own bytes: its quotes or brackets.
const FRAME_BYTES: usize = 2;
/// What a number, a boolean or null costs, whatever its digits.
const SCALAR_BYTES: usize = 8;

/// Why the scan broke off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Offence {
    Untrusted,
    TooLarge,
    RawJson,
}

pub(super) struct Scan {
    bytes: usize,
    bytes_max: usize,
    offence: Option<Offence>,
    fences: u32,
    fenced: FencedContent,
}

/// What was seen inside fences.
#[derive(Default)]
struct FencedContent {
    origins: GatheredOrigins,
    /// A marker was seen in this fence, so that a list named `origins` may be one of origins.
    marked: bool,
    /// The last marker has not stated an origin yet.
    unlabelled: bool,
    /// The texts that follow are such a list.
    listing: bool,
}

impl Scan {
    #[inline]
    pub(super) fn new(bytes_max: usize) -> Self {
        Self { bytes: 0, bytes_max, offence: None, fences: 0, fenced: FencedContent::default() }
    }

    pub(super) fn offence(&self) -> Option<Offence> {
        self.offence
    }

    /// What was seen, unless it is too large.
    #[inline]
    pub(super) fn into_guarded(self) -> Option<Guarded> {
        let within = self.bytes <= self.bytes_max;
        within.then(|| Guarded { fenced: self.fenced.origins.into_origins(), bytes: self.bytes })
    }

    /// Counts, and does not compare: sums of constants fold, and the end of each container compares.
    #[inline]
    fn count(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
    }

    #[inline]
    fn stop(&mut self, offence: Offence) -> ControlFlow<()> {
        self.offence = Some(offence);
        ControlFlow::Break(())
    }

    #[cold]
    fn reserved_key(&mut self, key: &str) -> ControlFlow<()> {
        match key {
            MARKER_KEY => self.stop(Offence::Untrusted),
            // Read back by serde_json, an object with this key is parsed as JSON text that nobody has seen.
            RAW_JSON_NAME => self.stop(Offence::RawJson),
            _ => ControlFlow::Continue(()),
        }
    }
}

impl Visit for Scan {
    #[inline]
    fn key(&mut self, key: &str) -> ControlFlow<()> {
        self.count(key.len() + FRAME_BYTES);
        if self.fences > 0 {
            self.fenced.key(key);
            return ControlFlow::Continue(());
        }
        if key.starts_with('$') { self.reserved_key(key) } else { ControlFlow::Continue(()) }
    }

    #[inline]
    fn text(&mut self, text: &str) -> ControlFlow<()> {
        if self.fenced.listing {
            self.fenced.state(text);
        }
        self.count(text.len() + FRAME_BYTES);
        ControlFlow::Continue(())
    }

    #[inline]
    fn bytes(&mut self, bytes: &[u8]) -> ControlFlow<()> {
        self.count(bytes.len() + FRAME_BYTES);
        ControlFlow::Continue(())
    }

    #[inline]
    fn scalar(&mut self, _scalar: Scalar) -> ControlFlow<()> {
        self.count(SCALAR_BYTES);
        ControlFlow::Continue(())
    }

    #[inline]
    fn enter(&mut self) -> ControlFlow<()> {
        self.count(FRAME_BYTES);
        ControlFlow::Continue(())
    }

    #[inline]
    fn leave(&mut self) -> ControlFlow<()> {
        self.fenced.listing = false;
        if self.bytes > self.bytes_max { self.stop(Offence::TooLarge) } else { ControlFlow::Continue(()) }
    }

    fn fence_enter(&mut self) -> ControlFlow<()> {
        self.fences += 1;
        ControlFlow::Continue(())
    }

    fn fence_leave(&mut self) -> ControlFlow<()> {
        self.fences -= 1;
        if self.fences == 0 {
            self.fenced.close();
        }
        ControlFlow::Continue(())
    }

    fn taint_enter(&mut self) -> ControlFlow<()> {
        if self.fences == 0 { self.stop(Offence::Untrusted) } else { ControlFlow::Continue(()) }
    }

    fn origin(&mut self, origin: &str) -> ControlFlow<()> {
        self.fenced.origins.insert_wire(origin);
        self.count(origin.len() + FRAME_BYTES);
        ControlFlow::Continue(())
    }
}

impl FencedContent {
    /// A key inside a fence. It may make too much of what it sees, never too little: content that imitates the
    /// wrapper adds origins, and cannot take one away.
    fn key(&mut self, key: &str) {
        self.listing = self.marked && key == ORIGINS_KEY;
        if key == MARKER_KEY || key == RAW_JSON_NAME {
            self.settle();
            self.marked = true;
            self.unlabelled = true;
        }
    }

    fn state(&mut self, origin: &str) {
        self.unlabelled = false;
        self.origins.insert_wire(origin);
    }

    fn settle(&mut self) {
        if std::mem::take(&mut self.unlabelled) {
            self.origins.insert(TaintOrigin::unlabelled());
        }
    }

    fn close(&mut self) {
        self.settle();
        self.marked = false;
        self.listing = false;
    }
}
