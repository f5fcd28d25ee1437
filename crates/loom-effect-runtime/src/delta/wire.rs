//! The serde form of a delta (spec row D3).

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::EffectDelta;

/// `{"delta": T}`, with `"reset": true, "attempt": n` or `"done": true, "usage": …` beside the empty text, and
/// `"kind"` where the delta is not text.
impl Serialize for EffectDelta<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("delta", &self.text())?;
        match self {
            Self::Text { .. } => {}
            Self::Reasoning { .. } => map.serialize_entry("kind", "reasoning")?,
            Self::ToolArguments { lane, .. } => {
                map.serialize_entry("kind", "tool_arguments")?;
                map.serialize_entry("block", &lane.block())?;
            }
            Self::Reset { attempt, .. } => {
                map.serialize_entry("reset", &true)?;
                map.serialize_entry("attempt", attempt)?;
            }
            Self::Done { usage, .. } => {
                map.serialize_entry("done", &true)?;
                if let Some(usage) = usage {
                    map.serialize_entry("usage", usage)?;
                }
            }
        }
        map.end()
    }
}
