//! `loom new middleware`: the beginning of a stranger's crate, whole or not at all.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Folder, Ran};

/// Every file and folder below `folder`, with the bytes of the files.
fn below(folder: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(below(&path));
            all.insert(path, None);
        } else {
            let bytes = fs::read(&path).unwrap();
            all.insert(path, Some(bytes));
        }
    }
    all
}

/// Runs `loom new middleware` with these words; it exits so, and the folder holds what it held.
fn changes_nothing(folder: &Folder, words: &[&str], code: i32) -> Ran {
    let before = below(folder.path());
    let ran = folder.run(&[&["new", "middleware"], words].concat()).exit(code);
    assert_eq!(below(folder.path()), before, "{words:?}: {ran:?}");
    assert_eq!(ran.out, "", "{words:?}");
    ran
}

#[test]
fn a_new_middleware_is_a_crate_of_its_own_with_its_kit() {
    let folder = Folder::new();
    let ran = folder.run(&["new", "middleware", "my-guard"]).ok();
    assert_eq!(ran.out, "./my-guard\n");
    assert!(ran.err.contains("next: cd ./my-guard && cargo test"), "{ran:?}");
    let made = folder.path().join("my-guard");
    let files: Vec<_> = below(&made)
        .into_iter()
        .filter(|(_, bytes)| bytes.is_some())
        .map(|(path, _)| path.strip_prefix(&made).unwrap().to_string_lossy().replace('\\', "/"))
        .collect();
    assert_eq!(
        files,
        [".cargo/config.toml", ".gitignore", "Cargo.toml", "README.md", "src/lib.rs", "tests/kit.rs"]
    );
    let read = |path: &str| fs::read_to_string(made.join(path)).unwrap();
    let manifest = read("Cargo.toml");
    assert!(manifest.contains("name = \"my-guard\"") && manifest.contains("[workspace]\n"), "{manifest}");
    assert!(read("tests/kit.rs").contains("use my_guard::"));
    let kept_out = read(".gitignore");
    assert!(kept_out.lines().any(|line| line == "/.cargo"), "paths of this machine are not committed");
}

/// D13: the first doc comment of what the command writes states the obligation.
#[test]
fn the_first_sentence_that_a_stranger_reads_is_the_obligation() {
    let folder = Folder::new();
    folder.run(&["new", "middleware", "my-guard"]).ok();
    let lib = fs::read_to_string(folder.path().join("my-guard/src/lib.rs")).unwrap();
    let first = lib.lines().next().unwrap();
    assert!(
        first.starts_with(
            "//! **The obligation: whoever rewrites or refuses output answers for the live text too.**"
        ),
        "{first}"
    );
}

#[test]
fn a_missing_place_is_made_and_json_tells_where_the_crate_lies() {
    let folder = Folder::new();
    let ran = folder.run(&["new", "middleware", "my-guard", "--path", "a/b", "--json"]).ok();
    assert_eq!(ran.out, "{\"created\":{\"path\":\"a/b/my-guard\"}}\n");
    assert!(folder.path().join("a/b/my-guard/src/lib.rs").is_file());
    assert!(!ran.err.contains("created"), "{ran:?}");
}

#[test]
fn a_name_that_no_crate_can_have_is_refused_and_told_what_is_expected() {
    let folder = Folder::new();
    let long = "x".repeat(65);
    let cases = [
        ("", "0 bytes; expected 1 to 64"),
        (&long, "65 bytes; expected 1 to 64"),
        ("My-guard", "lower-case letters"),
        ("2guard", "begins with a letter"),
        ("guard-", "ends with a letter or digit"),
        ("..", "begins with a letter"),
        ("a..b", "lower-case letters"),
        ("../guard", "begins with a letter"),
        ("a/b", "lower-case letters"),
        ("a\\b", "lower-case letters"),
        ("/guard", "begins with a letter"),
        ("gu ard", "lower-case letters"),
        ("gu\u{1b}[31mard", "lower-case letters"),
        ("fn", "means something to the compiler"),
        ("self", "means something to the compiler"),
        ("test", "means something to the compiler"),
        ("loom-effect-runtime", "is a crate that is depended on"),
        ("loom_testing", "is a crate that is depended on"),
    ];
    for (name, told) in cases {
        let ran = changes_nothing(&folder, &[name], 2);
        assert!(ran.err.contains(told) && ran.err.contains("(InputInvalidError)"), "{name:?}: {ran:?}");
        assert!(
            ran.err.contains("hint: say another name") && !ran.err.contains('\u{1b}'),
            "{name:?}: {ran:?}"
        );
    }
    changes_nothing(&folder, &["My-guard", "--path", "made/for/it"], 2);
}

#[test]
fn what_lies_there_already_is_never_written_over() {
    let folder = Folder::new();
    folder.run(&["new", "middleware", "my-guard"]).ok();
    fs::write(folder.path().join("my-guard/src/lib.rs"), "// mine\n").unwrap();
    fs::write(folder.path().join("file"), "mine\n").unwrap();
    fs::create_dir(folder.path().join("empty")).unwrap();
    for name in ["my-guard", "file", "empty"] {
        let ran = changes_nothing(&folder, &[name], 2);
        assert!(ran.err.contains("is there already; nothing is overwritten"), "{name}: {ran:?}");
        assert!(ran.err.contains("hint: say another name, or another place with --path DIR"), "{ran:?}");
    }
}

#[test]
fn a_place_that_is_no_folder_is_told() {
    let folder = Folder::new();
    fs::write(folder.path().join("file"), "mine\n").unwrap();
    let ran = changes_nothing(&folder, &["my-guard", "--path", "file"], 2);
    assert!(ran.err.contains("file is no folder") && ran.err.contains("hint: say another place"), "{ran:?}");
    let below = changes_nothing(&folder, &["my-guard", "--path", "file/below"], 1);
    assert!(below.err.contains("writing file/below") && below.err.contains("can be written"), "{below:?}");
}

#[test]
fn loom_s_crates_are_taken_from_the_folder_that_is_named_and_from_no_other() {
    let folder = Folder::new();
    let ran = changes_nothing(&folder, &["my-guard", "--crates", "nowhere"], 2);
    assert!(ran.err.contains("nowhere does not hold loom-effect-runtime"), "{ran:?}");
    assert!(ran.err.contains("hint: say where Loom's crates lie with --crates DIR"), "{ran:?}");
    for name in ["loom-classify", "loom-effect-runtime", "loom-testing"] {
        fs::create_dir_all(folder.path().join("crates").join(name)).unwrap();
        fs::write(folder.path().join("crates").join(name).join("Cargo.toml"), "").unwrap();
    }
    folder.run(&["new", "middleware", "my-guard", "--crates", "crates"]).ok();
    let settings = fs::read_to_string(folder.path().join("my-guard/.cargo/config.toml")).unwrap();
    let place = folder.path().canonicalize().unwrap().join("crates");
    for name in ["loom-classify", "loom-effect-runtime", "loom-testing"] {
        let line = format!("{name} = {{ path = {:?} }}", place.join(name).display().to_string());
        assert!(settings.contains(&line), "{line}: {settings}");
    }
    fs::remove_file(folder.path().join("crates/loom-testing/Cargo.toml")).unwrap();
    let ran = changes_nothing(&folder, &["other", "--crates", "crates"], 2);
    assert!(ran.err.contains("does not hold loom-testing"), "{ran:?}");
}

/// A disk that takes no more: nothing is left of what was begun, the folders round it included.
#[cfg(unix)]
#[test]
fn a_crate_that_cannot_be_written_leaves_nothing_behind() {
    let folder = Folder::new();
    let loom = env!("CARGO_BIN_EXE_loom");
    for blocks in [0, 4] {
        let mut limited = Command::new("sh");
        limited.args(["-c", &format!("ulimit -f {blocks} && exec \"$0\" \"$@\""), loom, "new", "middleware"]);
        limited.args(["my-guard", "--path", "a/b", "--json"]).current_dir(folder.path());
        let ran = Ran::of(&mut limited).exit(1);
        assert_eq!(ran.error().0, "EffectFailedError", "{ran:?}");
        assert!(ran.error().1.contains("writing a/b/my-guard/"), "{ran:?}");
        assert!(ran.err.contains("hint: see that the place can be written"), "{ran:?}");
        assert!(below(folder.path()).is_empty(), "{blocks}: {ran:?}");
    }
}

/// Where root runs the tests, the command runs as somebody else: root may write everywhere.
#[cfg(unix)]
#[test]
fn a_place_that_may_not_be_written_is_told() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::CommandExt;

    /// Whom no file of ours belongs to.
    const NOBODY: u32 = 65_534;

    let folder = Folder::new();
    let place = folder.path().join("closed");
    fs::create_dir(&place).unwrap();
    fs::set_permissions(&place, fs::Permissions::from_mode(0o555)).unwrap();
    // Nobody else may be allowed to reach the binary where it was built.
    let loom = folder.path().join("loom-copy");
    fs::copy(env!("CARGO_BIN_EXE_loom"), &loom).unwrap();
    let mut command = Command::new(&loom);
    command.args(["new", "middleware", "my-guard", "--path", "closed"]).current_dir(folder.path());
    if fs::metadata(folder.path()).unwrap().uid() == 0 {
        command.uid(NOBODY).gid(NOBODY);
    }
    let ran = Ran::of(&mut command).exit(1);
    assert!(
        ran.err.contains("writing closed/my-guard: ") && ran.err.contains("(EffectFailedError)"),
        "{ran:?}"
    );
    assert!(ran.err.contains("hint: see that the place can be written"), "{ran:?}");
    assert_eq!(fs::read_dir(&place).unwrap().count(), 0);
}

#[test]
fn a_mistake_exits_with_2_and_help_names_the_command() {
    let folder = Folder::new();
    let cases: [(&[&str], &str); 5] = [
        (&["new"], "middleware"),
        (&["new", "midleware", "my-guard"], "middleware"),
        (&["new", "middleware"], "<NAME>"),
        (&["new", "middleware", "my-guard", "--pth", "x"], "--path"),
        (&["new", "middleware", "my-guard", "other"], "unexpected argument"),
    ];
    for (words, told) in cases {
        let ran = folder.run(words).exit(2);
        assert!(ran.err.contains(told) && ran.out.is_empty(), "{words:?}: {ran:?}");
    }
    assert!(below(folder.path()).is_empty());
    let failed = folder.run(&["new", "middleware", "My", "--json"]).exit(2);
    assert_eq!(failed.error().0, "InputInvalidError");
    let help = folder.run(&["new", "middleware", "--help"]).ok();
    for told in ["Usage: loom new middleware", "<NAME>", "--path <DIR>", "--crates <DIR>"] {
        assert!(help.out.contains(told), "{told}: {help:?}");
    }
    assert!(folder.run(&["new", "--help"]).ok().out.contains("conformance kit"));
}
