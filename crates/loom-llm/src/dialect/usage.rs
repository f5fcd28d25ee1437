//! Usage that a provider tells in parts.

use loom_effect_runtime::Usage;

use super::Chunks;
use crate::chunk::LlmChunk;

/// What is known so far. A later figure replaces an earlier one of its kind; what is not said again stays, and so does
/// what a later 0 would take back: servers fill with it what they do not count again.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RunningUsage(Usage);

impl RunningUsage {
    /// Takes in what an event says, and passes it on where it says anything.
    pub(crate) fn say(&mut self, said: Usage, out: &mut Chunks) {
        if said == Usage::default() {
            return;
        }
        let last = |said: Option<u64>, known: Option<u64>| match (said, known) {
            (Some(0), known @ Some(_)) => known,
            (said, known) => said.or(known),
        };
        self.0.input_tokens = last(said.input_tokens, self.0.input_tokens);
        self.0.output_tokens = last(said.output_tokens, self.0.output_tokens);
        out.push_back(LlmChunk::Usage(self.0));
    }
}
