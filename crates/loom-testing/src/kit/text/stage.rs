//! Where a subject that sees text is played: alone, as its form only, in front of a marker, and in two attempts.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use loom_effect_runtime::{
    Call, CallError, CallReport, DeltaForm, DeltaKind, DeltaKinds, ErrorName, Lane, Output, OutputMiddleware,
    Ready, RuntimeBuilder, Step, Waiting, around,
};
use serde_json::Value;

use super::super::play::{Played, Seen, View, builder, kinds_of, play, play_into, with_effect};
use super::super::report::{Check, Report};
use super::marker::Marker;
use crate::{Act, Answer, FromScript, Scripted};

/// A subject, whatever it is: a form alone is an inspector that lets every output be.
pub(crate) type Instance = Arc<dyn OutputMiddleware>;

/// Who stands between the effect and the sink.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cast {
    /// Nobody.
    #[cfg(feature = "allocations")]
    Nobody,
    /// The subject as it is.
    Whole,
    /// Its delta form; outputs are let be.
    Form,
    /// Its delta form, in two attempts if the first fails.
    FormTwice,
    /// Its delta form, and behind it a guard that severs at [`MARKER`](super::marker::MARKER).
    FormThenMarker,
}

/// What became of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ruling {
    Fine,
    Refused { rule: String, place: Option<(u64, u64)>, severed: bool },
    Failed(ErrorName),
}

impl Ruling {
    pub(crate) fn is_refused(&self) -> bool {
        matches!(self, Self::Refused { .. })
    }

    /// Whether both are refusals by one rule, or neither is one.
    pub(crate) fn agrees(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Refused { rule: one, .. }, Self::Refused { rule: other, .. }) => one == other,
            _ => self == other,
        }
    }
}

/// One call that came to an end without a panic.
pub(crate) struct Play<O> {
    pub(crate) ruling: Ruling,
    pub(crate) output: Option<O>,
    pub(crate) error: Option<CallError>,
    pub(crate) seen: Seen,
    pub(crate) report: CallReport,
    pub(crate) warnings: Vec<String>,
    pub(crate) longest_poll: Duration,
    pub(crate) polls: usize,
}

/// One instance of a subject.
pub(crate) struct Stage {
    whole: Instance,
    form: Instance,
    kinds: DeltaKinds,
    /// The lane of choice 0 that texts are written to.
    pub(crate) lane: Lane,
}

impl Stage {
    pub(crate) fn new(whole: Instance) -> Self {
        let kinds = whole.delta_form().map_or(DeltaKinds::NONE, DeltaForm::kinds);
        let covered = DeltaKind::ALL.into_iter().find(|kind| kinds.has(*kind));
        let lane = Lane::new(covered.unwrap_or(DeltaKind::Text), 0, 0);
        Self { form: Arc::new(FormOnly(Arc::clone(&whole))), whole, kinds, lane }
    }

    pub(crate) fn name(&self) -> &str {
        self.whole.name()
    }

    /// Whether live text of the kind is judged.
    pub(crate) fn covers(&self, kind: DeltaKind) -> bool {
        !(self.kinds & kinds_of(kind)).is_empty()
    }

    /// Whether any live text is judged.
    pub(crate) fn has_form(&self) -> bool {
        !self.kinds.is_empty()
    }

    /// Writes the pieces to the lane of the form.
    pub(crate) async fn speak(
        &self,
        report: &mut Report,
        cast: Cast,
        pieces: &[&str],
    ) -> Option<Play<Answer>> {
        let acts = pieces.iter().map(|piece| Act::write(self.lane, piece));
        self.play(report, cast, unstated(acts), Some(self.lane)).await
    }

    /// Writes one piece to each of these lanes, and watches one of them.
    pub(crate) async fn write(
        &self,
        report: &mut Report,
        pieces: &[(Lane, &str)],
        view: Lane,
    ) -> Option<Play<Answer>> {
        let acts = pieces.iter().map(|(lane, piece)| Act::write(*lane, piece));
        self.play(report, Cast::Form, unstated(acts), Some(view)).await
    }

    /// Plays a script. A panic of the subject and a call that never ends are faults in every call, and such a call
    /// gives nothing to compare: `None`.
    pub(crate) async fn play<O: FromScript>(
        &self,
        report: &mut Report,
        cast: Cast,
        script: Scripted<O>,
        view: Option<Lane>,
    ) -> Option<Play<O>> {
        let warnings = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&warnings);
        let builder = self.cast(cast).on_warn(move |warning| {
            heard.lock().unwrap_or_else(PoisonError::into_inner).push(warning.to_string());
        });
        let Some(runtime) = with_effect(builder, script) else {
            report.fault(Check::NoPanic, "it panicked when it was registered");
            return None;
        };
        let played = match view.map(View::of_lane) {
            None => play::<Value, O>(&runtime, "scripted", Value::Null, false).await,
            view => play_into(&runtime, "scripted", Value::Null, view).await,
        };
        let warnings = std::mem::take(&mut *warnings.lock().unwrap_or_else(PoisonError::into_inner));
        let play = settled(played, warnings);
        report.must(Check::Ends, play.is_some(), || "a call of it never ended".to_owned());
        let play = play?;
        let rule = match &play.ruling {
            Ruling::Refused { rule, .. } => rule.as_str(),
            _ => "",
        };
        let (panicked, late) = (rule.ends_with(".panicked"), rule.ends_with(".deadline"));
        report.must(Check::NoPanic, !panicked, || format!("refused by `{rule}`"));
        report.must(Check::Ends, !late, || format!("refused by `{rule}`: its own wait ran out"));
        (!panicked && !late).then_some(play)
    }

    pub(crate) fn cast(&self, cast: Cast) -> RuntimeBuilder<Ready> {
        let (whole, form) = (Arc::clone(&self.whole), Arc::clone(&self.form));
        match cast {
            #[cfg(feature = "allocations")]
            Cast::Nobody => builder(),
            Cast::Whole => builder().output_middleware(whole),
            Cast::Form => builder().output_middleware(form),
            Cast::FormThenMarker => builder().output_middleware(form).output_middleware(Marker),
            Cast::FormTwice => builder().output_middleware(form).around(around("again", |_, mut next| {
                Box::pin(async move {
                    match next.run().await {
                        Ok(proof) => Ok(proof),
                        Err(_) => next.run().await,
                    }
                })
            })),
        }
    }
}

/// A script whose live text is compared with nothing: what a guard does is then seen as it is.
pub(crate) fn unstated(acts: impl IntoIterator<Item = Act>) -> Scripted<Answer> {
    Scripted::new([Act::Unstated].into_iter().chain(acts).chain([Act::End(None)]))
}

fn settled<O>(played: Played<O>, warnings: Vec<String>) -> Option<Play<O>> {
    let error = played.error().cloned();
    let output = played.result?.ok();
    let ruling = error.as_ref().map_or(Ruling::Fine, ruling);
    Some(Play {
        ruling,
        output,
        error,
        seen: played.seen,
        report: played.report,
        warnings,
        longest_poll: played.longest_poll,
        polls: played.polls,
    })
}

fn ruling(error: &CallError) -> Ruling {
    let Some(rule) = error.rule().filter(|_| error.is_refusal()) else { return Ruling::Failed(error.name()) };
    let severed = error.violation().and_then(|violation| Some((violation.offset()?, violation.length()?)));
    let refused = error.refusal().and_then(loom_effect_runtime::Refusal::span);
    Ruling::Refused {
        rule: rule.to_owned(),
        place: severed.or(refused),
        severed: error.violation().is_some(),
    }
}

/// The delta form of a subject without its inspection.
struct FormOnly(Instance);

impl OutputMiddleware for FormOnly {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn inspect(&self, _call: &Call, _output: &mut Output) -> Step {
        Step::Go
    }

    fn inspect_wait<'a>(&'a self, _call: &'a Call, _output: &'a mut Output) -> Waiting<'a> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn delta_form(&self) -> Option<&dyn DeltaForm> {
        self.0.delta_form()
    }
}

/// An inspector that is nothing but a delta form.
pub(crate) struct Alone<F>(pub(crate) F);

impl<F: DeltaForm + 'static> OutputMiddleware for Alone<F> {
    fn name(&self) -> &str {
        "guard"
    }

    fn inspect(&self, _call: &Call, _output: &mut Output) -> Step {
        Step::Go
    }

    fn delta_form(&self) -> Option<&dyn DeltaForm> {
        Some(&self.0)
    }
}
