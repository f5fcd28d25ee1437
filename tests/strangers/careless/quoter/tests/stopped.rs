//! What stops it.

use careless_quoter::Quoter;
use loom_testing::kit::Check;

/// By the kit: a rule is the program's own text as far as the runtime can tell.
#[test]
fn the_kit_reports_the_quotation() {
    let report = loom_testing::kit::middleware(|| Quoter).report();
    assert!(report.found(Check::NoEcho), "{report}");
}
