//! D22: lagging: whatever is read when, and on whichever thread, what a reader gets has no gap.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Barrier, Mutex};

use futures::{FutureExt, StreamExt};
use loom_effect_runtime::*;
use proptest::prelude::*;

use crate::live_view::{now, over, texts};
use crate::support::{Act, Recorder, Scripted, ask, plan, run, sinks::line};

/// D22: many threads into one small buffer: each call's deltas come without a gap from the first one on, and if one is
/// missing the stream ends with the lag.
#[test]
fn no_thread_gets_a_delta_in_behind_another_ones_gap() {
    const THREADS: usize = 4;
    const DELTAS: usize = 24;
    let (mut lags, mut wholes) = (0, 0);
    for round in 0..200 {
        let (sink, view) = delta_stream(1 + round % 40);
        let runtime = Arc::new(over(Scripted::new(texts(DELTAS)).sink(sink)));
        let start = Arc::new(Barrier::new(THREADS));
        let callers = [(); THREADS].map(|()| {
            let (runtime, start) = (Arc::clone(&runtime), Arc::clone(&start));
            std::thread::spawn(move || {
                start.wait();
                run(runtime.invoke_transient(plan(&runtime), ask("x")).into_future()).unwrap().text
            })
        });
        drop(runtime);
        let seen = run(view.take(THREADS * DELTAS + 2).collect::<Vec<_>>());
        for caller in callers {
            assert_eq!(caller.join().unwrap(), (0..DELTAS).map(|at| format!("{at} ")).collect::<String>());
        }
        let mut calls = BTreeMap::<u64, usize>::new();
        let mut lagged = false;
        for live in &seen {
            assert!(!lagged, "the lag is the last");
            lagged = live.is_err();
            if let Ok(live) = live {
                let place = calls.entry(live.call).or_default();
                assert_eq!(line(&live.delta.as_delta()), format!("{place} "));
                *place += 1;
            }
        }
        let whole = calls.values().sum::<usize>() == THREADS * DELTAS;
        assert_eq!(whole, !lagged);
        *(if lagged { &mut lags } else { &mut wholes }) += 1;
    }
    assert!(lags > 0, "{lags} lagged, {wholes} whole");
}

/// D22: a reader on another thread folds to the output, or to a prefix of it and is told that it lagged.
#[test]
fn a_reader_on_another_thread_folds_to_the_output_or_lags() {
    for round in 0..200 {
        let capacity = 1 + round % 64;
        let (sink, mut view) = delta_stream(capacity);
        let reader = std::thread::spawn(move || {
            run(async move {
                let (mut folded, mut lagged) = (String::new(), false);
                while let Some(live) = view.recv().await {
                    assert!(!lagged, "the lag is the last");
                    match live {
                        Ok(live) => match live.delta {
                            OwnedDelta::Reset { .. } => folded.clear(),
                            delta => folded.push_str(delta.as_delta().text().unwrap_tainted()),
                        },
                        Err(_) => lagged = true,
                    }
                }
                (folded, lagged)
            })
        });
        let failed = texts(5).into_iter().chain([Act::Fail(ErrorName::Provider)]);
        let runtime = over(Scripted::new(failed).then(texts(40)));
        let call = runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink);
        let output = run(call.into_future()).unwrap().text;
        let (folded, lagged) = reader.join().unwrap();
        assert!(if lagged { output.starts_with(&folded) } else { output == folded });
        assert!(!lagged || capacity < 47, "5 texts, a reset, 40 texts and done fit");
    }
}

/// What one step of a random attempt is.
#[derive(Clone, Debug)]
enum Op {
    Write(String),
    Reasoning(String),
    Read,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => "[a-z€𝄞]{0,5}".prop_map(Op::Write),
        1 => "[a-z]{1,3}".prop_map(Op::Reasoning),
        3 => Just(Op::Read),
    ]
}

/// A buffer of so many lines, as plainly as it can be said.
struct Model {
    capacity: usize,
    held: VecDeque<String>,
    lagged: bool,
    read: Vec<String>,
}

impl Model {
    fn write(&mut self, line: String) {
        self.lagged |= self.held.len() == self.capacity;
        if !self.lagged {
            self.held.push_back(line);
        }
    }

    fn read(&mut self) {
        self.read.extend(self.held.pop_front());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// D22: whatever is written and read in whatever order over whatever attempts, the reader gets the whole live view,
    /// or a prefix of it and `Lagged`, exactly where the buffer was full; what is whole folds to the output.
    #[test]
    fn a_reader_gets_the_whole_or_a_prefix_and_the_lag(
        attempts in proptest::collection::vec(proptest::collection::vec(op(), 0..12), 1..4),
        capacity in 1_usize..8,
    ) {
        let last = attempts.len();
        let (sink, view) = delta_stream(capacity);
        let view = Arc::new(Mutex::new(view));
        let read = Arc::new(Mutex::new(Vec::new()));
        let mut model = Model { capacity, held: VecDeque::new(), lagged: false, read: Vec::new() };
        let mut effect: Option<Scripted> = None;
        let mut output = String::new();
        let mut streamed = false;
        for (at, ops) in attempts.into_iter().enumerate() {
            if at > 0 {
                model.write(format!("<reset {}>", at + 1));
            }
            output.clear();
            streamed = false;
            let mut acts = Vec::new();
            for op in ops {
                acts.push(match op {
                    Op::Write(text) => {
                        if !text.is_empty() {
                            model.write(text.clone());
                            output.push_str(&text);
                            streamed = true;
                        }
                        Act::Text(text)
                    }
                    Op::Reasoning(text) => Act::Write(Lane::REASONING, text),
                    Op::Read => {
                        model.read();
                        let (view, read) = (Arc::clone(&view), Arc::clone(&read));
                        Act::with(move |_| {
                            read.lock().unwrap().extend(now(&mut view.lock().unwrap()).flatten());
                        })
                    }
                });
            }
            if at + 1 < last {
                acts.push(Act::Fail(ErrorName::Provider));
            }
            effect = Some(match effect {
                None => Scripted::new(acts),
                Some(effect) => effect.then(acts),
            });
        }
        if streamed {
            model.write("<done>".to_owned());
        }
        let configured = Recorder::new();
        let runtime = over(effect.unwrap().sink(configured.clone()));
        let call = runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink);
        prop_assert_eq!(call.into_future().now_or_never().unwrap().unwrap().text, output.clone());

        let mut got = std::mem::take(&mut *read.lock().unwrap());
        while let Some(line) = now(&mut view.lock().unwrap()).unwrap() {
            got.push(line);
            prop_assert!(got.len() < 100, "the stream ends");
        }
        let mut whole = configured.lines();
        whole.extend(streamed.then(|| "<done>".to_owned()));
        let ended = if model.lagged { got.pop().unwrap() == "<lagged>" } else { got == whole };
        prop_assert!(ended, "the lag, or the whole");
        prop_assert!(whole.starts_with(&got));
        prop_assert_eq!(got, model.read.into_iter().chain(model.held).collect::<Vec<_>>());
        prop_assert_eq!(configured.fold(), output);
    }
}
