//! How a model ends a run, and how a failed model call does.

use loom_agent::{AgentEnd, AgentFault};
use loom_effect_runtime::{CallError, ErrorName};
use loom_llm::{LlmChunk, ProviderError, ProviderFault};

use crate::stage::*;

#[tokio::test]
async fn an_outcome_says_how_the_model_ended() {
    let declined = || LlmChunk::Declined { choice: 0, explanation: Some("policy".to_owned()) };
    let refusal = LlmChunk::Refusal { choice: 0, text: "no".to_owned() };
    for (reply, end) in [
        ([says("yes"), vec![finish("stop")]].concat(), AgentEnd::Answered),
        (says("yes"), AgentEnd::Answered),
        (vec![finish("end_turn")], AgentEnd::Answered),
        // No proper stop: an unknown word, tool calls of which there are none, and nothing at all.
        ([says("yes"), vec![finish("MALFORMED_FUNCTION_CALL")]].concat(), AgentEnd::Unfinished),
        ([says("wait"), vec![finish("pause_turn")]].concat(), AgentEnd::Unfinished),
        ([says("so:"), vec![finish("tool_calls")]].concat(), AgentEnd::Unfinished),
        (vec![finish("tool_use")], AgentEnd::Unfinished),
        (Vec::new(), AgentEnd::Unfinished),
        ([says("yes"), vec![finish("length")]].concat(), AgentEnd::Cut),
        ([says("yes"), vec![finish("content_filter")]].concat(), AgentEnd::Filtered),
        (vec![declined()], AgentEnd::Declined),
        (vec![refusal, finish("stop")], AgentEnd::Declined),
        // What a model asks for while it declines is not called.
        ([asks([("echo", "{}")]), vec![declined(), finish("length")]].concat(), AgentEnd::Declined),
    ] {
        let log = Log::default();
        let (runner, ada) = echoing(&Script::of([reply]), &log);
        let outcome = runner.run(&ada, "hi").await.unwrap();
        assert_eq!(outcome.end, end);
        assert_eq!(
            outcome.reply.explanation.is_some(),
            outcome.end == AgentEnd::Declined && !outcome.reply.content.expose_tainted().contains("no")
        );
        assert!(log.lines().is_empty());
    }
}

#[tokio::test]
async fn tool_calls_of_a_reply_that_is_cut_are_not_made() {
    for word in ["length", "max_tokens", "content_filter"] {
        let (log, script) = (
            Log::default(),
            Script::of([
                asks([("echo", "{}")]),
                [asks([("echo", r#"{"n":1}"#)]), vec![finish(word)]].concat(),
            ]),
        );
        let (runner, ada) = echoing(&script, &log);
        let error = runner.run(&ada, "hi").await.unwrap_err();
        assert!(matches!(error.fault(), AgentFault::CutToolCalls));
        assert_eq!((log.lines().len(), script.asked().len(), error.report().transcript.len()), (1, 2, 4));
        assert_eq!(CallError::from(error).name(), ErrorName::OutputInvalid);
    }
}

#[tokio::test]
async fn the_finish_word_of_calls_is_not_what_makes_them_calls() {
    for word in ["tool_calls", "stop", "whatever"] {
        let log = Log::default();
        let script = Script::of([[asks([("echo", "{}")]), vec![finish(word)]].concat(), says("done")]);
        let (runner, ada) = echoing(&script, &log);
        assert_eq!(runner.run(&ada, "hi").await.unwrap().end, AgentEnd::Answered);
        assert_eq!(log.lines().len(), 1);
    }
}

#[tokio::test]
async fn a_failed_model_call_ends_the_run_and_is_not_repeated() {
    let unsendable = || ProviderError::new("script", ProviderFault::Unsendable);
    for before in [vec![], vec![asks([("echo", "{}")])]] {
        let turns = before.len();
        let script = Script::of(before).then_fails(unsendable());
        let (runner, ada) = echoing(&script, &Log::default());
        let error = runner.run(&ada, "hi").await.unwrap_err();
        let AgentFault::Model(cause) = error.fault() else { panic!("{error}") };
        assert_eq!(ProviderError::behind(cause).unwrap().fault(), &ProviderFault::Unsendable);
        assert_eq!((script.asked().len(), error.report().transcript.len()), (turns + 1, 1 + 2 * turns));
        assert_eq!((error.report().steps as usize, error.reply().is_some()), (turns + 1, turns == 1));
        assert_eq!(CallError::from(error).name(), ErrorName::Provider);
    }
}
