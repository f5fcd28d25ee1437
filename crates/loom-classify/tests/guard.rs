//! The request guard on evasions that were thought of.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};

use loom_classify::guard::{RequestError, RequestLimits, guard_request};
use loom_classify::walk::WalkError;
use loom_classify::{Fenced, Origins, TaintOrigin, Tainted, TaintedStr};
use serde::ser::{SerializeMap, SerializeSeq, SerializeStruct};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

fn taint() -> Tainted<String> {
    Tainted::new("canary".to_owned(), TaintOrigin::llm("plan"))
}

fn guard<T: Serialize + ?Sized>(value: &T) -> Result<Origins, RequestError> {
    guard_request(value, &RequestLimits::default()).map(|guarded| guarded.fenced)
}

#[track_caller]
#[expect(clippy::panic, reason = "a check that the tests share may fail like a test")]
fn refused_at<T: Serialize + ?Sized>(value: &T, path: &str, origins: &str) {
    let Err(RequestError::Untrusted(refused)) = guard(value) else { panic!("expected a refusal") };
    assert_eq!((refused.path(), refused.origins().to_string().as_str()), (path, origins));
    assert!(!refused.to_string().contains("canary"), "{refused}");
}

/// D9: a typed tainted value is refused wherever it stands, with its place and its origins.
#[test]
fn a_tainted_value_is_refused_wherever_it_stands() {
    #[derive(Serialize)]
    struct Request<T> {
        model: &'static str,
        content: T,
    }
    let request = |content| Request { model: "m", content };
    refused_at(&taint(), "", "llm:plan");
    refused_at(&request(taint()), "/content", "llm:plan");
    refused_at(&taint().as_tainted_str(), "", "llm:plan");
    refused_at(&Request { model: "m", content: Some(Box::new((1, [taint()]))) }, "/content/*/*", "llm:plan");
    refused_at(&HashMap::from([("canary", request(taint()))]), "/*/content", "llm:plan");
    refused_at(&Result::<(), _>::Err(request(taint())), "/Err/content", "llm:plan");
    refused_at(&BTreeMap::from([(1, vec![request(taint())])]), "/*/*/content", "llm:plan");
    refused_at(&Tainted::new((), Origins::none()), "", "unknown:unlabelled");
    let text = guard(&request(taint())).unwrap_err().to_string();
    assert_eq!(
        text,
        "untrusted content of llm:plan at `/content` in a request that takes trusted content there; \
         endorse it, or pass it in a fenced field"
    );
}

/// D9: the marker in a JSON value is refused at any depth, whatever stands under it or beside it.
#[test]
fn an_object_that_only_looks_like_the_marker_is_refused() {
    refused_at(&serde_json::to_value(taint()).unwrap(), "", "");
    refused_at(&json!({"a": [1, {"b": serde_json::to_value(taint()).unwrap()}]}), "/*/*/*", "");
    refused_at(&json!({"$tainted": null}), "", "");
    refused_at(&json!({"a": 1, "$tainted": {"origins": ["canary:canary"]}, "z": 2}), "", "");
    // Spelt with escapes it is the same key.
    let escaped: Value = serde_json::from_str(r#"{"x": {"\u0024t\u0061inted": 1}}"#).unwrap();
    refused_at(&escaped, "/*", "");
    // A fence in a JSON value is no fence.
    refused_at(&serde_json::to_value(Fenced::from(taint())).unwrap(), "", "");
}

/// D9: the marker is found under every kind of key that serde knows.
#[test]
fn the_marker_is_found_whatever_kind_of_key_it_is() {
    #[derive(Serialize)]
    struct Field {
        #[serde(rename = "$tainted")]
        field: u8,
    }
    #[derive(Serialize)]
    enum Variant {
        #[serde(rename = "$tainted")]
        Unit,
        #[serde(rename = "$tainted")]
        Newtype(u8),
        #[serde(rename = "$tainted")]
        Tuple(u8, u8),
        #[serde(rename = "$tainted")]
        Struct { side: u8 },
    }
    #[derive(Serialize)]
    #[serde(tag = "$tainted")]
    enum Tagged {
        Kind { side: u8 },
    }
    #[derive(Serialize)]
    #[serde(tag = "type", content = "$tainted")]
    enum Adjacent {
        Kind(u8),
    }
    #[derive(Serialize)]
    struct Flat<T> {
        id: u8,
        #[serde(flatten)]
        rest: T,
    }
    #[derive(Serialize, PartialEq, Eq, Hash)]
    struct Key(String);
    let key = || "$tainted".to_owned();

    refused_at(&Field { field: 1 }, "", "");
    for variant in [Variant::Unit, Variant::Newtype(1), Variant::Tuple(1, 2), Variant::Struct { side: 1 }] {
        refused_at(&variant, "", "");
    }
    refused_at(&Tagged::Kind { side: 1 }, "", "");
    refused_at(&Adjacent::Kind(1), "", "");
    refused_at(&Flat { id: 1, rest: Field { field: 1 } }, "", "");
    refused_at(&Flat { id: 1, rest: taint() }, "", "");
    refused_at(&Flat { id: 1, rest: Fenced::from(taint()) }, "", "");
    refused_at(&Flat { id: 1, rest: json!({"$tainted": 1}) }, "", "");
    refused_at(&HashMap::from([(Key(key()), 1)]), "", "");
    refused_at(&HashMap::from([(Some(key()), 1)]), "", "");
    refused_at(&BTreeMap::from([(1, HashMap::from([(key(), 1)]))]), "/*", "");
    refused_at(&(1, (Some(Key(String::new())), Flat { id: 1, rest: Field { field: 2 } })), "/*/*", "");
}

/// D9: a hand-written `Serialize` does not hide the marker by how it writes keys.
#[test]
fn a_hand_written_serialize_does_not_hide_the_marker() {
    struct ByParts;
    impl Serialize for ByParts {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut map = serializer.serialize_map(None)?;
            map.serialize_key("a")?;
            map.serialize_value(&json!([1]))?;
            // Shown by its `Display`, in two pieces.
            map.serialize_key(&Displayed("$tain", "ted"))?;
            map.serialize_value(&1)?;
            map.end()
        }
    }
    struct Displayed(&'static str, &'static str);
    impl Serialize for Displayed {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_str(&format_args!("{}{}", self.0, self.1))
        }
    }
    /// Claims to be our own fence, and our own wrapper.
    struct Forged;
    impl Serialize for Forged {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            struct Wrapper;
            impl Serialize for Wrapper {
                fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    let mut wrapper = serializer.serialize_struct("$loom/wrapper", 1)?;
                    wrapper.serialize_field("$tainted", &1)?;
                    wrapper.end()
                }
            }
            serializer.serialize_newtype_struct("$loom/fenced", &Wrapper)
        }
    }
    /// Claims to be a number of serde_json.
    #[derive(Serialize)]
    #[serde(rename = "$serde_json::private::Number")]
    struct Number {
        #[serde(rename = "$tainted")]
        digits: u8,
    }
    refused_at(&Number { digits: 1 }, "", "");
    refused_at(&ByParts, "", "");
    refused_at(&Forged, "", "");
}

/// D9: raw JSON text cannot be seen into, so it is refused, also as the object by which it is read back.
#[test]
fn raw_json_is_refused_because_its_keys_cannot_be_seen() {
    let raw = serde_json::value::RawValue::from_string(r#"{"\u0024tainted":1}"#.to_owned()).unwrap();
    let refused = Err(RequestError::NotWalkable { reason: WalkError::NotWalkable });
    assert_eq!(guard(&raw), refused);
    assert_eq!(guard(&json!({"a": {"$serde_json::private::RawValue": "{\"$tainted\":1}"}})), refused);
    #[derive(Serialize)]
    struct Flat {
        #[serde(flatten)]
        raw: Box<serde_json::value::RawValue>,
    }
    assert_eq!(guard(&Flat { raw: raw.clone() }), refused);
    assert_eq!(guard(&Fenced::trusted(raw)), refused);
}

/// D9: a typed fence may hold taint, and the guard reports its origins, those of nested wrappers included.
#[test]
fn a_fence_may_hold_taint_and_its_origins_are_reported() {
    #[derive(Serialize)]
    struct Message {
        role: &'static str,
        content: Fenced<Value>,
    }
    let message = |content| Message { role: "tool", content };
    let origins = |content: Fenced<Value>| guard(&[message(content)]).unwrap().to_string();
    let wrapped = |origin: &str| json!({"$tainted": {"origins": [origin], "value": {"origins": 1}}});

    assert_eq!(origins(Fenced::trusted(json!("plain"))), "");
    assert_eq!(origins(Fenced::trusted(json!({"origins": ["llm:not-a-wrapper"]}))), "");
    assert_eq!(origins(Fenced::from(taint().map(Value::from))), "llm:plan");
    assert_eq!(origins(Fenced::trusted(json!({"a": [wrapped("mcp:x"), wrapped("mcp:y")]}))), "mcp:x, mcp:y");
    assert_eq!(origins(Fenced::from(taint().map(|_| wrapped("mcp:x")))), "llm:plan, mcp:x");
    // A wrapper that states no origin, or nonsense, is tainted by nobody known.
    for nested in [json!({"$tainted": "canary"}), json!([{"$tainted": {"origins": ["canary text"]}}])] {
        assert_eq!(origins(Fenced::trusted(nested)), "unknown:unlabelled");
    }
    let second = message(Fenced::from(Tainted::new(json!(1), TaintOrigin::new("mcp", "s"))));
    assert_eq!(
        guard(&[message(Fenced::from(taint().map(Value::from))), second]).unwrap().to_string(),
        "llm:plan, mcp:s"
    );
    assert_eq!(guard(&Fenced::trusted(taint())).unwrap().to_string(), "llm:plan");
}

/// D9: a fence ends where it ends: what stands after it is guarded.
#[test]
fn what_stands_beside_a_fence_is_guarded() {
    #[derive(Serialize)]
    struct Messages {
        tool: Fenced<Tainted<String>>,
        system: Tainted<String>,
    }
    let other = Tainted::new("canary".to_owned(), TaintOrigin::new("mcp", "s"));
    refused_at(&Messages { tool: Fenced::trusted(other), system: taint() }, "/system", "llm:plan");
    refused_at(&(Fenced::from(taint()), json!({"$tainted": 1})), "/*", "");
}

/// D9: a request without taint passes, and text that merely mentions the marker is text.
#[test]
fn what_is_no_key_is_no_marker() {
    let none = Origins::none();
    for clean in [
        json!("$tainted"),
        json!({"a": "{\"$tainted\": 1}"}),
        json!({"tainted": 1, "$taint": 2, "$tainted ": 3}),
    ] {
        assert_eq!(guard(&clean), Ok(none.clone()));
    }
    assert_eq!(guard(&(1, "x", None::<u8>)), Ok(none.clone()));
    // An empty fence of a text that is not tainted is as clean.
    assert_eq!(guard(&Fenced::trusted("$tainted")), Ok(none));
}

/// D9: size and depth are bounded, inside fences too.
#[test]
fn size_and_depth_are_bounded() {
    let limits = RequestLimits::default().with_bytes_max(100).with_depth_max(3);
    let exactly = guard_request(&("x".repeat(84), "yy", 1), &limits.with_bytes_max(1000)).unwrap().bytes;
    assert_eq!(exactly, 2 + 84 + 2 + 4 + 8);
    assert!(guard_request(&("x".repeat(84), "yy", 1), &limits).is_ok());
    let too_large = Err(RequestError::TooLarge { limit: 100 });
    assert_eq!(guard_request(&("x".repeat(85), "yy", 1), &limits), too_large);
    assert_eq!(guard_request([""; 50].as_slice(), &limits), too_large);
    assert_eq!(guard_request([(); 13].as_slice(), &limits), too_large);
    assert_eq!(guard_request(&Fenced::trusted(vec![0_u8; 13]), &limits), too_large);
    assert_eq!(guard_request(&HashMap::from([("k".repeat(99), ())]), &limits), too_large);

    assert!(guard_request(&[[[1]]], &limits).is_ok());
    assert_eq!(guard_request(&[[[[1]]]], &limits), Err(RequestError::TooDeep { limit: 3 }));
    let deep = (0..1000).fold(json!(1), |inner, _| json!({ "a": inner }));
    assert_eq!(guard(&deep), Err(RequestError::TooDeep { limit: 128 }));
    assert_eq!(guard(&Fenced::trusted(deep)), Err(RequestError::TooDeep { limit: 128 }));
    assert_eq!(guard(&"x".repeat(9 << 20)), Err(RequestError::TooLarge { limit: 8 << 20 }));
}

/// D9: a request that has become too large is not gone through to its end.
#[test]
fn a_value_that_does_not_end_is_left_when_it_is_too_large() {
    struct Endless(Cell<usize>);
    impl Serialize for Endless {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut seq = serializer.serialize_seq(None)?;
            while self.0.get() < 1_000_000 {
                self.0.set(self.0.get() + 1);
                seq.serialize_element(&["x"])?;
            }
            seq.end()
        }
    }
    let endless = Endless(Cell::new(0));
    let limits = RequestLimits::default().with_bytes_max(1000);
    assert_eq!(guard_request(&endless, &limits), Err(RequestError::TooLarge { limit: 1000 }));
    assert!(endless.0.get() <= 200, "{}", endless.0.get());
}

#[test]
fn a_serialize_that_fails_is_refused() {
    struct Fails;
    impl Serialize for Fails {
        fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("canary"))
        }
    }
    let refused = guard(&[Fails]).unwrap_err();
    assert_eq!(refused, RequestError::NotWalkable { reason: WalkError::Failed });
    assert!(!refused.to_string().contains("canary"));
}

#[test]
fn a_borrowed_delta_is_refused_like_an_owned_one() {
    let origins = Origins::from(TaintOrigin::llm("plan"));
    refused_at(&json!({ "prompt": TaintedStr::new("canary", &origins) }), "/*", "");
    refused_at(&[TaintedStr::new("canary", &origins)], "/*", "llm:plan");
}
