//! Cheats that do not compile, each with a twin that does, and the error code each is stopped by.

use std::collections::BTreeSet;
use std::path::Path;

/// The cheats and the code of the error that stops each.
const STOPPED_BY: &[(&str, &str)] = &[
    ("clone_proof", "E0599"),
    ("copy_next", "E0599"),
    ("forge_kept", "E0423"),
    ("forge_proof", "E0451"),
    ("keep_proof_for_another_call", "E0521"),
    ("overlap_attempts", "E0499"),
    ("read_kept", "E0616"),
    ("rewrite_input", "E0596"),
    ("succeed_without_a_proof", "E0271"),
];

#[test]
fn cheats_do_not_compile_and_their_twins_do() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/fail/*.rs");
    cases.pass("tests/ui/pass/*.rs");
}

#[test]
fn every_cheat_is_pinned_to_its_error_and_has_a_twin() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ui");
    for (cheat, code) in STOPPED_BY {
        let stderr = std::fs::read_to_string(folder.join(format!("fail/{cheat}.stderr"))).unwrap();
        let codes: Vec<_> = stderr.lines().filter(|line| line.starts_with("error")).collect();
        assert!(codes.len() == 1 && codes[0].starts_with(&format!("error[{code}]")), "{cheat}: {codes:?}");
        assert!(folder.join(format!("pass/{cheat}.rs")).exists(), "{cheat} has no twin");
    }
    let listed: BTreeSet<_> = STOPPED_BY.iter().map(|(cheat, _)| (*cheat).to_owned()).collect();
    let present: BTreeSet<_> = std::fs::read_dir(folder.join("fail"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    assert_eq!(listed, present);
}
