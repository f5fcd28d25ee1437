//! A hook that blocks its thread, and with it everybody on it.

use std::thread;
use std::time::Duration;

use loom_effect_runtime::{Call, Input, Middleware, Step};

/// Asks a slow service without awaiting it.
#[derive(Debug)]
pub struct Blocker;

impl Middleware for Blocker {
    fn name(&self) -> &str {
        "careless-blocker"
    }

    fn before(&self, _call: &Call, _input: &Input) -> Step {
        thread::sleep(Duration::from_millis(400));
        Step::Go
    }
}
