//! Gets its proof from a run.

use loom_effect_runtime::around;

fn main() {
    let _ = around("honest", |_call, mut next| Box::pin(async move { next.run().await }));
}
