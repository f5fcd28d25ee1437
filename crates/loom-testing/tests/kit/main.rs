//! Every kit on a well-made subject. With `LOOM_KIT_SABOTAGE` the fault of that name is planted in the subject of one kit,
//! which has to notice it: `cargo xtask kit --sabotage NAME`.
#![expect(clippy::unwrap_used, reason = "test code outside a test function")]

mod calls;
mod texts;

/// Whether the fault of that name is planted.
fn planted(fault: &str) -> bool {
    std::env::var_os("LOOM_KIT_SABOTAGE").is_some_and(|planted| planted == fault)
}
