//! Output and live text get one verdict and are rewritten alike.

use loom_effect_runtime::{DeltaKind, ErrorName, Lane};

use super::super::report::{Check, Report};
use super::super::texts::{PROSE, splits};
use super::short;
use super::stage::{Cast, Play, Ruling, Stage};
use crate::{Act, FromScript, Scripted};

const SEED: u64 = 0x6167_7265;

/// Checks outputs of one shape; `false` where the subject refuses plain prose in it, so that there is nothing to
/// compare.
pub(crate) async fn forms_agree<O: FromScript>(stage: &Stage, report: &mut Report, texts: &[String]) -> bool {
    report.checked(Check::FormsAgree);
    report.checked(Check::LiveText);
    match bare::<O>(stage, report, PROSE).await {
        Some(prose) if prose.ruling == Ruling::Fine => {}
        Some(_) => return false,
        // Said already.
        None => return true,
    }
    for text in texts {
        let Some(told) = bare::<O>(stage, report, text).await else { continue };
        if let Some(again) = bare::<O>(stage, report, text).await {
            let same = told.ruling == again.ruling && text_of(&told) == text_of(&again);
            report.must(Check::Repeatable, same, || {
                format!("the output {}, twice: {:?} and {:?}", short(text), told.ruling, again.ruling)
            });
        }
        if stage.covers(DeltaKind::Text) {
            same_verdict(stage, report, text, &told).await;
        }
        live_text(stage, report, text, &told).await;
    }
    true
}

/// The form about the whole text in one piece against the inspection about it. The other splits are held to the whole
/// by one-verdict.
async fn same_verdict<O: FromScript>(stage: &Stage, report: &mut Report, text: &str, told: &Play<O>) {
    let Some(live) = stage.speak(report, Cast::Form, &[text]).await else { return };
    report.must(Check::FormsAgree, told.ruling.is_refused() == live.ruling.is_refused(), || {
        format!("{} as an output: {:?}, as live text: {:?}", short(text), told.ruling, live.ruling)
    });
    if told.ruling != Ruling::Fine || live.ruling != Ruling::Fine {
        return;
    }
    let output = text_of(told);
    report.must(Check::FormsAgree, output.as_ref().is_none_or(|output| *output == live.seen.text), || {
        let output = output.as_deref().unwrap_or_default();
        format!("{} as an output: {}, as live text: {}", short(text), short(output), short(&live.seen.text))
    });
}

/// The whole path with a sink: what it saw folds to the output, and it hears of the end once.
async fn live_text<O: FromScript>(stage: &Stage, report: &mut Report, text: &str, told: &Play<O>) {
    for split in splits(text, SEED).into_iter().take(3) {
        let acts = split.iter().map(|piece| Act::text(piece)).chain([Act::End(None)]);
        let script = Scripted::<O>::new(acts);
        let Some(live) = stage.play(report, Cast::Whole, script, Some(Lane::TEXT)).await else { return };
        let blind = !stage.covers(DeltaKind::Text);
        let seen = &live.seen;
        let (holds, wrong) = match &live.ruling {
            _ if blind => (seen.delivered.is_empty() && seen.done == 0, "a blind stream showed something"),
            Ruling::Fine => {
                let folds = text_of(&live).is_none_or(|output| output == seen.text);
                let once = seen.done == u32::from(live.report.streamed) && seen.resets == 0;
                (folds && once, "the sink's text is not the output's, or it heard of the end not once")
            }
            Ruling::Refused { .. } => (seen.done == 0, "a call that failed told its sink of success"),
            Ruling::Failed(ErrorName::OutputInvalid) => (false, "the call failed: its live text differs"),
            Ruling::Failed(_) => (false, "the call failed"),
        };
        report.must(Check::LiveText, holds, || {
            format!("{}: {wrong} (the sink saw {})", short(text), short(&seen.delivered))
        });
        // A stream may be severed where the output alone is fine; it never saves what the output alone is refused for.
        let weaker = told.ruling.is_refused() && live.ruling == Ruling::Fine;
        report.must(Check::FormsAgree, !weaker, || {
            format!("{} is refused as an output and fine when it is streamed too", short(text))
        });
    }
}

/// The output alone: an effect that does not stream.
async fn bare<O: FromScript>(stage: &Stage, report: &mut Report, text: &str) -> Option<Play<O>> {
    stage.play(report, Cast::Whole, Scripted::<O>::new([Act::answer(text)]), None).await
}

/// The text that an output states.
pub(crate) fn text_of<O: FromScript>(play: &Play<O>) -> Option<String> {
    let mut text = String::new();
    let stated = play.output.as_ref()?.live_text(&mut |piece| text.push_str(piece));
    stated.then_some(text)
}
