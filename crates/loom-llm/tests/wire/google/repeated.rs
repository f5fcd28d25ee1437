//! Fields that come twice: the last value that is one counts, and none ends the reply.

use loom_llm::{Collected, Usage};

use super::{calls, decoded, fold};

/// The reply of one object with those fields, however it is wrapped.
fn replies(fields: &str) -> [Collected; 2] {
    let whole = format!("{{{fields}}}");
    [format!("data: {whole}\n\n"), whole].map(|body| {
        let (chunks, error) = decoded([body.as_bytes()]);
        assert!(error.is_none(), "{error:?} of {body}");
        fold(chunks)
    })
}

fn ended(content: &str) -> [Collected; 2] {
    replies(&format!(r#""candidates":[{{"content":{content},"finishReason":"STOP"}}]"#))
}

/// D3: the last figure of each kind, as in a stream.
#[test]
fn of_usage_that_comes_twice_the_last_one_counts() {
    for usage in [
        r#""usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":9},
           "usageMetadata":{"promptTokenCount":1,"promptTokenCount":2,"candidatesTokenCount":3}"#,
        r#""usageMetadata":{"promptTokenCount":2,"candidatesTokenCount":3,"candidatesTokenCount":null},"usageMetadata":null"#,
        r#""usageMetadata":null,"usageMetadata":{"promptTokenCount":2,"candidatesTokenCount":3}"#,
    ] {
        let usage = usage.replace('\n', "");
        for reply in replies(&format!(r#""candidates":[{{"finishReason":"STOP"}}],{usage}"#)) {
            assert_eq!(reply.usage, Some(Usage::new(2, 3)), "{usage}");
        }
    }
}

#[test]
fn of_candidates_and_their_fields_that_come_twice_the_last_ones_count() {
    let candidate =
        r#"{"content":{"parts":[{"text":"x"}]},"content":{"parts":[],"parts":[{"text":"a"}],"parts":null},
        "finishReason":"MAX_TOKENS","finishReason":"STOP","finishReason":null}"#
            .replace('\n', "");
    for candidates in [
        format!(r#""candidates":[{{"finishReason":"SAFETY"}}],"candidates":[{candidate}]"#),
        format!(r#""candidates":[{candidate}],"candidates":null"#),
    ] {
        for reply in replies(&candidates) {
            assert_eq!((reply.text.as_str(), reply.finish_reason.as_deref()), ("a", Some("STOP")));
        }
    }
    for blocked in
        replies(r#""promptFeedback":{"blockReason":"OTHER","blockReason":"SAFETY"},"promptFeedback":null"#)
    {
        assert_eq!(blocked.finish_reason.as_deref(), Some("SAFETY"));
    }
}

/// D20: text and arguments of a part with repeated fields are those of their last values.
#[test]
fn of_the_fields_of_a_part_that_come_twice_the_last_ones_count() {
    for text in [r#"{"text":"x","text":"a"}"#, r#"{"text":"a","text":null}"#] {
        for reply in ended(&format!(r#"{{"parts":[{text}]}}"#)) {
            assert_eq!(reply.text, "a", "{text}");
        }
    }
    for call in [
        r#"{"name":"x","name":"f","args":{},"args":{"n":null},"args":null}"#,
        r#"{"name":"f","partialArgs":[{"jsonPath":"$.x","jsonPath":"$.n","nullValue":"NULL_VALUE","nullValue":null}]}"#,
        r#"{"name":"f","partialArgs":[{"jsonPath":"$.n","nullValue":null,"nullValue":null,"stringValue":null}]}"#,
    ] {
        for reply in ended(&format!(r#"{{"parts":[{{"functionCall":{call}}}]}}"#)) {
            assert_eq!(calls(&reply), [("", "f", r#"{"n":null}"#)], "{call}");
        }
    }
    for value in [
        r#""stringValue":"x","stringValue":"a""#,
        r#""stringValue":"a","stringValue":null"#,
        r#""stringValue":"a","numberValue":null,"nullValue":null"#,
    ] {
        let call = format!(r#"{{"name":"f","partialArgs":[{{"jsonPath":"$.n",{value}}}]}}"#);
        for reply in ended(&format!(r#"{{"parts":[{{"functionCall":{call}}}]}}"#)) {
            assert_eq!(calls(&reply), [("", "f", r#"{"n":"a"}"#)], "{value}");
        }
    }
}
