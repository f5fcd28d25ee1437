//! The kit of effects.

mod data;
mod lab;
mod runs;
mod severs;
mod stops;

use std::sync::Arc;

use loom_effect_runtime::Effect;

use super::bounded::bounded;
use super::call::manners;
use super::report::Report;
use lab::Lab;

/// Checks an [`Effect`]: each check is made with each of `inputs`.
///
/// `make` gives a fresh one each time, with the services it asks inside: scripted ones, since the kit runs in virtual time
/// and makes some hundred calls. What waits for a thread of its own or for a network is said never to end.
///
/// ```
/// use loom_effect_runtime::{CallError, Effect, EffectContext};
/// use loom_testing::kit;
///
/// struct Shout;
///
/// impl Effect for Shout {
///     type Input = String;
///     type Output = String;
///     fn id(&self) -> &str { "shout" }
///     async fn execute(&self, text: &String, _cx: &EffectContext<'_>) -> Result<String, CallError> {
///         Ok(text.to_uppercase())
///     }
/// }
///
/// kit::effect(|| Shout, ["hey".to_owned(), String::new()]).repeatable_answers().check();
/// ```
///
/// | check | what holds |
/// | --- | --- |
/// | round-trip | input and output come back equal from their JSON form |
/// | live-text | what a sink saw is the live text that the output states; a call that succeeds unstreamed does so streamed |
/// | nothing-swallowed | severed at any delta, the call fails with the guard's rule, and ends |
/// | cancel-safe | after calls dropped at each await a call comes to what a first one comes to |
/// | abort-obeyed | an abort at any await ends the call with the caller's own reason; no task outlives its call, and nothing is delivered after it |
/// | no-echo | no error quotes a text of 8 or more characters of the input |
/// | repeatable | with a sink and without, the first time and the second, one output ([`EffectKit::repeatable_answers`]) |
/// | named | an id that can be registered, and stays |
/// | ends, never-blocks, no-panic | with a sink and without |
pub fn effect<E: Effect>(
    make: impl Fn() -> E + Send + Sync + 'static,
    inputs: impl IntoIterator<Item = E::Input>,
) -> EffectKit<E> {
    EffectKit { lab: Lab::new(make, inputs.into_iter().collect()), repeatable: false }
}

/// The kit of one effect: [`effect`].
#[must_use = "a kit checks nothing until `check` or `report`"]
pub struct EffectKit<E: Effect> {
    lab: Lab<E>,
    repeatable: bool,
}

impl<E: Effect> EffectKit<E> {
    /// The same input gives the same output each time.
    pub fn repeatable_answers(mut self) -> Self {
        self.repeatable = true;
        self
    }

    /// Runs the checks.
    pub fn report(self) -> Report {
        bounded(std::any::type_name::<E>(), move |mut report| async move {
            let Self { lab, repeatable } = &self;
            let make = Arc::clone(&lab.make);
            let name = move || {
                let effect = make();
                [effect.id().to_owned(), effect.id().to_owned()]
            };
            manners::named(&mut report, &name);
            for input in &lab.inputs {
                if !runs::yields(lab, &mut report, input).await {
                    return report;
                }
                data::comes_back(&mut report, input, "input");
                runs::fold(lab, &mut report, input, *repeatable).await;
                severs::stand(lab, &mut report, input).await;
                stops::leave_no_trace(lab, &mut report, input, *repeatable).await;
                stops::are_obeyed(lab, &mut report, input).await;
            }
            report
        })
    }

    /// Runs the checks; passes where no fault was found.
    ///
    /// # Panics
    /// With the whole report, where there is a fault.
    #[track_caller]
    pub fn check(self) {
        self.report().assert();
    }
}

impl<E: Effect> std::fmt::Debug for EffectKit<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EffectKit").field("inputs", &self.lab.inputs.len()).finish_non_exhaustive()
    }
}
