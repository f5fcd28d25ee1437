//! The gates: which figure may be how large, and what an absent figure means.

use std::fmt;

use super::Finding;
use super::figure::Figure;

/// What `Instant::now` may cost before the gates on time are scaled by it.
const CLOCK_NS: f64 = 30.0;
const CLOCK: &str = "floor.instant";
const READY: &str = "call.ready.3";
const WIDE: &str = "call.ready.8";
/// How many middlewares the wide call has more than the ready one.
const WIDER_BY: f64 = 5.0;
const PER_MIDDLEWARE_NS_MAX: f64 = 15.0;

/// `loom ask` as a process; it is timed, and its instructions are not counted.
pub(super) const ASK: &str = "wire.ask";
/// What decoding a delta of a chat may allocate: its text, and what its JSON needs on the way.
const CHAT_ALLOCS_MAX: f64 = 4.0;

/// How a number is held.
#[derive(Clone, Copy)]
enum Bound {
    /// At most so many nanoseconds, scaled where the clock is slow.
    Ns(f64),
    /// The same, of a figure that may be left out.
    NsIfTold(f64),
    AtMost(f64),
    AtLeast(f64),
}

/// A bench, a field of its line, and the bound. A field that is asked for and not there breaks its gate.
const GATES: [(&str, &str, Bound); 41] = [
    ("call.bare", "ns", Bound::Ns(f64::INFINITY)),
    ("call.ready.0", "allocs", Bound::AtMost(0.0)),
    ("call.ready.1", "allocs", Bound::AtMost(0.0)),
    (READY, "ns", Bound::Ns(150.0)),
    (READY, "allocs", Bound::AtMost(0.0)),
    (READY, "instructions", Bound::AtMost(850.0)),
    (WIDE, "allocs", Bound::AtMost(0.0)),
    ("call.ready.3.inspector", "ns", Bound::Ns(180.0)),
    ("call.ready.3.inspector", "allocs", Bound::AtMost(0.0)),
    ("call.ready.3.inspector", "instructions", Bound::AtMost(f64::INFINITY)),
    ("call.ready.3.json", "ns", Bound::Ns(200.0)),
    ("call.ready.3.json", "allocs", Bound::AtMost(0.0)),
    ("call.ready.3.json", "instructions", Bound::AtMost(f64::INFINITY)),
    ("call.async.3", "ns", Bound::Ns(200.0)),
    ("call.async.3", "allocs", Bound::AtMost(1.0)),
    ("call.async.3", "instructions", Bound::AtMost(f64::INFINITY)),
    ("call.retry", "ns", Bound::Ns(260.0)),
    ("call.retry", "allocs", Bound::AtMost(2.0)),
    ("call.retry", "instructions", Bound::AtMost(f64::INFINITY)),
    ("call.memo_hit", "ns", Bound::Ns(350.0)),
    ("call.memo_hit", "allocs", Bound::AtMost(4.0)),
    ("call.memo_hit", "instructions", Bound::AtMost(f64::INFINITY)),
    ("call.ready.3.2threads", "ratio", Bound::AtLeast(1.7)),
    ("call.ready.3.2threads", "per_s", Bound::AtLeast(1.0)),
    // With the live text hashed, as it is on every path that a sink hears; what it is without may be told beside it.
    ("channel.2guards.2sinks", "ns", Bound::Ns(25.0)),
    ("channel.2guards.2sinks", "ns_unhashed", Bound::NsIfTold(20.0)),
    ("channel.2guards.2sinks", "allocs", Bound::AtMost(0.0)),
    ("channel.2guards.2sinks", "setup_allocs", Bound::AtMost(6.0)),
    ("channel.2guards.2sinks", "instructions", Bound::AtMost(f64::INFINITY)),
    // The ratio is that of the event-stream decoder to the crate `eventsource-stream` on the same bytes.
    ("wire.sse.64k", "ratio", Bound::AtLeast(1.0)),
    ("wire.sse.64k", "allocs", Bound::AtMost(0.0)),
    ("wire.sse.64k", "mb_per_s", Bound::AtLeast(1.0)),
    ("wire.sse.64k", "instructions", Bound::AtMost(f64::INFINITY)),
    ("wire.sse.1400", "ratio", Bound::AtLeast(1.0)),
    ("wire.sse.1400", "allocs", Bound::AtMost(0.0)),
    ("wire.sse.1400", "mb_per_s", Bound::AtLeast(1.0)),
    ("wire.sse.1400", "instructions", Bound::AtMost(f64::INFINITY)),
    ("wire.chat", "ns", Bound::Ns(f64::INFINITY)),
    ("wire.chat", "allocs", Bound::AtMost(CHAT_ALLOCS_MAX)),
    ("wire.chat", "instructions", Bound::AtMost(f64::INFINITY)),
    (ASK, "ms", Bound::AtMost(150.0)),
];

/// What one gate says.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Verdict {
    pub(super) gate: String,
    pub(super) ok: bool,
    /// The figure and its bound.
    pub(super) told: String,
}

impl Verdict {
    pub(super) fn finding(&self) -> Finding {
        Finding::new(super::SABOTAGE, &self.gate, &self.told)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", if self.ok { "ok  " } else { "FAIL" }, self.gate, self.told)
    }
}

/// Holds the figures against the gates of every bench that was `asked` for.
pub(super) fn verdicts(figures: &[Figure], asked: impl Fn(&str) -> bool) -> Vec<Verdict> {
    let named = |name: &str| figures.iter().find(|figure| figure.name == name);
    let clock = named(CLOCK).and_then(|figure| figure.number("ns")).unwrap_or(CLOCK_NS);
    let scale = (clock / CLOCK_NS).max(1.0);
    let mut verdicts = Vec::new();
    for (bench, field, bound) in GATES.into_iter().filter(|(bench, ..)| asked(bench)) {
        let number = named(bench).and_then(|figure| figure.number(field));
        if number.is_some() || !matches!(bound, Bound::NsIfTold(_)) {
            verdicts.push(judge(format!("{bench} {field}"), number, bound, scale));
        }
    }
    if asked(READY) && asked(WIDE) {
        let ns = |name: &str| named(name).and_then(|figure| figure.number("ns"));
        let each = ns(READY).zip(ns(WIDE)).map(|(three, eight)| (eight - three) / WIDER_BY);
        let gate = "call.ready each further middleware, ns".to_owned();
        verdicts.push(judge(gate, each, Bound::Ns(PER_MIDDLEWARE_NS_MAX), scale));
    }
    verdicts
}

/// Whether the bench's instructions are counted: those of one thread of the bench itself that do work.
pub(super) fn counts_instructions(bench: &str) -> bool {
    !bench.starts_with("floor.") && !bench.ends_with("threads") && bench != ASK
}

/// Figures that sit within every gate, for the proof that worse ones do not.
pub(super) fn passing_figures() -> Vec<Figure> {
    let mut figures: Vec<Figure> = Vec::new();
    for (bench, field, bound) in GATES {
        if !figures.iter().any(|figure| figure.name == bench) {
            figures.extend(Figure::parse(&format!(r#"{{"bench":"{bench}"}}"#)));
        }
        let number = match bound {
            Bound::Ns(limit) | Bound::NsIfTold(limit) | Bound::AtMost(limit) | Bound::AtLeast(limit) => {
                limit.min(1_000.0)
            }
        };
        if let Some(figure) = figures.iter_mut().find(|figure| figure.name == bench) {
            figure.put(field, number);
            if bench == WIDE {
                figure.put("ns", 150.0 + WIDER_BY * PER_MIDDLEWARE_NS_MAX);
            }
        }
    }
    figures
}

fn judge(gate: String, number: Option<f64>, bound: Bound, scale: f64) -> Verdict {
    let Some(number) = number else {
        return Verdict { gate, ok: false, told: "not reported".into() };
    };
    let (ok, limit) = match bound {
        Bound::Ns(limit) | Bound::NsIfTold(limit) => {
            (number <= limit * scale, format!("at most {:.1}", limit * scale))
        }
        Bound::AtMost(limit) => (number <= limit, format!("at most {limit}")),
        Bound::AtLeast(limit) => (number >= limit, format!("at least {limit}")),
    };
    let limit = if limit.ends_with("inf") { "reported".into() } else { limit };
    Verdict { gate, ok, told: format!("{number:.2} ({limit})") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(figures: &[Figure], asked: impl Fn(&str) -> bool) -> Vec<String> {
        verdicts(figures, asked)
            .into_iter()
            .filter(|verdict| !verdict.ok)
            .map(|verdict| verdict.gate)
            .collect()
    }

    fn changed(bench: &str, field: &str, number: f64) -> Vec<Figure> {
        let mut figures = passing_figures();
        figures.iter_mut().filter(|figure| figure.name == bench).for_each(|figure| figure.put(field, number));
        figures
    }

    #[test]
    fn figures_at_their_bounds_pass_and_each_one_beyond_is_named() {
        assert_eq!(broken(&passing_figures(), |_| true), [""; 0]);
        assert_eq!(broken(&changed(READY, "allocs", 1.0), |_| true), ["call.ready.3 allocs"]);
        assert_eq!(broken(&changed(READY, "instructions", 851.0), |_| true), ["call.ready.3 instructions"]);
        assert_eq!(
            broken(&changed("call.ready.3.2threads", "ratio", 1.69), |_| true),
            ["call.ready.3.2threads ratio"]
        );
        assert_eq!(broken(&changed(WIDE, "ns", 226.0), |_| true), ["call.ready each further middleware, ns"]);
    }

    #[test]
    fn a_slow_clock_scales_time_and_nothing_else() {
        let mut figures = changed(READY, "ns", 290.0);
        assert_eq!(broken(&figures, |_| true), ["call.ready.3 ns"]);
        figures.extend(Figure::parse(r#"{"bench":"floor.instant","ns":60}"#));
        assert_eq!(broken(&figures, |_| true), [""; 0]);
        figures.iter_mut().filter(|figure| figure.name == READY).for_each(|figure| figure.put("allocs", 1.0));
        assert_eq!(broken(&figures, |_| true), ["call.ready.3 allocs"]);
    }

    #[test]
    fn what_was_asked_for_and_not_reported_breaks_its_gate() {
        assert_eq!(broken(&[], |bench| bench == "call.ready.0"), ["call.ready.0 allocs"]);
        assert_eq!(broken(&[], |_| false), [""; 0]);
    }
}
