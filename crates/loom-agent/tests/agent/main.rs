//! The agent loop through the real runtime, over scripted models.

#![cfg(test)]

mod arguments;
mod dialects;
mod endings;
mod failures;
mod limits;
mod properties;
mod scope;
mod stage;
mod streams;
mod turns;
mod wire;
