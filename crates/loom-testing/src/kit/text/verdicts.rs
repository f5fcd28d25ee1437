//! One verdict and the same bytes, however a text is cut.

use super::super::report::{Check, Report};
use super::super::texts::splits;
use super::stage::{Cast, Play, Ruling, Stage};
use super::{Strictness, short};
use crate::Answer;

const SEED: u64 = 0x6c6f_6f6d;

/// Plays each text in every split and compares with the whole.
pub(crate) async fn one_verdict(
    stage: &Stage,
    report: &mut Report,
    texts: &[String],
    strictness: Strictness,
) {
    report.checked(Check::OneVerdict);
    for text in texts {
        let mut whole: Option<Play<Answer>> = None;
        for split in splits(text, SEED) {
            let Some(play) = stage.speak(report, Cast::Form, &split).await else { break };
            let Some(whole) = &whole else {
                whole = Some(play);
                continue;
            };
            if let Some(difference) = difference(whole, &play, strictness) {
                let pieces = split.len();
                report.fault(
                    Check::OneVerdict,
                    format!("{} whole and in {pieces} pieces: {difference}", short(text)),
                );
                break;
            }
        }
    }
}

fn difference(whole: &Play<Answer>, cut: &Play<Answer>, strictness: Strictness) -> Option<String> {
    let excused = strictness == Strictness::Eager && (cut.ruling.is_refused() || !whole.ruling.is_refused());
    let excused = excused && matches!(cut.ruling, Ruling::Refused { .. } | Ruling::Fine);
    let same = if strictness == Strictness::Exact {
        whole.ruling == cut.ruling
    } else {
        whole.ruling.agrees(&cut.ruling)
    };
    if !same && !excused {
        return Some(format!("{:?} and {:?}", whole.ruling, cut.ruling));
    }
    let bytes_count =
        strictness == Strictness::Exact || (whole.ruling == Ruling::Fine && cut.ruling == Ruling::Fine);
    let (one, other) = (&whole.seen.text, &cut.seen.text);
    (bytes_count && one != other).then(|| format!("{} and {} were delivered", short(one), short(other)))
}

/// Two instances of one factory give the same verdicts and bytes.
pub(crate) async fn instances_alike(
    report: &mut Report,
    (one, other): (&Stage, &Stage),
    cast: Cast,
    texts: &[String],
) {
    report.checked(Check::Repeatable);
    for text in texts {
        let pieces = [text.as_str()];
        let first = one.speak(report, cast, &pieces).await;
        let (Some(first), Some(second)) = (first, other.speak(report, cast, &pieces).await) else { continue };
        let same = first.ruling == second.ruling && first.seen.text == second.seen.text;
        report.must(Check::Repeatable, same && first.output == second.output, || {
            format!("two instances about {}: {:?} and {:?}", short(text), first.ruling, second.ruling)
        });
    }
}
