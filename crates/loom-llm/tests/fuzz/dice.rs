//! Choices drawn from the bytes that the engine makes: the fewer bytes, the smaller what is made of them.

/// The bytes not yet drawn. Once they are used up every draw is 0, which is always the plainest choice.
pub(crate) struct Dice<'a>(&'a [u8]);

impl<'a> Dice<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The next byte.
    pub(crate) fn byte(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        *first
    }

    /// A number below `limit`, which is not 0.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        let wide = match limit {
            0..=0x100 => usize::from(self.byte()),
            _ => (0..3).fold(0, |wide, _| wide << 8 | usize::from(self.byte())),
        };
        wide % limit
    }

    /// True once in so many times, and never once the bytes are used up.
    pub(crate) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == times - 1
    }

    pub(crate) fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// Up to so many of the bytes as they are.
    pub(crate) fn raw(&mut self, bytes_max: usize) -> &'a [u8] {
        let (raw, rest) = self.0.split_at(bytes_max.min(self.0.len()));
        self.0 = rest;
        raw
    }

    pub(crate) fn is_spent(&self) -> bool {
        self.0.is_empty()
    }
}
