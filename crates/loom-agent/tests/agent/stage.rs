//! A scripted model, tools made of closures, and what they were asked.

use std::collections::VecDeque;
use std::future::IntoFuture;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use futures::stream::{self, StreamExt};
use loom_agent::{AgentRunner, AgentTool, agent_model};
use loom_classify::Origins;
use loom_effect_runtime::{
    CallError, Caller, Data, Effect, EffectContext, EffectMode, EffectRuntime, Identity, Principal,
    RuntimeBuilder, Usage,
};
use loom_llm::{ChatRequest, ChunkStream, LlmChunk, Message, Provider, ProviderError, ToolSpec};
use serde_json::{Value, json};

/// What a reply of the model is made of.
pub(crate) type Reply = Vec<LlmChunk>;

/// A model that gives the scripted replies in order, and notes what it was asked. Out of replies it says `(end)`.
#[derive(Clone, Default)]
pub(crate) struct Script {
    replies: Arc<Mutex<VecDeque<Result<Reply, ProviderError>>>>,
    asked: Arc<Mutex<Vec<ChatRequest>>>,
    /// Whether a reply never ends once its pieces were given.
    pub(crate) parks: bool,
}

impl Script {
    pub(crate) fn of(replies: impl IntoIterator<Item = Reply>) -> Self {
        let script = Self::default();
        script.replies.lock().unwrap().extend(replies.into_iter().map(Ok));
        script
    }

    pub(crate) fn then_fails(self, error: ProviderError) -> Self {
        self.replies.lock().unwrap().push_back(Err(error));
        self
    }

    /// The requests so far.
    pub(crate) fn asked(&self) -> Vec<ChatRequest> {
        self.asked.lock().unwrap().clone()
    }
}

impl Provider for Script {
    fn name(&self) -> &str {
        "script"
    }

    fn stream<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChunkStream, ProviderError>> {
        self.asked.lock().unwrap().push(request.clone());
        let reply = self.replies.lock().unwrap().pop_front().unwrap_or_else(|| Ok(says("(end)")));
        let parks = self.parks;
        async move {
            let pieces = stream::iter(reply?.into_iter().map(Ok));
            Ok(if parks { pieces.chain(stream::pending()).boxed() } else { pieces.boxed() })
        }
        .boxed()
    }
}

pub(crate) fn says(text: &str) -> Reply {
    vec![LlmChunk::Text { choice: 0, text: text.to_owned() }]
}

pub(crate) fn finish(reason: &str) -> LlmChunk {
    LlmChunk::Finish { choice: 0, reason: reason.to_owned() }
}

pub(crate) fn usage(input: u64, output: u64) -> LlmChunk {
    LlmChunk::Usage(Usage::new(input, output))
}

/// A reply that calls tools: name and arguments of each; their ids are `id0`, `id1`, ….
pub(crate) fn asks<'a>(calls: impl IntoIterator<Item = (&'a str, &'a str)>) -> Reply {
    let chunk = |(call, (name, arguments)): (usize, (&str, &str))| LlmChunk::ToolArguments {
        choice: 0,
        call,
        id: Some(format!("id{call}")),
        name: Some(name.to_owned()),
        arguments: arguments.to_owned(),
    };
    calls.into_iter().enumerate().map(chunk).collect()
}

/// A call of a tool with the number as its argument, in the place that it says; without an id where that is empty.
pub(crate) fn asked(id: &str, name: &str, n: usize) -> LlmChunk {
    LlmChunk::ToolArguments {
        choice: 0,
        call: n,
        id: (!id.is_empty()).then(|| id.to_owned()),
        name: Some(name.to_owned()),
        arguments: format!(r#"{{"n":{n}}}"#),
    }
}

/// An effect made of a closure; it is given the origins of what the call gives.
pub(crate) struct Act<I, O> {
    id: &'static str,
    mode: Option<EffectMode>,
    body: Box<Body<I, O>>,
}

type Body<I, O> = dyn Fn(I, Origins) -> BoxFuture<'static, Result<O, CallError>> + Send + Sync;

pub(crate) fn act<I: Data, O: Data, F>(
    id: &'static str,
    body: impl Fn(I, Origins) -> F + Send + Sync + 'static,
) -> Act<I, O>
where
    F: Future<Output = Result<O, CallError>> + Send + 'static,
{
    Act { id, mode: None, body: Box::new(move |input, origins| body(input, origins).boxed()) }
}

impl<I, O> Act<I, O> {
    pub(crate) fn mode(mut self, mode: EffectMode) -> Self {
        self.mode = Some(mode);
        self
    }
}

impl<I: Data, O: Data> Effect for Act<I, O> {
    type Input = I;
    type Output = O;

    fn id(&self) -> &str {
        self.id
    }

    async fn execute(&self, input: &I, cx: &EffectContext<'_>) -> Result<O, CallError> {
        (self.body)(input.clone(), cx.origins()).await
    }

    fn mode(&self) -> Option<EffectMode> {
        self.mode
    }

    fn origin_kind(&self) -> &str {
        "mcp"
    }
}

/// What happened, line by line.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn say(&self, line: impl Into<String>) {
        self.0.lock().unwrap().push(line.into());
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

/// A tool `echo` that logs its input and gives it back.
pub(crate) fn echo(log: &Log) -> Act<Value, String> {
    let log = log.clone();
    act("echo", move |input: Value, _| {
        log.say(input.to_string());
        async move { Ok(format!("did {input}")) }
    })
}

pub(crate) fn spec(name: &str) -> ToolSpec {
    ToolSpec::new(name, "a tool of the test", json!({"type": "object"}))
}

/// The model's tool for an effect over any JSON.
pub(crate) fn any(runtime: &EffectRuntime, id: &str) -> AgentTool {
    let tool = runtime.tool::<Value, String>(id).unwrap();
    AgentTool::unwrapping(tool, spec(id), |arguments| arguments.unwrap_tainted())
}

/// A runtime with the model as `agent` and whatever `more` adds.
pub(crate) fn runtime(
    script: &Script,
    more: impl FnOnce(RuntimeBuilder<loom_effect_runtime::Ready>) -> RuntimeBuilder<loom_effect_runtime::Ready>,
) -> EffectRuntime {
    let model = agent_model("agent", script.clone()).model("any").build();
    more(EffectRuntime::builder().allow_all_calls().effect(model)).build().unwrap()
}

pub(crate) fn caller(runtime: &EffectRuntime) -> Caller {
    runtime.caller(Identity::new(Principal::new("ada")))
}

/// A runner with the tool `echo` alone, and who runs it.
pub(crate) fn echoing(script: &Script, log: &Log) -> (AgentRunner, Caller) {
    let runtime = runtime(script, |builder| builder.effect(echo(log)));
    let runner = AgentRunner::builder(runtime.tool("agent").unwrap()).tool(any(&runtime, "echo"));
    (runner.build().unwrap(), caller(&runtime))
}

/// A conversation as lines: `user: hi`, `assistant: text [name(arguments)#id]`, `tool#id: text`, `tool#id! Name`.
pub(crate) fn lines(messages: &[Message]) -> Vec<String> {
    messages.iter().map(line).collect()
}

fn line(message: &Message) -> String {
    match message {
        Message::System { content } => format!("system: {content}"),
        Message::User { content, .. } => format!("user: {content}"),
        Message::Assistant { content, tool_calls, .. } => {
            let calls = tool_calls.iter().map(|call| {
                let call = call.expose_tainted();
                let or_none = |text: &Option<String>| text.clone().unwrap_or_default();
                format!(" [{}({})#{}]", or_none(&call.name), call.arguments, or_none(&call.id))
            });
            format!("assistant: {}{}", content.expose_tainted(), calls.collect::<String>())
        }
        Message::Tool { tool_call_id, content, is_error } => {
            let mark = if *is_error { "!" } else { ":" };
            format!("tool#{}{mark} {}", tool_call_id.expose_tainted(), content.expose_tainted())
        }
        other => format!("{other:?}"),
    }
}

/// Lets every other task run until all of them wait.
pub(crate) async fn settle() {
    for _ in 0..64 {
        tokio::task::yield_now().await;
    }
}

/// Fails instead of hanging.
pub(crate) async fn within<F: IntoFuture>(future: F) -> F::Output {
    // Only a failing test reaches it.
    tokio::time::timeout(Duration::from_secs(20), future.into_future()).await.expect("nothing happens")
}
