//! D22: the bounded receiver of a live view: never blocks, ends with `Lagged` when full, never drops in silence.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};

use futures::{FutureExt, StreamExt};
use loom_effect_runtime::*;

use crate::support::{Act, Recorder, Scripted, ask, plan, run, sinks::line, stubborn};

pub(crate) fn over(effect: Scripted) -> EffectRuntime {
    EffectRuntime::builder().allow_all_calls().around(stubborn(3)).effect(effect).build().unwrap()
}

pub(crate) fn texts(count: usize) -> Vec<Act> {
    (0..count).map(|at| Act::text(&format!("{at} "))).collect()
}

/// What a receiver gave: a delta as its line, `<lagged>`, and nothing for the end.
fn said(live: &Result<LiveDelta, Lagged>) -> String {
    live.as_ref().map_or_else(|_| "<lagged>".to_owned(), |live| line(&live.delta.as_delta()))
}

/// What the receiver has now; `None` where it would wait.
pub(crate) fn now(view: &mut DeltaReceiver) -> Option<Option<String>> {
    view.recv().now_or_never().map(|live| live.as_ref().map(said))
}

/// Everything up to the end of a stream that does not wait any more.
fn rest(mut view: DeltaReceiver) -> Vec<String> {
    let all = std::iter::from_fn(|| now(&mut view).expect("the stream is over"));
    all.take(DELTA_STREAM_DELTAS_MAX + 2).collect()
}

/// D22: whoever reads along gets every delta in order, the reset and done, and then the end; a stream and `recv` are
/// the same.
#[test]
fn a_reader_that_keeps_up_gets_the_whole_live_view() {
    let effect = Scripted::new([Act::text("lost"), Act::Yield, Act::Fail(ErrorName::Provider)]).then([
        Act::text("a"),
        Act::Yield,
        Act::text("b"),
        Act::End(Some(Usage::new(3, 4))),
    ]);
    let runtime = over(effect);
    let whole = ["lost", "<reset 2>", "a", "b", "<done 3/4>"];
    run(async {
        let (sink, view) = delta_stream(64);
        let call = runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink).into_future();
        let (result, lines) = futures::join!(call, view.map(|live| said(&live)).collect::<Vec<_>>());
        assert_eq!((result.unwrap().text.as_str(), lines), ("ab", whole.map(str::to_owned).to_vec()));

        let (sink, mut view) = delta_stream(64);
        let call = runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink).into_future();
        let reading = async {
            let mut attempts = Vec::new();
            while let Some(live) = view.recv().await {
                let live = live.unwrap();
                attempts.push((live.attempt, line(&live.delta.as_delta())));
            }
            attempts
        };
        let (_, attempts) = futures::join!(call, reading);
        assert_eq!(attempts, [1, 2, 2, 2, 2].into_iter().zip(whole.map(str::to_owned)).collect::<Vec<_>>());
    });
}

/// D22: a reader that reads nothing holds nothing up: the call is done at its first poll, its output is whole, and the
/// reader finds what was buffered, `Lagged`, and the end.
#[test]
fn a_slow_reader_lags_and_the_call_is_not_held_up() {
    let runtime = over(Scripted::new(texts(10)));
    let (sink, mut view) = delta_stream(4);
    let call = runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink);
    let (result, report) = call.reported().now_or_never().expect("nothing to wait for");
    assert_eq!(result.unwrap().text, "0 1 2 3 4 5 6 7 8 9 ");
    assert!(report.streamed && report.checked);
    let buffered = ["0 ", "1 ", "2 ", "3 "].map(|text| Some(Some(text.to_owned())));
    assert_eq!([(); 4].map(|()| now(&mut view)), buffered);
    let lagged = view.recv().now_or_never().flatten().unwrap().unwrap_err();
    assert_eq!(lagged.capacity, 4);
    assert_eq!(
        lagged.to_string(),
        "the reader of a live view fell more than 4 deltas behind; the call's result has the text"
    );
    assert_eq!([now(&mut view), now(&mut view)], [Some(None), Some(None)], "once, then the end");
}

/// D22: a buffer that is exactly full has not lagged; done needs a place like any delta.
#[test]
fn a_full_buffer_is_no_lag_until_another_delta_comes() {
    let lines = |capacity| {
        let runtime = over(Scripted::new(texts(3)));
        let (sink, view) = delta_stream(capacity);
        run(runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink).into_future()).unwrap();
        rest(view)
    };
    assert_eq!(lines(4), ["0 ", "1 ", "2 ", "<done>"]);
    assert_eq!(lines(3), ["0 ", "1 ", "2 ", "<lagged>"]);
}

/// D22: after the first refused delta nothing is taken, also when the reader has made room since.
#[test]
fn room_made_after_a_lag_is_not_used() {
    let (sink, view) = delta_stream(2);
    let view = Arc::new(Mutex::new(view));
    let reader = Arc::clone(&view);
    let reads = Act::with(move |_| assert!(now(&mut reader.lock().unwrap()).is_some()));
    let script = texts(3).into_iter().chain([reads.clone(), reads, Act::text("late")]);
    let runtime = over(Scripted::new(script));
    run(runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink).into_future()).unwrap();
    assert_eq!(now(&mut view.lock().unwrap()), Some(Some("<lagged>".to_owned())));
}

/// D22: the capacity is brought into its range: none would lag at once, and there is a most.
#[test]
fn the_capacity_is_brought_into_its_range() {
    let lagged = |capacity, deltas| {
        let runtime = over(Scripted::new(texts(deltas)));
        let (sink, view) = delta_stream(capacity);
        run(runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink).into_future()).unwrap();
        rest(view).len()
    };
    assert_eq!(lagged(0, 5), 2, "one delta and the lag");
    assert_eq!(lagged(usize::MAX, DELTA_STREAM_DELTAS_MAX + 5), DELTA_STREAM_DELTAS_MAX + 1);
}

/// D22: a receiver that is gone hurts neither the call nor the other sink.
#[test]
fn dropping_the_receiver_does_not_hurt_the_call() {
    let (sink, view) = delta_stream(64);
    let slot = Mutex::new(Some(view));
    let drops = Act::with(move |_| drop(slot.lock().unwrap().take()));
    let configured = Recorder::new();
    let acts = [Act::text("a"), drops, Act::text("b"), Act::Yield, Act::text("c")];
    let runtime = over(Scripted::new(acts).sink(configured.clone()));
    let call = runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink);
    let (result, report) = run(call.reported());
    assert_eq!(result.unwrap().text, "abc");
    assert!(report.streamed && report.checked);
    assert_eq!(configured.lines(), ["a", "b", "c"]);
}

/// D22: the stream ends with the call, however that ends: done is there only where the call succeeded.
#[test]
fn the_stream_ends_with_the_call() {
    for (last, ended) in [(Act::Yield, "<done>"), (Act::Fail(ErrorName::Provider), "a")] {
        let pumps = Arc::new(Mutex::new(Vec::new()));
        let effect = Scripted::new([Act::text("a"), Act::Pump(Arc::clone(&pumps)), last]);
        let runtime = EffectRuntime::builder().allow_all_calls().effect(effect).build().unwrap();
        let (sink, view) = delta_stream(64);
        let call = runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink).into_future();
        let mut call = std::pin::pin!(call);
        let _ = run(call.as_mut());
        assert_eq!(rest(view).last().unwrap(), ended, "whoever still holds the call or a writer");
    }
}

/// D22: a call that is dropped ends its stream behind what it delivered.
#[test]
fn the_stream_ends_with_a_dropped_call() {
    let runtime = over(Scripted::new([Act::text("a"), Act::Park]));
    let (sink, mut view) = delta_stream(64);
    let call = runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink);
    assert!(call.into_future().now_or_never().is_none());
    assert_eq!([now(&mut view), now(&mut view)], [Some(Some("a".to_owned())), Some(None)]);
}

/// D22: dropping a `recv` that waits loses nothing.
#[test]
fn recv_is_cancel_safe() {
    let (sink, view) = delta_stream(64);
    let view = Arc::new(Mutex::new(view));
    let expecting = |expected: Option<&'static str>| {
        let view = Arc::clone(&view);
        Act::with(move |_| {
            let got = now(&mut view.lock().unwrap());
            assert_eq!(got.flatten().as_deref(), expected);
        })
    };
    let script = [
        expecting(None),
        Act::text("a"),
        expecting(Some("a")),
        expecting(None),
        expecting(None),
        Act::text("b"),
        Act::text("c"),
    ];
    let runtime = over(Scripted::new(script));
    run(runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink).into_future()).unwrap();
    drop(runtime);
    let mut view = view.lock().unwrap();
    let left = std::iter::from_fn(|| now(&mut view).flatten()).collect::<Vec<_>>();
    assert_eq!(left, ["b", "c", "<done>"]);
}

/// Counts how often it was woken.
#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// D22: a delivery wakes a waiting reader, once, and a reader that does not wait not at all; a lag wakes too.
#[test]
fn a_delivery_wakes_at_most_once() {
    let (sink, view) = delta_stream(2);
    let view = Arc::new(Mutex::new(view));
    let wakes = Arc::new(Wakes::default());
    let (reader, waker) = (Arc::clone(&view), Waker::from(Arc::clone(&wakes)));
    let waits = Act::with(move |_| {
        let mut reader = reader.lock().unwrap();
        let mut cx = Context::from_waker(&waker);
        while reader.poll_next_unpin(&mut cx).is_ready() {}
    });
    let told = Arc::new(Mutex::new(Vec::new()));
    let (counted, into) = (Arc::clone(&wakes), Arc::clone(&told));
    let count = Act::with(move |_| into.lock().unwrap().push(counted.0.load(Ordering::SeqCst)));
    let text = || Act::text("a");
    let script =
        [&[waits.clone(), text(), count.clone(), text(), count.clone()][..], &[waits, text(), count]];
    let runtime = over(Scripted::new(script.concat()));
    run(runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink).into_future()).unwrap();
    assert_eq!(*told.lock().unwrap(), [1, 1, 2]);

    let (sink, mut view) = delta_stream(1);
    let wakes = Arc::new(Wakes::default());
    let waker = Waker::from(Arc::clone(&wakes));
    assert!(view.poll_next_unpin(&mut Context::from_waker(&waker)).is_pending());
    let runtime = over(Scripted::new(texts(3)));
    run(runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink).into_future()).unwrap();
    assert_eq!(wakes.0.load(Ordering::SeqCst), 1, "the reader was woken once and has not asked since");
}

/// D20: text alone, unless other kinds are asked for.
#[test]
fn other_kinds_come_only_when_asked_for() {
    let lines = |kinds: Option<DeltaKinds>| {
        let runtime = over(Scripted::new([
            Act::write(Lane::REASONING, "hm"),
            Act::write(Lane::tool_arguments(0), "{}"),
            Act::text("a"),
        ]));
        let (sink, view) = delta_stream(64);
        let sink = match kinds {
            Some(kinds) => sink.wanting(kinds),
            None => sink,
        };
        run(runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink).into_future()).unwrap();
        rest(view)
    };
    assert_eq!(lines(None), ["a", "<done>"]);
    assert_eq!(lines(Some(DeltaKinds::REASONING)), ["reasoning:hm", "<done>"]);
    assert_eq!(lines(Some(DeltaKinds::ALL)), ["reasoning:hm", "tool0:{}", "a", "<done>"]);
}

/// D3: what comes out is as tainted as what was delivered.
#[test]
fn the_text_stays_tainted() {
    let runtime = over(Scripted::new([Act::text("a")]));
    let (sink, view) = delta_stream(64);
    run(runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink).into_future()).unwrap();
    let deltas: Vec<_> = run(view.map(|live| live.unwrap().delta).collect());
    for delta in &deltas {
        assert_eq!(delta.as_delta().text().origins().to_string(), "llm:plan");
    }
    assert_eq!(deltas.len(), 2);
}

/// D22: as the sink of an effect it serves every call, each delta names its own, and the stream ends with the runtime.
#[test]
fn one_stream_serves_all_calls_of_an_effect() {
    let (sink, mut view) = delta_stream(64);
    let runtime = over(Scripted::new([Act::text("a"), Act::Yield, Act::text("b")]).sink(sink));
    run(async {
        let call = || runtime.invoke_transient(plan(&runtime), ask("x")).into_future();
        let (one, two) = futures::join!(call(), call());
        assert!(one.is_ok() && two.is_ok());
    });
    let mut folded = BTreeMap::<u64, String>::new();
    while let Some(Some(live)) = view.recv().now_or_never() {
        let live = live.unwrap();
        folded.entry(live.call).or_default().push_str(&line(&live.delta.as_delta()));
    }
    assert_eq!(folded.into_values().collect::<Vec<_>>(), ["ab", "ab"], "no done among them");
    assert_eq!(now(&mut view), None, "more calls may come");
    drop(runtime);
    assert_eq!(now(&mut view), Some(None));
}
