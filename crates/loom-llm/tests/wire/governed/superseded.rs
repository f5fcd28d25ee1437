//! A message that is begun anew in the middle of a stream: what was shown of the first is not joined to the second.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use futures::stream::{self, StreamExt};
use loom_effect_runtime::{CallRef, DeltaKind, DeltaKinds, DeltaSink, EffectDelta, Lane};
use loom_llm::{ChatRequest, ChunkStream, LlmChunk, Provider, ProviderError};

use super::{ask, runtime};
use crate::peer::request;

struct Spliced;

fn thought(text: &str) -> LlmChunk {
    LlmChunk::Reasoning { choice: 0, text: text.to_owned() }
}

fn call(id: &str, arguments: &str) -> LlmChunk {
    let (id, name) = (Some(id.to_owned()), Some("f".to_owned()));
    LlmChunk::ToolArguments { choice: 0, call: 0, id, name, arguments: arguments.to_owned() }
}

impl Provider for Spliced {
    fn name(&self) -> &str {
        "spliced"
    }

    fn stream<'a>(&'a self, _: &'a ChatRequest) -> BoxFuture<'a, Result<ChunkStream, ProviderError>> {
        let first = [thought("first"), call("a", "{\"n\":"), LlmChunk::Superseded];
        let second =
            [thought("second"), call("b", "{\"n\":2}"), LlmChunk::Text { choice: 0, text: "t".to_owned() }];
        Box::pin(async move { Ok(stream::iter(first.into_iter().chain(second).map(Ok)).boxed()) })
    }
}

/// What was shown in each lane but that of the text.
#[derive(Default)]
struct Lanes(Mutex<BTreeMap<(bool, u32), String>>);

impl Lanes {
    fn add(&self, lane: Lane, text: &str) {
        let key = (lane.kind() == DeltaKind::Reasoning, lane.block());
        self.0.lock().unwrap().entry(key).or_default().push_str(text);
    }
}

impl DeltaSink for Lanes {
    fn deliver(&self, _: &CallRef<'_>, delta: &EffectDelta<'_>) {
        match delta {
            EffectDelta::Reasoning { text, lane, .. } => self.add(*lane, text.expose_tainted()),
            EffectDelta::ToolArguments { text, lane, .. } => self.add(*lane, text.expose_tainted()),
            _ => {}
        }
    }

    fn wants(&self) -> DeltaKinds {
        DeltaKinds::ALL
    }
}

/// D20: each of the two messages has lanes of its own, so no guard and no sink takes them for one.
#[tokio::test]
async fn a_message_that_is_begun_anew_has_lanes_of_its_own() {
    let (runtime, tool) = runtime(ask(Spliced));
    let lanes = Arc::new(Lanes::default());
    let reply = runtime.invoke_transient(tool, request()).on_delta_sink(Arc::clone(&lanes)).await.unwrap();
    let shown: Vec<_> = lanes.0.lock().unwrap().clone().into_iter().collect();
    let expected =
        [((false, 0), "{\"n\":"), ((false, 1), "{\"n\":2}"), ((true, 0), "first"), ((true, 1), "second")];
    assert_eq!(shown, expected.map(|(key, text)| (key, text.to_owned())));
    assert_eq!(reply.reasoning.unwrap().expose_tainted(), "second");
    let calls: Vec<_> =
        reply.tool_calls.iter().map(|call| call.arguments.expose_tainted().as_str()).collect();
    assert_eq!(calls, ["{\"n\":2}"], "the first message's call is none of the reply's");
}
