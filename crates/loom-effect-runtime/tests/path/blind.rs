//! D10: an inspector without a delta form blinds the stream: one warning, no delivery, output still judged.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use loom_effect_runtime::*;

use crate::support::{
    Act, Answer, Counted, Log, Recorder, Scripted, ask, form, inspect_with, metered, plan, run, sever_on,
    stubborn,
};

const WORDS: &str = "streaming disabled: inspects output without a delta form";

fn blind() -> impl OutputMiddleware {
    inspect("redactor", None, |_, output| {
        let Some(answer) = output.get_mut::<Answer>() else { return Step::Go };
        answer.text = answer.text.replace("secret", "[redacted]");
        Step::Go
    })
}

/// D10: neither sink gets text, reset or done; one warning a call names middleware and effect; the output is judged.
#[test]
fn a_blind_stream_delivers_nothing_and_says_so_once_a_call() {
    let log = Log::new();
    let warnings = log.clone();
    let (sink, configured) = (Recorder::new(), Recorder::new());
    let effect = Scripted::new([Act::text("a secret"), Act::Fail(ErrorName::Provider)])
        .then([Act::text("a "), Act::text("secret"), Act::End(Some(Usage::new(1, 2)))])
        .sink(configured.clone());
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .on_warn(move |warning| warnings.say(warning))
        .output_middleware(blind())
        .around(stubborn(2))
        .effect(effect)
        .build()
        .unwrap();
    let call = || runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink.clone());
    let (result, report) = run(call().reported());
    assert_eq!(result.unwrap().text, "a [redacted]");
    assert_eq!((report.streamed, report.checked, report.attempts), (false, false, 2));
    assert_eq!(report.usage, Some(Usage::new(1, 2)), "the provider's usage is kept");
    assert!(sink.log.is_empty() && configured.log.is_empty());
    let lines = log.lines();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains(WORDS) && lines[0].contains("redactor") && lines[0].contains("plan"));
    run(call().into_future()).unwrap();
    assert_eq!(log.lines().len(), 2, "once a call");
}

/// D10: guards and meters still run in a blind stream: a budget does not end because another blinds it.
#[test]
fn guards_and_meters_still_run_in_a_blind_stream() {
    let call = |builder: RuntimeBuilder<Ready>| {
        let sink = Recorder::new();
        let effect = Scripted::new([Act::text("a"), Act::text("secret"), Act::text("b")]);
        let runtime = builder.on_warn(|_| ()).output_middleware(blind()).effect(effect).build().unwrap();
        let call = runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink.clone());
        let error = run(call.into_future()).unwrap_err();
        assert!(sink.log.is_empty());
        error.rule().map(str::to_owned)
    };
    let plain = || EffectRuntime::builder().allow_all_calls();
    assert_eq!(call(plain().middleware(metered(3, &Log::new()))).as_deref(), Some("bytes"));
    assert_eq!(call(plain().output_middleware(inspect_with(sever_on("secret")))).as_deref(), Some("word"));
}

/// D10: coverage is per kind: a form over text blinds the other kinds, and no more than them.
#[test]
fn coverage_is_folded_per_kind() {
    let everything =
        [Act::write(Lane::REASONING, "hm"), Act::write(Lane::tool_arguments(0), "{}"), Act::text("a")];
    let lines = |covered: DeltaKinds, wants: DeltaKinds| {
        let warnings = Log::new();
        let log = warnings.clone();
        let sink = Recorder::new().wanting(wants);
        let runtime = EffectRuntime::builder()
            .allow_all_calls()
            .on_warn(move |warning| log.say(warning))
            .output_middleware(inspect_with(Counted::default().form(covered)))
            .output_middleware(inspect_with(Counted::default().form(DeltaKinds::ALL)))
            .effect(Scripted::new(everything.clone()))
            .build()
            .unwrap();
        let call = runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink.clone());
        run(call.into_future()).unwrap();
        (sink.lines().join(" "), warnings.lines().len())
    };
    let (text, reasoning) = (DeltaKinds::TEXT, DeltaKinds::REASONING);
    assert_eq!(lines(DeltaKinds::ALL, DeltaKinds::ALL), ("reasoning:hm tool0:{} a <done>".to_owned(), 0));
    assert_eq!(lines(text, DeltaKinds::ALL), ("a <done>".to_owned(), 1));
    assert_eq!(lines(text, text), ("a <done>".to_owned(), 0), "nobody asked for what is blind");
    assert_eq!(lines(text | reasoning, DeltaKinds::ALL), ("reasoning:hm a <done>".to_owned(), 1));
    assert_eq!(lines(reasoning, text), (String::new(), 1));
    assert_eq!(lines(DeltaKinds::NONE, DeltaKinds::ALL), (String::new(), 1));
}

/// D10: a stream that no sink follows is not warned of.
#[test]
fn without_a_sink_there_is_nothing_to_warn_of() {
    let warned = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&warned);
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .on_warn(move |_| seen.store(true, Ordering::SeqCst))
        .output_middleware(blind())
        .effect(Scripted::new([Act::text("secret")]))
        .build()
        .unwrap();
    assert_eq!(
        run(runtime.invoke_transient(plan(&runtime), ask("x")).into_future()).unwrap().text,
        "[redacted]"
    );
    assert!(!warned.load(Ordering::SeqCst));
}

/// D10: a form that was there at registration and is not given in a call never lets text pass unguarded.
#[test]
fn a_form_that_vanishes_fails_closed() {
    struct Vanishing(AtomicBool, Option<Arc<dyn DeltaForm>>);
    impl OutputMiddleware for Vanishing {
        fn name(&self) -> &str {
            "vanishing"
        }
        fn inspect(&self, _call: &Call, _output: &mut Output) -> Step {
            Step::Go
        }
        fn delta_form(&self) -> Option<&dyn DeltaForm> {
            if self.0.swap(true, Ordering::SeqCst) { None } else { self.1.as_deref() }
        }
    }
    struct Shrinking(AtomicBool);
    impl DeltaForm for Shrinking {
        fn kinds(&self) -> DeltaKinds {
            if self.0.swap(true, Ordering::SeqCst) { DeltaKinds::NONE } else { DeltaKinds::ALL }
        }
        fn guard(&self, call: &CallInfo, lane: Lane) -> Box<dyn DeltaGuard> {
            sever_on("secret").unwrap().guard(call, lane)
        }
    }
    let plain = || EffectRuntime::builder().allow_all_calls().on_warn(|_| ());
    for builder in [
        plain().output_middleware(Vanishing(false.into(), sever_on("secret"))),
        plain().output_middleware(inspect_with(Some(Arc::new(Shrinking(false.into()))))),
    ] {
        let sink = Recorder::new();
        let runtime = builder.effect(Scripted::new([Act::text("secret")])).build().unwrap();
        let call = runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(sink.clone());
        let _ = run(call.into_future());
        assert!(!sink.fold().contains("secret"), "unguarded text was delivered");
    }
}

/// D10: guards are made fresh for each attempt and lane, and asked to finish once, on success only.
#[test]
fn guards_are_fresh_per_attempt_and_finish_on_success_only() {
    let counted = Counted::default();
    let effect = Scripted::new([Act::text("a"), Act::text("b"), Act::Fail(ErrorName::Provider)])
        .then([Act::text("c"), Act::write(Lane::REASONING, "d")]);
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .output_middleware(inspect_with(counted.form(DeltaKinds::ALL)))
        .around(stubborn(2))
        .effect(effect)
        .build()
        .unwrap();
    run(runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(Recorder::new()).into_future())
        .unwrap();
    assert_eq!(counted.figures(), [3, 4, 2]);
}

/// D10: guards run in registration order, and one in front changes what one behind it sees.
#[test]
fn guards_run_in_registration_order() {
    struct Shout;
    impl DeltaGuard for Shout {
        fn push(&mut self, text: &str, out: &mut Outlet<'_>) -> Verdict {
            out.pass(&text.to_uppercase());
            Verdict::Done
        }
        fn finish(&mut self, _out: &mut Outlet<'_>) -> Result<(), Violation> {
            Ok(())
        }
    }
    let shout = || inspect_with(form(DeltaKinds::ALL, || Shout));
    let call = |builder: RuntimeBuilder<Ready>| {
        let runtime = builder.effect(Scripted::new([Act::text("word"), Act::Unstated])).build().unwrap();
        run(runtime.invoke_transient(plan(&runtime), ask("x")).on_delta_sink(Recorder::new()).into_future())
            .is_ok()
    };
    let plain = || EffectRuntime::builder().allow_all_calls();
    assert!(!call(plain().output_middleware(shout()).output_middleware(inspect_with(sever_on("WORD")))));
    assert!(call(plain().output_middleware(inspect_with(sever_on("WORD"))).output_middleware(shout())));
}
