//! The command line itself.

use std::fs;

use crate::support::{Folder, Ran};

#[test]
fn bare_loom_shows_three_commands_that_work() {
    let folder = Folder::new();
    let ran = folder.run(&[]).ok();
    assert_eq!(ran.err, "");
    let commands: Vec<&str> = ran.out.lines().filter_map(|line| line.strip_prefix("  loom ")).collect();
    assert_eq!(commands.len(), 3, "{ran:?}");
    for command in commands {
        let command = command.split("   ").next().unwrap();
        let words: Vec<&str> = command.split('"').map(str::trim).filter(|word| !word.is_empty()).collect();
        let args: Vec<&str> = match words.as_slice() {
            [head, quoted] => head.split(' ').chain([*quoted]).collect(),
            [head] => head.split(' ').collect(),
            _ => panic!("{command}"),
        };
        folder.run(&args).ok();
    }
}

#[test]
fn help_is_on_stdout_and_names_codes_and_variables() {
    let folder = Folder::new();
    let help = folder.run(&["--help"]).ok();
    for told in ["plan", "ask", "logs", "replay", "new", "LOOM_API_KEY", "LOOM_DB", "130 interrupted"] {
        assert!(help.out.contains(told), "{told}: {help:?}");
    }
    for command in ["plan", "ask", "logs", "replay", "new"] {
        assert!(folder.run(&[command, "--help"]).ok().out.contains("Usage: loom "), "{command}");
    }
    assert!(folder.run(&["--version"]).ok().out.starts_with("loom "));
}

#[test]
fn a_mistake_exits_with_2_and_says_what_was_meant() {
    let folder = Folder::new();
    let cases: [(&[&str], &str); 12] = [
        (&["plann", "x"], "plan"),
        (&["plan"], "<GOAL>"),
        (&["ask", "hi", "--max-token", "3"], "--max-tokens"),
        (&["ask", "hi", "--max-tokens", "0"], "1..=1000000"),
        (&["ask", "hi", "--offline", "flakey"], "flaky"),
        (&["ask", "hi", "--offline", "flaky", "--base-url", "http://127.0.0.1:9/v1"], "cannot be used with"),
        (&["ask", "hi", "--rules", "pij"], "pii"),
        (&["logs", "x", "--limit", "3"], "cannot be used with"),
        (&["logs", "--limit", "0"], "0 is not in 1.."),
        (&["plan", " "], "empty"),
        (&["ask", "hi", "--model", ""], "expected a model's name"),
        (&["plan", "shed", "--provider", "openai", "--model", " "], "expected a model's name"),
    ];
    for (args, told) in cases {
        let ran = folder.run(args).exit(2);
        assert!(ran.err.contains(told) && ran.out.is_empty(), "{args:?}: {ran:?}");
    }
    assert!(!folder.db().exists());
}

/// A program reads the mistake where it reads everything else; a person is told as ever.
#[test]
fn a_mistake_is_a_json_line_where_json_is_asked_for() {
    let folder = Folder::new();
    for args in [
        &["--json", "plann", "x"][..],
        &["plan", "--json"],
        &["ask", "hi", "--max-token", "3", "--json"],
        &["logs", "--limit", "0", "--json"],
    ] {
        let ran = folder.run(args).exit(2);
        let (name, message) = ran.error();
        assert_eq!((name.as_str(), ran.json().len()), ("InputInvalidError", 1), "{args:?}: {ran:?}");
        assert!(!message.is_empty() && !message.contains(['\n', '\u{1b}']), "{args:?}: {message}");
        assert!(!message.starts_with("error") && !message.contains("Usage"), "{args:?}: {message}");
        assert!(ran.err.starts_with("error: ") && ran.err.contains("--help"), "{args:?}: {ran:?}");
    }
    let words = folder.run(&["ask", "hi", "--max-tokens", "0", "--", "--json"]).exit(2);
    assert_eq!(words.out, "", "what stands after `--` is no flag");
    assert!(folder.run(&["--json", "--help"]).ok().out.contains("Usage: loom"));
}

#[test]
fn a_welcome_is_no_json_and_goes_to_the_person() {
    let welcome = Folder::new().run(&["--json"]).ok();
    assert_eq!(welcome.out, "");
    assert!(welcome.err.contains("loom plan"), "{welcome:?}");
}

/// A device that never ends has no length to be measured by.
#[cfg(unix)]
#[test]
fn a_deny_file_is_read_up_to_its_bound() {
    let folder = Folder::new();
    fs::write(folder.path().join("large.txt"), vec![b'x'; (4 << 20) + 1]).unwrap();
    for file in ["/dev/zero", "large.txt"] {
        let mut bounded = std::process::Command::new("sh");
        // One gigabyte of memory: the reading must end at its bound, not at the machine's.
        let loom = env!("CARGO_BIN_EXE_loom");
        bounded.args(["-c", "ulimit -v 1048576 && exec \"$0\" \"$@\"", loom, "ask", "hi", "--deny", file]);
        let ran = Ran::of(bounded.current_dir(folder.path())).exit(2);
        assert!(ran.err.contains("the deny file has more than 4194304 bytes"), "{file}: {ran:?}");
    }
}

#[test]
fn rules_that_do_not_fit_together_are_refused() {
    let folder = Folder::new();
    fs::write(folder.path().join("deny.txt"), "zephyr\n").unwrap();
    fs::write(folder.path().join("wrong.txt"), "fine\n/(unclosed/\n").unwrap();
    let cases: [(&[&str], &str); 6] = [
        (&["--rules", "deny"], "--deny FILE"),
        (&["--rules", "none,pii"], "none"),
        (&["--rules", "pii", "--deny", "deny.txt"], "leaves out"),
        (&["--rules", "none", "--deny", "deny.txt"], "leaves out"),
        (&["--deny", "missing.txt"], "cannot be read"),
        (&["--deny", "wrong.txt"], "line 2"),
    ];
    for (args, told) in cases {
        let ran = folder.run(&[&["ask", "hi"], args].concat()).exit(2);
        assert!(ran.err.contains(told) && ran.err.contains("hint: "), "{args:?}: {ran:?}");
    }
}
