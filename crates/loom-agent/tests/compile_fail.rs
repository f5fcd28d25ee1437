//! What must not compile: each file in `ui/` with its pinned message, beside a twin in `ui/pass/` that compiles and
//! differs in nothing but the declared way out of the taint.

#![cfg(test)]

/// D9: a model's arguments do not become a tool's input by default, as they stand, or in silence, and tainted text is
/// no prompt.
#[test]
fn a_models_words_do_not_reach_a_tool_by_accident() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/pass/*.rs");
    cases.compile_fail("tests/ui/*.rs");
}

/// D9: every case that must not compile has a twin that does, so that it fails for the reason it names.
#[test]
fn every_case_has_a_twin_that_compiles() {
    let rust_files = |folder: &str| {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let names = entries.filter(|path| path.extension().is_some_and(|ext| ext == "rs"));
        names.map(|path| path.file_name().unwrap().to_owned()).collect::<std::collections::BTreeSet<_>>()
    };
    let cases = rust_files("tests/ui");
    assert!(cases.len() >= 4, "the cases are found");
    assert_eq!(cases, rust_files("tests/ui/pass"));
}
