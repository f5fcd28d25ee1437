//! The governed path, topic by topic: what must be true whatever third parties do.

#![cfg(test)]

mod aborts;
mod around_errors;
mod arounds;
mod blind;
mod drops;
mod endings;
mod flows;
mod identity;
mod interleaved;
mod kept;
mod lanes;
mod late_writers;
mod live_lag;
mod live_text;
mod live_view;
mod memo_key;
mod meters;
mod names;
mod order;
mod panics_data;
mod panics_hooks;
mod panics_stream;
mod refusals;
mod resets;
mod severs;
mod shortcuts;
mod sinks;
mod sizes;
#[path = "../support/mod.rs"]
mod support;
mod waits;
mod wire;
