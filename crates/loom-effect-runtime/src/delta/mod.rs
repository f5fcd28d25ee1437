//! The live view of a call: deltas, sinks, guards, meters and the one guarded channel between them.

mod channel;
mod gate;
#[cfg(test)]
mod gate_unwound;
mod guard;
mod kind;
mod lane;
mod live_text;
mod receiver;
mod retractable;
mod sink;
mod stream;
mod usage;
mod wire;

use loom_classify::{Tainted, TaintedStr};

pub(crate) use channel::Channel;
pub use channel::{Deltas, Stopped};
pub use guard::{DeltaForm, DeltaGuard, Meter, MeterForm, Outlet, Verdict};
pub use kind::{DeltaKind, DeltaKinds, Lane};
pub use lane::LANES_MAX;
pub(crate) use live_text::LiveHash;
pub use receiver::{
    DELTA_STREAM_DELTAS_MAX, DeltaReceiver, DeltaStreamSink, Lagged, LiveDelta, delta_stream,
};
pub use retractable::RetractableSink;
pub use sink::DeltaSink;
pub(crate) use sink::SinkFn;
pub(crate) use stream::StreamFacts;
pub use usage::Usage;
pub(crate) use usage::UsageCell;

/// One delta as a sink gets it (spec rows D3, D20). Only the runtime makes one.
///
/// The text is borrowed for the delivery and tainted; who keeps it calls [`EffectDelta::to_owned`].
#[non_exhaustive]
#[derive(Clone, Copy, Debug)]
pub enum EffectDelta<'a> {
    /// A piece of the answer; never empty.
    #[non_exhaustive]
    Text {
        /// The piece, tainted with `llm:<tool id>`.
        text: TaintedStr<'a>,
        /// Which text lane it belongs to.
        lane: Lane,
    },
    /// A piece of reasoning; never empty. Only for sinks that ask.
    #[non_exhaustive]
    Reasoning {
        /// The piece.
        text: TaintedStr<'a>,
        /// Which reasoning lane it belongs to.
        lane: Lane,
    },
    /// A piece of a tool call's arguments, verbatim; never empty. Only for sinks that ask.
    #[non_exhaustive]
    ToolArguments {
        /// The piece.
        text: TaintedStr<'a>,
        /// Which tool call it belongs to.
        lane: Lane,
    },
    /// A new attempt begins: drop what was folded so far.
    #[non_exhaustive]
    Reset {
        /// The attempt that begins, from 2.
        attempt: u32,
        /// The empty text, with the call's origin.
        text: TaintedStr<'a>,
    },
    /// The call succeeded. Only for the per-call sink.
    #[non_exhaustive]
    Done {
        /// As the provider reported it; `None` when unknown.
        usage: Option<Usage>,
        /// The empty text, with the call's origin.
        text: TaintedStr<'a>,
    },
}

impl EffectDelta<'_> {
    /// The delta's text: empty for a reset and for done.
    #[must_use]
    pub fn text(&self) -> TaintedStr<'_> {
        match self {
            Self::Text { text, .. }
            | Self::Reasoning { text, .. }
            | Self::ToolArguments { text, .. }
            | Self::Reset { text, .. }
            | Self::Done { text, .. } => *text,
        }
    }

    /// A copy that outlives the delivery. Tainted as the delta was.
    #[must_use]
    pub fn to_owned(&self) -> OwnedDelta {
        let text = self.text().to_owned();
        match *self {
            Self::Text { lane, .. } => OwnedDelta::Text { text, lane },
            Self::Reasoning { lane, .. } => OwnedDelta::Reasoning { text, lane },
            Self::ToolArguments { lane, .. } => OwnedDelta::ToolArguments { text, lane },
            Self::Reset { attempt, .. } => OwnedDelta::Reset { attempt, text },
            Self::Done { usage, .. } => OwnedDelta::Done { usage, text },
        }
    }
}

/// A delta that was kept. Tainted as it was; its serde form is the delta's own.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub enum OwnedDelta {
    /// A piece of the answer.
    #[non_exhaustive]
    Text {
        /// The piece.
        text: Tainted<String>,
        /// Which text lane it belongs to.
        lane: Lane,
    },
    /// A piece of reasoning.
    #[non_exhaustive]
    Reasoning {
        /// The piece.
        text: Tainted<String>,
        /// Which reasoning lane it belongs to.
        lane: Lane,
    },
    /// A piece of a tool call's arguments.
    #[non_exhaustive]
    ToolArguments {
        /// The piece.
        text: Tainted<String>,
        /// Which tool call it belongs to.
        lane: Lane,
    },
    /// A new attempt begins.
    #[non_exhaustive]
    Reset {
        /// The attempt that begins, from 2.
        attempt: u32,
        /// The empty text, with the call's origin.
        text: Tainted<String>,
    },
    /// The call succeeded.
    #[non_exhaustive]
    Done {
        /// As the provider reported it.
        usage: Option<Usage>,
        /// The empty text, with the call's origin.
        text: Tainted<String>,
    },
}

impl OwnedDelta {
    /// The delta as it was delivered.
    #[must_use]
    pub fn as_delta(&self) -> EffectDelta<'_> {
        match self {
            Self::Text { text, lane } => EffectDelta::Text { text: text.as_tainted_str(), lane: *lane },
            Self::Reasoning { text, lane } => {
                EffectDelta::Reasoning { text: text.as_tainted_str(), lane: *lane }
            }
            Self::ToolArguments { text, lane } => {
                EffectDelta::ToolArguments { text: text.as_tainted_str(), lane: *lane }
            }
            Self::Reset { attempt, text } => {
                EffectDelta::Reset { attempt: *attempt, text: text.as_tainted_str() }
            }
            Self::Done { usage, text } => EffectDelta::Done { usage: *usage, text: text.as_tainted_str() },
        }
    }
}
