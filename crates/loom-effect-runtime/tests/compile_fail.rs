//! What must not compile: each file in `ui/` with its pinned message, beside a twin in `ui/pass/` that compiles and
//! differs in nothing but the cheat.

#![cfg(test)]

/// D14: proofs, witnesses, inputs and done cannot be made by hand; proofs cannot be copied, kept or mixed; who has not
/// declared inspection cannot read output; attempts cannot overlap; a delta cannot be kept; nobody forgets to say who
/// may call, which type goes in, or whether live text is covered.
#[test]
fn cheats_do_not_compile() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/pass/*.rs");
    cases.compile_fail("tests/ui/*.rs");
}

/// D14: every case that must not compile has a twin that does, so that it fails for the reason it names.
#[test]
fn every_case_has_a_twin_that_compiles() {
    let rust_files = |folder: &str| {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let names = entries.filter(|path| path.extension().is_some_and(|ext| ext == "rs"));
        names.map(|path| path.file_name().unwrap().to_owned()).collect::<std::collections::BTreeSet<_>>()
    };
    let cases = rust_files("tests/ui");
    assert!(cases.len() >= 14, "the cases are found");
    assert_eq!(cases, rust_files("tests/ui/pass"));
}
