//! What a recorder writes down.
#![expect(clippy::unwrap_used, reason = "test code outside a test function")]

use std::future::IntoFuture;

use futures::FutureExt;
use loom_effect_runtime::{
    Around, DeltaForm, EffectRuntime, ErrorName, Lane, Output, Refusal, Step, Usage, around, before, inspect,
};
use loom_testing::{Act, Recorder, Scripted};
use serde_json::{Value, json};

/// Runs once more where the first attempt fails.
fn again() -> impl Around {
    around("again", |_call, mut next| {
        Box::pin(async move {
            match next.run().await {
                Err(_) if next.may_run().is_ok() => next.run().await,
                ended => ended,
            }
        })
    })
}

fn runtime(recorder: &Recorder, effect: Scripted<String>) -> EffectRuntime {
    let builder = EffectRuntime::builder().allow_all_calls().around(again());
    recorder.attach(builder).effect(effect).build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_tried_again_reads_as_its_life() {
    let recorder = Recorder::new();
    let first = [
        Act::text("hel"),
        Act::write(Lane::REASONING, "a \"thought\"\n"),
        Act::write(Lane::tool_arguments(2), "{}"),
        Act::Fail(ErrorName::Provider),
    ];
    let then = [Act::text("hello"), Act::End(Some(Usage::new(3, 1)))];
    let runtime = runtime(&recorder, Scripted::new(first).then(then));
    let tool = runtime.tool::<Value, String>("scripted").unwrap();
    runtime.invoke_transient(tool, json!({"n": 1})).on_delta_sink(recorder.sink()).await.unwrap();
    assert_eq!(
        recorder.transcript(),
        r#"scripted: admitted {"n":1}
scripted: attempt
scripted: text "hel"
scripted: reasoning "a \"thought\"\n"
scripted: arguments[2] "{}"
scripted: attempt failed: ProviderError
scripted: attempt
scripted: reset, attempt 2
scripted: text "hello"
scripted: attempt ok
scripted: over: ok, 2 attempts, streamed, checked, tokens 3 in, 1 out
scripted: done, tokens 3 in, 1 out
"#
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_is_told_from_the_inside_out() {
    let recorder = Recorder::new();
    let runtime = runtime(&recorder, Scripted::new([Act::text("a"), Act::Park]));
    let tool = runtime.tool::<Value, String>("scripted").unwrap();
    let call = runtime.invoke_transient(tool, Value::Null).on_delta_sink(recorder.sink()).into_future();
    assert!(call.now_or_never().is_none());
    assert_eq!(
        recorder.transcript(),
        "scripted: admitted null\nscripted: attempt\nscripted: text \"a\"\nscripted: attempt dropped\n\
         scripted: dropped\n"
    );
}

#[tokio::test(start_paused = true)]
async fn a_refusal_and_a_blind_stream_are_told() {
    let recorder = Recorder::new();
    let no_form: Option<std::sync::Arc<dyn DeltaForm>> = None;
    let builder = EffectRuntime::builder().allow_all_calls().output_middleware(inspect(
        "blind",
        no_form,
        |_, _: &mut Output| Step::Go,
    ));
    let runtime = recorder
        .attach(builder)
        .middleware(before("full", |_, input| match input.json() {
            Ok(Value::Null) => Step::Deny(Refusal::quota("full")),
            _ => Step::Go,
        }))
        .effect(Scripted::<String>::new([Act::text("a")]))
        .build()
        .unwrap();
    let tool = runtime.tool::<Value, String>("scripted").unwrap();
    assert!(runtime.invoke_transient(tool, Value::Null).await.is_err());
    runtime.invoke_transient(tool, json!(1)).on_delta_sink(recorder.sink()).await.unwrap();
    assert_eq!(
        recorder.transcript(),
        "scripted: admitted null\nscripted: over: QuotaExceededError, 0 attempts\nscripted: admitted 1\n\
         scripted: attempt\n\
         warning: streaming disabled: inspects output without a delta form (middleware `blind`, effect `scripted`)\n\
         scripted: attempt ok\nscripted: over: ok, 1 attempt\n"
    );
}
