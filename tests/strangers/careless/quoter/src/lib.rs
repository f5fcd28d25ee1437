//! Middleware that quotes what it refuses: the text is then in every log that tells of the refusal.

use loom_effect_runtime::{Call, Input, Middleware, Refusal, Step};

/// Refuses every input that is not a number, and says which it was.
#[derive(Debug)]
pub struct Quoter;

impl Middleware for Quoter {
    fn name(&self) -> &str {
        "careless-quoter"
    }

    fn before(&self, _call: &Call, input: &Input) -> Step {
        match input.json() {
            Ok(json) if json.is_number() => Step::Go,
            Ok(json) => Step::Deny(Refusal::safety(format!("{json} is no number"))),
            Err(_) => Step::Deny(Refusal::safety("unreadable")),
        }
    }
}
