//! A tool's output as the text that the model is shown, with its taint kept.

use loom_classify::{Fenced, Origins, Tainted};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::Unanswerable;
use crate::limits::RESULT_BYTES_MAX;

/// The key of the marked wrapper, the serde form of tainted content.
const MARKER_KEY: &str = "$tainted";

/// The deepest output; a deeper one has no form that a model is shown.
const DEPTH_MAX: usize = 128;

/// The output as text: a plain text as it stands, anything else as JSON. Wrappers of tainted parts are taken off, and
/// their origins, with those of the arguments that were unwrapped, are those of the whole.
pub(super) fn text(output: &impl Serialize, mut origins: Origins) -> Result<Fenced<String>, Unanswerable> {
    let json = serde_json::to_value(output).map_err(|_| Unanswerable::NoText)?;
    let text = match bare(json, &mut origins, DEPTH_MAX)? {
        Value::String(text) => text,
        other => other.to_string(),
    };
    if text.len() > RESULT_BYTES_MAX {
        return Err(Unanswerable::TooLong);
    }
    Ok(if origins.is_empty() { Fenced::trusted(text) } else { Tainted::new(text, origins).into() })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Marked {
    #[serde(rename = "$tainted")]
    wrapper: Wrapper,
}

#[derive(Deserialize)]
struct Wrapper {
    origins: Origins,
    value: Value,
}

/// The value without wrappers. What only looks like one is refused: nobody could say what it is.
fn bare(value: Value, origins: &mut Origins, depth: usize) -> Result<Value, Unanswerable> {
    let depth = depth.checked_sub(1).ok_or(Unanswerable::NoText)?;
    match value {
        Value::Object(object) if object.contains_key(MARKER_KEY) => {
            let Marked { wrapper } =
                serde_json::from_value(Value::Object(object)).map_err(|_| Unanswerable::NoText)?;
            // Through a tainted value, so that a wrapper without origins counts as untrusted too.
            *origins = origins.join(Tainted::new((), wrapper.origins).origins());
            bare(wrapper.value, origins, depth)
        }
        Value::Object(object) => {
            let fields = object.into_iter().map(|(key, value)| Ok((key, bare(value, origins, depth)?)));
            fields.collect::<Result<_, _>>().map(Value::Object)
        }
        Value::Array(items) => {
            let items = items.into_iter().map(|item| bare(item, origins, depth));
            items.collect::<Result<_, _>>().map(Value::Array)
        }
        scalar => Ok(scalar),
    }
}

#[cfg(test)]
mod tests {
    use loom_classify::TaintOrigin;
    use serde_json::json;

    use super::*;

    fn tainted(text: &str, by: &str) -> Tainted<String> {
        Tainted::new(text.to_owned(), TaintOrigin::new("mcp", by))
    }

    fn text(output: &impl Serialize) -> Result<Fenced<String>, Unanswerable> {
        super::text(output, Origins::none())
    }

    fn shown(output: &impl Serialize) -> (String, String) {
        let text = text(output).unwrap();
        (text.expose_tainted().clone(), text.origins().to_string())
    }

    /// D9: what the model is shown of a tool's output keeps the origins of all that is tainted in it.
    #[test]
    fn the_taint_of_an_output_is_kept_and_joined() {
        assert_eq!(shown(&"plain"), ("plain".to_owned(), String::new()));
        assert_eq!(shown(&tainted("said", "a")), ("said".to_owned(), "mcp:a".to_owned()));
        let parts = json!({"n": 1, "parts": [tainted("x", "b"), {"deep": tainted("y", "a")}]});
        let expected = (r#"{"n":1,"parts":["x",{"deep":"y"}]}"#.to_owned(), "mcp:a, mcp:b".to_owned());
        assert_eq!(shown(&parts), expected);
        let nested = Tainted::new(json!([tainted("in", "b")]), TaintOrigin::new("mcp", "a"));
        assert_eq!(shown(&nested), (r#"["in"]"#.to_owned(), "mcp:a, mcp:b".to_owned()));
        let nobody = json!({"$tainted": {"origins": [], "value": "v"}});
        assert_eq!(shown(&nobody), ("v".to_owned(), "unknown:unlabelled".to_owned()));
    }

    /// D9: an object that only looks like the marked wrapper has no text.
    #[test]
    fn what_looks_like_a_wrapper_and_is_none_is_refused() {
        for alike in [
            json!({"$tainted": "x"}),
            json!({"$tainted": {"value": "x"}}),
            json!({"$tainted": {"origins": ["mcp:a"], "value": "x"}, "beside": 1}),
        ] {
            assert_eq!(text(&alike).unwrap_err(), Unanswerable::NoText, "{alike}");
        }
    }

    #[test]
    fn an_output_that_is_too_long_or_too_deep_is_refused_and_never_cut() {
        assert!(text(&"x".repeat(RESULT_BYTES_MAX)).is_ok());
        assert_eq!(text(&"x".repeat(RESULT_BYTES_MAX + 1)).unwrap_err(), Unanswerable::TooLong);
        let deep = (0..DEPTH_MAX).fold(json!(1), |inner, _| json!([inner]));
        assert_eq!(text(&deep).unwrap_err(), Unanswerable::NoText);
    }
}
