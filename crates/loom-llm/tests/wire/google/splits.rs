//! Streams in every packing of their bytes.

use loom_llm::LlmChunk;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{call, decoded, end, finish, fold, parts, stream, text};
use crate::peer::event;

/// Every form of an event, with a byte order mark, comments and no blank line at the end, cut at every byte.
#[test]
fn every_form_of_an_event_is_read_at_every_split() {
    let body = "\u{feff}: keep-alive\n\n:\r\nevent: ping\ndata: alive\n\ndata:{\"candidates\":[{\"content\":\n\
                data: {\"parts\":[{\"text\":\"a\"}]}}]}\r\n\r\nid: 7\nretry: 9\n\
                data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"é€𝄞\"}]}}]}\r\rdata: \
                {\"candidates\":[{\"finishReason\":\"STOP\"}]}\n\ndata:   [DONE]  ";
    for at in 1..body.len() {
        let (head, tail) = body.as_bytes().split_at(at);
        let (chunks, error) = decoded([head, tail]);
        assert!(error.is_none(), "{error:?} at {at}");
        assert_eq!(fold(chunks).text, "aé€𝄞", "at {at}");
    }
}

#[test]
fn a_list_is_read_at_every_split_and_cut_everywhere_before_its_end() {
    let body = json!([text("é"), call(json!({"name": "f", "args": {"a": 1}})), end()]).to_string();
    let whole = decoded([body.as_bytes()]);
    assert!(whole.1.is_none());
    for at in 1..body.len() {
        let (head, tail) = body.as_bytes().split_at(at);
        assert_eq!(decoded([head, tail]).0, whole.0, "at {at}");
        assert!(decoded([head]).1.is_some(), "cut at {at}");
    }
}

/// Objects of every shape, sound and unsound.
fn chunk() -> impl Strategy<Value = Value> {
    let piece = prop_oneof![
        Just(json!({"name": "f", "willContinue": true})),
        Just(json!({"name": "f", "args": {"é": [1.50, "𝄞"]}})),
        Just(json!({"id": "a", "name": "g", "args": {}, "willContinue": true})),
        ("[ab]", "[a-z\"é]{0,3}", any::<bool>()).prop_map(|(name, text, open)| {
            let path = format!("$.{name}");
            json!({"partialArgs": [{"jsonPath": path, "stringValue": text, "willContinue": open}], "willContinue": true})
        }),
        Just(json!({"partialArgs": [{"jsonPath": "$.n", "numberValue": 1}], "id": "a"})),
        Just(json!({})),
    ];
    prop_oneof![
        "[a-z é𝄞\\\\\"]{0,6}".prop_map(|said| text(&said)),
        "[a-z é]{0,6}".prop_map(|said| parts(json!([{"text": said, "thought": true}]))),
        piece.prop_map(call),
        Just(parts(json!([{"text": "", "thoughtSignature": "c2ln"}, {"executableCode": {"code": "1"}}]))),
        (0..50_u32).prop_map(|count| json!({"usageMetadata": {"promptTokenCount": count}})),
        Just(json!({"candidates": 7, "usageMetadata": {"trafficType": "ON_DEMAND"}})),
        prop::sample::select(vec!["STOP", "MAX_TOKENS", ""]).prop_map(finish),
        Just(json!({"promptFeedback": {"blockReason": "SAFETY"}})),
        Just(json!({"error": {"code": 503, "message": "busy"}})),
    ]
}

proptest! {
    /// No split changes the pieces or the verdict.
    #[test]
    fn any_split_gives_the_same_pieces(
        chunks in prop::collection::vec(chunk(), 0..12),
        ended in any::<bool>(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let mut body = stream(&chunks);
        if ended {
            body.extend(event(&end().to_string()));
        }
        let verdict = |(chunks, error): (Vec<LlmChunk>, Option<_>)| (chunks, format!("{error:?}"));
        let whole = verdict(decoded([body.as_slice()]));
        let mut places: Vec<_> = cuts.iter().map(|cut| cut.index(body.len() + 1)).collect();
        places.extend([0, body.len()]);
        places.sort_unstable();
        let packets = places.windows(2).map(|pair| &body[pair[0]..pair[1]]);
        prop_assert_eq!(verdict(decoded(packets)), whole.clone());
        prop_assert_eq!(verdict(decoded(body.chunks(1))), whole);
    }
}
