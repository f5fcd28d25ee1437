//! A tool whose runs a test ends by hand, and calls that are polled only when they were woken.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use loom_effect_runtime::{CallError, Effect, EffectContext, EffectRuntime, ErrorName, Signal};
use tokio::sync::oneshot;

/// How a run ends.
#[derive(Clone, Debug)]
pub(crate) enum End {
    Gives(String),
    Fails(ErrorName),
    Panics,
}

/// A run that has begun.
pub(crate) struct Run {
    pub(crate) input: String,
    end: oneshot::Sender<End>,
}

impl Run {
    pub(crate) fn end(self, end: End) {
        // A run that was dropped hears nothing of it.
        let _ = self.end.send(end);
    }

    pub(crate) fn gives(self, output: &str) {
        self.end(End::Gives(output.to_owned()));
    }

    pub(crate) fn is_dropped(&self) -> bool {
        self.end.is_closed()
    }
}

/// The tool `held`. Clones are the same tool.
#[derive(Clone, Default)]
pub(crate) struct Held(Arc<Mutex<Vec<Run>>>);

impl Held {
    /// The runs that have begun since this was asked for the last time, in their order.
    pub(crate) fn begun(&self) -> Vec<Run> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    /// The one run that has begun.
    #[track_caller]
    pub(crate) fn run(&self) -> Run {
        let mut begun = self.begun();
        assert_eq!(begun.len(), 1, "one run begins");
        begun.remove(0)
    }
}

impl Effect for Held {
    type Input = String;
    type Output = String;

    fn id(&self) -> &str {
        "held"
    }

    async fn execute(&self, input: &String, _cx: &EffectContext<'_>) -> Result<String, CallError> {
        let (end, ended) = oneshot::channel();
        self.0.lock().unwrap().push(Run { input: input.clone(), end });
        match ended.await.unwrap() {
            End::Gives(output) => Ok(output),
            End::Fails(name) => Err(CallError::named(name, "as it was told")),
            End::Panics => panic!("as it was told"),
        }
    }
}

/// What a call came to: its output and how often it ran, or the name of its failure.
pub(crate) type Came = Result<(String, u32), ErrorName>;

/// A call of `held`. Dropped, it is cancelled.
pub(crate) struct Calling {
    running: Option<Pin<Box<dyn Future<Output = Came> + Send>>>,
    woken: Arc<Woken>,
    came: Option<Came>,
}

impl Calling {
    pub(crate) fn new(runtime: &EffectRuntime, input: &str, signal: Option<Signal>) -> Self {
        let mut call = runtime.invoke_transient(runtime.tool("held").unwrap(), input.to_owned());
        if let Some(signal) = signal {
            call = call.signal(signal);
        }
        let reported = call.reported();
        let running = async move {
            let (output, report): (Result<String, CallError>, _) = reported.await;
            output.map(|output| (output, report.attempts)).map_err(|error| error.name())
        };
        let woken = Arc::new(Woken(AtomicBool::new(true)));
        Self { running: Some(Box::pin(running)), woken, came: None }
    }

    /// Polls where it was woken; whether it was.
    pub(crate) fn step(&mut self) -> bool {
        if !self.woken.0.swap(false, Ordering::SeqCst) {
            return false;
        }
        let Some(running) = &mut self.running else { return false };
        let waker = Waker::from(Arc::clone(&self.woken));
        if let Poll::Ready(came) = running.as_mut().poll(&mut Context::from_waker(&waker)) {
            (self.running, self.came) = (None, Some(came));
        }
        true
    }

    pub(crate) fn came(&self) -> Option<&Came> {
        self.came.as_ref()
    }
}

/// Polls calls until none of them is woken.
pub(crate) fn settle<'c>(calls: impl IntoIterator<Item = &'c mut Calling>) {
    let mut calls: Vec<_> = calls.into_iter().collect();
    while calls.iter_mut().fold(false, |any, call| call.step() | any) {}
}

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}
