//! Peers that mean harm, or are broken: what they send ends in a typed error within the stated bounds, and they see
//! the hang-up.

mod bodies;
mod floods;
mod framing;
mod heads;

use futures::StreamExt;
use loom_llm::error::MalformedReply;
use loom_llm::http::Timeouts;
use loom_llm::{LlmChunk, Provider, ProviderError, ProviderFault};

use crate::peer::{Act, Peer, Seen, event, request, text_event, within};

/// A whole streamed reply.
fn whole() -> Vec<u8> {
    [text_event("höchst"), text_event(" fein"), event("[DONE]")].concat()
}

/// The text of a reply, or its error.
async fn read(peer: &Peer, timeouts: Timeouts) -> Result<String, ProviderError> {
    let provider = peer.provider_with(timeouts);
    let asked = request();
    let mut stream = within(provider.stream(&asked)).await?;
    let mut whole = String::new();
    while let Some(chunk) = within(stream.next()).await {
        if let LlmChunk::Text { text, .. } = chunk? {
            whole.push_str(&text);
        }
    }
    Ok(whole)
}

/// What a peer's bytes come to.
async fn told(bytes: impl Into<Vec<u8>>) -> Result<String, ProviderError> {
    told_by(vec![Act::Send(bytes.into())]).await
}

async fn told_by(script: Vec<Act>) -> Result<String, ProviderError> {
    let peer = Peer::start(vec![script]).await;
    read(&peer, Timeouts::default()).await
}

/// The error that an endless script ends in, after which the peer must see the hang-up.
async fn broken_off(script: Vec<Act>, timeouts: Timeouts) -> ProviderError {
    let mut peer = Peer::start(vec![script]).await;
    let error = read(&peer, timeouts).await.unwrap_err();
    peer.request().await;
    assert_eq!(peer.saw().await, Seen::HangUp, "{error}");
    error
}

fn malformed(error: &ProviderError) -> MalformedReply {
    match error.fault() {
        ProviderFault::Malformed { reason } => *reason,
        other => panic!("expected a malformed reply, got {other:?}"),
    }
}
