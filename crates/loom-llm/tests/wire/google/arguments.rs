//! Arguments that are streamed value by value.

use loom_llm::decoder::DecodeError;
use loom_llm::error::MalformedReply;
use loom_llm::google::{ARGUMENT_DEPTH_MAX, ARGUMENT_VALUES_MAX};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{call, calls, end, failure, finish, reply};

/// A call whose arguments come in these pieces, each in a chunk of its own.
fn streamed(values: &[Value]) -> Vec<Value> {
    let piece = |value: &Value| call(json!({"partialArgs": [value], "willContinue": true}));
    let begun = call(json!({"name": "f", "willContinue": true}));
    [begun].into_iter().chain(values.iter().map(piece)).chain([call(json!({})), end()]).collect()
}

fn arguments(values: &[Value]) -> String {
    let reply = reply(&streamed(values));
    assert_eq!(reply.tool_calls.len(), 1);
    reply.tool_calls[0].arguments.clone()
}

fn is_malformed(values: &[Value]) -> bool {
    let error = failure(&streamed(values));
    matches!(error, DecodeError::Malformed(MalformedReply::NotTheDialect))
}

#[test]
fn values_of_every_kind_become_json_in_order_of_first_appearance() {
    let arguments = arguments(&[
        json!({"jsonPath": "$.z.b[0].c", "stringValue": "a\"", "willContinue": true}),
        json!({"jsonPath": "$.z.b[0].c", "stringValue": "é\n"}),
        json!({"jsonPath": "$.z.b[1]", "numberValue": -1.5}),
        json!({"jsonPath": "$['a.b']", "boolValue": false}),
        json!({"jsonPath": "$.z.n", "nullValue": null}),
        json!({"jsonPath": "$.z.m", "nullValue": "NULL_VALUE"}),
        json!({"jsonPath": "$.a", "stringValue": ""}),
    ]);
    assert_eq!(arguments, r#"{"z":{"b":[{"c":"a\"é\n"},-1.5],"n":null,"m":null},"a.b":false,"a":""}"#);
}

/// A number is passed on as it was written, which no number type could do.
#[test]
fn numbers_keep_their_digits() {
    let chunk = |value: &str| {
        format!(
            "data: {{\"candidates\":[{{\"content\":{{\"parts\":[{{\"functionCall\":{{\"name\":\"f\",\"partialArgs\":\
             [{{\"jsonPath\":\"$.n\",\"numberValue\":{value}}}]}}}}]}},\"finishReason\":\"STOP\"}}]}}\n\n"
        )
    };
    for number in ["1.50", "12345678901234567890123", "1e999", "-0"] {
        let (chunks, error) = super::decoded([chunk(number).as_bytes()]);
        assert!(error.is_none(), "{error:?}");
        assert_eq!(super::fold(chunks).tool_calls[0].arguments, format!("{{\"n\":{number}}}"));
    }
}

#[test]
fn an_announced_value_comes_later_and_an_end_may_say_nothing_else() {
    let arguments = arguments(&[
        json!({"jsonPath": "$.a", "willContinue": true}),
        json!({"jsonPath": "$.b", "stringValue": "x", "willContinue": true}),
        json!({"jsonPath": "$.a", "stringValue": "y"}),
        json!({"jsonPath": "$.b"}),
        json!({"jsonPath": "$.a"}),
    ]);
    assert_eq!(arguments, r#"{"a":"y","b":"x"}"#);
}

#[test]
fn a_piece_that_cannot_be_placed_is_a_fault_and_never_dropped() {
    let text = |path: &str| json!({"jsonPath": path, "stringValue": "x"});
    for pieces in [
        vec![text("$")],
        vec![text("")],
        vec![text("a")],
        vec![text("$..a")],
        vec![text("$.*")],
        vec![text("$[0]")],
        vec![text("$.a[-1]")],
        vec![text("$.a[1]")],
        vec![text("$.a[999999999]")],
        vec![text("$.a"), text("$.a")],
        vec![text("$.a"), text("$.a.b")],
        vec![text("$.a"), text("$.a[0]")],
        vec![text("$.a.b"), text("$.a")],
        vec![text("$.a.b"), text("$.a[0]")],
        vec![text("$.a[0]"), text("$.a.b")],
        vec![json!({"stringValue": "x"})],
        vec![json!({"jsonPath": 7, "stringValue": "x"})],
        vec![json!({"jsonPath": "$.a", "stringValue": 7})],
        vec![json!({"jsonPath": "$.a", "numberValue": "7"})],
        vec![json!({"jsonPath": "$.a", "boolValue": 1})],
        vec![json!({"jsonPath": "$.a", "nullValue": true})],
        vec![json!({"jsonPath": "$.a", "stringValue": "x", "numberValue": 7})],
        vec![json!("$.a")],
    ] {
        assert!(is_malformed(&pieces), "{pieces:?}");
    }
    let of_another_type = [call(json!({"name": "f", "partialArgs": "x"})), end()];
    assert!(matches!(failure(&of_another_type), DecodeError::Malformed(MalformedReply::NotTheDialect)));
}

#[test]
fn arguments_are_bounded_in_depth_and_number() {
    let deep = |steps: usize| json!({"jsonPath": format!("${}", ".a".repeat(steps)), "numberValue": 1});
    assert!(!arguments(&[deep(ARGUMENT_DEPTH_MAX)]).is_empty());
    assert!(is_malformed(&[deep(ARGUMENT_DEPTH_MAX + 1)]));
    let many = |count: usize| -> Vec<Value> {
        let value = |at| json!({"jsonPath": format!("$.a[{at}]"), "numberValue": 1});
        let values: Vec<_> = (0..count).map(value).collect();
        let pieces = values.chunks(1000).map(|some| call(json!({"partialArgs": some, "willContinue": true})));
        let begun = call(json!({"name": "f", "willContinue": true}));
        [begun].into_iter().chain(pieces).chain([call(json!({})), end()]).collect()
    };
    // The list is a value too.
    assert!(reply(&many(ARGUMENT_VALUES_MAX - 1)).tool_calls[0].arguments.ends_with(",1]}"));
    assert!(matches!(
        failure(&many(ARGUMENT_VALUES_MAX)),
        DecodeError::Malformed(MalformedReply::NotTheDialect)
    ));
}

/// Complaint 13, cut arguments pass for whole ones: wherever the reply ends, only a call that ended is readable.
#[test]
fn a_call_that_its_reply_cut_off_has_arguments_that_break_off() {
    let open = |value: Value| call(json!({"partialArgs": [value], "willContinue": true}));
    let begun = call(json!({"name": "f", "willContinue": true}));
    let path =
        |text: &str, open: bool| json!({"jsonPath": "$.path", "stringValue": text, "willContinue": open});
    for (pieces, reason, expected) in [
        (vec![], "MAX_TOKENS", "{"),
        (vec![open(path("/tm", true))], "MAX_TOKENS", r#"{"path":"/tm""#),
        (vec![open(path("/tm", true))], "STOP", r#"{"path":"/tm""#),
        (vec![open(path("/tmp", false))], "MAX_TOKENS", r#"{"path":"/tmp""#),
        (vec![open(path("/tm", true)), call(json!({}))], "STOP", r#"{"path":"/tm""#),
        (vec![open(json!({"jsonPath": "$.path"})), call(json!({}))], "STOP", "{"),
        (vec![call(json!({"args": {"path": "/"}, "willContinue": true}))], "MAX_TOKENS", r#"{"path":"/""#),
    ] {
        let chunks: Vec<_> = [begun.clone()].into_iter().chain(pieces).chain([finish(reason)]).collect();
        let reply = reply(&chunks);
        assert_eq!(calls(&reply), [("", "f", expected)], "{reason}");
        let refused = reply.tool_calls[0].read_arguments().unwrap_err();
        assert_eq!(refused, loom_llm::ToolArgumentsError::CutOff, "{expected}");
    }
}

/// A reply that ended by itself is whole, also where a middle box dropped the empty piece that ends a call.
#[test]
fn a_call_that_lost_its_last_piece_ends_with_a_reply_that_ended_by_itself() {
    let begun = || call(json!({"name": "f", "willContinue": true}));
    let value = |text: &str| {
        call(json!({"partialArgs": [{"jsonPath": "$.a", "stringValue": text}], "willContinue": true}))
    };
    assert_eq!(calls(&reply(&[begun(), end()])), [("", "f", "")]);
    let both = reply(&[begun(), value("1"), begun(), value("2"), end()]);
    assert_eq!(calls(&both), [("", "f", r#"{"a":"1"}"#), ("", "f", r#"{"a":"2"}"#)]);
    let last_says_so = json!({"partialArgs": [{"jsonPath": "$.a", "numberValue": 1}]});
    assert_eq!(
        calls(&reply(&[begun(), call(last_says_so), finish("MAX_TOKENS")])),
        [("", "f", r#"{"a":1}"#)]
    );
}

/// The most cuts in one text.
const CUTS_MAX: usize = 8;

/// A tree whose containers are not empty: the wire has no form for empty ones.
#[derive(Clone, Debug)]
enum Tree {
    Scalar(String),
    Text(String),
    List(Vec<Tree>),
    Object(Vec<(String, Tree)>),
}

fn tree() -> impl Strategy<Value = Tree> {
    let scalar = prop_oneof!["null", "true", "false", "-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,4})?"];
    let leaf = prop_oneof![scalar.prop_map(Tree::Scalar), ".{0,12}".prop_map(Tree::Text)];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(Tree::List),
            object(inner).prop_map(Tree::Object),
        ]
    })
}

fn object(inner: impl Strategy<Value = Tree>) -> impl Strategy<Value = Vec<(String, Tree)>> {
    let name = prop_oneof!["[a-z]{1,3}", ".{0,6}", "[.\\[\\]'\"\\\\$*é]{1,4}"];
    prop::collection::vec((name, inner), 1..4).prop_map(|mut members| {
        let mut seen = std::collections::HashSet::new();
        members.retain(|(name, _)| seen.insert(name.clone()));
        members
    })
}

impl Tree {
    fn json(&self) -> String {
        let joined = |items: Vec<String>| items.join(",");
        match self {
            Self::Scalar(written) => written.clone(),
            Self::Text(text) => json!(text).to_string(),
            Self::List(items) => format!("[{}]", joined(items.iter().map(Self::json).collect())),
            Self::Object(members) => object_json(members),
        }
    }

    /// The values in document order, texts cut where `dice` says; each as it is written on the wire.
    fn flatten(&self, path: &str, dice: &mut impl FnMut(usize) -> usize, pieces: &mut Vec<String>) {
        let path_json = json!(path).to_string();
        match self {
            Self::Scalar(written) => {
                let kind = match written.as_str() {
                    "null" => "nullValue",
                    "true" | "false" => "boolValue",
                    _ => "numberValue",
                };
                pieces.push(format!("{{\"jsonPath\":{path_json},\"{kind}\":{written}}}"));
            }
            Self::Text(text) => {
                let mut rest = text.as_str();
                for cuts in 0.. {
                    let letters = if cuts < CUTS_MAX { dice(rest.chars().count() + 1) } else { usize::MAX };
                    let at = rest.char_indices().nth(letters).map_or(rest.len(), |(at, _)| at);
                    let (piece, after) = rest.split_at(at);
                    let more = !after.is_empty() || (cuts < CUTS_MAX && dice(3) == 0);
                    let piece = json!(piece);
                    pieces.push(format!(
                        "{{\"jsonPath\":{path_json},\"stringValue\":{piece},\"willContinue\":{more}}}"
                    ));
                    rest = after;
                    if !more {
                        break;
                    }
                }
            }
            Self::List(items) => {
                for (at, item) in items.iter().enumerate() {
                    item.flatten(&format!("{path}[{at}]"), dice, pieces);
                }
            }
            Self::Object(members) => {
                for (name, member) in members {
                    member.flatten(&step(path, name, dice(3)), dice, pieces);
                }
            }
        }
    }
}

fn object_json(members: &[(String, Tree)]) -> String {
    let members = members.iter().map(|(name, tree)| format!("{}:{}", json!(name), tree.json()));
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}

/// The path to a member in one of its spellings.
fn step(path: &str, name: &str, spelling: usize) -> String {
    let plain = !name.is_empty() && name.chars().all(|letter| letter.is_ascii_lowercase());
    let double = json!(name).to_string();
    match spelling {
        0 if plain => format!("{path}.{name}"),
        1 => format!("{path}[{double}]"),
        _ => {
            let inner = double.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap();
            format!("{path}['{}']", inner.replace("\\\"", "\"").replace('\'', "\\'"))
        }
    }
}

proptest! {
    /// Any arguments, however their texts are cut and their pieces are grouped, come back as the same JSON, keys in
    /// their order.
    #[test]
    fn streamed_arguments_come_back_as_the_same_json(
        members in object(tree()),
        rolls in prop::collection::vec(any::<u16>(), 1..64),
    ) {
        let mut roll = rolls.iter().cycle();
        let mut dice = |sides: usize| usize::from(*roll.next().unwrap()) % sides;
        let mut pieces = Vec::new();
        Tree::Object(members.clone()).flatten("$", &mut dice, &mut pieces);
        let mut body = String::new();
        let mut say = |call: &str| {
            let part = format!("{{\"candidates\":[{{\"content\":{{\"parts\":[{{\"functionCall\":{call}}}]}}}}]}}");
            body.push_str(&format!("data: {part}\n\n"));
        };
        say("{\"name\":\"f\",\"willContinue\":true}");
        let mut rest = pieces.as_slice();
        while !rest.is_empty() {
            let (some, after) = rest.split_at(1 + dice(rest.len()));
            say(&format!("{{\"partialArgs\":[{}],\"willContinue\":true}}", some.join(",")));
            rest = after;
        }
        say("{}");
        body.push_str(&format!("data: {}\n\n", end()));
        let (chunks, error) = super::decoded([body.as_bytes()]);
        prop_assert!(error.is_none(), "{:?}", error);
        let arguments = super::fold(chunks).tool_calls.remove(0).arguments;
        prop_assert_eq!(&arguments, &object_json(&members));
        let equal = serde_json::from_str::<Value>(&arguments).unwrap();
        prop_assert_eq!(equal, serde_json::from_str::<Value>(&object_json(&members)).unwrap());
    }
}
