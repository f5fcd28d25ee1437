//! A panic on the live path severs (guards, meters, forms) or is reported (sinks), and the process lives.

use std::sync::Arc;

use loom_effect_runtime::*;

use crate::support::{Act, Log, Recorder, Scripted, ask, form, inspect_with, passing, plan, run, stubborn};

fn plain() -> RuntimeBuilder<Ready> {
    EffectRuntime::builder().allow_all_calls()
}

/// The rule that severed a followed call. Stubbornly retried, the effect ran once; the runtime is used twice.
fn severed(builder: RuntimeBuilder<Ready>, delivered: &[&str]) -> Option<String> {
    let effect = Scripted::new([Act::text("a"), Act::text("b"), Act::swallow("c")]);
    let runtime = builder.around(stubborn(3)).effect(effect.clone()).build().unwrap();
    let mut rule = None;
    for calls in 1..=2 {
        let sink = Recorder::new();
        let call = runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink.clone());
        let error = run(call.into_future()).unwrap_err();
        assert_eq!(error.name(), ErrorName::SafetyViolation);
        assert!(error.violation().is_some(), "a panic on the live path severs: {error:?}");
        assert_eq!(sink.lines(), delivered);
        assert_eq!(effect.executions(), calls, "a sever is not retried");
        rule = error.rule().map(str::to_owned);
    }
    rule
}

struct Panics {
    at: &'static str,
    pushes: u32,
}

impl Panics {
    fn form(at: &'static str) -> Option<Arc<dyn DeltaForm>> {
        form(DeltaKinds::ALL, move || {
            assert_ne!(at, "factory");
            Self { at, pushes: 0 }
        })
    }
}

impl DeltaGuard for Panics {
    fn push(&mut self, text: &str, out: &mut Outlet<'_>) -> Verdict {
        self.pushes += 1;
        assert!(self.at != "push" || self.pushes < 2);
        if self.at == "after passing on" && self.pushes == 2 {
            out.pass(text);
            panic!("scripted");
        }
        Verdict::Pass
    }

    fn finish(&mut self, _out: &mut Outlet<'_>) -> Result<(), Violation> {
        assert_ne!(self.at, "finish");
        Ok(())
    }
}

/// D10: a panic in a guard, anywhere, severs: fail closed.
#[test]
fn a_panic_in_a_guard_severs() {
    let guarded = |at| plain().output_middleware(inspect_with(Panics::form(at)));
    let rule = Some("guard.panicked".to_owned());
    assert_eq!(severed(guarded("factory"), &[]), rule);
    assert_eq!(severed(guarded("push"), &["a"]), rule);
    assert_eq!(severed(guarded("after passing on"), &["a", "b"]), rule);
    assert_eq!(severed(guarded("finish"), &["a", "b", "c"]), rule);
}

/// D10: a panic behind another guard's outlet severs too, whatever the guard in front answers.
#[test]
fn a_panic_behind_an_outlet_severs() {
    let builder = plain()
        .output_middleware(inspect_with(crate::support::hold_back(0)))
        .output_middleware(inspect_with(Panics::form("push")));
    assert_eq!(severed(builder, &["a"]).as_deref(), Some("guard.panicked"));
}

/// D7: a panic in a meter's factory or in a meter severs: a budget does not end by panicking.
#[test]
fn a_panic_in_a_meter_severs() {
    struct Metered(&'static str);
    impl Middleware for Metered {
        fn name(&self) -> &str {
            "metered"
        }
        fn meter(&self) -> Option<&dyn MeterForm> {
            Some(self)
        }
    }
    impl MeterForm for Metered {
        fn meter(&self, _call: &CallInfo) -> Box<dyn Meter> {
            assert_ne!(self.0, "factory");
            Box::new(Observes)
        }
    }
    struct Observes;
    impl Meter for Observes {
        fn observe(&mut self, _kind: DeltaKind, _bytes: usize) -> Result<(), Violation> {
            panic!("scripted")
        }
    }
    for at in ["factory", "observe"] {
        assert_eq!(severed(plain().middleware(Metered(at)), &[]).as_deref(), Some("meter.panicked"));
    }
}

/// D10: an inspector that panics when it is asked for its form, or for its kinds, is refused when the runtime is built.
#[test]
fn a_form_that_panics_at_registration_refuses_the_build() {
    struct Inspects(&'static str);
    impl OutputMiddleware for Inspects {
        fn name(&self) -> &str {
            "inspects"
        }
        fn inspect(&self, _call: &Call, _output: &mut Output) -> Step {
            Step::Go
        }
        fn delta_form(&self) -> Option<&dyn DeltaForm> {
            assert_ne!(self.0, "delta_form");
            Some(self)
        }
    }
    impl DeltaForm for Inspects {
        fn kinds(&self) -> DeltaKinds {
            panic!("scripted")
        }
        fn guard(&self, _call: &CallInfo, _lane: Lane) -> Box<dyn DeltaGuard> {
            panic!("scripted")
        }
    }
    for at in ["delta_form", "kinds"] {
        let built = plain().output_middleware(Inspects(at)).effect(Scripted::new([])).build();
        assert!(matches!(built, Err(BuildError::Panicked { .. })), "{at}");
    }
}

/// D6: a sink that panics when it is asked what it wants gets nothing, is reported, and hurts nobody.
#[test]
fn a_panic_in_wants_is_reported() {
    struct Wants;
    impl DeltaSink for Wants {
        fn deliver(&self, _call: &CallRef<'_>, _delta: &EffectDelta<'_>) {
            panic!("it is not delivered to");
        }
        fn wants(&self) -> DeltaKinds {
            panic!("scripted")
        }
    }
    let warnings = Log::new();
    let told = warnings.clone();
    let configured = Recorder::new();
    let runtime = plain()
        .on_warn(move |warning| told.say(format!("{warning:?}")))
        .effect(Scripted::new([Act::text("a")]).sink(configured.clone()))
        .build()
        .unwrap();
    let call = runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(Wants);
    assert_eq!(run(call.into_future()).unwrap().text, "a");
    assert_eq!(configured.lines(), ["a"]);
    assert_eq!(warnings.lines(), [r#"SinkPanicked { tool: "plan" }"#]);
}

/// D11: a panic while the effect states its live text fails the call.
#[test]
fn a_panic_in_live_text_fails_the_call() {
    struct Panics;
    impl Effect for Panics {
        type Input = u8;
        type Output = u8;
        fn id(&self) -> &str {
            "panics"
        }
        async fn execute(&self, n: &u8, cx: &EffectContext<'_>) -> Result<u8, CallError> {
            cx.deltas().text("a")?;
            Ok(*n)
        }
        fn live_text(_: &u8, _: &mut dyn FnMut(&str)) -> bool {
            panic!("scripted")
        }
    }
    let runtime = plain().output_middleware(passing("passes")).effect(Panics).build().unwrap();
    let sink = Recorder::new();
    let call = runtime.invoke_transient("panics", 1_u8).on_delta_sink(sink.clone());
    assert_eq!(run(call.into_future()).unwrap_err().name(), ErrorName::EffectPanicked);
    assert_eq!(sink.lines(), ["a"], "and no done");
}

/// D6: a sink that panics on a reset or on done is isolated as on text.
#[test]
fn a_panic_on_reset_or_done_is_isolated() {
    let panics = |on: &'static str| {
        move |delta: &EffectDelta<'_>| {
            let kind = match delta {
                EffectDelta::Reset { .. } => "reset",
                EffectDelta::Done { .. } => "done",
                _ => "text",
            };
            assert_ne!(kind, on);
        }
    };
    for on in ["reset", "done"] {
        let configured = Recorder::new();
        let warnings = Log::new();
        let told = warnings.clone();
        let effect =
            Scripted::new([Act::Fail(ErrorName::Provider)]).then([Act::text("a")]).sink(configured.clone());
        let runtime = plain()
            .on_warn(move |warning| told.say(warning))
            .around(stubborn(2))
            .effect(effect)
            .build()
            .unwrap();
        let call = runtime.invoke_transient(plan(&runtime), ask("x")).on_delta(panics(on));
        run(call.into_future()).unwrap();
        assert_eq!(configured.lines(), ["<reset 2>", "a"]);
        assert_eq!(warnings.lines().len(), 1);
    }
}
