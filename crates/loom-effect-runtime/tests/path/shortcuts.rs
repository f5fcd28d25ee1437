//! The path takes shortcuts where nothing waits; whichever it takes, the outcome is the same.

use futures::future::BoxFuture;
use loom_effect_runtime::*;
use proptest::prelude::*;

use crate::support::{
    Act, Answer, Log, Recorder, Scripted, Told, ask, hold_back, inspect_with, plan, run, sever_on,
};

/// What makes a call go another way without changing what it does.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Detour {
    None,
    ReadyLane,
    Rewriter,
    Authorizer,
    Before,
    Inspector,
    Around,
    ById,
}

const DETOURS: [Detour; 7] = [
    Detour::ReadyLane,
    Detour::Rewriter,
    Detour::Authorizer,
    Detour::Before,
    Detour::Inspector,
    Detour::Around,
    Detour::ById,
];

/// Everything that can be seen of a call.
type Seen = (Result<Answer, (ErrorName, String)>, CallReport, Vec<String>, Vec<String>, usize);

/// Waits, then goes on.
struct Waits;

impl Authorizer for Waits {
    fn authorize(&self, _: &Call, _: &Input) -> Step {
        Step::Wait
    }

    fn authorize_wait<'a>(&'a self, _: &'a Call, _: &'a Input) -> Waiting<'a> {
        Box::pin(yielding())
    }
}

impl OutputMiddleware for Waits {
    fn name(&self) -> &str {
        "waits"
    }

    fn inspect(&self, _: &Call, _: &mut Output) -> Step {
        Step::Wait
    }

    fn inspect_wait<'a>(&'a self, _: &'a Call, _: &'a mut Output) -> Waiting<'a> {
        Box::pin(yielding())
    }

    fn delta_form(&self) -> Option<&dyn DeltaForm> {
        Some(self)
    }
}

impl DeltaForm for Waits {
    fn kinds(&self) -> DeltaKinds {
        DeltaKinds::ALL
    }

    fn guard(&self, call: &CallInfo, lane: Lane) -> Box<dyn DeltaGuard> {
        crate::support::pass().unwrap().guard(call, lane)
    }
}

async fn yielding() -> Result<(), Refusal> {
    tokio::task::yield_now().await;
    Ok(())
}

fn seen(acts: &[Act], refuses: bool, detour: Detour) -> Seen {
    let (log, sink) = (Log::new(), Recorder::new());
    let mut effect = Scripted::new(acts.to_vec()).sink(Recorder::into_log(&log, "configured "));
    if detour == Detour::ReadyLane {
        effect = effect.ready_lane();
    }
    let builder = EffectRuntime::builder();
    let builder = match detour {
        Detour::Authorizer => builder.authorizer(Waits),
        _ => builder.allow_all_calls(),
    };
    let builder = builder
        .middleware(Told("first", log.clone()))
        .output_middleware(inspect_with(hold_back(2)))
        .output_middleware(inspect_with(sever_on("zz")));
    let builder = match detour {
        Detour::Rewriter => builder.input_middleware(rewrite("nothing", |_, _| Step::Go)),
        Detour::Before => builder.middleware(before_wait("waits", |_, _| Box::pin(yielding()))),
        Detour::Inspector => builder.output_middleware(Waits),
        Detour::Around => {
            builder.around(around("once", |_, mut next| Box::pin(async move { next.run().await })))
        }
        _ => builder,
    };
    let builder = builder.middleware(before("decides", move |_, _| {
        if refuses { Step::Deny(Refusal::quota("decides")) } else { Step::Go }
    }));
    let runtime = builder.middleware(Told("last", log.clone())).effect(effect.clone()).build().unwrap();
    let call: BoxFuture<'static, (Result<Answer, CallError>, CallReport)> = if detour == Detour::ById {
        let input = serde_json::to_value(ask("x")).unwrap();
        let call = runtime.invoke_transient("plan", input).on_delta_sink(sink.clone()).reported();
        Box::pin(async {
            let (result, report) = call.await;
            (result.map(|json| serde_json::from_value(json).unwrap()), report)
        })
    } else {
        Box::pin(runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink.clone()).reported())
    };
    let (result, report) = run(call);
    let result = result.map_err(|error| (error.name(), error.to_string()));
    (result, report, sink.lines(), log.lines(), effect.executions())
}

/// One act that does not wait.
fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => "[a-z]{1,4}".prop_map(Act::Text),
        1 => Just(Act::text("zz")),
        1 => Just(Act::swallow("zz")),
        1 => "[a-z]{1,2}".prop_map(|text| Act::Write(Lane::REASONING, text)),
        1 => Just(Act::End(Some(Usage::new(1, 2)))),
        1 => Just(Act::Usage(Usage::new(3, 4))),
        1 => Just(Act::answer("other")),
        1 => Just(Act::Unstated),
        1 => Just(Act::Fail(ErrorName::Provider)),
        1 => Just(Act::Fail(ErrorName::EgressDenied)),
        1 => Just(Act::Panic),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// D2: one path, whichever lane it runs in: result, report, deliveries, hooks and executions are the same.
    #[test]
    fn every_detour_gives_the_same_outcome(
        acts in proptest::collection::vec(act(), 0..6),
        refuses in proptest::bool::weighted(0.1),
    ) {
        let plain = seen(&acts, refuses, Detour::None);
        for detour in DETOURS {
            prop_assert_eq!(&seen(&acts, refuses, detour), &plain, "{:?}", detour);
        }
    }
}
