//! Effects that do what a script says.

mod act;
#[cfg(feature = "llm")]
mod provider;

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use loom_effect_runtime::{CallError, Data, DeltaSink, Effect, EffectContext, EffectMode};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub use act::Act;
use act::Told;
#[cfg(feature = "llm")]
pub use provider::{ScriptedProvider, ScriptedReply};

/// What a scripted effect can give: something made of the text that it answers with.
pub trait FromScript: Data {
    /// The output whose text is `text`. `stated` is whether it states that text as its live text.
    fn of_text(text: String, stated: bool) -> Self;

    /// Shows the live text, where it is stated, and answers whether it is.
    fn live_text(&self, piece: &mut dyn FnMut(&str)) -> bool;
}

/// A bare text, always stated.
impl FromScript for String {
    fn of_text(text: String, _stated: bool) -> Self {
        text
    }

    fn live_text(&self, piece: &mut dyn FnMut(&str)) -> bool {
        piece(self);
        true
    }
}

/// A text that says whether it is the live text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// What was answered.
    pub text: String,
    /// Whether it is the live text.
    pub stated: bool,
}

impl FromScript for Answer {
    fn of_text(text: String, stated: bool) -> Self {
        Self { text, stated }
    }

    /// Shown in two pieces, so that nobody relies on one.
    fn live_text(&self, piece: &mut dyn FnMut(&str)) -> bool {
        if self.stated {
            let (head, tail) = self.text.split_at(self.text.floor_char_boundary(self.text.len() / 2));
            piece(head);
            piece(tail);
        }
        self.stated
    }
}

/// A JSON object, with the text and whether it is stated at `/answer/text` and `/answer/stated`.
impl FromScript for Value {
    fn of_text(text: String, stated: bool) -> Self {
        json!({ "answer": { "text": text, "stated": stated }, "parts": 1 })
    }

    fn live_text(&self, piece: &mut dyn FnMut(&str)) -> bool {
        let stated = self.pointer("/answer/stated").and_then(Self::as_bool) == Some(true);
        match self.pointer("/answer/text").and_then(Self::as_str) {
            Some(text) if stated => {
                piece(text);
                true
            }
            _ => false,
        }
    }
}

/// An effect by script: one list of acts an attempt, the last list for all further ones. Its output is the text that it
/// wrote to the first text lane, unless an act says otherwise. Clones share the counters.
///
/// ```
/// use loom_effect_runtime::{EffectRuntime, ErrorName};
/// use loom_testing::{Act, Scripted};
/// use serde_json::json;
///
/// # futures::executor::block_on(async {
/// let effect = Scripted::<String>::new([Act::text("hel"), Act::text("lo")]);
/// let runtime = EffectRuntime::builder().allow_all_calls().effect(effect.clone()).build()?;
/// let tool = runtime.tool::<serde_json::Value, String>("scripted")?;
/// assert_eq!(runtime.invoke_transient(tool, json!({})).await?, "hello");
/// assert_eq!(effect.executions(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
pub struct Scripted<O = String, I = Value> {
    id: &'static str,
    attempts: Vec<Vec<Act>>,
    sink: Option<Arc<dyn DeltaSink>>,
    mode: Option<EffectMode>,
    repeatable: bool,
    ready: bool,
    executions: Arc<AtomicUsize>,
    dropped: Arc<AtomicUsize>,
    types: PhantomData<fn(I) -> O>,
}

impl<O, I> Scripted<O, I> {
    /// The effect `scripted`, whose attempts all do these acts.
    #[must_use]
    pub fn new(acts: impl IntoIterator<Item = Act>) -> Self {
        Self {
            id: "scripted",
            attempts: vec![acts.into_iter().collect()],
            sink: None,
            mode: None,
            repeatable: true,
            ready: false,
            executions: Arc::default(),
            dropped: Arc::default(),
            types: PhantomData,
        }
    }

    /// What the next attempt does.
    #[must_use]
    pub fn then(mut self, acts: impl IntoIterator<Item = Act>) -> Self {
        self.attempts.push(acts.into_iter().collect());
        self
    }

    /// The id it is registered under.
    #[must_use]
    pub fn id(mut self, id: &'static str) -> Self {
        self.id = id;
        self
    }

    /// The configured sink.
    #[must_use]
    pub fn sink(mut self, sink: impl DeltaSink) -> Self {
        self.sink = Some(Arc::new(sink));
        self
    }

    /// The seam it must be called on.
    #[must_use]
    pub fn mode(mut self, mode: EffectMode) -> Self {
        self.mode = Some(mode);
        self
    }

    /// Not to be run again once a delta of it was delivered.
    #[must_use]
    pub fn once_only(mut self) -> Self {
        self.repeatable = false;
        self
    }

    /// Answers in the ready lane; for acts that do not wait.
    #[must_use]
    pub fn ready_lane(mut self) -> Self {
        self.ready = true;
        self
    }

    /// How often the effect was asked to run, by all clones.
    #[must_use]
    pub fn executions(&self) -> usize {
        self.executions.load(Ordering::SeqCst)
    }

    /// How many of its futures were dropped before they were done.
    #[must_use]
    pub fn dropped(&self) -> usize {
        self.dropped.load(Ordering::SeqCst)
    }

    /// The acts of the attempt, from 1.
    fn acts(&self, attempt: u32) -> &[Act] {
        let at = (attempt as usize).saturating_sub(1).min(self.attempts.len().saturating_sub(1));
        self.attempts.get(at).map_or(&[], Vec::as_slice)
    }
}

impl<O: FromScript, I: Data> Effect for Scripted<O, I> {
    type Input = I;
    type Output = O;

    fn id(&self) -> &str {
        self.id
    }

    fn ready(&self, _input: &I, cx: &EffectContext<'_>) -> Option<Result<O, CallError>> {
        if !self.ready {
            return None;
        }
        self.executions.fetch_add(1, Ordering::SeqCst);
        let mut told = Told::new();
        let acted = self.acts(cx.attempt()).iter().try_for_each(|act| act.act(cx, &mut told));
        Some(acted.map(|()| told.output()))
    }

    async fn execute(&self, _input: &I, cx: &EffectContext<'_>) -> Result<O, CallError> {
        self.executions.fetch_add(1, Ordering::SeqCst);
        let mut unfinished = Unfinished(Some(&self.dropped));
        let mut told = Told::new();
        for act in self.acts(cx.attempt()) {
            act.wait(cx).await;
            if let Err(error) = act.act(cx, &mut told) {
                unfinished.0 = None;
                return Err(error);
            }
        }
        unfinished.0 = None;
        Ok(told.output())
    }

    fn delta_sink(&self) -> Option<Arc<dyn DeltaSink>> {
        self.sink.clone()
    }

    fn live_text(output: &O, piece: &mut dyn FnMut(&str)) -> bool {
        output.live_text(piece)
    }

    fn mode(&self) -> Option<EffectMode> {
        self.mode
    }

    fn repeatable(&self) -> bool {
        self.repeatable
    }
}

impl<O, I> Clone for Scripted<O, I> {
    fn clone(&self) -> Self {
        Self {
            id: self.id,
            attempts: self.attempts.clone(),
            sink: self.sink.clone(),
            mode: self.mode,
            repeatable: self.repeatable,
            ready: self.ready,
            executions: Arc::clone(&self.executions),
            dropped: Arc::clone(&self.dropped),
            types: PhantomData,
        }
    }
}

impl<O, I> std::fmt::Debug for Scripted<O, I> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scripted")
            .field("id", &self.id)
            .field("attempts", &self.attempts)
            .finish_non_exhaustive()
    }
}

/// Counts a future that was dropped in the middle; emptied where it got to its end.
struct Unfinished<'a>(Option<&'a AtomicUsize>);

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if let Some(dropped) = self.0 {
            dropped.fetch_add(1, Ordering::SeqCst);
        }
    }
}
