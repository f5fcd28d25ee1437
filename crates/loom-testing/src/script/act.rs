//! One thing that a scripted attempt does.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use loom_effect_runtime::{CallError, Deltas, EffectContext, ErrorName, Lane, Usage};

use super::FromScript;

type Doing = Arc<dyn Fn(&EffectContext<'_>) + Send + Sync>;

/// One thing that an attempt of a [`Scripted`](super::Scripted) effect does.
#[derive(Clone)]
#[non_exhaustive]
pub enum Act {
    /// Writes text; stops at an error.
    Text(String),
    /// Writes to a lane; stops at an error.
    Write(Lane, String),
    /// Writes text and ignores whatever is answered.
    Swallow(String),
    /// Marks the end of the stream.
    End(Option<Usage>),
    /// Reports usage outside the stream.
    Usage(Usage),
    /// Answers with this instead of what it wrote to the first text lane.
    Answer(String),
    /// States no live text, where the output can do without.
    Unstated,
    /// Gives way once.
    Yield,
    /// Waits for so long on the runtime's clock; for ever without a timer.
    Sleep(Duration),
    /// Waits for ever.
    Park,
    /// Panics.
    Panic,
    /// Fails under the name.
    Fail(ErrorName),
    /// Fails with that very error.
    FailWith(CallError),
    /// Leaves a handle of the attempt's channel with the test.
    Pump(Arc<Mutex<Vec<Deltas>>>),
    /// Does what the test says.
    Do(Doing),
}

impl Act {
    /// Writes text; stops at an error.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    /// Writes to a lane; stops at an error.
    #[must_use]
    pub fn write(lane: Lane, text: &str) -> Self {
        Self::Write(lane, text.to_owned())
    }

    /// Writes text and ignores whatever is answered.
    #[must_use]
    pub fn swallow(text: &str) -> Self {
        Self::Swallow(text.to_owned())
    }

    /// Answers with this instead of what it wrote.
    #[must_use]
    pub fn answer(text: &str) -> Self {
        Self::Answer(text.to_owned())
    }

    /// Does what the closure says.
    #[must_use]
    pub fn with(doing: impl Fn(&EffectContext<'_>) + Send + Sync + 'static) -> Self {
        Self::Do(Arc::new(doing))
    }

    /// The part of the act that waits.
    pub(super) async fn wait(&self, cx: &EffectContext<'_>) {
        match self {
            Self::Yield => tokio::task::yield_now().await,
            Self::Sleep(duration) => match cx.sleep(*duration) {
                Some(sleep) => sleep.await,
                None => std::future::pending().await,
            },
            Self::Park => std::future::pending().await,
            _ => {}
        }
    }

    /// The part that does not.
    pub(super) fn act(&self, cx: &EffectContext<'_>, told: &mut Told) -> Result<(), CallError> {
        match self {
            Self::Text(text) => {
                cx.deltas().text(text)?;
                told.text.push_str(text);
            }
            Self::Write(lane, text) => {
                cx.deltas().write(*lane, text)?;
                if *lane == Lane::TEXT {
                    told.text.push_str(text);
                }
            }
            Self::Swallow(text) => {
                let _ = cx.deltas().text(text);
                told.text.push_str(text);
            }
            Self::End(usage) => cx.deltas().end(*usage),
            Self::Usage(usage) => cx.usage(*usage),
            Self::Answer(text) => told.text.clone_from(text),
            Self::Unstated => told.stated = false,
            Self::Panic => std::panic::resume_unwind(Box::new("scripted")),
            Self::Fail(name) => return Err(CallError::named(*name, "scripted")),
            Self::FailWith(error) => return Err(error.clone()),
            Self::Pump(out) => out.lock().unwrap_or_else(PoisonError::into_inner).push(cx.deltas()),
            Self::Do(doing) => doing(cx),
            Self::Yield | Self::Sleep(_) | Self::Park => {}
        }
        Ok(())
    }
}

impl fmt::Debug for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "Text({text:?})"),
            Self::Write(lane, text) => write!(f, "Write({lane:?}, {text:?})"),
            Self::Swallow(text) => write!(f, "Swallow({text:?})"),
            Self::End(usage) => write!(f, "End({usage:?})"),
            Self::Usage(usage) => write!(f, "Usage({usage:?})"),
            Self::Answer(text) => write!(f, "Answer({text:?})"),
            Self::Unstated => f.write_str("Unstated"),
            Self::Yield => f.write_str("Yield"),
            Self::Sleep(duration) => write!(f, "Sleep({duration:?})"),
            Self::Park => f.write_str("Park"),
            Self::Panic => f.write_str("Panic"),
            Self::Fail(name) => write!(f, "Fail({name})"),
            Self::FailWith(error) => write!(f, "FailWith({})", error.name()),
            Self::Pump(_) => f.write_str("Pump"),
            Self::Do(_) => f.write_str("Do"),
        }
    }
}

/// What the acts of an attempt add up to.
pub(super) struct Told {
    text: String,
    stated: bool,
}

impl Told {
    pub(super) fn new() -> Self {
        Self { text: String::new(), stated: true }
    }

    pub(super) fn output<O: FromScript>(self) -> O {
        O::of_text(self.text, self.stated)
    }
}
