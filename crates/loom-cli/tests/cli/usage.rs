//! The command line itself.

use std::fs;

use crate::support::Folder;

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
    for told in ["plan", "ask", "logs", "replay", "LOOM_API_KEY", "LOOM_DB", "130 interrupted"] {
        assert!(help.out.contains(told), "{told}: {help:?}");
    }
    for command in ["plan", "ask", "logs", "replay"] {
        assert!(folder.run(&[command, "--help"]).ok().out.contains("Usage: loom "), "{command}");
    }
    assert!(folder.run(&["--version"]).ok().out.starts_with("loom "));
}

#[test]
fn a_mistake_exits_with_2_and_says_what_was_meant() {
    let folder = Folder::new();
    let cases: [(&[&str], &str); 9] = [
        (&["plann", "x"], "plan"),
        (&["plan"], "<GOAL>"),
        (&["ask", "hi", "--max-token", "3"], "--max-tokens"),
        (&["ask", "hi", "--max-tokens", "0"], "1..=1000000"),
        (&["ask", "hi", "--offline", "flakey"], "flaky"),
        (&["ask", "hi", "--offline", "flaky", "--base-url", "http://127.0.0.1:9/v1"], "cannot be used with"),
        (&["ask", "hi", "--rules", "pij"], "pii"),
        (&["logs", "x", "--limit", "3"], "cannot be used with"),
        (&["plan", " "], "empty"),
    ];
    for (args, told) in cases {
        let ran = folder.run(args).exit(2);
        assert!(ran.err.contains(told) && ran.out.is_empty(), "{args:?}: {ran:?}");
    }
    assert!(!folder.db().exists());
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
