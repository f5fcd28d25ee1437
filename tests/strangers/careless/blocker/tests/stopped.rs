//! What stops it.

use careless_blocker::Blocker;
use loom_testing::kit::Check;

/// D2: by the kit: nothing can take the thread away from a hook that does not give it back.
#[test]
fn the_kit_reports_a_hook_that_blocks() {
    let report = loom_testing::kit::middleware(|| Blocker).report();
    assert!(report.found(Check::NeverBlocks), "{report}");
}
