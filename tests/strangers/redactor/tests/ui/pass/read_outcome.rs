//! Reads the facts of an outcome.

use loom_effect_runtime::after;

fn main() {
    let _ = after("honest", |_call, outcome| {
        let _ = (outcome.is_ok(), outcome.report.attempts, outcome.report.usage);
    });
}
