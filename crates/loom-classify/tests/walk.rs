//! What a visitor is shown of typed values and of JSON.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::ControlFlow;

use loom_classify::walk::{COLLECTED_BYTES_MAX, DEPTH_MAX, Scalar, Visit, WalkError, walk};
use loom_classify::{Fenced, Origins, TaintOrigin, Tainted, TaintedStr};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

/// Writes down what it is shown: `k:` key, `f:` field, `t:` text, `b:` bytes, `o:` origin, brackets for the rest.
#[derive(Default)]
struct Transcript(String);

impl Transcript {
    fn note(&mut self, event: impl fmt::Display) -> ControlFlow<()> {
        if !self.0.is_empty() {
            self.0.push(' ');
        }
        self.0 += &event.to_string();
        ControlFlow::Continue(())
    }
}

impl Visit for Transcript {
    fn key(&mut self, key: &str) -> ControlFlow<()> {
        self.note(format_args!("k:{key}"))
    }
    fn field(&mut self, name: &'static str) -> ControlFlow<()> {
        self.note(format_args!("f:{name}"))
    }
    fn text(&mut self, text: &str) -> ControlFlow<()> {
        self.note(format_args!("t:{text}"))
    }
    fn bytes(&mut self, bytes: &[u8]) -> ControlFlow<()> {
        self.note(format_args!("b:{bytes:?}"))
    }
    fn scalar(&mut self, scalar: Scalar) -> ControlFlow<()> {
        self.note(scalar)
    }
    fn enter(&mut self) -> ControlFlow<()> {
        self.note("{")
    }
    fn leave(&mut self) -> ControlFlow<()> {
        self.note("}")
    }
    fn fence_enter(&mut self) -> ControlFlow<()> {
        self.note("<fence")
    }
    fn fence_leave(&mut self) -> ControlFlow<()> {
        self.note("fence>")
    }
    fn taint_enter(&mut self) -> ControlFlow<()> {
        self.note("<taint")
    }
    fn taint_leave(&mut self) -> ControlFlow<()> {
        self.note("taint>")
    }
    fn origin(&mut self, origin: &str) -> ControlFlow<()> {
        self.note(format_args!("o:{origin}"))
    }
}

#[track_caller]
#[expect(clippy::unwrap_used, reason = "a check that the tests share may fail like a test")]
fn check<T: Serialize + ?Sized>(value: &T, expected: &str) {
    let mut transcript = Transcript::default();
    walk(value, &mut transcript).unwrap();
    assert_eq!(transcript.0, expected);
}

#[derive(Serialize)]
enum Shape {
    Unit,
    Newtype(u8),
    Tuple(u8, char),
    Struct { side: i128 },
}

#[test]
fn json_and_typed_values_are_shown_in_the_order_of_json() {
    check(&json!({"a": [1, null, "x"], "b": {"c": true}}), "{ k:a { 1 null t:x } k:b { k:c true } }");

    #[derive(Serialize)]
    struct Typed {
        name: &'static str,
        #[serde(rename = "kind")]
        shape: Shape,
        maybe: Option<(f32, u128)>,
        #[serde(skip)]
        _hidden: u8,
    }
    let typed = Typed { name: "n", shape: Shape::Struct { side: -1 }, maybe: Some((0.5, 7)), _hidden: 1 };
    check(&typed, "{ f:name t:n f:kind { f:Struct { f:side -1 } } f:maybe { 0.5 7 } }");
}

#[test]
fn the_name_of_a_variant_is_a_field() {
    check(&Shape::Unit, "f:Unit");
    check(&Shape::Newtype(1), "{ f:Newtype 1 }");
    check(&Shape::Tuple(1, 'é'), "{ f:Tuple { 1 t:é } }");
}

#[test]
fn a_key_that_is_text_is_a_key_and_any_other_is_a_value() {
    check(&BTreeMap::from([("k", 1)]), "{ k:k 1 }");
    check(&BTreeMap::from([('c', 1)]), "{ k:c 1 }");
    check(&BTreeMap::from([(Some("k"), "v")]), "{ k:k t:v }");
    check(&BTreeMap::from([(7, "v")]), "{ 7 t:v }");
    check(&BTreeMap::from([(("a", 1), "v")]), "{ { t:a 1 } t:v }");
    check(&BTreeMap::from([(std::net::Ipv4Addr::LOCALHOST, 1)]), "{ k:127.0.0.1 1 }");
}

/// D9: the wrapper of a typed tainted value is not content, that in a JSON value is.
#[test]
fn our_own_wrappers_are_told_from_data_that_looks_like_them() {
    let tainted = Tainted::new("x".to_owned(), TaintOrigin::llm("plan"));
    let origins = Origins::from(TaintOrigin::llm("plan"));
    check(&tainted, "<taint o:llm:plan t:x taint>");
    check(&TaintedStr::new("x", &origins), "<taint o:llm:plan t:x taint>");
    check(&Fenced::from(tainted.clone()), "<fence o:llm:plan t:x fence>");
    check(&Fenced::trusted(["x"]), "<fence { t:x } fence>");
    check(
        &serde_json::to_value(&tainted).unwrap(),
        "{ k:$tainted { k:origins { t:llm:plan } k:value t:x } }",
    );

    #[derive(Serialize)]
    #[serde(rename = "$loom/fenced")]
    struct Forged(Tainted<String>);
    check(&Forged(tainted), "<taint o:llm:plan t:x taint>");
}

/// Writes its text in pieces, as `Display` types do.
struct Pieces(usize, &'static str);

impl fmt::Display for Pieces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (0..self.0).try_for_each(|_| f.write_str(self.1))
    }
}

impl Serialize for Pieces {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[test]
fn a_displayed_value_is_one_text_whatever_its_length() {
    for pieces in [0, 1, 60, 63, 64, 65, 1000] {
        check(&Pieces(pieces, "é·"), &format!("t:{}", "é·".repeat(pieces)));
    }
    let long: &'static str = "0123456789abcdef".repeat(65_536).leak();
    let fits = COLLECTED_BYTES_MAX / long.len();
    assert_eq!(walk(&Pieces(fits, long), &mut Transcript::default()), Ok(()));
    assert_eq!(walk(&Pieces(fits + 1, long), &mut Transcript::default()), Err(WalkError::TextTooLong));
}

#[test]
fn a_display_that_fails_is_an_error_and_not_a_panic() {
    struct Broken;
    impl fmt::Display for Broken {
        fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
            Err(fmt::Error)
        }
    }
    impl Serialize for Broken {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_str(self)
        }
    }
    assert_eq!(walk(&Broken, &mut Transcript::default()), Err(WalkError::Failed));
}

#[test]
fn a_serialize_that_fails_is_a_typed_error_without_its_message() {
    struct Refuses;
    impl Serialize for Refuses {
        fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("canary"))
        }
    }
    let refused = walk(&[Refuses], &mut Transcript::default()).unwrap_err();
    assert_eq!(refused, WalkError::Failed);
    assert!(!refused.to_string().contains("canary"));
}

fn nested(levels: u32) -> Value {
    (0..levels).fold(json!(1), |inner, _| json!([inner]))
}

#[test]
fn nesting_is_bounded_in_containers_and_in_wrappers() {
    assert_eq!(walk(&nested(DEPTH_MAX), &mut Transcript::default()), Ok(()));
    let too_deep = Err(WalkError::TooDeep { limit: DEPTH_MAX });
    assert_eq!(walk(&nested(DEPTH_MAX + 1), &mut Transcript::default()), too_deep);

    #[derive(Serialize)]
    struct Onion(Option<Box<Onion>>);
    let onion = |layers| (0..layers).fold(Onion(None), |inner, _| Onion(Some(Box::new(inner))));
    assert_eq!(walk(&onion(63), &mut Transcript::default()), Ok(()));
    assert_eq!(walk(&onion(64), &mut Transcript::default()), too_deep);
    // Siblings do not add up.
    assert_eq!(walk(&vec![Some(1); 1000], &mut Transcript::default()), Ok(()));
    assert_eq!(walk(&vec![[1]; 1000], &mut Transcript::default()), Ok(()));
}

#[test]
fn a_visitor_may_end_the_walk() {
    struct Until(u32);
    impl Visit for Until {
        fn scalar(&mut self, _: Scalar) -> ControlFlow<()> {
            self.0 -= 1;
            if self.0 == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
    let visit: &mut dyn Visit = &mut Until(3);
    assert_eq!(walk(&[1, 2], visit), Ok(()));
    assert_eq!(walk(&[1, 2], visit), Err(WalkError::Stopped));
}

#[test]
fn raw_json_text_is_refused_and_a_number_kept_as_text_is_not() {
    let raw = serde_json::value::RawValue::from_string("[1]".to_owned()).unwrap();
    assert_eq!(walk(&("a", raw), &mut Transcript::default()), Err(WalkError::NotWalkable));

    // What serde_json writes for a number when its feature `arbitrary_precision` is on.
    #[derive(Serialize)]
    #[serde(rename = "$serde_json::private::Number")]
    struct Number {
        #[serde(rename = "$serde_json::private::Number")]
        digits: &'static str,
    }
    check(&Number { digits: "1e400" }, "t:1e400");
}
