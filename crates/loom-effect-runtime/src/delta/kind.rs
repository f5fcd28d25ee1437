//! Kinds of delta and the lanes they run in.

use std::ops::{BitAnd, BitOr};

/// What a piece of live text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeltaKind {
    /// Text of the answer.
    Text = 1,
    /// Reasoning.
    Reasoning = 2,
    /// The arguments of a tool call, as JSON text.
    ToolArguments = 4,
}

impl DeltaKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Text, Self::Reasoning, Self::ToolArguments];

    const fn bit(self) -> u8 {
        self as u8
    }
}

/// A set of kinds: what a sink asks for, what a form covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DeltaKinds(u8);

impl DeltaKinds {
    /// No kind.
    pub const NONE: Self = Self(0);
    /// Text only: what a sink gets unless it asks for more (spec row D20).
    pub const TEXT: Self = Self(DeltaKind::Text.bit());
    /// Reasoning only.
    pub const REASONING: Self = Self(DeltaKind::Reasoning.bit());
    /// Tool arguments only.
    pub const TOOL_ARGUMENTS: Self = Self(DeltaKind::ToolArguments.bit());
    /// Every kind.
    pub const ALL: Self = Self(Self::TEXT.0 | Self::REASONING.0 | Self::TOOL_ARGUMENTS.0);

    /// Whether `kind` is in the set.
    #[inline]
    #[must_use]
    pub const fn has(self, kind: DeltaKind) -> bool {
        self.0 & kind.bit() != 0
    }

    /// Whether the set is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl BitOr for DeltaKinds {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitAnd for DeltaKinds {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

/// A lane of live text: its kind, the choice and the block within it. Each lane has guards of its own.
///
/// Text and reasoning run one block at a time per choice: opening the next finishes the one before, and writing
/// to a finished one severs. Tool arguments may interleave.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Lane(
    /// Kind (high byte), choice, block: one word, because lanes are compared at every delta.
    u64,
);

impl Lane {
    /// The answer's text: choice 0, block 0.
    pub const TEXT: Self = Self::new(DeltaKind::Text, 0, 0);
    /// Reasoning of choice 0, block 0.
    pub const REASONING: Self = Self::new(DeltaKind::Reasoning, 0, 0);
    /// The largest choice there is; a larger one is taken for it.
    pub const CHOICE_MAX: u32 = (1 << 24) - 1;

    /// The lane of `kind` in `choice`, block `block`; a tool call is a block of its own.
    #[must_use]
    pub const fn new(kind: DeltaKind, choice: u32, block: u32) -> Self {
        let choice = if choice > Self::CHOICE_MAX { Self::CHOICE_MAX } else { choice };
        Self((kind as u64) << 56 | (choice as u64) << 32 | block as u64)
    }

    /// The arguments of tool call `block` of choice 0.
    #[must_use]
    pub const fn tool_arguments(block: u32) -> Self {
        Self::new(DeltaKind::ToolArguments, 0, block)
    }

    /// The kind.
    #[inline]
    #[must_use]
    pub const fn kind(self) -> DeltaKind {
        match self.0 >> 56 {
            1 => DeltaKind::Text,
            2 => DeltaKind::Reasoning,
            _ => DeltaKind::ToolArguments,
        }
    }

    /// The choice, from 0.
    #[must_use]
    pub const fn choice(self) -> u32 {
        (self.0 >> 32) as u32 & Self::CHOICE_MAX
    }

    /// The block within the choice, from 0.
    #[must_use]
    pub const fn block(self) -> u32 {
        self.0 as u32
    }

    /// Whether this lane must be finished before `next` opens.
    pub(super) fn yields_to(self, next: Self) -> bool {
        self.0 >> 32 == next.0 >> 32 && self.kind() != DeltaKind::ToolArguments
    }

    /// Whether the live text of this lane is compared with the output.
    #[inline]
    pub(super) fn is_live_text(self) -> bool {
        self.0 >> 32 == Self::TEXT.0 >> 32
    }
}

impl std::fmt::Debug for Lane {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lane")
            .field("kind", &self.kind())
            .field("choice", &self.choice())
            .field("block", &self.block())
            .finish()
    }
}
