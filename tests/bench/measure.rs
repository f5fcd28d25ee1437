//! Timing and counting of one loop.

use std::hint::black_box;
use std::time::Instant;

use serde_json::{Value, json};

/// The best of this many loops counts: the machine is shared.
const LOOPS: usize = 15;
/// Iterations a loop.
const ITERATIONS: u64 = 40_000;
/// Iterations over which allocations are counted.
const COUNTED: u64 = 1_000;

/// One named loop, or something that is measured otherwise.
pub(crate) struct Bench {
    name: &'static str,
    /// Runs the loop so many times; absent where there is none.
    body: Option<Box<dyn FnMut(u64)>>,
    /// What an iteration does beside what is measured: its allocations, and itself to be timed.
    beside: Option<(u64, Box<dyn FnMut()>)>,
    /// Figures beside `ns` and `allocs`.
    extra: Option<Box<dyn FnMut() -> Value>>,
}

impl Bench {
    pub(crate) fn new(name: &'static str, body: impl FnMut(u64) + 'static) -> Self {
        Self { name, body: Some(Box::new(body)), beside: None, extra: None }
    }

    /// No loop: the figures are what `told` says.
    pub(crate) fn told(name: &'static str, told: impl FnMut() -> Value + 'static) -> Self {
        Self { name, body: None, beside: None, extra: Some(Box::new(told)) }
    }

    pub(crate) fn less(mut self, allocations: u64, beside: impl FnMut() + 'static) -> Self {
        self.beside = Some((allocations, Box::new(beside)));
        self
    }

    pub(crate) fn with(mut self, extra: impl FnMut() -> Value + 'static) -> Self {
        self.extra = Some(Box::new(extra));
        self
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn run(&mut self, count: u64) {
        if let Some(body) = &mut self.body {
            body(count);
        }
    }

    pub(crate) fn report(&mut self) -> Value {
        let mut line = if self.body.is_some() { self.looped() } else { json!({"bench": self.name}) };
        if let (Some(extra), Some(line)) = (&mut self.extra, line.as_object_mut())
            && let Value::Object(figures) = extra()
        {
            line.extend(figures);
        }
        line
    }

    fn looped(&mut self) -> Value {
        self.run(ITERATIONS);
        let ns = best_ns(|| self.run(ITERATIONS));
        let counted = allocation_counter::measure(|| self.run(COUNTED)).count_total;
        let (own_allocs, own_ns) = match &mut self.beside {
            None => (0, 0.0),
            Some((allocs, beside)) => (*allocs, best_ns(|| (0..ITERATIONS).for_each(|_| beside()))),
        };
        let allocs = counted as f64 / COUNTED as f64 - own_allocs as f64;
        json!({"bench": self.name, "ns": round(ns - own_ns), "allocs": round(allocs)})
    }
}

/// What reading the clock costs: absolute gates are scaled by it.
pub(crate) fn floor() -> Value {
    let ns = best_ns(|| {
        (0..ITERATIONS).for_each(|_| {
            black_box(Instant::now());
        })
    });
    json!({"bench": "floor.instant", "ns": round(ns)})
}

fn best_ns(mut run: impl FnMut()) -> f64 {
    let once = |run: &mut dyn FnMut()| {
        let start = Instant::now();
        run();
        start.elapsed().as_secs_f64() * 1e9 / ITERATIONS as f64
    };
    (0..LOOPS).map(|_| once(&mut run)).fold(f64::INFINITY, f64::min)
}

pub(crate) fn round(figure: f64) -> f64 {
    (figure * 100.0).round() / 100.0
}

/// Polls a future that is ready at its first poll, where it stands: as `.await` does, without moving it.
macro_rules! ready {
    ($cx:expr, $future:expr) => {
        match std::pin::pin!($future).as_mut().poll($cx) {
            std::task::Poll::Ready(output) => output,
            std::task::Poll::Pending => panic!("the benched future waits"),
        }
    };
}

pub(crate) use ready;
