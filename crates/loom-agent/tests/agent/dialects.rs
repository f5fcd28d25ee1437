//! The loop over each dialect: turns that are not as they should be go back in a form that the provider takes.

use std::collections::HashSet;

use Dialect::{Claude, Gemini, OpenAi};
use loom_agent::{AgentEnd, AgentRunner, agent_model};
use loom_effect_runtime::EffectRuntime;
use loom_llm::http::HttpConfig;
use loom_llm::{anthropic, google, openai};
use serde_json::{Value, json};

use crate::stage::*;
use crate::wire::{document, serve, streamed};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Dialect {
    OpenAi,
    Claude,
    Gemini,
}

/// What a reply says of a tool call: id and name, where it has them, and the number that is its argument.
type Asked<'a> = (Option<&'a str>, Option<&'a str>, u64);

impl Dialect {
    /// A reply that calls tools; a `signed` one goes back in the provider's own form.
    fn asks(self, calls: &[Asked<'_>], signed: bool) -> Value {
        let calls = calls.iter().map(|&(id, name, n)| match self {
            OpenAi => {
                let function = present(json!({"name": name, "arguments": json!({"n": n}).to_string()}));
                present(json!({"id": id, "type": "function", "function": function}))
            }
            Claude => present(json!({"type": "tool_use", "id": id, "name": name, "input": {"n": n}})),
            Gemini => present(json!({
                "functionCall": present(json!({"id": id, "name": name, "args": {"n": n}})),
                "thoughtSignature": signed.then_some("c2ln"),
            })),
        });
        let thinking = json!({"type": "thinking", "thinking": "hm", "signature": "c2ln"});
        let thinking = (signed && self == Claude).then_some(thinking);
        let parts: Vec<_> = thinking.into_iter().chain(calls).collect();
        match self {
            OpenAi => {
                let message =
                    present(json!({"tool_calls": parts, "reasoning_content": signed.then_some("hm")}));
                json!({"choices": [{"message": message, "finish_reason": "tool_calls"}]})
            }
            Claude => json!({"type": "message", "content": parts, "stop_reason": "tool_use"}),
            Gemini => json!({"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]}),
        }
    }

    fn done(self) -> Value {
        match self {
            OpenAi => json!({"choices": [{"message": {"content": "done"}, "finish_reason": "stop"}]}),
            Claude => {
                let content = json!([{"type": "text", "text": "done"}]);
                json!({"type": "message", "content": content, "stop_reason": "end_turn"})
            }
            Gemini => {
                let content = json!({"parts": [{"text": "done"}]});
                json!({"candidates": [{"content": content, "finishReason": "STOP"}]})
            }
        }
    }

    /// Of the calls of a request, id and name of each; of its results, id and text of each.
    fn sent(self, body: &Value) -> [Vec<[Value; 2]>; 2] {
        let items = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let turns = items(&body[if self == Gemini { "contents" } else { "messages" }]);
        let within = |name: &str| turns.iter().flat_map(|turn| items(&turn[name])).collect::<Vec<_>>();
        let (calls, results) = match self {
            OpenAi => (within("tool_calls"), turns.clone()),
            Claude => (within("content"), within("content")),
            Gemini => (within("parts"), within("parts")),
        };
        let (of_call, of_result) = match self {
            OpenAi => (["/id", "/function/name"], ["/tool_call_id", "/content"]),
            Claude => (["/id", "/name"], ["/tool_use_id", "/content"]),
            Gemini => {
                let text = "/functionResponse/response";
                (["/functionCall/id", "/functionCall/name"], ["/functionResponse/id", text])
            }
        };
        let pick = |parts: Vec<Value>, [id, what]: [&str; 2], mark: &str| {
            let field = |part: &Value, path| part.pointer(path).cloned().unwrap_or_default();
            let marked = parts.iter().filter(|part| part.pointer(mark).is_some());
            marked.map(|part| [field(part, id), field(part, what)]).collect()
        };
        let mark = if self == Gemini { of_result[1] } else { of_result[0] };
        [pick(calls, of_call, of_call[1]), pick(results, of_result, mark)]
    }

    /// A result as the dialect writes it.
    fn result(self, id: &Value, text: &str, is_error: bool) -> [Value; 2] {
        let text = match self {
            Gemini if is_error => json!({"error": text}),
            Gemini => json!({"result": text}),
            _ => json!(text),
        };
        [id.clone(), text]
    }

    /// A run with the tool `echo` over these replies, to its answer, and what was sent in its second step.
    async fn second_request(self, replies: [String; 2]) -> Value {
        let (url, served) = serve(replies.into()).await;
        let config = HttpConfig::new(url);
        let model = match self {
            OpenAi => agent_model("agent", openai::OpenAiCompatible::new("peer", config).unwrap()),
            Claude => agent_model("agent", anthropic::Anthropic::new("peer", config).unwrap()),
            Gemini => agent_model("agent", google::Gemini::new("peer", config).unwrap()),
        };
        let runtime = EffectRuntime::builder()
            .allow_all_calls()
            .effect(model.model("m").build())
            .effect(echo(&Log::default()))
            .build()
            .unwrap();
        let runner = AgentRunner::builder(runtime.tool("agent").unwrap()).tool(any(&runtime, "echo"));
        let outcome = within(runner.build().unwrap().run(&caller(&runtime), "hi")).await.unwrap();
        assert_eq!((outcome.end, outcome.report.steps), (AgentEnd::Answered, 2), "{self:?}");
        within(served).await.unwrap().remove(1)
    }
}

/// An object without its fields that are `null`.
fn present(mut object: Value) -> Value {
    object.as_object_mut().unwrap().retain(|_, field| !field.is_null());
    object
}

/// Calls without an id, or with that of another, have their own results.
#[tokio::test]
async fn a_result_answers_its_call_whatever_the_ids_are() {
    let ids = [[None, None], [Some("x"), Some("x")], [None, Some("agent_1_0")], [Some("a"), Some("b")]];
    for (dialect, signed) in
        [(OpenAi, false), (OpenAi, true), (Claude, false), (Gemini, false), (Gemini, true)]
    {
        for [first, second] in ids {
            let asked = dialect.asks(&[(first, Some("echo"), 1), (second, Some("echo"), 2)], signed);
            let body = dialect.second_request([document(&asked), document(&dialect.done())]).await;
            let [calls, results] = dialect.sent(&body);
            let answered = calls.iter().zip([1, 2]);
            let answered: Vec<_> = answered
                .map(|([id, _], n)| dialect.result(id, &format!(r#"did {{"n":{n}}}"#), false))
                .collect();
            assert_eq!((calls.len(), results), (2, answered), "{dialect:?} {first:?} {second:?}");
            let own: Vec<_> = [first, second].map(|id| json!(id)).into();
            let sent: Vec<_> = calls.into_iter().map(|[id, _]| id).collect();
            match dialect {
                Gemini => assert_eq!(sent, own, "an API that needs no ids is given none"),
                _ => assert!(
                    sent.iter().all(Value::is_string) && sent.iter().collect::<HashSet<_>>().len() == 2
                ),
            }
        }
    }
}

/// A call without a name is told as a failure, and the run goes on.
#[tokio::test]
async fn a_call_without_a_name_goes_back_with_one() {
    for (dialect, signed) in
        [OpenAi, Claude, Gemini].into_iter().flat_map(|dialect| [(dialect, false), (dialect, true)])
    {
        for name in [None, Some("")] {
            let asked = dialect.asks(&[(Some("a"), name, 1), (Some("b"), Some("echo"), 2)], signed);
            let body = dialect.second_request([document(&asked), document(&dialect.done())]).await;
            let [calls, results] = dialect.sent(&body);
            assert_eq!(calls, [[json!("a"), json!("unnamed")], [json!("b"), json!("echo")]], "{dialect:?}");
            let told = [
                dialect.result(&json!("a"), "ToolNotFoundError", true),
                dialect.result(&json!("b"), r#"did {"n":2}"#, false),
            ];
            assert_eq!(results, told, "{dialect:?}");
        }
    }
}

/// Arguments that are no JSON are told as a failure, and the run goes on.
#[tokio::test]
async fn arguments_that_cannot_be_read_are_told_and_the_run_goes_on() {
    for signed in [false, true] {
        let block = json!({"type": "tool_use", "id": "t1", "name": "echo", "input": {}});
        let thinking = json!({"type": "thinking", "thinking": "hm", "signature": "c2ln"});
        let started = |index: usize, block: &Value| json!({"type": "content_block_start", "index": index, "content_block": block});
        let arguments = json!({"type": "input_json_delta", "partial_json": r#"{"a": }"#});
        let mut events =
            vec![json!({"type": "message_start", "message": {"role": "assistant", "content": []}})];
        if signed {
            events.extend([started(0, &thinking), json!({"type": "content_block_stop", "index": 0})]);
        }
        events.extend([
            started(1, &block),
            json!({"type": "content_block_delta", "index": 1, "delta": arguments}),
            json!({"type": "content_block_stop", "index": 1}),
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
            json!({"type": "message_stop"}),
        ]);
        let body = Claude.second_request([streamed(&events), document(&Claude.done())]).await;
        let [calls, results] = Claude.sent(&body);
        assert_eq!(calls, [[json!("t1"), json!("echo")]]);
        assert_eq!(results, [Claude.result(&json!("t1"), "InputInvalidError", true)]);
        let text = body.to_string();
        assert!(text.contains("unreadable_arguments") && text.contains(r#"{\"a\": }"#), "{text}");
    }
}
