//! Instructions of one iteration, counted by callgrind as the difference of two runs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::stop::{During, Stop};

/// The two loop lengths; what they share (start-up, set-up) cancels out.
const ITERATIONS: (u32, u32) = (2_000, 12_000);

/// A valgrind that is there, and where its files go.
pub(super) struct Callgrind {
    folder: PathBuf,
}

impl Callgrind {
    pub(super) fn find(target: &Path) -> Option<Self> {
        let found = Command::new("valgrind").arg("--version").stdin(Stdio::null()).output().ok()?;
        found.status.success().then(|| Self { folder: target.join("xtask") })
    }

    /// Rounded to a tenth of an instruction.
    pub(super) fn per_iteration(&self, binary: &Path, bench: &str) -> Result<f64, Stop> {
        let (few, many) = ITERATIONS;
        let (low, high) = (self.total(binary, bench, few)?, self.total(binary, bench, many)?);
        let tenths = high.saturating_sub(low).saturating_mul(10) / u64::from(many - few);
        u32::try_from(tenths).map(|tenths| f64::from(tenths) / 10.0).during("counting instructions")
    }

    fn total(&self, binary: &Path, bench: &str, iterations: u32) -> Result<u64, Stop> {
        std::fs::create_dir_all(&self.folder).during("making the folder of counts")?;
        let file = self.folder.join("callgrind.out");
        let output = Command::new("valgrind")
            .arg("--tool=callgrind")
            .arg(format!("--callgrind-out-file={}", file.display()))
            .arg(binary)
            .args(["--instructions", bench, &iterations.to_string()])
            .stdin(Stdio::null())
            .output()
            .during("starting valgrind")?;
        if !output.status.success() {
            let told = String::from_utf8_lossy(&output.stderr);
            let last = told.lines().rev().find(|line| !line.starts_with("==")).unwrap_or("no message");
            return Err(Stop::Failed(format!("valgrind ended with {}: {last}", output.status)));
        }
        let text = std::fs::read_to_string(&file).during("reading callgrind's output")?;
        instructions(&text).ok_or_else(|| Stop::failed("callgrind's output has no `totals:` line"))
    }
}

/// The instruction count of a whole run: `summary:` where it is written, else `totals:`.
fn instructions(text: &str) -> Option<u64> {
    let value = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    value("summary:").filter(|count| *count > 0).or_else(|| value("totals:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_read_from_either_line() {
        assert_eq!(instructions("version: 1\nsummary: 123 4\n\nfn=(1)\ntotals: 120\n"), Some(123));
        assert_eq!(instructions("events: Ir\ntotals: 120\n"), Some(120));
        assert_eq!(instructions("summary: 0\ntotals: 120\n"), Some(120));
        assert_eq!(instructions("events: Ir\n"), None);
    }
}
