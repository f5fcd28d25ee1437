//! Streams in the shapes of servers of which there are no recordings, each with what makes it odd.

use loom_llm::{Collected, Usage};
use serde_json::json;

use super::{calls, decoded, fold};

/// The reply that a body is, in single bytes and at once.
fn reply(body: &str) -> Collected {
    let (chunks, error) = decoded([body.as_bytes()]);
    assert!(error.is_none(), "{error:?}");
    assert_eq!(decoded(body.as_bytes().chunks(1)).0, chunks);
    fold(chunks)
}

fn usage(reply: &Collected) -> (Option<u64>, Option<u64>) {
    let Usage { input_tokens, output_tokens } = reply.usage.unwrap();
    (input_tokens, output_tokens)
}

/// llama.cpp: a first delta of `null`, timings, usage in an event without choices.
#[test]
fn llama_cpp() {
    let said = reply(
        "data: {\"choices\":[{\"finish_reason\":null,\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":null}}],\"created\":1,\"id\":\"chatcmpl-x\",\"model\":\"m\",\"object\":\"chat.completion.chunk\"}\n\n\
         data: {\"choices\":[{\"finish_reason\":null,\"index\":0,\"delta\":{\"content\":\" river\"}}],\"object\":\"chat.completion.chunk\"}\n\n\
         data: {\"choices\":[{\"finish_reason\":\"length\",\"index\":0,\"delta\":{}}],\"object\":\"chat.completion.chunk\"}\n\n\
         data: {\"choices\":[],\"object\":\"chat.completion.chunk\",\"usage\":{\"completion_tokens\":1,\"prompt_tokens\":12,\"total_tokens\":13},\"timings\":{\"cache_n\":0,\"prompt_n\":12,\"prompt_ms\":40.1,\"predicted_n\":1}}\n\n\
         data: [DONE]\n\n",
    );
    assert_eq!((said.text.as_str(), said.finish_reason.as_deref()), (" river", Some("length")));
    assert_eq!(usage(&said), (Some(12), Some(1)));
}

/// Ollama: an empty finish reason with every piece, the role too, and whole tool calls that all have the index 0.
#[test]
fn ollama() {
    let said = reply(
        "data: {\"id\":\"chatcmpl-1\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\",\"reasoning\":\"Two\"},\"finish_reason\":\"\"}]}\n\n\
         data: {\"id\":\"chatcmpl-1\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"id\":\"call_a\",\"index\":0,\"type\":\"function\",\"function\":{\"name\":\"look\",\"arguments\":\"{\\\"at\\\":\\\"north\\\"}\"}}]},\"finish_reason\":\"\"}]}\n\n\
         data: {\"id\":\"chatcmpl-1\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"id\":\"call_b\",\"index\":0,\"type\":\"function\",\"function\":{\"name\":\"look\",\"arguments\":\"{\\\"at\\\":\\\"south\\\"}\"}}]},\"finish_reason\":\"\"}]}\n\n\
         data: {\"id\":\"chatcmpl-1\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":\"tool_calls\"}]}\n\n\
         data: [DONE]\n\n",
    );
    assert_eq!(
        calls(&said),
        [("call_a", "look", "{\"at\":\"north\"}"), ("call_b", "look", "{\"at\":\"south\"}")]
    );
    assert_eq!((said.reasoning.as_str(), said.finish_reason.as_deref()), ("Two", Some("tool_calls")));
}

/// Gemini in the dialect: whole calls without an index, no role, `usage` with every event, a signature on the call.
#[test]
fn gemini() {
    let said = reply(
        "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"extra_content\":{\"google\":{\"thought_signature\":\"c2ln\"}},\"function\":{\"arguments\":\"{\\\"n\\\":1}\",\"name\":\"f\"},\"id\":\"function-call-1\",\"type\":\"function\"}]},\"index\":0}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":4,\"total_tokens\":99}}\n\n\
         data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"arguments\":\"{\\\"n\\\":2}\",\"name\":\"f\"},\"id\":\"\",\"type\":\"function\"}]},\"finish_reason\":\"stop\",\"index\":0}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":9}}\n\n\
         data: [DONE]\n\n",
    );
    assert_eq!(calls(&said), [("function-call-1", "f", "{\"n\":1}"), ("", "f", "{\"n\":2}")]);
    assert_eq!(usage(&said), (Some(3), Some(9)));
    let signed = json!({"tool_calls": [{"extra_content": {"google": {"thought_signature": "c2ln"}}}, {}]});
    assert_eq!(said.turn.unwrap().content, signed);
}

/// Perplexity: the text so far as a message beside each delta, and an end with the whole of it.
#[test]
fn perplexity_says_everything_twice() {
    let said = reply(
        "data: {\"choices\":[{\"index\":0,\"finish_reason\":null,\"message\":{\"role\":\"assistant\",\"content\":\"Hi\"},\"delta\":{\"role\":\"assistant\",\"content\":\"Hi\"}}],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1}}\r\n\r\n\
         data: {\"choices\":[{\"index\":0,\"finish_reason\":null,\"message\":{\"role\":\"assistant\",\"content\":\"Hi all\"},\"delta\":{\"content\":\" all\"}}],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}}\r\n\r\n\
         data: {\"choices\":[{\"index\":0,\"finish_reason\":\"stop\",\"message\":{\"role\":\"assistant\",\"content\":\"Hi all\"},\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}],\"object\":\"chat.completion.done\"}\r\n\r\n\
         data: {\"choices\":[{\"index\":0,\"finish_reason\":\"stop\",\"message\":{\"role\":\"assistant\",\"content\":\"Hi all\"}}],\"object\":\"chat.completion\"}\r\n\r\n",
    );
    assert_eq!((said.text.as_str(), usage(&said)), ("Hi all", (Some(1), Some(2))));
    let whole = reply(
        "{\"choices\":[{\"index\":0,\"finish_reason\":\"stop\",\"message\":{\"role\":\"assistant\",\"content\":\"Hi all\"},\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}",
    );
    assert_eq!(whole.text, "Hi all");
}

/// OpenRouter: comments before the first event, reasoning as text and as blocks, the cost in the usage.
#[test]
fn openrouter() {
    let said = reply(
        ": OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\n\
         data: {\"id\":\"gen-1\",\"provider\":\"P\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\",\"reasoning\":\"hm\",\"reasoning_details\":[{\"type\":\"reasoning.text\",\"text\":\"hm\",\"format\":\"v1\",\"index\":0}]},\"finish_reason\":null,\"native_finish_reason\":null}]}\n\n\
         data: {\"id\":\"gen-1\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\",\"reasoning\":null,\"reasoning_details\":[{\"type\":\"reasoning.text\",\"signature\":\"c2ln\",\"format\":\"v1\",\"index\":0}]}}]}\n\n\
         data: {\"id\":\"gen-1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\",\"tool_calls\":[{\"index\":0,\"id\":\"toolu_1\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"\"}}]}}]}\n\n\
         : OPENROUTER PROCESSING\n\n\
         data: {\"id\":\"gen-1\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"type\":\"function\",\"function\":{\"arguments\":\"{}\"}}]},\"finish_reason\":\"tool_calls\",\"native_finish_reason\":\"tool_use\"}]}\n\n\
         data: {\"id\":\"gen-1\",\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":6,\"cost\":0.001,\"is_byok\":false}}\n\ndata: [DONE]\n\n",
    );
    assert_eq!((said.reasoning.as_str(), calls(&said)), ("hm", vec![("toolu_1", "f", "{}")]));
    assert_eq!(usage(&said), (Some(5), Some(6)));
    let turn = said.turn.unwrap().content;
    let block =
        json!({"type": "reasoning.text", "text": "hm", "signature": "c2ln", "format": "v1", "index": 0});
    assert_eq!(turn, json!({"reasoning": "hm", "reasoning_details": [block]}));
}

/// Azure: filter results before any choice, and an end by the filter.
#[test]
fn azure_with_its_filter() {
    let said = reply(
        "data: {\"choices\":[],\"created\":0,\"id\":\"\",\"model\":\"\",\"object\":\"\",\"prompt_filter_results\":[{\"prompt_index\":0,\"content_filter_results\":{}}]}\n\n\
         data: {\"choices\":[{\"delta\":{\"content\":\"Well\",\"role\":\"assistant\"},\"finish_reason\":null,\"index\":0,\"content_filter_results\":{\"violence\":{\"filtered\":false}}}]}\n\n\
         data: {\"choices\":[{\"content_filter_offsets\":{\"check_offset\":1},\"finish_reason\":null,\"index\":0}]}\n\n\
         data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"content_filter\",\"index\":0,\"content_filter_results\":{\"violence\":{\"filtered\":true}}}]}\n\ndata: [DONE]\n\n",
    );
    assert_eq!((said.text.as_str(), said.finish_reason.as_deref()), ("Well", Some("content_filter")));
}

/// vLLM: an empty id with the pieces of a call, `reasoning` set to null, `stop_reason` beside the finish reason; and
/// lmdeploy's version of it, with the index 0 for both calls.
#[test]
fn vllm_and_lmdeploy() {
    for second in [1, 0] {
        let said = reply(&format!(
            "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"role\":\"assistant\",\"content\":\"\",\"reasoning\":null,\"reasoning_content\":null}},\"logprobs\":null,\"finish_reason\":null}}],\"prompt_token_ids\":null}}\n\n\
             data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"tool_calls\":[{{\"id\":\"chatcmpl-tool-a\",\"type\":\"function\",\"index\":0,\"function\":{{\"name\":\"f\"}}}}]}},\"token_ids\":null}}]}}\n\n\
             data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"tool_calls\":[{{\"id\":\"\",\"index\":0,\"function\":{{\"name\":null,\"arguments\":\"{{\\\"n\\\":1}}\"}}}}]}}}}]}}\n\n\
             data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"tool_calls\":[{{\"id\":\"chatcmpl-tool-b\",\"type\":\"function\",\"index\":{second},\"function\":{{\"name\":\"f\",\"arguments\":\"\"}}}}]}}}}]}}\n\n\
             data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"tool_calls\":[{{\"id\":\"\",\"index\":{second},\"function\":{{\"arguments\":\"{{\\\"n\\\":2}}\"}}}}]}}}}]}}\n\n\
             data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"\"}},\"finish_reason\":\"tool_calls\",\"stop_reason\":128008}}]}}\n\ndata: [DONE]\n\n"
        ));
        let expected = [("chatcmpl-tool-a", "f", "{\"n\":1}"), ("chatcmpl-tool-b", "f", "{\"n\":2}")];
        assert_eq!(calls(&said), expected, "second call at index {second}");
        assert_eq!(said.turn, None);
    }
}

/// Moonshot, Fireworks and Together: usage inside the last choice, text beside the delta, reasons of their own.
#[test]
fn usage_in_a_choice_and_fields_of_another_protocol() {
    let said = reply(
        "data: {\"choices\":[{\"index\":0,\"text\":\"Hi\",\"logprobs\":null,\"finish_reason\":null,\"seed\":null,\"delta\":{\"token_id\":9,\"role\":\"assistant\",\"content\":\"Hi\",\"tool_calls\":null}}],\"usage\":null}\n\n\
         data: {\"choices\":[{\"index\":0,\"text\":\"\",\"delta\":{\"token_id\":128009,\"content\":\"\"},\"finish_reason\":\"eos\",\"usage\":{\"prompt_tokens\":4,\"completion_tokens\":2,\"cached_tokens\":4}}]}\n\ndata: [DONE]\n\n",
    );
    assert_eq!((said.text.as_str(), usage(&said)), ("Hi", (Some(4), Some(2))));
}

/// Cloudflare: arguments as an object and a response field beside the choices.
#[test]
fn arguments_as_an_object() {
    let said = reply(
        "data: {\"response\":null,\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"x\",\"function\":{\"name\":\"f\",\"arguments\":{ \"a\": [1, 2] }}}]},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n",
    );
    assert_eq!(calls(&said), [("x", "f", "{ \"a\": [1, 2] }")]);
}
