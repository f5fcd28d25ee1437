//! Where the arguments of a call end, as far as their brackets tell.

/// How far a JSON object has come.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Extent {
    depth: u64,
    begun: bool,
    in_text: bool,
    escaped: bool,
}

impl Extent {
    /// The extent of a first piece.
    pub(super) fn of(piece: &str) -> Self {
        let mut extent = Self::default();
        extent.add(piece);
        extent
    }

    /// Reads on.
    pub(super) fn add(&mut self, piece: &str) {
        for byte in piece.bytes() {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.in_text => self.escaped = true,
                b'"' => self.in_text = !self.in_text,
                b'{' | b'[' if !self.in_text => {
                    self.depth += 1;
                    self.begun = true;
                }
                b'}' | b']' if !self.in_text => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
    }

    /// Whether an object has come to its end.
    pub(super) fn is_whole(&self) -> bool {
        self.begun && self.depth == 0 && !self.in_text
    }
}
