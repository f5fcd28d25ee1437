//! Attempts that are refused, and how often the subject asks for another.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use loom_effect_runtime::{
    CallError, CallInfo, DeltaForm, DeltaGuard, DeltaKinds, ErrorName, Lane, Outlet, Ready, Refusal,
    RuntimeBuilder, Step, Verdict, Violation, around, inspect,
};

use super::came::Came;
use super::probe::Plan;
use super::stage::{Ask, Stage};
use crate::kit::report::{Check, Report};

const RULE: &str = "kit.refused";

/// Who refuses.
enum By {
    Inspector,
    Guard,
    InnerAround,
    Effect(ErrorName),
}

impl By {
    fn all() -> impl Iterator<Item = Self> {
        let names = ErrorName::ALL.iter().copied().filter(|name| name.is_refusal());
        [Self::Inspector, Self::Guard, Self::InnerAround].into_iter().chain(names.map(Self::Effect))
    }

    fn told(&self) -> String {
        match self {
            Self::Inspector => "an inspector".to_owned(),
            Self::Guard => "a guard".to_owned(),
            Self::InnerAround => "an around further in".to_owned(),
            Self::Effect(name) => format!("the effect under {name}"),
        }
    }

    fn plan(&self) -> Plan {
        match self {
            Self::Effect(name) => Plan::Fails(CallError::named(*name, "the kit's effect refused")),
            _ => Plan::Smooth,
        }
    }

    fn dress(&self, builder: RuntimeBuilder<Ready>, asked: Arc<AtomicUsize>) -> RuntimeBuilder<Ready> {
        let refuses = matches!(self, Self::InnerAround);
        let builder = builder.around(around("kit.counter", move |_call, mut next| {
            asked.fetch_add(1, Ordering::SeqCst);
            Box::pin(async move { if refuses { Err(Refusal::quota(RULE).into()) } else { next.run().await } })
        }));
        match self {
            Self::Inspector => {
                let open: Arc<dyn DeltaForm> = Arc::new(Severing { rule: None });
                builder.output_middleware(inspect("kit.inspector", Some(open), |_call, _output| {
                    Step::Deny(Refusal::safety(RULE))
                }))
            }
            Self::Guard => {
                let form: Arc<dyn DeltaForm> = Arc::new(Severing { rule: Some(RULE) });
                builder.output_middleware(inspect("kit.guard", Some(form), |_call, _output| Step::Go))
            }
            Self::InnerAround | Self::Effect(_) => builder,
        }
    }

    fn expected(&self) -> (ErrorName, Option<&'static str>) {
        match self {
            Self::Inspector | Self::Guard => (ErrorName::SafetyViolation, Some(RULE)),
            Self::InnerAround => (ErrorName::QuotaExceeded, Some(RULE)),
            Self::Effect(name) => (*name, None),
        }
    }
}

/// A refused attempt is the last one that is asked for, and its refusal is the call's.
pub(crate) async fn are_final(stage: &Stage, report: &mut Report) {
    report.checked(Check::RefusalFinal);
    for by in By::all() {
        let asked = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&asked);
        let Some(scene) = stage.scene_with(report, by.plan(), |builder| by.dress(builder, counter)) else {
            return;
        };
        let ask = Ask::plain("refused").streamed();
        let played = scene.play(report, &ask).await;
        let runs = asked.load(Ordering::SeqCst);
        report.must(Check::RefusalFinal, runs == 1 && scene.shared.started() <= 1, || {
            format!("refused by {}: {runs} runs were asked for", by.told())
        });
        let (name, rule) = by.expected();
        let came = Came::of(played.result.as_ref());
        let unchanged = came.is_judged()
            || played.error().is_some_and(|error| error.name() == name && error.rule() == rule);
        report.must(Check::RefusalFinal, unchanged, || {
            format!("refused by {}: the call came to {}", by.told(), came.brief())
        });
    }
    are_not_kept(stage, report).await;
}

/// The next call of the same input is not answered with the refusal of the last one (spec row T14).
async fn are_not_kept(stage: &Stage, report: &mut Report) {
    let refusal = CallError::named(ErrorName::QuotaExceeded, "the kit's effect refused");
    let Some(scene) = stage.scene(report, Plan::Fails(refusal)) else { return };
    let ask = Ask::plain("refused once");
    let _ = scene.ask(&ask).await;
    scene.shared.plan(Plan::Smooth);
    let came = scene.came(&ask).await;
    let Some(fresh) = stage.scene(report, Plan::Smooth) else { return };
    report.must(Check::RefusalFinal, came == fresh.came(&ask).await, || {
        format!("a call after a refused one came to {}", came.brief())
    });
}

/// Guards that let everything pass, or sever at once.
struct Severing {
    rule: Option<&'static str>,
}

impl DeltaForm for Severing {
    fn kinds(&self) -> DeltaKinds {
        DeltaKinds::ALL
    }

    fn guard(&self, _call: &CallInfo, _lane: Lane) -> Box<dyn DeltaGuard> {
        Box::new(Severing { rule: self.rule })
    }
}

impl DeltaGuard for Severing {
    fn push(&mut self, _text: &str, _out: &mut Outlet<'_>) -> Verdict {
        self.rule.map_or(Verdict::Pass, |rule| Verdict::Sever(Violation::safety(rule)))
    }

    fn finish(&mut self, _out: &mut Outlet<'_>) -> Result<(), Violation> {
        Ok(())
    }
}
