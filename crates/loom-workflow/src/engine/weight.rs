//! The size of a payload before it is encoded, so that one that cannot be kept is refused and never stuck.

use loom_effect_runtime::{CallError, Refusal};
use serde_json::Value;

use crate::record::{Draft, Event, PAYLOAD_BYTES_MAX, PAYLOAD_DEPTH_MAX};

/// What a record takes beside its payload: kind, path, fingerprint and numbers, rounded up.
const RECORD_BYTES: u64 = 1_024;

/// The levels that an event adds round a value.
const EVENT_LEVELS: usize = 2;

/// A value's JSON: at most so many bytes, and so many levels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Weight {
    pub(crate) bytes: u64,
    pub(crate) levels: usize,
}

/// Refuses a value that no journal keeps.
pub(crate) fn fits(value: &Value) -> Result<Weight, CallError> {
    let weight = weigh_value(value);
    if weight.bytes + RECORD_BYTES > PAYLOAD_BYTES_MAX as u64
        || weight.levels + EVENT_LEVELS > PAYLOAD_DEPTH_MAX
    {
        return Err(CallError::from(Refusal::quota("journal.payload")));
    }
    Ok(weight)
}

/// At most so many bytes will a draft take in a journal.
pub(crate) fn weigh(draft: &Draft) -> u64 {
    let payload = match &draft.event {
        Event::StepCompleted(event) => Some(&event.output),
        Event::DecisionRecorded(event) => Some(&event.value),
        Event::DomainEvent(event) => Some(&event.payload),
        Event::ExecutionCompleted(event) => Some(&event.output),
        Event::StepFailed(event) => event.failure.payload.as_ref(),
        Event::ExecutionFailed(event) => event.failure.payload.as_ref(),
        _ => None,
    };
    payload.map_or(0, |payload| weigh_value(payload).bytes) + RECORD_BYTES
}

fn weigh_value(value: &Value) -> Weight {
    match value {
        Value::Null | Value::Bool(_) => Weight { bytes: 5, levels: 0 },
        Value::Number(_) => Weight { bytes: 25, levels: 0 },
        Value::String(text) => Weight { bytes: weigh_text(text), levels: 0 },
        Value::Array(items) => {
            items.iter().fold(Weight { bytes: 2, levels: 1 }, |sum, item| sum.with(0, item))
        }
        Value::Object(map) => map
            .iter()
            .fold(Weight { bytes: 2, levels: 1 }, |sum, (key, item)| sum.with(weigh_text(key) + 1, item)),
    }
}

impl Weight {
    fn with(self, before: u64, item: &Value) -> Self {
        let item = weigh_value(item);
        Self { bytes: self.bytes + before + item.bytes + 1, levels: self.levels.max(item.levels + 1) }
    }
}

fn weigh_text(text: &str) -> u64 {
    let escaped = |byte: u8| match byte {
        b'"' | b'\\' => 2,
        0..0x20 => 6,
        _ => 1,
    };
    text.bytes().map(escaped).sum::<u64>() + 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::Bool),
            any::<f64>().prop_map(|n| serde_json::json!(n)),
            any::<i64>().prop_map(|n| serde_json::json!(n)),
            any::<String>().prop_map(Value::String),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
                prop::collection::btree_map(any::<String>(), inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_weight_is_never_below_the_encoded_size(value in value()) {
            prop_assert!(weigh_value(&value).bytes >= serde_json::to_string(&value).unwrap().len() as u64);
        }
    }

    #[test]
    fn a_value_that_nests_too_deep_is_refused_by_name() {
        let nest = |levels| (0..levels).fold(Value::Null, |inner, _| Value::Array(vec![inner]));
        assert!(fits(&nest(128)).is_ok());
        assert_eq!(fits(&nest(129)).unwrap_err().rule(), Some("journal.payload"));
    }
}
