//! D3: the serde form of a delta, byte for byte.

use std::sync::{Arc, Mutex};

use loom_effect_runtime::*;

use crate::support::{Act, Scripted, SinkThat, ask, run, stubborn};

/// The JSON of every delta that a sink asking for everything gets.
fn forms(effect: Scripted) -> Vec<String> {
    struct All<S>(S);
    impl<S: DeltaSink> DeltaSink for All<S> {
        fn deliver(&self, call: &CallRef<'_>, delta: &EffectDelta<'_>) {
            self.0.deliver(call, delta);
        }
        fn wants(&self) -> DeltaKinds {
            DeltaKinds::ALL
        }
    }
    let seen = Arc::new(Mutex::new(Vec::new()));
    let view = Arc::clone(&seen);
    let sink = All(SinkThat(move |_: &CallRef<'_>, delta: &EffectDelta<'_>| {
        view.lock().unwrap().push(serde_json::to_string(delta).unwrap());
    }));
    let runtime =
        EffectRuntime::builder().allow_all_calls().around(stubborn(2)).effect(effect).build().unwrap();
    run(runtime.invoke_transient("plan", ask("x")).on_delta_sink(sink).into_future()).unwrap();
    let seen = seen.lock().unwrap();
    seen.clone()
}

/// D3: text, reset and done have exactly the stated forms; usage is absent when unknown.
#[test]
fn the_serde_forms_are_exact() {
    let failing = Scripted::new([Act::text("text"), Act::Fail(ErrorName::Provider)]);
    assert_eq!(
        forms(failing.clone().then([Act::text("again \"\n"), Act::End(Some(Usage::new(1, 2)))])),
        [
            r#"{"delta":{"$tainted":{"origins":["llm:plan"],"value":"text"}}}"#,
            r#"{"delta":{"$tainted":{"origins":["llm:plan"],"value":""}},"reset":true,"attempt":2}"#,
            r#"{"delta":{"$tainted":{"origins":["llm:plan"],"value":"again \"\n"}}}"#,
            concat!(
                r#"{"delta":{"$tainted":{"origins":["llm:plan"],"value":""}},"#,
                r#""done":true,"usage":{"inputTokens":1,"outputTokens":2}}"#
            ),
        ]
    );
    assert_eq!(
        forms(failing.then([Act::answer("")]))[1..],
        [r#"{"delta":{"$tainted":{"origins":["llm:plan"],"value":""}},"reset":true,"attempt":2}"#]
    );
    assert_eq!(
        forms(Scripted::new([Act::text("a")]))[1],
        r#"{"delta":{"$tainted":{"origins":["llm:plan"],"value":""}},"done":true}"#
    );
}

/// D3: a figure that the provider did not report is absent, never zero.
#[test]
fn half_known_usage_keeps_its_unknown_half_absent() {
    let usage = Usage { input_tokens: None, output_tokens: Some(2) };
    let forms = forms(Scripted::new([Act::text("a"), Act::End(Some(usage))]));
    assert!(forms[1].ends_with(r#""done":true,"usage":{"outputTokens":2}}"#), "{}", forms[1]);
}

/// D3: a text delta is never empty: what an effect writes empty is nothing.
#[test]
fn empty_text_is_no_delta() {
    let effect = Scripted::new([Act::text(""), Act::text("a"), Act::text("")]);
    assert_eq!(forms(effect).len(), 2, "one text and one done");
}

/// D20: reasoning and tool arguments say their kind, and no delta carries a stop reason or a provider's type.
#[test]
fn other_kinds_say_their_kind() {
    let lane = Lane::tool_arguments(3);
    let forms =
        forms(Scripted::new([Act::write(Lane::REASONING, "hm"), Act::write(lane, "{"), Act::answer("")]));
    let keys = |form: &str| {
        let object: serde_json::Value = serde_json::from_str(form).unwrap();
        object.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        forms[..2].iter().map(|form| keys(form)).collect::<Vec<_>>(),
        ["delta kind", "block delta kind"]
    );
}

/// D3: what is kept of a delta is as tainted as it was.
#[test]
fn a_kept_delta_stays_tainted() {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let view = Arc::clone(&kept);
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .effect(Scripted::new([Act::text("a"), Act::End(Some(Usage::new(1, 2)))]))
        .build()
        .unwrap();
    let call = runtime.invoke_transient("plan", ask("x"));
    run(call.on_delta(move |delta| view.lock().unwrap().push(delta.to_owned())).into_future()).unwrap();
    let kept = kept.lock().unwrap();
    let OwnedDelta::Text { text, lane, .. } = &kept[0] else { panic!("the first is text") };
    assert_eq!((text.origins().to_string().as_str(), *lane), ("llm:plan", Lane::TEXT));
    assert!(matches!(&kept[1], OwnedDelta::Done { usage: Some(_), .. }));
}

/// D9: the origins of fenced content in the request join those of the live text and of what the effect taints.
#[test]
fn origins_of_fenced_content_join() {
    use loom_classify::{Fenced, TaintOrigin, Tainted};

    struct Repeats;
    impl Effect for Repeats {
        type Input = Fenced<String>;
        type Output = Tainted<String>;
        fn id(&self) -> &str {
            "repeats"
        }
        async fn execute(
            &self,
            input: &Fenced<String>,
            cx: &EffectContext<'_>,
        ) -> Result<Tainted<String>, CallError> {
            cx.deltas().text("live")?;
            Ok(cx.taint(input.expose_tainted().clone()))
        }
    }

    let seen = Arc::new(Mutex::new(String::new()));
    let view = Arc::clone(&seen);
    let runtime = EffectRuntime::builder().allow_all_calls().effect(Repeats).build().unwrap();
    let tool = runtime.tool::<Fenced<String>, Tainted<String>>("repeats").unwrap();
    let fenced = Fenced::from(Tainted::new("x".to_owned(), TaintOrigin::new("mcp", "search")));
    let call = runtime.invoke_transient(tool, fenced).on_delta(move |delta| {
        if let EffectDelta::Text { text, .. } = delta {
            *view.lock().unwrap() = text.origins().to_string();
        }
    });
    let output = run(call.into_future()).unwrap();
    for origins in [output.origins().to_string(), seen.lock().unwrap().clone()] {
        assert!(origins.contains("llm:repeats") && origins.contains("mcp:search"), "{origins}");
    }
}
