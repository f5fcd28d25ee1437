//! Sinks, well-made and careless.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use loom_effect_runtime::{CallRef, DeltaKinds, DeltaSink, EffectDelta, delta_stream};
use loom_testing::kit::{self, Check, SinkKit};

use crate::found_only;

/// What a screen does otherwise than it should.
#[derive(Clone, Copy, PartialEq)]
enum Flaw {
    None,
    KeepsResets,
    MixesCalls,
    PanicsAtReset,
    Blocks,
    Copies,
}

/// Shows the text of each call.
struct Screen(Flaw, Mutex<HashMap<u64, String>>);

impl Screen {
    fn with(flaw: Flaw) -> SinkKit<Self> {
        kit::sink(move || Self(flaw, Mutex::default())).shows(|screen, call| {
            let call = if screen.0 == Flaw::MixesCalls { 0 } else { call };
            screen.1.lock().unwrap_or_else(PoisonError::into_inner).get(&call).cloned()
        })
    }
}

impl DeltaSink for Screen {
    fn deliver(&self, call: &CallRef<'_>, delta: &EffectDelta<'_>) {
        let call = if self.0 == Flaw::MixesCalls { 0 } else { call.number() };
        let mut shown = self.1.lock().unwrap_or_else(PoisonError::into_inner);
        let text = shown.entry(call).or_default();
        match delta {
            EffectDelta::Text { text: piece, .. } => {
                if self.0 == Flaw::Copies {
                    std::hint::black_box(delta.to_owned());
                }
                text.push_str(piece.unwrap_tainted());
            }
            EffectDelta::Reset { .. } => match self.0 {
                Flaw::KeepsResets => {}
                flaw => {
                    assert!(flaw != Flaw::PanicsAtReset, "no reset was thought of");
                    text.clear();
                }
            },
            _ => {}
        }
        if self.0 == Flaw::Blocks {
            std::thread::sleep(Duration::from_millis(300));
        }
    }

    fn wants(&self) -> DeltaKinds {
        DeltaKinds::ALL
    }
}

#[test]
fn a_screen_passes_and_every_check_is_made() {
    let report = Screen::with(Flaw::None).report();
    report.assert();
    for check in [Check::LiveText, Check::NoPanic, Check::NeverBlocks, Check::Repeatable, Check::Ends] {
        assert!(report.checks().contains(&check), "{check}: {report}");
    }
}

#[test]
fn a_bounded_stream_passes_full_or_not() {
    kit::sink(|| delta_stream(1).0).check();
    kit::sink(|| delta_stream(4096).0).check();
}

/// D11: what was reset is still shown.
#[test]
fn a_sink_that_appends_across_resets_is_reported() {
    found_only(Check::LiveText, &Screen::with(Flaw::KeepsResets).report());
}

/// D12: one text for all calls.
#[test]
fn a_sink_that_mixes_calls_is_reported() {
    found_only(Check::LiveText, &Screen::with(Flaw::MixesCalls).report());
}

#[test]
fn a_sink_that_shows_nothing_is_reported() {
    found_only(Check::LiveText, &kit::sink(|| delta_stream(1).0).shows(|_sink, _call| None).report());
}

/// D6: the call goes on, the view is not to be trusted.
#[test]
fn a_sink_that_panics_on_a_reset_is_reported() {
    found_only(Check::NoPanic, &Screen::with(Flaw::PanicsAtReset).report());
}

#[test]
fn a_sink_that_keeps_its_thread_is_reported() {
    found_only(Check::NeverBlocks, &Screen::with(Flaw::Blocks).report());
}

/// Wants something else each time, or panics when it is asked.
struct Fickle(AtomicUsize, bool);

impl DeltaSink for Fickle {
    fn deliver(&self, _call: &CallRef<'_>, _delta: &EffectDelta<'_>) {}

    fn wants(&self) -> DeltaKinds {
        assert!(!self.1, "it does not know");
        let asked = self.0.fetch_add(1, Ordering::SeqCst);
        if asked.is_multiple_of(2) { DeltaKinds::TEXT } else { DeltaKinds::ALL }
    }
}

#[test]
fn a_sink_that_asks_for_other_kinds_each_time_or_panics_is_reported() {
    found_only(Check::Repeatable, &kit::sink(|| Fickle(AtomicUsize::new(0), false)).report());
    found_only(Check::NoPanic, &kit::sink(|| Fickle(AtomicUsize::new(0), true)).report());
}

#[cfg(feature = "allocations")]
#[test]
fn a_sink_that_allocates_more_than_it_claims_is_reported() {
    Screen::with(Flaw::None).allocations_per_delta(0).check();
    found_only(Check::Allocations, &Screen::with(Flaw::Copies).allocations_per_delta(0).report());
}
