//! Which benches a name on the command line asks for. `cargo xtask bench` includes this file, so that both go by one
//! rule; it therefore needs nothing but the standard library, and its tests are there.

/// Whether the name asks for the bench: the bench itself, or all that lie under the name, which may stand in the
/// plural (`calls`).
pub(crate) fn selects(name: &str, bench: &str) -> bool {
    let under = bench.strip_prefix(name.trim_end_matches('s'));
    bench == name || under.is_some_and(|rest| rest.starts_with('.'))
}

/// Refuses a name that asks for none of the benches, naming those there are.
pub(crate) fn check<N: AsRef<str>, B: AsRef<str>>(names: &[N], benches: &[B]) -> Result<(), String> {
    let asks_for_none = |name: &&N| !benches.iter().any(|bench| selects((*name).as_ref(), bench.as_ref()));
    match names.iter().find(asks_for_none) {
        None => Ok(()),
        Some(name) => Err(unknown(name.as_ref(), benches)),
    }
}

/// What is said of a name that no bench has.
pub(crate) fn unknown<B: AsRef<str>>(name: &str, benches: &[B]) -> String {
    let there = benches.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(" ");
    format!("no bench is called `{name}`; there are: {there}")
}
