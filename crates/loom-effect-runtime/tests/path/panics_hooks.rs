//! A panic in a hook has a stated outcome, and the process lives.

use futures::future::BoxFuture;
use loom_effect_runtime::*;

use crate::support::{Act, Log, Scripted, Told, ask, pass, plan, run};

fn plain() -> RuntimeBuilder<Ready> {
    EffectRuntime::builder().allow_all_calls()
}

/// The error of a call, and how often the effect ran. The runtime is used twice: a panic poisons nothing.
fn failed(builder: RuntimeBuilder<Ready>) -> (CallError, usize) {
    let effect = Scripted::new([Act::text("a")]);
    let runtime = builder.effect(effect.clone()).build().unwrap();
    let call = || run(runtime.invoke_transient(plan(&runtime), ask("x")).into_future()).unwrap_err();
    let first = call();
    assert_eq!(first.to_string(), call().to_string());
    (first, effect.executions() / 2)
}

/// D2: a panic in a `before` hook refuses the call; hooks that had said Go hear of it.
#[test]
fn a_panic_in_before_refuses() {
    let log = Log::new();
    let builder = plain()
        .middleware(Told("first", log.clone()))
        .middleware(before("panics", |_, _| panic!("scripted")))
        .middleware(Told("last", log.clone()));
    let (error, executions) = failed(builder);
    assert_eq!((error.name(), error.rule()), (ErrorName::SafetyViolation, Some("panics.panicked")));
    assert_eq!(executions, 0);
    assert_eq!(log.lines()[..2], ["before first", "after first SafetyViolationError"]);
}

/// D2: a panic in a waiting hook refuses, in its making and in its polling.
#[test]
fn a_panic_in_a_waiting_hook_refuses() {
    let making = before_wait("panics", |_, _| panic!("scripted"));
    let polling = before_wait("panics", |_, _| Box::pin(async { panic!("scripted") }));
    let later = before_wait("panics", |_, _| {
        Box::pin(async {
            tokio::task::yield_now().await;
            panic!("scripted")
        })
    });
    for builder in [plain().middleware(making), plain().middleware(polling), plain().middleware(later)] {
        let (error, executions) = failed(builder);
        assert_eq!((error.rule(), executions), (Some("panics.panicked"), 0));
    }
}

/// D2: a panic in an authorizer denies, in every one of its methods.
#[test]
fn a_panic_in_an_authorizer_denies() {
    struct Panics(&'static str);
    impl Authorizer for Panics {
        fn authorize(&self, _call: &Call, _input: &Input) -> Step {
            assert_ne!(self.0, "authorize");
            Step::Wait
        }
        fn authorize_wait<'a>(&'a self, _call: &'a Call, _input: &'a Input) -> Waiting<'a> {
            assert_ne!(self.0, "authorize_wait");
            Box::pin(async {
                assert_ne!(self.0, "poll");
                Ok(())
            })
        }
        fn deadline(&self) -> std::time::Duration {
            assert_ne!(self.0, "deadline");
            WAIT_DEADLINE_DEFAULT
        }
    }
    for method in ["authorize", "authorize_wait", "poll", "deadline"] {
        let (error, executions) = failed(EffectRuntime::builder().authorizer(Panics(method)));
        assert_eq!((error.name(), executions), (ErrorName::CapabilityDenied, 0), "{method}");
    }
    struct PanicsOnRunAs;
    impl Authorizer for PanicsOnRunAs {
        fn authorize(&self, _call: &Call, _input: &Input) -> Step {
            Step::Go
        }
        fn may_act_as(&self, _call: &Call, _caller: &Identity) -> Result<(), Refusal> {
            panic!("scripted")
        }
    }
    let effect = Scripted::new([]);
    let runtime = EffectRuntime::builder().authorizer(PanicsOnRunAs).effect(effect.clone()).build().unwrap();
    let call = runtime.invoke_transient(plan(&runtime), ask("x")).run_as(RunAs::new("flow", "e1"));
    assert_eq!(run(call.into_future()).unwrap_err().name(), ErrorName::CapabilityDenied);
    assert_eq!(effect.executions(), 0);
}

/// D2: a panic in a rewriter refuses.
#[test]
fn a_panic_in_a_rewriter_refuses() {
    let (error, executions) = failed(plain().input_middleware(rewrite("panics", |_, _| panic!("scripted"))));
    assert_eq!((error.rule(), executions), (Some("panics.panicked"), 0));
    struct Waits;
    impl InputMiddleware for Waits {
        fn name(&self) -> &str {
            "panics"
        }
        fn rewrite(&self, _call: &Call, _input: &mut Input) -> Step {
            Step::Wait
        }
        fn rewrite_wait<'a>(&'a self, _call: &'a Call, _input: &'a mut Input) -> Waiting<'a> {
            Box::pin(async { panic!("scripted") })
        }
    }
    let (error, executions) = failed(plain().input_middleware(Waits));
    assert_eq!((error.rule(), executions), (Some("panics.panicked"), 0));
}

/// D10: a panic in an inspector refuses the output, sync and waiting.
#[test]
fn a_panic_in_an_inspector_refuses() {
    let (error, executions) =
        failed(plain().output_middleware(inspect("panics", pass(), |_, _| panic!("scripted"))));
    assert_eq!((error.rule(), executions), (Some("panics.panicked"), 1));
    struct Waits;
    impl OutputMiddleware for Waits {
        fn name(&self) -> &str {
            "panics"
        }
        fn inspect(&self, _call: &Call, _output: &mut Output) -> Step {
            Step::Wait
        }
        fn inspect_wait<'a>(&'a self, _call: &'a Call, _output: &'a mut Output) -> Waiting<'a> {
            Box::pin(async { panic!("scripted") })
        }
        fn delta_form(&self) -> Option<&dyn DeltaForm> {
            None
        }
    }
    let (error, executions) = failed(plain().output_middleware(Waits));
    assert_eq!((error.rule(), executions), (Some("panics.panicked"), 1));
}

/// D2: a panic in `after` is reported, the result stands, and the hooks before it still hear.
#[test]
fn a_panic_in_after_is_reported_and_the_result_stands() {
    let (log, warnings) = (Log::new(), Log::new());
    let told = warnings.clone();
    let panics = |name| after(name, |_: &Call, _: &Outcome<'_>| panic!("scripted"));
    let runtime = plain()
        .on_warn(move |warning| told.say(format!("{warning:?}")))
        .middleware(Told("first", log.clone()))
        .middleware(panics("one"))
        .middleware(Told("second", log.clone()))
        .middleware(panics("two"))
        .effect(Scripted::new([Act::text("a")]))
        .build()
        .unwrap();
    assert_eq!(run(runtime.invoke_transient(plan(&runtime), ask("x")).into_future()).unwrap().text, "a");
    assert_eq!(log.lines()[2..], ["after second ok", "after first ok"]);
    let report = |name| format!("AfterPanicked {{ middleware: {name:?}, tool: \"plan\" }}");
    assert_eq!(warnings.lines(), [report("two"), report("one")]);
}

/// D2: a panic in an around fails the call: when it is asked, at its first poll, between attempts and at the end.
#[test]
fn a_panic_in_an_around_fails_the_call() {
    type Result<'a> = BoxFuture<'a, std::result::Result<Opaque<'a>, CallError>>;
    fn asked<'a>(_: &'a Call, _: Next<'a>) -> Result<'a> {
        panic!("scripted")
    }
    fn first<'a>(_: &'a Call, _: Next<'a>) -> Result<'a> {
        Box::pin(async { panic!("scripted") })
    }
    fn late<'a>(_: &'a Call, mut next: Next<'a>) -> Result<'a> {
        Box::pin(async move {
            let _proof = next.run().await?;
            tokio::task::yield_now().await;
            panic!("scripted")
        })
    }
    let log = Log::new();
    for (builder, runs) in [
        (plain().around(around("panics", asked)), 0),
        (plain().around(around("panics", first)), 0),
        (plain().around(around("panics", late)), 1),
        (plain().around(crate::support::stubborn(1)).around(around("panics", asked)), 0),
    ] {
        let (error, executions) = failed(builder.middleware(Told("told", log.clone())));
        assert_eq!((error.rule(), executions), (Some("around.panicked"), runs));
    }
    assert_eq!(log.lines().iter().filter(|line| line.starts_with("after told")).count(), 8);
}

/// D2: a panic in the effect fails the call with its own name, wherever it happens.
#[test]
fn a_panic_in_the_effect_fails_the_call() {
    struct Panics(&'static str);
    impl Effect for Panics {
        type Input = u8;
        type Output = u8;
        fn id(&self) -> &str {
            "panics"
        }
        fn ready(&self, _: &u8, _: &EffectContext<'_>) -> Option<Result<u8, CallError>> {
            assert_ne!(self.0, "ready");
            None
        }
        fn execute(
            &self,
            n: &u8,
            _: &EffectContext<'_>,
        ) -> impl Future<Output = Result<u8, CallError>> + Send {
            assert_ne!(self.0, "execute");
            let (n, at) = (*n, self.0);
            async move {
                assert_ne!(at, "poll");
                tokio::task::yield_now().await;
                assert_ne!(at, "later");
                Ok(n)
            }
        }
        fn live_text(_: &u8, _: &mut dyn FnMut(&str)) -> bool {
            panic!("scripted")
        }
    }
    for at in ["ready", "execute", "poll", "later"] {
        let runtime = plain().effect(Panics(at)).build().unwrap();
        let error = run(runtime.invoke_transient("panics", 1_u8).into_future()).unwrap_err();
        assert_eq!((error.name(), error.is_refusal()), (ErrorName::EffectPanicked, false), "{at}");
    }
}

/// D6: what panics when it is asked about itself does not build, or covers nothing.
#[test]
fn a_panic_at_registration_does_not_build() {
    struct Nameless;
    impl Middleware for Nameless {
        fn name(&self) -> &str {
            panic!("scripted")
        }
    }
    struct NoMeter;
    impl Middleware for NoMeter {
        fn name(&self) -> &str {
            "no-meter"
        }
        fn meter(&self) -> Option<&dyn MeterForm> {
            panic!("scripted")
        }
    }
    struct NoId;
    impl Effect for NoId {
        type Input = u8;
        type Output = u8;
        fn id(&self) -> &str {
            panic!("scripted")
        }
        async fn execute(&self, n: &u8, _: &EffectContext<'_>) -> Result<u8, CallError> {
            Ok(*n)
        }
    }
    let effect = || Scripted::new([]);
    for builder in [
        plain().effect(effect()).middleware(Nameless),
        plain().effect(effect()).middleware(NoMeter),
        plain().effect(effect()).effect(NoId),
    ] {
        assert!(matches!(builder.build().unwrap_err(), BuildError::Panicked { .. }));
    }
}
