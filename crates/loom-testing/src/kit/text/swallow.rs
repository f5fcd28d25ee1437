//! A sever behind the subject, and one of its own, comes out of the call.

use super::super::report::{Check, Report};
use super::super::texts::{embedded, splits};
use super::marker::{MARKER, MARKER_RULE};
use super::short;
use super::stage::{Cast, Ruling, Stage, unstated};
use crate::Act;

const SEED: u64 = 0x7377_616c;

/// A guard behind the subject severs at the marker in every split, if the subject lets the marker through at all.
pub(crate) async fn sever_behind(stage: &Stage, report: &mut Report) {
    let text = embedded(MARKER);
    let Some(alone) = stage.speak(report, Cast::Form, &[&text]).await else { return };
    if alone.ruling != Ruling::Fine || !alone.seen.text.contains(MARKER) {
        return;
    }
    for split in splits(&text, SEED) {
        let Some(play) = stage.speak(report, Cast::FormThenMarker, &split).await else { return };
        let severed = matches!(&play.ruling, Ruling::Refused { rule, .. } if rule == MARKER_RULE);
        report.must(Check::NothingSwallowed, severed, || {
            let pieces = split.len();
            format!("in {pieces} pieces, the text that a guard behind it severs gave {:?}", play.ruling)
        });
        if !severed {
            return;
        }
    }
}

/// What the subject severs fails the call although the effect ignores the error and goes on.
pub(crate) async fn own_sever(stage: &Stage, report: &mut Report, texts: &[String]) {
    for text in texts {
        let Some(told) = stage.speak(report, Cast::Form, &[text]).await else { continue };
        if !told.ruling.is_refused() || stage.lane != loom_effect_runtime::Lane::TEXT {
            continue;
        }
        let acts = [Act::swallow(text), Act::swallow("and on"), Act::Yield, Act::swallow("and on")];
        let Some(ignored) = stage.play(report, Cast::Form, unstated(acts), Some(stage.lane)).await else {
            continue;
        };
        report.must(Check::NothingSwallowed, ignored.ruling.agrees(&told.ruling), || {
            format!("{} with its error ignored: {:?}, not {:?}", short(text), ignored.ruling, told.ruling)
        });
    }
}
