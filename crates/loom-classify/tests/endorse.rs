//! The validators that come with the crate, and what an endorsed text can be.

use loom_classify::endorse::{
    BoundedText, Endorser, IntegerRange, MATCHED_BYTES_MAX, Matched, OneOf, Rejected,
};
use loom_classify::{TaintOrigin, Tainted};
use proptest::prelude::*;

fn tainted(text: &str) -> Tainted<String> {
    Tainted::new(text.to_owned(), TaintOrigin::llm("plan"))
}

/// D9: a listed text becomes what it stands for; any other is refused without being quoted.
#[test]
fn one_of_the_listed_texts_becomes_what_it_stands_for() {
    let route = OneOf::texts(["approve", "refuse"]);
    assert_eq!(tainted("refuse").endorse(&route), Ok(1));
    assert_eq!(tainted("approve").as_tainted_str().endorse(&route), Ok(0));
    for other in ["Approve", " approve", "approve\n", "", "canary"] {
        let refused = tainted(other).endorse(&route).unwrap_err().to_string();
        assert_eq!(refused, "`one_of` refused untrusted content: expected one of the listed texts");
    }
    let tools = OneOf::new([("search", Matched::new("mcp.search").unwrap())]);
    assert_eq!(tainted("search").endorse(&tools).unwrap().as_str(), "mcp.search");
}

/// D9: a bounded text is counted in characters and stays on its line.
#[test]
fn a_bounded_text_has_the_stated_length_and_no_character_that_acts_on_its_surroundings() {
    let step = BoundedText::chars(1, 60);
    for good in ["a", "Reserve the room", "回収する 🪴", &"ü".repeat(60), "می‌خواهم"] {
        let endorsed = tainted(good).endorse(&step).unwrap();
        assert_eq!((endorsed.as_str(), endorsed.to_string().as_str()), (good, good));
    }
    let long = "ü".repeat(61);
    let acting =
        ["a\nb", "a\r", "a\tb", "\u{1b}[2J", "a\u{0}", "a\u{85}", "a\u{2028}b", "a\u{202e}b", "a\u{2066}b"];
    let unseen = ["a\u{200f}", "a\u{e0041}", "a\u{e0100}", "a\u{fff9}"];
    for bad in [&["", "   ", "\u{3000}", long.as_str()], acting.as_slice(), &unseen].concat() {
        assert!(tainted(bad).endorse(&step).is_err(), "{bad:?}");
    }
    let ranges =
        [0..=0x1f, 0x7f..=0x9f, 0x2028..=0x202e, 0x2066..=0x206f, 0xfff9..=0xfffb, 0xe0000..=0xe0fff];
    for code in ranges.into_iter().flatten().chain([0x61c, 0x200e, 0x200f]) {
        let acting = char::from_u32(code).unwrap();
        assert!(tainted(&format!("a{acting}b")).endorse(&step).is_err(), "U+{code:04X}");
    }
    for code in [0x20, 0x2027, 0x202f, 0x2070, 0xfffc, 0xe1000] {
        let beside = char::from_u32(code).unwrap();
        assert!(tainted(&format!("a{beside}b")).endorse(&step).is_ok(), "U+{code:04X}");
    }
    let refused = tainted(&long).endorse(&step).unwrap_err().to_string();
    assert_eq!(
        refused,
        "`bounded_text` refused untrusted content: expected a number of characters from 1 to 60"
    );
}

/// D9: an integer is endorsed within its range alone.
#[test]
fn an_integer_is_endorsed_within_its_range() {
    let range = IntegerRange::new(-2, 5);
    assert_eq!(tainted("-2").endorse(&range), Ok(-2));
    assert_eq!(Tainted::new(5_i64, TaintOrigin::llm("plan")).endorse(&range), Ok(5));
    for bad in ["6", "-3", "", "1.0", " 1", "１", "99999999999999999999"] {
        assert!(tainted(bad).endorse(&range).is_err(), "{bad}");
    }
}

/// D9: a third party's validator serves owned and borrowed text, and what comes out is small.
#[test]
fn a_validator_of_text_serves_every_form_of_it() {
    struct IsUpper;
    impl Endorser<str> for IsUpper {
        type Out = Option<bool>;
        fn name(&self) -> &'static str {
            "is_upper"
        }
        fn endorse(&self, untrusted: &str) -> Result<Option<bool>, Rejected> {
            Ok(untrusted.chars().next().map(char::is_uppercase))
        }
    }
    assert_eq!(tainted("Abc").endorse(&IsUpper), Ok(Some(true)));
    assert_eq!(tainted("abc").as_tainted_str().endorse(&IsUpper), Ok(Some(false)));
    assert_eq!(Tainted::new("", TaintOrigin::llm("plan")).endorse(&IsUpper), Ok(None));
}

#[test]
fn a_matched_text_reads_back_from_a_record_by_the_same_rules() {
    let step = Matched::new("water the plants").unwrap();
    let json = serde_json::to_string(&step).unwrap();
    assert_eq!(json, r#""water the plants""#);
    assert_eq!(serde_json::from_str::<Matched>(&json).unwrap(), step);
    let refused = serde_json::from_str::<Matched>(r#""canary\u202e""#).unwrap_err().to_string();
    assert!(refused.contains("bidi marks") && !refused.contains("canary"), "{refused}");
    assert!(!serde_json::from_str::<Matched>("5").unwrap_err().to_string().contains('5'));
    assert!(Matched::new(&"x".repeat(MATCHED_BYTES_MAX)).is_ok());
    assert!(Matched::new(&"x".repeat(MATCHED_BYTES_MAX + 1)).is_err());
}

proptest! {
    /// D9: what is endorsed is the text itself; it is endorsed when, and only when, it keeps its bounds and its line.
    #[test]
    fn an_endorsed_text_keeps_its_promise(
        text in "\\PC{0,8}|.{0,300}|[a-z\u{200e}\u{2029}\u{e0020}\n ]{0,12}",
        max in 1_usize..80,
    ) {
        let acting = ['\u{200e}', '\u{200f}', '\u{61c}', '\u{2028}', '\u{2029}', '\u{fff9}', '\u{fffa}', '\u{fffb}'];
        let acts = |c: char| {
            let code = u32::from(c);
            c.is_control()
                || acting.contains(&c)
                || (0x202a..=0x202e).contains(&code)
                || (0x2066..=0x206f).contains(&code)
                || code >> 12 == 0xe0
        };
        let good = (1..=max).contains(&text.chars().count())
            && text.len() <= MATCHED_BYTES_MAX
            && !text.trim().is_empty()
            && !text.contains(acts);
        let endorsed = tainted(&text).endorse(&BoundedText::chars(1, max));
        prop_assert_eq!(endorsed.as_ref().map(Matched::as_str).ok(), good.then_some(text.as_str()));
    }
}
