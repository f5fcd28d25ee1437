//! A new attempt, another lane and another call are judged by a guard that has seen nothing.

use loom_effect_runtime::{DeltaKind, ErrorName, Lane};

use super::super::report::{Check, Report};
use super::super::texts::PROSE;
use super::short;
use super::stage::{Cast, Play, Ruling, Stage};
use crate::{Act, Answer};

/// How many cuts of a text are tried.
const CUTS: usize = 10;

/// Writes head and tail of each text where they must not meet. The stage has to be unused: what an earlier text left
/// behind would stand in the verdict that the others are held to.
pub(crate) async fn fresh_guard(stage: &Stage, report: &mut Report, texts: &[String]) {
    report.checked(Check::FreshGuard);
    let Some(prose) = stage.speak(report, Cast::Form, &[PROSE]).await else { return };
    for text in texts {
        for at in cuts(text) {
            let (head, tail) = text.split_at(at);
            if heads_and_tails(stage, report, text, head, tail).await.is_none() {
                return;
            }
            let Some(again) = stage.speak(report, Cast::Form, &[PROSE]).await else { return };
            compare(report, &prose, &again, || format!("plain prose after calls with {}", short(text)));
            if report.found(Check::FreshGuard) {
                return;
            }
        }
    }
}

async fn heads_and_tails(
    stage: &Stage,
    report: &mut Report,
    text: &str,
    head: &str,
    tail: &str,
) -> Option<()> {
    let alone = stage.speak(report, Cast::Form, &[tail]).await?;
    if stage.speak(report, Cast::Form, &[head]).await?.ruling != Ruling::Fine {
        return Some(());
    }
    let next = stage.speak(report, Cast::Form, &[tail]).await?;
    compare(report, &alone, &next, || format!("the call after one with the head of {}", short(text)));

    let first = [Act::Unstated, Act::write(stage.lane, head), Act::Fail(ErrorName::Provider)];
    let second = [Act::Unstated, Act::write(stage.lane, tail), Act::End(None)];
    let script = crate::Scripted::<Answer>::new(first).then(second);
    let again = stage.play(report, Cast::FormTwice, script, Some(stage.lane)).await?;
    compare(report, &alone, &again, || format!("the attempt after one with the head of {}", short(text)));

    for (before, lane) in lanes(stage) {
        if stage.write(report, &[(before, head)], before).await?.ruling != Ruling::Fine {
            continue;
        }
        let alone = stage.write(report, &[(lane, tail)], lane).await?;
        let behind = stage.write(report, &[(before, head), (lane, tail)], lane).await?;
        compare(report, &alone, &behind, || {
            format!("{lane:?} behind {before:?} with the head of {}", short(text))
        });
    }

    let other = Lane::new(stage.lane.kind(), 1, 0);
    if stage.write(report, &[(other, PROSE)], other).await?.ruling != Ruling::Fine {
        return Some(());
    }
    let whole = stage.speak(report, Cast::Form, &[head, tail]).await?;
    let pieces = [(stage.lane, head), (other, PROSE), (stage.lane, tail)];
    let between = stage.write(report, &pieces, stage.lane).await?;
    compare(report, &whole, &between, || format!("{} with another choice between its pieces", short(text)));
    Some(())
}

fn compare(report: &mut Report, alone: &Play<Answer>, told: &Play<Answer>, place: impl FnOnce() -> String) {
    let same = alone.ruling == told.ruling && alone.seen.text == told.seen.text;
    report.must(Check::FreshGuard, same, || {
        format!(
            "{}: {:?} and {} delivered, where a guard that has seen nothing says {:?} and delivers {}",
            place(),
            told.ruling,
            short(&told.seen.text),
            alone.ruling,
            short(&alone.seen.text),
        )
    });
}

/// Pairs of lanes that have nothing to do with one another.
fn lanes(stage: &Stage) -> Vec<(Lane, Lane)> {
    let kind = stage.lane.kind();
    let others = DeltaKind::ALL.into_iter().filter(|other| *other != kind && stage.covers(*other));
    let mut lanes: Vec<_> = others.map(|other| (Lane::new(other, 0, 0), stage.lane)).collect();
    lanes.push((stage.lane, Lane::new(kind, 0, 1)));
    lanes.push((stage.lane, Lane::new(kind, 1, 0)));
    lanes
}

fn cuts(text: &str) -> Vec<usize> {
    let inner: Vec<usize> = text.char_indices().map(|(at, _)| at).skip(1).collect();
    let step = inner.len().div_ceil(CUTS).max(1);
    inner.into_iter().step_by(step).collect()
}
