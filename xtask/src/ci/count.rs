//! How many tests ran, read from the closing lines of `cargo test`.

use std::fmt;
use std::ops::AddAssign;

/// Sums over the `test result:` lines of one or more runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) ignored: usize,
}

impl Count {
    /// Reads `test result: ok. 12 passed; 0 failed; 1 ignored; …` wherever such a line stands.
    pub(crate) fn read(output: &str) -> Self {
        let mut count = Self::default();
        for line in output.lines().filter(|line| line.starts_with("test result:")) {
            for part in line.split(['.', ';']) {
                let mut words = part.split_whitespace();
                let (Some(number), Some(what)) = (words.next(), words.next()) else { continue };
                let Ok(number) = number.parse::<usize>() else { continue };
                match what {
                    "passed" => count.passed += number,
                    "failed" => count.failed += number,
                    "ignored" => count.ignored += number,
                    _ => {}
                }
            }
        }
        count
    }
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        if self.ignored > 0 { write!(f, ", {} skipped", self.ignored) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_lines_are_summed_and_other_lines_are_not_read() {
        let output = "running 3 tests\n\
            test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 1.20s\n\
            4 passed\n\
            test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";
        let count = Count::read(output);
        assert_eq!(count, Count { passed: 4, failed: 2, ignored: 1 });
        assert_eq!(count.to_string(), "4 passed, 2 failed, 1 skipped");
        assert_eq!(Count { ignored: 0, ..count }.to_string(), "4 passed, 2 failed");
    }
}
