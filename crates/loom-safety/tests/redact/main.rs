//! Redaction in a real runtime: live text, output, references.

#[path = "../generate/mod.rs"]
mod generate;
mod live;
mod output;
mod references;
mod reveal;
mod rules;
mod stage;
