//! What every careful around keeps to.

use loom_testing::kit;
use stranger_cacher::Cacher;

/// T14: the kit's tools are cached, so that its calls are served, and nobody is served what is another's.
#[test]
fn it_passes_the_kit_of_arounds() {
    kit::around(|| kit::TOOLS.iter().fold(Cacher::new(100), |cacher, tool| cacher.tool(*tool))).check();
}
