//! One form for equal JSON, and another for any other: against an oracle that writes text from the JSON view.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use proptest::prelude::*;
use serde::Serializer;
use serde::ser::{SerializeMap, SerializeTupleStruct};

use super::*;

/// Every shape that serde knows.
#[derive(Clone, Debug)]
enum Tree {
    Unit,
    Bool(bool),
    Unsigned(u64),
    Signed(i64),
    Wide(i128),
    UnsignedWide(u128),
    Single(f32),
    Double(f64),
    Char(char),
    Text(String),
    Bytes(Vec<u8>),
    Some(Box<Tree>),
    Seq(Vec<Tree>),
    Tuple(Box<Tree>, Box<Tree>),
    /// With keys as they come, and so perhaps one of them twice.
    Map(Vec<(Tree, Tree)>),
    Record(Box<Tree>, Box<Tree>, Box<Tree>),
    Variant(Variant),
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum Variant {
    Unit,
    Newtype(Box<Tree>),
    Tuple(Box<Tree>, Box<Tree>),
    Record { z: Box<Tree>, a: Box<Tree> },
}

impl Serialize for Tree {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Unit => serializer.serialize_unit_struct("Unit"),
            Self::Bool(value) => value.serialize(serializer),
            Self::Unsigned(value) => value.serialize(serializer),
            Self::Signed(value) => value.serialize(serializer),
            Self::Wide(value) => value.serialize(serializer),
            Self::UnsignedWide(value) => value.serialize(serializer),
            Self::Single(value) => value.serialize(serializer),
            Self::Double(value) => value.serialize(serializer),
            Self::Char(value) => value.serialize(serializer),
            Self::Text(value) => value.serialize(serializer),
            Self::Bytes(value) => serializer.serialize_bytes(value),
            Self::Some(value) => serializer.serialize_some(&**value),
            Self::Seq(items) => items.serialize(serializer),
            Self::Tuple(a, b) => {
                let mut tuple = serializer.serialize_tuple_struct("Pair", 2)?;
                tuple.serialize_field(&**a)?;
                tuple.serialize_field(&**b)?;
                tuple.end()
            }
            Self::Map(entries) => {
                let mut map = serializer.serialize_map(None)?;
                for (key, value) in entries {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
            Self::Record(query, limit, after) => {
                #[derive(Serialize)]
                struct Record<'a> {
                    query: &'a Tree,
                    limit: &'a Tree,
                    after: &'a Tree,
                }
                Record { query, limit, after }.serialize(serializer)
            }
            Self::Variant(variant) => variant.serialize(serializer),
        }
    }
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![4 => "[ab{}0-9|:\\[\\]\"]{0,3}", 1 => "[ab]{250,260}"]
}

fn key() -> impl Strategy<Value = Tree> {
    prop_oneof![
        8 => text().prop_map(Tree::Text),
        1 => any::<char>().prop_map(Tree::Char),
        1 => (0_u64..9).prop_map(Tree::Unsigned),
        1 => any::<bool>().prop_map(Tree::Bool),
        1 => text().prop_map(|text| Tree::Some(Box::new(Tree::Text(text)))),
        1 => Just(Tree::Variant(Variant::Unit)),
        1 => Just(Tree::Unit),
    ]
}

fn tree() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        Just(Tree::Unit),
        any::<bool>().prop_map(Tree::Bool),
        (0_u64..3).prop_map(Tree::Unsigned),
        any::<u64>().prop_map(Tree::Unsigned),
        (-2_i64..3).prop_map(Tree::Signed),
        any::<i64>().prop_map(Tree::Signed),
        (-2_i128..3).prop_map(Tree::Wide),
        any::<i128>().prop_map(Tree::Wide),
        any::<u128>().prop_map(Tree::UnsignedWide),
        any::<f32>().prop_map(Tree::Single),
        prop_oneof![Just(0.0), Just(-0.0), Just(1.0), Just(1e300), any::<f64>()].prop_map(Tree::Double),
        any::<char>().prop_map(Tree::Char),
        text().prop_map(Tree::Text),
        proptest::collection::vec(0_u8..3, 0..3).prop_map(Tree::Bytes),
        Just(Tree::Variant(Variant::Unit)),
    ];
    leaf.prop_recursive(4, 48, 5, |inner| {
        let one = || inner.clone().prop_map(Box::new);
        prop_oneof![
            one().prop_map(Tree::Some),
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Tree::Seq),
            (one(), one()).prop_map(|(a, b)| Tree::Tuple(a, b)),
            proptest::collection::vec((key(), inner.clone()), 0..6).prop_map(Tree::Map),
            (one(), one(), one()).prop_map(|(a, b, c)| Tree::Record(a, b, c)),
            one().prop_map(|a| Tree::Variant(Variant::Newtype(a))),
            (one(), one()).prop_map(|(a, b)| Tree::Variant(Variant::Tuple(a, b))),
            (one(), one()).prop_map(|(z, a)| Tree::Variant(Variant::Record { z, a })),
        ]
    })
}

/// The oracle: text with the length of each part before it.
fn oracle(value: &Value, text: &mut String) {
    let mut part = |tag: &str, part: &str| write!(text, "{tag}{}:{part}", part.len()).unwrap();
    match value {
        Value::Object(map) => {
            text.push('{');
            for (key, value) in map.iter().collect::<BTreeMap<_, _>>() {
                write!(text, "{}:{key}", key.len()).unwrap();
                oracle(value, text);
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            items.iter().for_each(|item| oracle(item, text));
            text.push(']');
        }
        Value::String(string) => part("s", string),
        Value::Number(number) => part("n", &number.to_string()),
        Value::Bool(value) => text.push(if *value { 't' } else { 'f' }),
        Value::Null => text.push('0'),
    }
}

fn written(tree: &Tree) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    from_value(tree, &mut bytes).then_some(bytes)
}

fn viewed(tree: &Tree) -> Option<(Vec<u8>, String)> {
    let json = serde_json::to_value(tree).ok()?;
    let (mut bytes, mut text) = (Vec::new(), String::new());
    from_json(&json, &mut bytes);
    oracle(&json, &mut text);
    Some((bytes, text))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// T14: what is written straight from a value is what its JSON view gives, and only what has one is written.
    #[test]
    fn both_ways_give_the_same_bytes(tree in tree()) {
        if let Some(bytes) = written(&tree) {
            prop_assert_eq!(Some(bytes), viewed(&tree).map(|(bytes, _)| bytes));
        }
    }

    /// T14: equal JSON has one form, and other JSON another, also where two forms are run together.
    #[test]
    fn two_values_share_a_form_only_where_their_json_is_equal(a in tree(), b in tree(), c in tree()) {
        let (Some(a), Some(b), Some(c)) = (viewed(&a), viewed(&b), viewed(&c)) else { return Ok(()) };
        prop_assert_eq!(a.0 == b.0, a.1 == b.1);
        prop_assert_eq!([&*a.0, &b.0].concat() == [&*b.0, &c.0].concat(), a.1 == b.1 && b.1 == c.1);
    }

    /// T14: the order in which an object's entries come does not matter, however many there are.
    #[test]
    fn entries_are_sorted(keys in proptest::collection::btree_set("[a-d]{1,4}", 0..40), seed: u64) {
        let mut entries: Vec<_> =
            keys.into_iter().map(|key| (Tree::Text(key), Tree::Unsigned(seed))).collect();
        let map = Tree::Map(entries.clone());
        let (sorted, _) = viewed(&map).unwrap();
        prop_assert_eq!(written(&map), Some(sorted.clone()), "what comes in order is written at once");
        let mut state = seed;
        entries.sort_by_cached_key(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state >> 33
        });
        let direct = written(&Tree::Map(entries.clone()));
        prop_assert!(direct.is_some() || entries.len() > 16, "few entries are sorted in place");
        prop_assert!(direct.is_none_or(|direct| direct == sorted));
    }
}

#[test]
fn whatever_is_plain_is_written_without_the_view() {
    let record = |a, b, c| Tree::Record(Box::new(a), Box::new(b), Box::new(c));
    let text = |text: &str| Tree::Text(text.to_owned());
    let plain = record(text("orders"), Tree::Wide(-3), Tree::Seq(vec![Tree::Char('x'), Tree::Single(1.5)]));
    assert!(written(&plain).is_some());
    let twice = Tree::Map(vec![(text("a"), Tree::Unit), (text("a"), Tree::Bool(true))]);
    let apart =
        Tree::Map(vec![(text("a"), Tree::Unit), (text("b"), Tree::Unit), (text("a"), Tree::Bool(true))]);
    let optional = Tree::Map(vec![(Tree::Some(Box::new(text("a"))), Tree::Unit)]);
    for unusual in [twice, apart, optional, Tree::Double(f64::NAN), Tree::Wide(i128::MAX)] {
        assert!(written(&unusual).is_none(), "{unusual:?}");
    }
}

/// Where an object is long, an entry out of order would move much, again at each level.
#[test]
fn a_long_object_is_not_moved() {
    let long = |key: &str| (Tree::Text(key.to_owned()), Tree::Text("x".repeat(5000)));
    assert!(written(&Tree::Map(vec![long("a"), long("b")])).is_some());
    assert!(written(&Tree::Map(vec![long("b"), long("a")])).is_none());
}
