//! The kits of those who take part in a call without seeing text: well-made subjects pass, and each careless one is
//! found under the check that it breaks, and under no other.
#![expect(clippy::unwrap_used, reason = "test code outside a test function")]

mod arounds;
mod authorizers;
mod careless_arounds;
mod careless_effects;
mod careless_middlewares;
mod effects;
mod input_middlewares;
mod memo;
mod middlewares;
mod sinks;

use loom_testing::kit::{Check, Report};

/// The report finds the check broken, and nothing else.
#[track_caller]
fn found_only(check: Check, report: &Report) {
    let found: Vec<Check> = report.faults().iter().map(loom_testing::kit::Fault::check).collect();
    assert!(
        !found.is_empty() && found.iter().all(|found| *found == check),
        "{check} alone expected: {report}"
    );
}
