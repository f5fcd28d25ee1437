//! Spans: one a call, with facts and no content; being watched changes nothing. In a file of its own, because what a
//! call site is watched by is process-wide.

#![cfg(test)]

#[expect(dead_code, unused_imports, reason = "shared with the tests of the path, which use all of it")]
mod support;

use loom_effect_runtime::engine::EngineCall;
use loom_effect_runtime::*;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use support::{Act, Log, Recorder, Scripted, Told, ask, plan, run, stubborn};

/// Writes down every field of every span and event.
struct Watcher(Log);

impl Visit for Watcher {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.say(format!("{field}={value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.say(format!("{field}={value}"));
    }
}

impl Subscriber for Watcher {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("loom")
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        self.0.say(span.metadata().name());
        span.record(&mut Self(self.0.clone()));
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut Self(self.0.clone()));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        event.record(&mut Self(self.0.clone()));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// D2: a watched call takes the same path; its span says tool, execution, call key, attempts and error name, and
/// nothing of what was asked, streamed or answered.
#[test]
fn a_watched_call_says_facts_and_no_content() {
    let acts = || [Act::text("HUSH"), Act::Fail(ErrorName::Provider)];
    let effects = [
        Scripted::new([Act::text("HUSH")]),
        Scripted::new([Act::text("HUSH")]).ready_lane(),
        Scripted::new(acts()).then([Act::Yield, Act::text("HUSH")]),
        Scripted::new(acts()),
    ];
    for effect in effects {
        let outcome = |watched: bool| {
            let (told, seen, sink) = (Log::new(), Log::new(), Recorder::new());
            let runtime = EffectRuntime::builder()
                .allow_all_calls()
                .middleware(Told("told", told.clone()))
                .around(stubborn(2))
                .effect(effect.clone())
                .build()
                .unwrap();
            let caller = runtime.caller(Identity::execution(Principal::new("ada"), RunAs::new("flow", "e1")));
            let call = caller.invoke_transient(plan(&runtime), ask("HUSH")).on_delta_sink(sink.clone());
            let call = call.in_scope(CallKey::decide("d", 1), ResourceTotals::default()).reported();
            let (result, report) = if watched {
                tracing::subscriber::with_default(Watcher(seen.clone()), || run(call))
            } else {
                run(call)
            };
            let result = result.map_err(|error| error.to_string());
            ((result, report, sink.lines(), told.lines()), seen.lines())
        };
        let (plain, nothing) = outcome(false);
        let (watched, seen) = outcome(true);
        assert_eq!(plain, watched);
        assert!(nothing.is_empty());
        let attempts = format!("loom.attempts={}", watched.1.attempts);
        let mut expected =
            vec!["loom.call", "loom.tool=plan", "loom.execution=e1", "loom.call_key=decide:d:1", &attempts];
        if watched.0.is_err() {
            expected.push("error.type=ProviderError");
        }
        assert_eq!(seen, expected);
    }
}
