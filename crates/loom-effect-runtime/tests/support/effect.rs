//! An effect that does what its script says.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use loom_effect_runtime::{
    CallError, DeltaSink, Deltas, Effect, EffectContext, EffectMode, ErrorName, Lane, Usage,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What the scripted effect takes. `prompt` is any JSON, so that taint can stand in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Ask {
    pub(crate) prompt: Value,
    pub(crate) times: u32,
}

pub(crate) fn ask(prompt: impl Into<Value>) -> Ask {
    Ask { prompt: prompt.into(), times: 1 }
}

/// What it gives. `stated` says whether the text is the live text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) stated: bool,
}

type Doing = Arc<dyn Fn(&EffectContext<'_>) + Send + Sync>;

/// One thing that an attempt does.
#[derive(Clone)]
pub(crate) enum Act {
    /// Writes text; stops at an error.
    Text(String),
    /// Writes to a lane; stops at an error.
    Write(Lane, String),
    /// Writes text and ignores whatever is answered.
    Swallow(String),
    End(Option<Usage>),
    Usage(Usage),
    /// Answers with this instead of what it wrote to `Lane::TEXT`.
    Answer(String),
    /// States no live text.
    Unstated,
    Yield,
    /// Waits for ever.
    Park,
    Panic,
    Fail(ErrorName),
    /// Leaves a clone of the attempt's channel with the test.
    Pump(Arc<Mutex<Vec<Deltas>>>),
    Do(Doing),
}

impl Act {
    pub(crate) fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    pub(crate) fn write(lane: Lane, text: &str) -> Self {
        Self::Write(lane, text.to_owned())
    }

    pub(crate) fn swallow(text: &str) -> Self {
        Self::Swallow(text.to_owned())
    }

    pub(crate) fn answer(text: &str) -> Self {
        Self::Answer(text.to_owned())
    }

    pub(crate) fn with(doing: impl Fn(&EffectContext<'_>) + Send + Sync + 'static) -> Self {
        Self::Do(Arc::new(doing))
    }
}

impl std::fmt::Debug for Act {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(text) => write!(f, "Text({text:?})"),
            Self::Write(lane, text) => write!(f, "Write({lane:?}, {text:?})"),
            Self::End(usage) => write!(f, "End({usage:?})"),
            Self::Fail(name) => write!(f, "Fail({name})"),
            _ => f.write_str("Act"),
        }
    }
}

/// An effect by script: one list of acts an attempt, the last list for all further ones.
#[derive(Clone)]
pub(crate) struct Scripted {
    id: &'static str,
    attempts: Vec<Vec<Act>>,
    sink: Option<Arc<dyn DeltaSink>>,
    mode: Option<EffectMode>,
    repeatable: bool,
    ready: bool,
    executions: Arc<AtomicUsize>,
    dropped: Arc<AtomicUsize>,
}

impl Scripted {
    /// The effect `plan`.
    pub(crate) fn new(acts: impl IntoIterator<Item = Act>) -> Self {
        Self {
            id: "plan",
            attempts: vec![acts.into_iter().collect()],
            sink: None,
            mode: None,
            repeatable: true,
            ready: false,
            executions: Arc::default(),
            dropped: Arc::default(),
        }
    }

    /// What the next attempt does.
    pub(crate) fn then(mut self, acts: impl IntoIterator<Item = Act>) -> Self {
        self.attempts.push(acts.into_iter().collect());
        self
    }

    pub(crate) fn id(mut self, id: &'static str) -> Self {
        self.id = id;
        self
    }

    pub(crate) fn sink(mut self, sink: impl DeltaSink) -> Self {
        self.sink = Some(Arc::new(sink));
        self
    }

    pub(crate) fn mode(mut self, mode: EffectMode) -> Self {
        self.mode = Some(mode);
        self
    }

    pub(crate) fn once_only(mut self) -> Self {
        self.repeatable = false;
        self
    }

    /// Answers in the ready lane; only acts that do not wait.
    pub(crate) fn ready_lane(mut self) -> Self {
        self.ready = true;
        self
    }

    /// How often the effect was asked to run.
    pub(crate) fn executions(&self) -> usize {
        self.executions.load(Ordering::SeqCst)
    }

    /// How many of its futures were dropped before they were done.
    pub(crate) fn dropped(&self) -> usize {
        self.dropped.load(Ordering::SeqCst)
    }

    fn acts(&self, attempt: u32) -> &[Act] {
        let at = (attempt as usize - 1).min(self.attempts.len() - 1);
        &self.attempts[at]
    }

    /// Does one act that does not wait.
    fn act(act: &Act, cx: &EffectContext<'_>, answer: &mut Answer) -> Result<(), CallError> {
        match act {
            Act::Text(text) => {
                cx.deltas().text(text)?;
                answer.text.push_str(text);
            }
            Act::Write(lane, text) => {
                cx.deltas().write(*lane, text)?;
                if *lane == Lane::TEXT {
                    answer.text.push_str(text);
                }
            }
            Act::Swallow(text) => {
                let _ = cx.deltas().text(text);
                answer.text.push_str(text);
            }
            Act::End(usage) => cx.deltas().end(*usage),
            Act::Usage(usage) => cx.usage(*usage),
            Act::Answer(text) => answer.text.clone_from(text),
            Act::Unstated => answer.stated = false,
            Act::Panic => panic!("scripted"),
            Act::Fail(name) => return Err(CallError::named(*name, "scripted")),
            Act::Pump(out) => out.lock().unwrap().push(cx.deltas()),
            Act::Do(doing) => doing(cx),
            Act::Yield | Act::Park => {}
        }
        Ok(())
    }
}

impl Effect for Scripted {
    type Input = Ask;
    type Output = Answer;

    fn id(&self) -> &str {
        self.id
    }

    fn ready(&self, _input: &Ask, cx: &EffectContext<'_>) -> Option<Result<Answer, CallError>> {
        if !self.ready {
            return None;
        }
        self.executions.fetch_add(1, Ordering::SeqCst);
        let mut answer = Answer { text: String::new(), stated: true };
        let acted = self.acts(cx.attempt()).iter().try_for_each(|act| Self::act(act, cx, &mut answer));
        Some(acted.map(|()| answer))
    }

    async fn execute(&self, _input: &Ask, cx: &EffectContext<'_>) -> Result<Answer, CallError> {
        self.executions.fetch_add(1, Ordering::SeqCst);
        let unfinished = Unfinished(&self.dropped);
        let mut answer = Answer { text: String::new(), stated: true };
        for act in self.acts(cx.attempt()) {
            match act {
                Act::Yield => tokio::task::yield_now().await,
                Act::Park => std::future::pending().await,
                act => {
                    if let Err(error) = Self::act(act, cx, &mut answer) {
                        std::mem::forget(unfinished);
                        return Err(error);
                    }
                }
            }
        }
        std::mem::forget(unfinished);
        Ok(answer)
    }

    fn delta_sink(&self) -> Option<Arc<dyn DeltaSink>> {
        self.sink.clone()
    }

    fn live_text(output: &Answer, piece: &mut dyn FnMut(&str)) -> bool {
        if output.stated {
            let half = output.text.floor_char_boundary(output.text.len() / 2);
            let (head, tail) = output.text.split_at(half);
            piece(head);
            piece(tail);
        }
        output.stated
    }

    fn mode(&self) -> Option<EffectMode> {
        self.mode
    }

    fn repeatable(&self) -> bool {
        self.repeatable
    }
}

/// Counts a future that was dropped in the middle; forgotten where it got to its end.
struct Unfinished<'a>(&'a AtomicUsize);

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}
