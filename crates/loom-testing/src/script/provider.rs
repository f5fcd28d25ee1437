//! A model by script.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::{BoxFuture, FutureExt};
use futures::stream::{self, StreamExt};
use loom_llm::{ChatRequest, ChunkStream, LlmChunk, Provider, ProviderError};

/// One reply of a [`ScriptedProvider`]: its pieces, or the failure in their place.
pub type ScriptedReply = Result<Vec<LlmChunk>, ProviderError>;

/// A model that gives its replies in order and notes what it was asked. Out of replies it says `(end)`. Clones are the
/// same model.
///
/// ```
/// use loom_llm::{ChatRequest, Message, Provider};
/// use loom_testing::ScriptedProvider;
///
/// # futures::executor::block_on(async {
/// let model = ScriptedProvider::new([ScriptedProvider::says("hello")]);
/// let reply = model.complete(&ChatRequest::new("any", vec![Message::user("hi")])).await?;
/// assert_eq!(reply.text, "hello");
/// assert_eq!(model.asked().len(), 1);
/// # Ok::<(), loom_llm::ProviderError>(())
/// # }).unwrap();
/// ```
#[derive(Clone, Debug, Default)]
pub struct ScriptedProvider {
    script: Arc<Mutex<Script>>,
    parks: bool,
}

#[derive(Debug, Default)]
struct Script {
    replies: VecDeque<ScriptedReply>,
    asked: Vec<ChatRequest>,
}

impl ScriptedProvider {
    /// A model that gives these replies.
    #[must_use]
    pub fn new(replies: impl IntoIterator<Item = Vec<LlmChunk>>) -> Self {
        let provider = Self::default();
        provider.script().replies.extend(replies.into_iter().map(Ok));
        provider
    }

    /// A reply of one text.
    #[must_use]
    pub fn says(text: &str) -> Vec<LlmChunk> {
        vec![LlmChunk::Text { choice: 0, text: text.to_owned() }]
    }

    /// Adds a reply, or a failure in its place.
    #[must_use]
    pub fn then(self, reply: ScriptedReply) -> Self {
        self.script().replies.push_back(reply);
        self
    }

    /// Its replies never end once their pieces were given.
    #[must_use]
    pub fn parks(mut self) -> Self {
        self.parks = true;
        self
    }

    /// The requests so far.
    #[must_use]
    pub fn asked(&self) -> Vec<ChatRequest> {
        self.script().asked.clone()
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Provider for ScriptedProvider {
    fn name(&self) -> &str {
        "scripted"
    }

    fn stream<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChunkStream, ProviderError>> {
        let mut script = self.script();
        script.asked.push(request.clone());
        let reply = script.replies.pop_front().unwrap_or_else(|| Ok(Self::says("(end)")));
        drop(script);
        let parks = self.parks;
        async move {
            let pieces = stream::iter(reply?.into_iter().map(Ok));
            Ok(if parks { pieces.chain(stream::pending()).boxed() } else { pieces.boxed() })
        }
        .boxed()
    }
}
