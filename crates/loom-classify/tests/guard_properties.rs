//! The request guard on values that nobody thought of: a marker planted anywhere is found, and only then.

use std::collections::BTreeMap;

use loom_classify::guard::{RequestError, RequestLimits, guard_request};
use loom_classify::{Fenced, TaintOrigin, Tainted};
use proptest::prelude::*;
use serde::Serialize;
use serde_json::{Value, json};

fn key() -> impl Strategy<Value = String> {
    // Close neighbours of the marker among them.
    prop_oneof![".{0,6}", Just("tainted".to_owned()), Just("$Tainted".to_owned()), Just("origins".to_owned())]
        .prop_filter("the marker itself is planted, not grown", |key| key != "$tainted")
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
        Just(json!("$tainted")),
    ];
    leaf.prop_recursive(6, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(key(), inner, 0..5).prop_map(Value::from_iter),
        ]
    })
}

fn places(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(places).sum(),
        Value::Object(map) => map.values().map(places).sum(),
        _ => 0,
    }
}

/// Plants the marker at the `place`th value, counted from the root: an object gets one more key, any other value
/// goes into a wrapper.
fn plant(value: &mut Value, place: &mut usize, under: &Value) {
    if *place == 0 {
        match value {
            Value::Object(map) => {
                map.insert("$tainted".to_owned(), under.clone());
            }
            other => *other = json!({"$tainted": {"origins": ["llm:plan"], "value": other.take()}}),
        }
        *place = usize::MAX;
        return;
    }
    *place -= 1;
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| plant(item, place, under)),
        Value::Object(map) => map.values_mut().for_each(|item| plant(item, place, under)),
        _ => {}
    }
}

/// A typed tree over every shape that serde knows.
#[derive(Clone, Debug, Serialize)]
enum Tree {
    Leaf(u8),
    Text(String),
    Nothing,
    Maybe(Option<Box<Tree>>),
    Pair(Box<Tree>, Box<Tree>),
    Named { left: Box<Tree>, right: Vec<Tree> },
    Keyed(BTreeMap<u16, Tree>),
    ByName(BTreeMap<String, Tree>),
    Flat(Flat),
    Newtype(Newtype),
    Json(Value),
    Fence(Fenced<Value>),
    Taint(Tainted<Box<Tree>>),
}

#[derive(Clone, Debug, Serialize)]
struct Newtype(Box<Tree>);

#[derive(Clone, Debug, Serialize)]
struct Flat {
    id: u8,
    #[serde(flatten)]
    rest: BTreeMap<String, Tree>,
}

fn tree() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        any::<u8>().prop_map(Tree::Leaf),
        ".{0,8}".prop_map(Tree::Text),
        Just(Tree::Nothing),
        json_value().prop_map(Tree::Json),
        json_value().prop_map(|json| Tree::Fence(Fenced::trusted(json))),
        json_value().prop_map(|json| Tree::Fence(Tainted::new(json, TaintOrigin::new("mcp", "x")).into())),
    ];
    leaf.prop_recursive(5, 24, 3, |inner| {
        let boxed = || inner.clone().prop_map(Box::new);
        let map = || prop::collection::btree_map(key(), inner.clone(), 0..3);
        prop_oneof![
            prop::option::of(boxed()).prop_map(Tree::Maybe),
            (boxed(), boxed()).prop_map(|(a, b)| Tree::Pair(a, b)),
            (boxed(), prop::collection::vec(inner.clone(), 0..3))
                .prop_map(|(left, right)| Tree::Named { left, right }),
            prop::collection::btree_map(any::<u16>(), inner.clone(), 0..3).prop_map(Tree::Keyed),
            map().prop_map(Tree::ByName),
            (any::<u8>(), map()).prop_map(|(id, rest)| Tree::Flat(Flat { id, rest })),
            boxed().prop_map(|tree| Tree::Newtype(Newtype(tree))),
        ]
    })
}

impl Tree {
    fn children(&mut self) -> Vec<&mut Tree> {
        match self {
            Self::Maybe(Some(tree)) | Self::Newtype(Newtype(tree)) => vec![tree],
            Self::Pair(left, right) => vec![left, right],
            Self::Named { left, right } => [&mut **left].into_iter().chain(right).collect(),
            Self::Keyed(map) => map.values_mut().collect(),
            Self::ByName(map) | Self::Flat(Flat { rest: map, .. }) => map.values_mut().collect(),
            _ => Vec::new(),
        }
    }

    fn places(&mut self) -> usize {
        1 + self.children().into_iter().map(Tree::places).sum::<usize>()
    }

    #[expect(clippy::unwrap_used, reason = "a fixture that the tests share may fail like a test")]
    fn taint(&mut self, place: &mut usize, as_json: bool) {
        if *place == 0 {
            let inner = std::mem::replace(self, Self::Nothing);
            let tainted = Tainted::new(Box::new(inner), TaintOrigin::llm("plan"));
            *self = match as_json {
                true => Self::Json(serde_json::to_value(tainted).unwrap()),
                false => Self::Taint(tainted),
            };
            *place = usize::MAX;
            return;
        }
        *place -= 1;
        for child in self.children() {
            child.taint(place, as_json);
        }
    }
}

fn is_untrusted<T: Serialize>(value: &T) -> bool {
    matches!(guard_request(value, &RequestLimits::default()), Err(RequestError::Untrusted(_)))
}

proptest! {
    /// D9: a marker planted anywhere in any JSON value is found; the same value without it passes.
    #[test]
    fn a_marker_planted_anywhere_in_json_is_found(
        clean in json_value(), under in json_value(), place in any::<prop::sample::Index>(),
    ) {
        prop_assert!(guard_request(&clean, &RequestLimits::default()).is_ok());
        let mut dirty = clean.clone();
        plant(&mut dirty, &mut place.index(places(&clean)), &under);
        prop_assert!(is_untrusted(&dirty), "{}", dirty);
        // As a whole in a fence it passes, and is known to be tainted.
        let fenced = guard_request(&Fenced::trusted(dirty), &RequestLimits::default());
        prop_assert!(!fenced.unwrap().fenced.is_empty());
    }

    /// D9: a tainted value planted anywhere in any typed value is found, typed or as JSON; without it the value
    /// passes, and the origins of its fences alone are reported.
    #[test]
    fn a_tainted_value_planted_anywhere_in_a_typed_value_is_found(
        clean in tree(), place in any::<prop::sample::Index>(), as_json in any::<bool>(),
    ) {
        let guarded = guard_request(&clean, &RequestLimits::default()).unwrap();
        prop_assert!(["", "mcp:x"].contains(&guarded.fenced.to_string().as_str()));
        let mut dirty = clean;
        let places = dirty.places();
        dirty.taint(&mut place.index(places), as_json);
        prop_assert!(is_untrusted(&dirty));
        // The JSON view of it is refused as well.
        prop_assert!(is_untrusted(&serde_json::to_value(&dirty).unwrap()));
    }
}
