//! What ships passes the conformance kits that strangers' crates are asked to pass.

#![expect(clippy::unwrap_used, reason = "test code outside a test function")]

use std::sync::Arc;

use loom_effect_runtime::{CallInfo, DeltaForm, DeltaGuard, DeltaKinds, Lane, OutputMiddleware};
use loom_safety::{
    DenyPattern, DenyPatterns, Judges, MemoryVault, PiiValidator, Placeholder, Redaction, SafetyMiddleware,
};
use loom_testing::kit;

/// One text for each rule; digits before and behind, and two matches that touch.
const PII: [&str; 6] = [
    "the card 4111 1111 1111 1111 it is",
    "write to ada@example.com, please",
    "ssn 536-22-8726 on file",
    "pay DE89 3704 0044 0532 0130 00 today",
    "9999 4111 1111 1111 1111",
    "4111111111111111,ada@example.com",
];
const DENIED: [&str; 3] =
    ["about Project Zephyr: go", "the key sk-abcdefghij0123456789 works", "PROJECT ZEPHYR"];

fn deny() -> DenyPatterns {
    DenyPatterns::new([
        DenyPattern::literal("project zephyr").ignoring_case().word_bounded(),
        DenyPattern::regex(r"sk-[A-Za-z0-9]{20}"),
    ])
    .unwrap()
}

fn safety() -> SafetyMiddleware {
    SafetyMiddleware::new([PiiValidator::default().into(), deny().into()])
}

fn redaction(placeholder: Placeholder) -> Redaction {
    Redaction::new([PiiValidator::default().into(), deny().into()], placeholder).unwrap()
}

fn all() -> impl Iterator<Item = &'static str> {
    PII.into_iter().chain(DENIED)
}

/// The delta form of a middleware, without its inspection.
struct FormOf<M>(M);

impl<M: OutputMiddleware> DeltaForm for FormOf<M> {
    fn kinds(&self) -> DeltaKinds {
        self.0.delta_form().unwrap().kinds()
    }
    fn guard(&self, call: &CallInfo, lane: Lane) -> Box<dyn DeltaGuard> {
        self.0.delta_form().unwrap().guard(call, lane)
    }
}

/// D10: in every phase, and in every split what the output form refuses.
#[test]
fn the_validators_pass_their_kit() {
    kit::validator(PiiValidator::default).texts(PII).check();
    kit::validator(deny).texts(DENIED).check();
    for judges in [Judges::InputOnly, Judges::OutputOnly] {
        kit::validator(move || PiiValidator::default().judging(judges)).texts([PII[0]]).check();
    }
}

/// D13: several validators in one middleware, whose form severs as soon as a match stands there.
#[test]
fn the_safety_middleware_passes_the_kit_of_output_middleware() {
    kit::output_middleware(safety).texts(all()).eager().check();
    kit::guard(|| FormOf(safety())).texts(all()).eager().check();
}

/// D21: with a mask, output and live text are one text, byte for byte in every split.
#[test]
fn a_masking_redaction_passes_the_exact_kit() {
    kit::output_middleware(|| redaction(Placeholder::text("…"))).texts(all()).exact().check();
    kit::guard(|| FormOf(redaction(Placeholder::RULE))).texts(all()).exact().check();
}

/// D21: references too. One redaction is cloned: its references are made under a key that no other one has.
#[test]
fn a_referring_redaction_passes_the_exact_kit() {
    let referring = redaction(Placeholder::reference(Arc::new(MemoryVault::default())));
    let form = referring.clone();
    kit::output_middleware(move || referring.clone()).texts(all()).exact().check();
    kit::guard(move || FormOf(form.clone())).texts(all()).exact().check();
}
