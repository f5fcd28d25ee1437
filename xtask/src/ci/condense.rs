//! What is worth reading of a failed step's output.

/// How much of a failure is shown; the log has the rest.
const LINES_MAX: usize = 400;

/// Cargo's words about its own progress.
const PROGRESS: [&str; 9] = [
    "Blocking",
    "Checking",
    "Compiling",
    "Documenting",
    "Downloaded",
    "Downloading",
    "Finished",
    "Locking",
    "Updating",
];

/// Leaves out progress and what went well; of a very long rest, the middle.
pub(super) fn condense(output: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    for line in output.trim_end().lines().filter(|line| !is_noise(line)) {
        // What was between two empty lines may all be gone.
        if !line.trim().is_empty() || kept.last().is_some_and(|last| !last.trim().is_empty()) {
            kept.push(line);
        }
    }
    let over = kept.len().saturating_sub(LINES_MAX);
    if over == 0 {
        return kept.join("\n");
    }
    let (head, rest) = kept.split_at(LINES_MAX / 2);
    let tail: Vec<&str> = rest.iter().skip(over).copied().collect();
    format!("{}\n… {over} lines left out …\n{}", head.join("\n"), tail.join("\n"))
}

fn is_noise(line: &str) -> bool {
    let words = line.trim_start();
    PROGRESS.iter().any(|word| words.strip_prefix(word).is_some_and(|rest| rest.starts_with(' ')))
        || (line.starts_with("test ") && line.ends_with(" ... ok"))
        || line.starts_with("test result: ok.")
        || (line.starts_with("running ") && (line.ends_with(" tests") || line.ends_with(" test")))
        || (line.starts_with("     Running ") || line.starts_with("   Doc-tests "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_went_well_is_left_out_and_what_failed_stays() {
        let output = "   Compiling a v0.1.0\n    Finished `test`\n     Running unittests src/lib.rs\n\nrunning 2 tests\n\
                      test x ... ok\ntest y ... FAILED\n\n\n\ntest result: ok. 1 passed\nFinished: no\n";
        assert_eq!(condense(output), "test y ... FAILED\n\nFinished: no");
    }

    #[test]
    fn a_very_long_failure_loses_its_middle() {
        let output: String = (0..1000).map(|at| format!("line {at}\n")).collect();
        let short = condense(&output);
        assert_eq!(short.lines().count(), LINES_MAX + 1);
        assert!(
            short.starts_with("line 0\n")
                && short.ends_with("line 999")
                && short.contains("600 lines left out")
        );
    }
}
