//! It gives its thread back, and a call that is dropped leaves the next one whole.

use loom_effect_runtime::Lane;
use serde_json::Value;

use super::super::play::{View, play_into, with_effect};
use super::super::polls::{POLL_MAX, RUNS, at_most};
use super::super::report::{Check, Report};
use super::agree::text_of;
use super::short;
use super::stage::{Cast, Play, Stage};
use crate::{Act, Scripted};

/// Into how many pieces a text is cut, with a pause behind each.
const PIECES: usize = 4;

/// No poll of a call takes long. Of a slow one the quickest of a few tries counts.
pub(crate) async fn never_blocks(stage: &Stage, report: &mut Report, texts: &[String]) {
    report.checked(Check::NeverBlocks);
    for text in texts {
        let mut longest = std::time::Duration::MAX;
        for _ in 0..RUNS {
            let Some(play) = paused(stage, report, text).await else { break };
            longest = longest.min(play.longest_poll);
            if longest <= POLL_MAX {
                break;
            }
        }
        if longest > POLL_MAX && longest < std::time::Duration::MAX {
            report.fault(
                Check::NeverBlocks,
                format!("one poll of a call about {} took {} ms at best", short(text), longest.as_millis()),
            );
            return;
        }
    }
}

/// Drops the call at each of its awaits; then a whole call gets what the first one got.
pub(crate) async fn cancel_safe(stage: &Stage, report: &mut Report, texts: &[String]) {
    report.checked(Check::CancelSafe);
    for text in texts {
        let Some(first) = paused(stage, report, text).await else { return };
        for polls in 1..=first.polls {
            let Some(runtime) = with_effect(stage.cast(Cast::Whole), script(text)) else { return };
            let view = View::of_lane(Lane::TEXT);
            let call = play_into::<Value, String>(&runtime, "scripted", Value::Null, Some(view));
            drop(at_most(polls, call).await);
            let Some(next) = paused(stage, report, text).await else { return };
            let same = first.ruling == next.ruling
                && first.seen.text == next.seen.text
                && text_of(&first) == text_of(&next);
            report.must(Check::CancelSafe, same, || {
                format!(
                    "{}: {:?}, and after a call that was dropped at await {polls}: {:?}",
                    short(text),
                    first.ruling,
                    next.ruling
                )
            });
            if !same {
                return;
            }
        }
    }
}

async fn paused(stage: &Stage, report: &mut Report, text: &str) -> Option<Play<String>> {
    stage.play(report, Cast::Whole, script(text), Some(Lane::TEXT)).await
}

fn script(text: &str) -> Scripted<String> {
    let mut acts = Vec::new();
    let mut rest = text;
    let step = text.len().div_ceil(PIECES).max(1);
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at(rest.ceil_char_boundary(step.min(rest.len())));
        acts.extend([Act::text(piece), Act::Yield]);
        rest = behind;
    }
    acts.push(Act::End(None));
    Scripted::new(acts)
}
