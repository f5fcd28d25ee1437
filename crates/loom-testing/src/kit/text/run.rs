//! The order of the checks. What spoils later comparisons is looked for first.

use serde_json::Value;

use super::super::report::{Check, Report};
use super::super::texts::{PROSE, embedded, hostile, splits};
use super::stage::{Cast, Ruling, Stage};
use super::{TextKit, agree, echo, fresh, hardy, patience, short, swallow, verdicts};
use crate::{Act, Answer, Scripted};

const SEED: u64 = 0x7275_6e73;
const SHAPED_BYTES_MAX: usize = 4096;

impl TextKit {
    pub(super) async fn run(mut self, mut report: Report) -> Report {
        if let Some(also) = self.also.take() {
            also(&mut report, &self.texts);
        }
        self.checks(&mut report).await;
        report
    }

    /// `None` where nothing more can be learned.
    async fn checks(&self, report: &mut Report) -> Option<()> {
        let stage = Stage::new((self.make)());
        let other = Stage::new((self.make)());
        if self.inspects {
            named(report, &stage, &other);
        }
        patience::never_blocks(&other, report, &[PROSE.to_owned()]).await;
        if report.found(Check::NeverBlocks) {
            return None;
        }
        if stage.has_form() {
            fresh::fresh_guard(&stage, report, &self.texts).await;
        }
        patience::never_blocks(&other, report, &self.texts).await;
        if report.found(Check::NeverBlocks) {
            return None;
        }
        // A guard that remembers differs in everything else too.
        if report.found(Check::FreshGuard) {
            return None;
        }
        hardy::no_panic(&stage, report).await;
        if report.found(Check::NoPanic) || report.found(Check::Ends) {
            return None;
        }
        self.judgement(&stage, report).await;
        verdicts::instances_alike(report, (&stage, &other), Cast::Whole, &self.texts).await;
        echo::no_echo(&stage, report, &self.texts).await;
        patience::cancel_safe(&Stage::new((self.make)()), report, &self.texts).await;
        #[cfg(feature = "allocations")]
        if let Some(allowed) = self.allocations {
            super::allocations::per_delta(&stage, report, allowed);
        }
        Some(())
    }

    /// What is refused, what is delivered, and whether both forms say so.
    async fn judgement(&self, stage: &Stage, report: &mut Report) {
        let mut texts = self.texts.clone();
        texts.extend(self.texts.iter().map(|text| embedded(text)));
        texts.extend(hostile());
        if !self.judged {
            judged(stage, report, &self.texts).await;
        }
        if stage.has_form() {
            verdicts::one_verdict(stage, report, &texts, self.strictness).await;
            swallow::sever_behind(stage, report).await;
            swallow::own_sever(stage, report, &self.texts).await;
        }
        if !self.inspects {
            prose_passes(stage, report).await;
            return;
        }
        let text = agree::forms_agree::<String>(stage, report, &texts).await;
        // A shape differs in where the text stands, which a long one shows no better.
        texts.retain(|text| text.len() <= SHAPED_BYTES_MAX);
        let answer = agree::forms_agree::<Answer>(stage, report, &texts).await;
        let json = agree::forms_agree::<Value>(stage, report, &texts).await;
        report.must(Check::FormsAgree, text || answer || json, || {
            "it refuses plain prose as a text, as a struct and as JSON: nothing can be compared".to_owned()
        });
    }
}

/// Each text of the author's must be refused or changed, as live text or as an output.
async fn judged(stage: &Stage, report: &mut Report, texts: &[String]) {
    for text in texts {
        let live = stage.speak(report, Cast::Form, &[text]).await;
        let touched = stage.has_form()
            && live.is_none_or(|live| live.ruling != Ruling::Fine || live.seen.text != *text);
        let script = Scripted::<String>::new([Act::answer(text)]);
        let output = stage.play(report, Cast::Whole, script, None).await;
        let touched = touched || output.is_none_or(|told| told.output.as_ref() != Some(text));
        report.must(Check::Judged, touched, || format!("{} was left alone", short(text)));
    }
}

/// A form alone has no output to be held to; plain prose comes out of it as it went in, once, with the end told once.
async fn prose_passes(stage: &Stage, report: &mut Report) {
    for split in splits(PROSE, SEED).into_iter().take(3) {
        let Some(play) = stage.speak(report, Cast::Form, &split).await else { return };
        let seen = &play.seen;
        let holds = play.ruling == Ruling::Fine && seen.text == PROSE && seen.done == 1;
        report.must(Check::LiveText, holds, || {
            format!(
                "{}: {:?}, {} delivered, end told {} times",
                short(PROSE),
                play.ruling,
                short(&seen.text),
                seen.done
            )
        });
    }
}

fn named(report: &mut Report, stage: &Stage, other: &Stage) {
    const NAME_BYTES_MAX: usize = 128;
    let name = stage.name().to_owned();
    let fit = (1..=NAME_BYTES_MAX).contains(&name.len()) && !name.contains(char::is_control);
    report.must(Check::Named, fit, || {
        format!("its name has {} bytes: expected 1 to {NAME_BYTES_MAX}, no control characters", name.len())
    });
    let stays = name == stage.name() && name == other.name();
    report.must(Check::Named, stays, || "its name changes".to_owned());
}
