//! What stops it.

use careless_memory::Remembers;
use loom_testing::kit::Check;

/// D10, D11: by the kit: no compiler and no runtime can tell what lies in a form.
#[test]
fn the_kit_reports_a_guard_that_is_not_fresh() {
    let report = loom_testing::kit::guard(Remembers::default).texts(["the word is swordfish"]).report();
    assert!(report.found(Check::FreshGuard), "{report}");
}
