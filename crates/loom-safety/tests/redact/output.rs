//! Output: every text and key, and what takes no placeholder.

use std::collections::BTreeMap;

use loom_classify::{Origins, Tainted};
use loom_effect_runtime::ErrorName;
use loom_safety::{DenyPattern, DenyPatterns, PiiValidator, Placeholder, Redaction};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::stage::{CARD, give, masking};

/// D21: every string and key at any depth, what a tainted wrapper holds included, typed or as data.
#[test]
fn every_text_and_key_is_redacted_wherever_it_stands() {
    let output = give(json!({"a": [{"b": format!("pay {CARD}.")}, 7, null, true], CARD: "clean"}), masking());
    assert_eq!(output.unwrap(), json!({"a": [{"b": "pay [x]."}, 7, null, true], "[x]": "clean"}));

    let tainted = Tainted::new(format!("pay {CARD}."), Origins::none());
    let as_data = give(serde_json::to_value(&tainted).unwrap(), masking()).unwrap();
    assert_eq!(as_data["$tainted"]["value"], json!("pay [x]."));
    let typed = give(tainted.clone(), masking()).unwrap();
    assert_eq!(typed, tainted.map(|_| "pay [x].".to_owned()));

    let clean = json!({"n": 4_111, "s": "4111"});
    assert_eq!(give(clean.clone(), masking()).unwrap(), clean);
}

/// D21: what takes no placeholder is refused under a rule of its own, and the error tells nothing of it.
#[test]
fn what_takes_no_placeholder_is_refused() {
    let number = "redaction.number";
    let refused = |error: loom_effect_runtime::CallError, rule: &str| {
        assert_eq!((error.name(), error.rule()), (ErrorName::SafetyViolation, Some(rule)), "{rule}");
        assert!(!format!("{error} {error:?}").contains("4111"), "{error:?}");
    };
    refused(give(json!({"n": 4_111_111_111_111_111_u64}), masking()).unwrap_err(), number);
    refused(give(json!([4_111_111_111_111_111.0]), masking()).unwrap_err(), number);
    refused(give(4_111_111_111_111_111_u128, masking()).unwrap_err(), number);
    refused(give(Bytes(CARD.as_bytes().to_vec()), masking()).unwrap_err(), "redaction.bytes");
    let keys = json!({"jane@example.com": 1, "joe@example.com": 2});
    refused(give(keys, masking()).unwrap_err(), "redaction.keys-collide");
    refused(give(Account::Number(CARD.to_owned()), masking()).unwrap_err(), "redaction.does-not-fit");
    refused(give(Stubborn(String::new()), masking()).unwrap_err(), "redaction.remains");
    refused(
        give(json!(["x".repeat(loom_safety::GUARD_TEXT_BYTES_MAX + 1)]), masking()).unwrap_err(),
        "text-limit",
    );
}

/// Written as a byte string.
#[derive(Clone, Debug)]
struct Bytes(Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Self)
    }
}

/// Reads only what looks like a number.
#[derive(Clone, Debug, Serialize)]
enum Account {
    Number(String),
}

impl<'de> Deserialize<'de> for Account {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = Value::deserialize(deserializer)?;
        let number = json["Number"].as_str().unwrap_or_default().to_owned();
        let legal = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b' ');
        if legal { Ok(Self::Number(number)) } else { Err(serde::de::Error::custom(number)) }
    }
}

/// Says a card whatever it was given.
#[derive(Clone, Debug, Deserialize)]
struct Stubborn(String);

impl Serialize for Stubborn {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("{}{CARD}", self.0))
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Reply {
    card: Kind,
    notes: BTreeMap<String, String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Card,
}

/// Names of fields and variants are the program's own, even where a pattern matches them.
#[test]
fn names_of_fields_and_variants_stay() {
    let deny = DenyPatterns::new([DenyPattern::literal("card")]).unwrap();
    let redaction = Redaction::new([deny.into()], Placeholder::text("[x]")).unwrap();
    let notes = |text: &str| BTreeMap::from([("note".to_owned(), text.to_owned())]);
    let reply = give(Reply { card: Kind::Card, notes: notes("a card!") }, redaction).unwrap();
    assert_eq!(reply, Reply { card: Kind::Card, notes: notes("a [x]!") });
}

/// D23: a match in two texts of the output, and one spelled in an encoding, are not seen.
#[test]
fn what_no_single_text_holds_is_not_seen() {
    for output in [json!(["4111 1111", "1111 1111"]), json!(r#"{"n":"\u0034111 1111 1111 1111"}"#)] {
        assert_eq!(give(output.clone(), masking()).unwrap(), output);
    }
}

/// A detector's phases are no concern of a redaction: output is what it is for.
#[test]
fn a_validator_of_input_alone_redacts_output_too() {
    let pii = PiiValidator::default().judging(loom_safety::Judges::InputOnly);
    let redaction = Redaction::new([pii.into()], Placeholder::RULE).unwrap();
    assert_eq!(give(CARD.to_owned(), redaction).unwrap(), "[pii.card]");
}
