//! The committed instruction counts, which a change may not raise by more than a tenth.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value};

use super::figure::Figure;
use super::gates::Verdict;
use crate::stop::{During, Stop};

pub(super) const PATH: &str = "docs/bench-baseline.json";
const RISE_MAX: f64 = 1.10;

/// Bench name to instructions of one iteration.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Baseline(BTreeMap<String, f64>);

impl Baseline {
    /// A file that is not there is an empty baseline: each figure is then reported as uncommitted.
    pub(super) fn read(root: &Path) -> Result<Self, Stop> {
        match std::fs::read_to_string(root.join(PATH)) {
            Ok(text) => Self::parse(&text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(Stop::Failed(format!("reading {PATH}: {error}"))),
        }
    }

    fn parse(text: &str) -> Result<Self, Stop> {
        Ok(Self(serde_json::from_str(text).during(&format!("reading {PATH} as an object of numbers"))?))
    }

    /// Puts this run's counts in the file; what this run did not measure stays.
    pub(super) fn write(root: &Path, figures: &[Figure]) -> Result<(), Stop> {
        let mut all = Self::read(root)?.0;
        all.extend(counted(figures).map(|(name, count)| (name.to_owned(), count)));
        let all: Map<String, Value> = all.into_iter().map(|(name, count)| (name, count.into())).collect();
        let text = serde_json::to_string_pretty(&all).during("writing the baseline")?;
        std::fs::write(root.join(PATH), text + "\n").during(&format!("writing {PATH}"))
    }

    pub(super) fn verdicts(&self, figures: &[Figure]) -> Vec<Verdict> {
        let verdict = |(name, count): (&str, f64)| match self.0.get(name) {
            Some(committed) => {
                let limit = committed * RISE_MAX;
                let told = format!("{count} instructions, committed {committed}, at most {limit:.0}");
                Verdict { gate: format!("{name} baseline"), ok: count <= limit, told }
            }
            None => {
                let told =
                    format!("{count} instructions, none committed; `cargo xtask bench --update` writes it");
                Verdict { gate: format!("{name} baseline"), ok: false, told }
            }
        };
        counted(figures).map(verdict).collect()
    }
}

fn counted(figures: &[Figure]) -> impl Iterator<Item = (&str, f64)> {
    figures.iter().filter_map(|figure| Some((figure.name.as_str(), figure.number("instructions")?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_more_passes_and_more_than_that_does_not() {
        let baseline = Baseline::parse(r#"{"a": 100, "b": 100}"#).unwrap();
        let figure = |name: &str, count: u32| {
            Figure::parse(&format!(r#"{{"bench":"{name}","instructions":{count}}}"#)).unwrap()
        };
        let verdicts = baseline.verdicts(&[figure("a", 110), figure("b", 111), figure("c", 1)]);
        assert_eq!(verdicts.iter().map(|verdict| verdict.ok).collect::<Vec<_>>(), [true, false, false]);
    }

    #[test]
    fn updating_keeps_what_was_not_measured() {
        let root = std::env::temp_dir().join(format!("xtask-baseline-{}", std::process::id()));
        std::fs::create_dir_all(root.join("docs")).unwrap();
        std::fs::write(root.join(PATH), r#"{"old": 7}"#).unwrap();
        let figure = Figure::parse(r#"{"bench":"new","instructions":8.5}"#).unwrap();
        Baseline::write(&root, &[figure]).unwrap();
        let read = Baseline::read(&root).unwrap();
        std::fs::remove_dir_all(&root).unwrap();
        assert_eq!(read, Baseline::parse(r#"{"old": 7, "new": 8.5}"#).unwrap());
    }
}
