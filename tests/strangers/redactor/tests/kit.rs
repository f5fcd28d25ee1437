//! What every careful output middleware keeps to.

use loom_testing::kit;
use stranger_redactor::Redactor;

/// D21: every split of a text is redacted alike, in output and live text.
#[test]
fn it_passes_the_kit_of_output_middleware() {
    kit::output_middleware(|| Redactor::new("swordfish", "[…]").unwrap())
        .texts(["the word is swordfish, keep it", "swordfish", "sword fish swordswordfishfish"])
        .exact()
        .check();
}
