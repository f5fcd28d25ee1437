//! The live view as a bounded stream: an adapter outside the path.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use futures::Stream;
use tokio::sync::mpsc::{OwnedPermit, Receiver, Sender, channel, error::TrySendError};

use super::{DeltaKinds, DeltaSink, EffectDelta, OwnedDelta};
use crate::call::CallRef;

/// The most deltas a [`delta_stream`] buffers.
pub const DELTA_STREAM_DELTAS_MAX: usize = 65_536;

/// A sink and the stream of what it gets, behind a buffer of `capacity` deltas: from 1 to
/// [`DELTA_STREAM_DELTAS_MAX`]; other figures are brought into that range (spec row D22).
///
/// The buffer counts deltas, each as long as the guards let it through. When it is full the stream ends with
/// [`Lagged`]; the call itself is never held up, and its result has the text.
///
/// ```
/// # use loom_effect_runtime::{CallError, Effect, EffectContext, EffectRuntime};
/// use loom_effect_runtime::{OwnedDelta, delta_stream};
///
/// # struct Greet;
/// # impl Effect for Greet {
/// #     type Input = String;
/// #     type Output = String;
/// #     fn id(&self) -> &str { "greet" }
/// #     async fn execute(&self, name: &String, cx: &EffectContext<'_>) -> Result<String, CallError> {
/// #         cx.deltas().text("hello ")?;
/// #         cx.deltas().text(name)?;
/// #         Ok(format!("hello {name}"))
/// #     }
/// # }
/// # let runtime = EffectRuntime::builder().allow_all_calls().effect(Greet).build()?;
/// # let greet = runtime.tool::<String, String>("greet")?;
/// # let tokio = tokio::runtime::Builder::new_current_thread().build()?;
/// # tokio.block_on(async {
/// let (sink, mut view) = delta_stream(64);
/// let call = tokio::spawn(runtime.invoke_transient(greet, "Ada".to_owned()).on_delta_sink(sink).into_future());
/// let mut shown = String::new();
/// while let Some(live) = view.recv().await {
///     match live {
///         Ok(live) => match live.delta {
///             OwnedDelta::Text { text, .. } => shown.push_str(text.expose_tainted()),
///             OwnedDelta::Reset { .. } => shown.clear(),
///             _ => {}
///         },
///         Err(lagged) => eprintln!("{lagged}"),
///     }
/// }
/// // Whatever was shown, the result has the whole text.
/// assert_eq!(call.await??, "hello Ada");
/// assert_eq!(shown, "hello Ada");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn delta_stream(capacity: usize) -> (DeltaStreamSink, DeltaReceiver) {
    let capacity = capacity.clamp(1, DELTA_STREAM_DELTAS_MAX);
    let (sender, receiver) = channel(capacity);
    let lagged = Arc::new(AtomicBool::new(false));
    let sink = DeltaStreamSink {
        open: Mutex::new(Some(sender)),
        lagged: Arc::clone(&lagged),
        wants: DeltaKinds::TEXT,
    };
    (sink, DeltaReceiver { receiver, lagged, capacity })
}

/// The writing end of a [`delta_stream`].
///
/// # Contract
/// A delivery never waits for the reader, allocates no more than the copy of the text and the buffer's own blocks,
/// and wakes the reader at most once. The first delta that finds the buffer full is refused, and so is every later
/// one: what the reader gets has no gap. Once the receiver is gone a delivery does nothing.
///
/// Given to one call with [`on_delta_sink`](crate::CallBuilder::on_delta_sink) it lives as long as the call. As the
/// sink of an effect it serves all its calls through one buffer: each delta names its call ([`LiveDelta::call`]),
/// no `Done` is among them (spec row D4), the stream ends with the runtime, and a reader that lags loses the live
/// view of them all.
#[must_use]
pub struct DeltaStreamSink {
    /// `None` once a delta was refused. Held to claim a place, never while the reader is woken.
    open: Mutex<Option<Sender<LiveDelta>>>,
    lagged: Arc<AtomicBool>,
    wants: DeltaKinds,
}

impl DeltaStreamSink {
    /// Asks for other kinds than text alone (spec row D20).
    pub fn wanting(mut self, kinds: DeltaKinds) -> Self {
        self.wants = kinds;
        self
    }

    /// A place in the buffer. The first time there is none, the stream is over.
    fn claim(&self) -> Option<OwnedPermit<LiveDelta>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let refused = match open.as_ref()?.clone().try_reserve_owned() {
            Ok(place) => return Some(place),
            Err(refused) => refused,
        };
        if matches!(refused, TrySendError::Full(_)) {
            self.lagged.store(true, Ordering::Release);
        }
        let last = open.take();
        // Unlocked first: the last sender to go wakes the reader, which is foreign code.
        drop(open);
        drop((refused, last));
        None
    }
}

impl DeltaSink for DeltaStreamSink {
    fn deliver(&self, call: &CallRef<'_>, delta: &EffectDelta<'_>) {
        if let Some(place) = self.claim() {
            let (call, attempt) = (call.number(), call.attempt());
            place.send(LiveDelta { call, attempt, delta: delta.to_owned() });
        }
    }

    fn wants(&self) -> DeltaKinds {
        self.wants
    }
}

impl std::fmt::Debug for DeltaStreamSink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeltaStreamSink").field("wants", &self.wants).finish_non_exhaustive()
    }
}

/// The reading end of a [`delta_stream`]: a [`Stream`] of the deltas in the order they were delivered.
///
/// It ends with `None` when its sink is gone, which for a call's own sink is when the call is over, after `Done`
/// where the call succeeded and streamed. A [`Lagged`] comes last, behind everything that was buffered. Dropping the
/// receiver does not touch the call.
#[must_use = "a stream gives nothing until it is read"]
pub struct DeltaReceiver {
    receiver: Receiver<LiveDelta>,
    lagged: Arc<AtomicBool>,
    capacity: usize,
}

impl DeltaReceiver {
    /// The next delta; `None` when the stream is over.
    ///
    /// # Errors
    /// [`Lagged`], once, behind what was buffered.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing: the delta is there for the next one.
    pub async fn recv(&mut self) -> Option<Result<LiveDelta, Lagged>> {
        std::future::poll_fn(|cx| self.poll_recv(cx)).await
    }

    fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<LiveDelta, Lagged>>> {
        self.receiver.poll_recv(cx).map(|live| match live {
            Some(live) => Some(Ok(live)),
            None => {
                let lagged = self.lagged.swap(false, Ordering::Acquire);
                lagged.then_some(Err(Lagged { capacity: self.capacity }))
            }
        })
    }
}

impl Stream for DeltaReceiver {
    type Item = Result<LiveDelta, Lagged>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_recv(cx)
    }
}

impl std::fmt::Debug for DeltaReceiver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeltaReceiver").field("capacity", &self.capacity).finish_non_exhaustive()
    }
}

/// A delta with the call it belongs to. Its text is as tainted as it was delivered.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub struct LiveDelta {
    /// The call's number, unique in the process: [`CallRef::number`].
    pub call: u64,
    /// The attempt, from 1: [`CallRef::attempt`].
    pub attempt: u32,
    /// The delta.
    pub delta: OwnedDelta,
}

/// The reader fell behind by more than the buffer holds: the live view ends here, the text comes from the call's
/// result (spec row D22).
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the reader of a live view fell more than {capacity} deltas behind; the call's result has the text")]
pub struct Lagged {
    /// How many deltas the buffer holds.
    pub capacity: usize,
}
