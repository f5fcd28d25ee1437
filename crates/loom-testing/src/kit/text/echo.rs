//! No error and no warning quotes the text that it is about.

use std::error::Error;

use loom_effect_runtime::CallError;

use super::super::report::{Check, Report};
use super::short;
use super::stage::{Cast, Play, Ruling, Stage};
use crate::{Act, Scripted};

/// A word that stands beside each text.
const CANARY: &str = "kitcanaryqzx";
/// How long a matched text must be, in characters, before it is looked for: a shorter one may stand in an error by
/// chance.
const MATCH_CHARS_MIN: usize = 6;

/// Refuses each text with a canary beside it, as live text and as an output.
pub(crate) async fn no_echo(stage: &Stage, report: &mut Report, texts: &[String]) {
    report.checked(Check::NoEcho);
    for text in texts {
        let beside = format!("{CANARY} {text} {CANARY}");
        let (before, behind) = (format!("{CANARY} "), format!(" {CANARY}"));
        for pieces in [vec![beside.as_str()], vec![before.as_str(), text, behind.as_str()]] {
            let live = stage.speak(report, Cast::Form, &pieces).await;
            told(report, &beside, live.as_ref());
        }
        let script = Scripted::<String>::new([Act::answer(&beside)]);
        let output = stage.play(report, Cast::Whole, script, None).await;
        told(report, &beside, output.as_ref());
    }
}

fn told<O>(report: &mut Report, text: &str, play: Option<&Play<O>>) {
    let Some(play) = play else { return };
    let mut said = play.warnings.clone();
    said.extend(play.error.iter().flat_map(shown));
    let matched = match &play.ruling {
        Ruling::Refused { place: Some((offset, length)), .. } => slice(text, *offset, *length),
        _ => String::new(),
    };
    let quotes = |said: &String| {
        said.contains(CANARY) || (matched.chars().count() >= MATCH_CHARS_MIN && said.contains(&matched))
    };
    report.must(Check::NoEcho, !said.iter().any(quotes), || {
        format!("the failure about {} quotes what it is about", short(text))
    });
}

/// All that an error shows of itself, and of what caused it.
fn shown(error: &CallError) -> Vec<String> {
    let mut shown = vec![error.rule().unwrap_or_default().to_owned()];
    let mut next: Option<&dyn Error> = Some(error);
    while let Some(error) = next {
        shown.extend([error.to_string(), format!("{error:?}")]);
        next = error.source();
    }
    shown
}

fn slice(text: &str, offset: u64, length: u64) -> String {
    let to_count = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    text.chars().skip(to_count(offset)).take(to_count(length)).collect()
}
