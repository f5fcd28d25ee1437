//! Claims about allocations are counted.

use loom_effect_runtime::Verdict;
use loom_testing::kit::{self, Check};

use crate::subjects::{Form, Push, TEXT, found, reports, word_guard};

/// A guard that keeps the text grows one buffer.
#[test]
fn a_guard_that_grows_a_buffer_keeps_its_claim() {
    kit::guard(word_guard).texts([TEXT]).allocations_per_delta(0).check();
}

/// One that copies the text at each delta does not.
#[test]
fn a_guard_that_allocates_at_each_delta_is_reported() {
    let copies = || -> Push {
        let mut so_far = String::new();
        Box::new(move |text, _| {
            so_far = format!("{so_far}{text}");
            found("word", &so_far).map_or(Verdict::Pass, Verdict::Sever)
        })
    };
    let kit = || kit::guard(move || Form(copies)).texts([TEXT]);
    reports(&kit().allocations_per_delta(0).report(), &[Check::Allocations]);
    kit().allocations_per_delta(2).check();
}
