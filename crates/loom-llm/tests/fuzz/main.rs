//! Fuzzing of what reads bytes off the wire: hostile bodies in hostile packets.
//!
//! Each target is a test of its own; the engine makes its inputs, shrinks one that fails, and prints the seed that
//! brings it back (`BOLERO_RANDOM_SEED`). `BOLERO_RANDOM_ITERATIONS` and `BOLERO_RANDOM_TEST_TIME_MS` make a run longer. With
//! `LOOM_FUZZ_SABOTAGE` set, this harness feeds or listens wrongly on purpose, and every target has to notice.

#[cfg(test)]
mod anthropic;
#[cfg(test)]
mod dialect;
#[cfg(test)]
mod dice;
#[cfg(test)]
mod google;
#[cfg(test)]
mod mutate;
#[cfg(test)]
mod openai;
#[cfg(test)]
mod packets;
#[cfg(test)]
mod recordings;
#[cfg(test)]
mod sse;
#[cfg(test)]
mod sse_reference;
