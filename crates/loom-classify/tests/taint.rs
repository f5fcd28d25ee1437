//! What a tainted value shows of itself, and how taint spreads.

use std::collections::BTreeMap;

use loom_classify::{Fenced, Origins, TaintOrigin, Tainted, TaintedStr};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::json;

const CANARY: &str = "canary-text";

fn plan() -> TaintOrigin {
    TaintOrigin::llm("plan")
}

/// D9: the one serde form of taint is the marked wrapper, owned or borrowed.
#[test]
fn serialize_writes_the_marked_wrapper_only() {
    let wrapper = r#"{"$tainted":{"origins":["llm:plan"],"value":"canary-text"}}"#;
    let owned = Tainted::new(CANARY.to_owned(), plan());
    assert_eq!(serde_json::to_string(&owned).unwrap(), wrapper);
    let origins = Origins::from(plan());
    assert_eq!(serde_json::to_string(&TaintedStr::new(CANARY, &origins)).unwrap(), wrapper);
    assert_eq!(serde_json::to_string(&owned.as_tainted_ref()).unwrap(), wrapper);
    assert_eq!(serde_json::to_string(&Fenced::from(owned.clone())).unwrap(), wrapper);
    assert_eq!(
        serde_json::to_value(&owned).unwrap(),
        serde_json::from_str::<serde_json::Value>(wrapper).unwrap()
    );
    assert_eq!(serde_json::from_str::<Tainted<String>>(wrapper).unwrap(), owned);
}

/// D9: the empty text of a reset or a done has the same wrapper.
#[test]
fn an_empty_text_is_wrapped_too() {
    let origins = Origins::from(plan());
    let json = serde_json::to_string(&TaintedStr::new("", &origins)).unwrap();
    assert_eq!(json, r#"{"$tainted":{"origins":["llm:plan"],"value":""}}"#);
}

/// D9: `Debug` shows origins and never content.
#[test]
fn debug_shows_the_origins_and_no_content() {
    let owned = Tainted::new(CANARY.to_owned(), plan());
    let both = owned.clone().join(Tainted::new(CANARY, TaintOrigin::new("mcp", "search")), |a, b| a + b);
    let origins = Origins::from(plan());
    assert_eq!(format!("{owned:?}"), "Tainted(llm:plan)");
    assert_eq!(format!("{owned:#?}"), "Tainted(llm:plan)");
    assert_eq!(format!("{both:?}"), "Tainted(llm:plan, mcp:search)");
    assert_eq!(format!("{:?}", TaintedStr::new(CANARY, &origins)), "TaintedStr(llm:plan)");
    assert_eq!(format!("{:?}", Fenced::from(owned)), "Fenced(llm:plan)");
    assert_eq!(format!("{:?}", Fenced::trusted(CANARY)), "Fenced(trusted)");
}

/// D9: only the wrapper is read back as taint, and the refusal quotes nothing.
#[test]
fn deserialize_reads_the_marked_wrapper_only() {
    let misfits = [
        json!(CANARY),
        json!({"canary-text": 1}),
        json!({"$tainted": CANARY}),
        json!({"$tainted": {"value": CANARY}}),
        json!({"$tainted": {"origins": ["llm:plan"]}}),
        json!({"$tainted": {"origins": ["canary-text"], "value": CANARY}}),
        json!({"$tainted": {"origins": ["llm:plan"], "value": 5}}),
        json!({"$tainted": {"origins": ["llm:plan"], "value": CANARY, "canary-text": 1}}),
        json!({"$tainted": {"origins": ["llm:plan"], "value": CANARY}, "canary-text": 1}),
        json!([[["llm:plan"], CANARY]]),
        json!([[["llm:plan"]], CANARY]),
    ];
    for misfit in misfits {
        let text = misfit.to_string();
        for refused in [
            serde_json::from_str::<Tainted<String>>(&text).unwrap_err(),
            serde_json::from_value::<Tainted<String>>(misfit).unwrap_err(),
        ] {
            assert!(!refused.to_string().contains("canary"), "{refused}");
        }
    }
    for twice in [
        r#"{"$tainted": {"origins": ["llm:plan"], "value": "a", "value": "b"}}"#,
        r#"{"$tainted": {"origins": ["llm:plan"], "value": "a", "origins": ["mcp:x"]}}"#,
        r#"{"$tainted": {"origins": ["llm:plan"], "value": "a"}, "$tainted": {"origins": ["llm:plan"], "value": "a"}}"#,
    ] {
        assert!(serde_json::from_str::<Tainted<String>>(twice).is_err(), "{twice}");
    }
}

/// D9: content tainted by nobody known is tainted all the same.
#[test]
fn a_tainted_value_has_an_origin_even_if_it_was_given_none() {
    let nobody = Tainted::new(1, Origins::none());
    assert_eq!(nobody.origins().to_string(), "unknown:unlabelled");
    assert!(!Fenced::from(nobody).is_trusted());
    let none = Origins::none();
    assert_eq!(
        serde_json::to_value(TaintedStr::new("x", &none)).unwrap(),
        json!({"$tainted": {"origins": ["unknown:unlabelled"], "value": "x"}})
    );
    let read: Tainted<u8> = serde_json::from_value(json!({"$tainted": {"origins": [], "value": 1}})).unwrap();
    assert_eq!(read.origins().to_string(), "unknown:unlabelled");
}

/// D9: whatever is derived from a tainted value has its origins.
#[test]
fn what_is_derived_from_taint_is_as_tainted() {
    let text = Tainted::new("1,2".to_owned(), plan());
    assert_eq!(text.clone().map(|text| text.len()).origins().to_string(), "llm:plan");
    let parsed = text.clone().try_map(|text| text.parse::<i32>()).unwrap_err();
    assert_eq!(parsed.origins().to_string(), "llm:plan");
    let items: Vec<_> =
        text.clone().map(|text| text.split(',').map(str::to_owned).collect::<Vec<_>>()).into_each().collect();
    assert_eq!(items.len(), 2);
    assert!(items.iter().all(|item| item.origins() == text.origins()));
    let other = Tainted::new(3, TaintOrigin::new("sandbox", "eval"));
    let both = text.clone().join(other, |text, number| text.len() + number);
    assert_eq!(both.origins().to_string(), "llm:plan, sandbox:eval");
    let more = text.join_origins(&TaintOrigin::new("sandbox", "eval").into());
    assert_eq!(more.origins().to_string(), "llm:plan, sandbox:eval");
    assert_eq!(more.as_tainted_str().to_owned(), more);
}

/// D9: a fence reads the bare form and the wrapper, refuses what only begins like the wrapper, and writes back what
/// it read.
#[test]
fn a_fence_reads_both_forms_and_writes_them_back() {
    #[derive(Serialize, Deserialize, Debug, PartialEq)]
    struct Message {
        role: String,
        content: Fenced<String>,
        extra: Option<Fenced<BTreeMap<String, u8>>>,
    }
    for json in [
        json!({"role": "user", "content": "hello", "extra": null}),
        json!({"role": "tool", "content": {"$tainted": {"origins": ["mcp:search"], "value": "hi"}}, "extra": {"a": 1}}),
    ] {
        let message: Message = serde_json::from_value(json.clone()).unwrap();
        assert_eq!(serde_json::to_value(&message).unwrap(), json);
        assert_eq!(message.content.is_trusted(), json["role"] == "user");
    }
    for misfit in [
        json!({"$tainted": {"origins": ["mcp:a"], "value": "canary"}, "more": 1}),
        json!({"$tainted": "canary"}),
        json!({"canary": 1}),
        json!(5),
    ] {
        let refused = serde_json::from_value::<Fenced<String>>(misfit).unwrap_err().to_string();
        assert!(refused.contains("fenced content") && !refused.contains("canary"), "{refused}");
    }
    assert!(serde_json::from_value::<Fenced<serde_json::Value>>(json!({"$tainted": 1})).is_err());
}

#[test]
fn a_delta_is_three_words_and_origins_are_two() {
    assert_eq!(size_of::<TaintedStr<'_>>(), 24);
    assert_eq!(size_of::<Origins>(), 16);
}

fn origins() -> impl Strategy<Value = Origins> {
    // Sets of up to 30 out of 60: a union of two is on both sides of the bound of 32.
    prop::collection::vec(0_u8..60, 0..30)
        .prop_map(|ids| ids.into_iter().map(|id| TaintOrigin::new("mcp", &format!("t{id}"))).collect())
}

proptest! {
    /// D9: joining origins is associative, commutative and idempotent, and loses no taint.
    #[test]
    fn joining_origins_does_not_depend_on_order(a in origins(), b in origins(), c in origins()) {
        prop_assert_eq!(a.join(&b).join(&c), a.join(&b.join(&c)));
        prop_assert_eq!(a.join(&b), b.join(&a));
        prop_assert_eq!(a.join(&a), a.clone());
        prop_assert_eq!(a.join(&Origins::none()), a.clone());
        let union = a.join(&b);
        for origin in a.iter().chain(&b) {
            prop_assert!(union.contains(origin));
        }
        prop_assert!(union.len() <= 32);
        prop_assert_eq!(union.is_empty(), a.is_empty() && b.is_empty());
        let listed: Vec<_> = union.iter().collect();
        prop_assert!(listed.is_sorted_by(|a, b| a < b));
    }

    /// D9: a tainted value reads back from its wrapper as it was.
    #[test]
    fn a_tainted_value_survives_its_wire_form(text in ".*", origins in origins()) {
        let tainted = Tainted::new(text, origins);
        let json = serde_json::to_string(&tainted).unwrap();
        prop_assert_eq!(serde_json::from_str::<Tainted<String>>(&json).unwrap(), tainted);
    }
}
