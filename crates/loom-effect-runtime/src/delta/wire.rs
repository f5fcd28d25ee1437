//! The serde form of a delta (spec row D3).

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::{EffectDelta, OwnedDelta};

/// `{"delta": T}`, with `"reset": true, "attempt": n` or `"done": true, "usage": …` beside the empty text. A delta that
/// is not text says its `"kind"`, a tool's arguments their `"block"`, another choice than the first its `"choice"`.
impl Serialize for EffectDelta<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("delta", &self.text())?;
        let lane = match self {
            Self::Text { lane, .. } => Some(lane),
            Self::Reasoning { lane, .. } => {
                map.serialize_entry("kind", "reasoning")?;
                Some(lane)
            }
            Self::ToolArguments { lane, .. } => {
                map.serialize_entry("kind", "tool_arguments")?;
                map.serialize_entry("block", &lane.block())?;
                Some(lane)
            }
            Self::Reset { attempt, .. } => {
                map.serialize_entry("reset", &true)?;
                map.serialize_entry("attempt", attempt)?;
                None
            }
            Self::Done { usage, .. } => {
                map.serialize_entry("done", &true)?;
                if let Some(usage) = usage {
                    map.serialize_entry("usage", usage)?;
                }
                None
            }
        };
        if let Some(lane) = lane.filter(|lane| lane.choice() > 0) {
            map.serialize_entry("choice", &lane.choice())?;
        }
        map.end()
    }
}

impl Serialize for OwnedDelta {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_delta().serialize(serializer)
    }
}
