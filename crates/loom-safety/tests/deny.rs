//! Deny patterns: what they refuse, how they are refused at construction, and their delta form.

#![expect(clippy::unwrap_used, reason = "test code outside a test function")]

use std::sync::LazyLock;

use loom_safety::{
    DeltaCheck, DenyPattern, DenyPatternFault, DenyPatternPosition, DenyPatterns, GUARD_TEXT_BYTES_MAX,
    Phase, SafetyValidator,
};
use proptest::prelude::*;

fn one(pattern: DenyPattern) -> DenyPatterns {
    DenyPatterns::new([pattern]).unwrap()
}

fn rule_of(deny: &DenyPatterns, text: &str) -> Option<String> {
    deny.check(Phase::Output, text).err().map(|finding| finding.rule.to_string())
}

fn fault(pattern: DenyPattern) -> DenyPatternFault {
    DenyPatterns::new([pattern]).unwrap_err().fault().clone()
}

#[test]
fn a_literal_is_matched_as_it_is_unless_told_otherwise() {
    let plain = one(DenyPattern::literal("Zephyr (v2)"));
    assert!(rule_of(&plain, "xZephyr (v2)x").is_some() && rule_of(&plain, "zephyr (v2)").is_none());
    let folded = one(DenyPattern::literal("STRASSE Ж").ignoring_case());
    assert!(rule_of(&folded, "strasse ж").is_some());
}

#[test]
fn word_bounds_are_ascii_at_ascii_edges_and_unicode_at_others() {
    let word = |text: &str| one(DenyPattern::literal(text).word_bounded());
    let zephyr = word("zephyr");
    assert!(rule_of(&zephyr, "西zephyr風").is_some(), "glued to other letters");
    assert!(rule_of(&zephyr, "zephyrs").is_none() && rule_of(&zephyr, "_zephyr").is_none());
    assert!(rule_of(&word("C++"), "in C++11").is_some() && rule_of(&word("C++"), "MC++").is_none());
    assert!(rule_of(&word("фото"), "(фото)").is_some() && rule_of(&word("фото"), "фотон").is_none());
    let regex = one(DenyPattern::regex("ab|cd").word_bounded());
    assert!(
        rule_of(&regex, "x ab.").is_some()
            && rule_of(&regex, "xab").is_none()
            && rule_of(&regex, "cdx").is_none()
    );
}

#[test]
fn rules_are_named_or_numbered_from_one() {
    let deny = DenyPatterns::new([
        DenyPattern::literal("aa"),
        DenyPattern::literal("bb").named("codename"),
        DenyPattern::literal("cc"),
    ])
    .unwrap();
    assert_eq!(rule_of(&deny, "xx cc"), Some("deny.3".into()));
    assert_eq!(rule_of(&deny, "bb cc"), Some("deny.codename".into()), "the one that ends first is told");
}

#[test]
fn a_pattern_that_cannot_be_right_is_refused() {
    for pattern in ["", "a*", "a?|b", r"\b", "(?:)", "^$"] {
        assert_eq!(fault(DenyPattern::regex(pattern)), DenyPatternFault::MatchesEmpty, "{pattern}");
    }
    assert_eq!(fault(DenyPattern::literal("")), DenyPatternFault::MatchesEmpty);
    assert_eq!(fault(DenyPattern::regex("[a&&b]")), DenyPatternFault::MatchesNothing);
    assert!(matches!(fault(DenyPattern::regex("a(b")), DenyPatternFault::Syntax { column: 2, .. }));
    assert!(matches!(fault(DenyPattern::regex(r"(a)\1")), DenyPatternFault::Syntax { .. }), "back-reference");
    assert!(matches!(fault(DenyPattern::regex("(?<!a)b")), DenyPatternFault::Syntax { .. }), "look-behind");
    assert!(
        matches!(fault(DenyPattern::regex("a)|(b").word_bounded()), DenyPatternFault::Syntax { .. }),
        "closes our group"
    );
    assert!(matches!(fault(DenyPattern::regex(r"\w{5000}")), DenyPatternFault::TooLarge { .. }));
    assert!(matches!(
        fault(DenyPattern::literal("a".repeat(5000))),
        DenyPatternFault::TooLong { bytes: 5000, .. }
    ));
    for name in ["", "Upper", "a.b", "7", &"n".repeat(65)] {
        assert_eq!(fault(DenyPattern::literal("a").named(name)), DenyPatternFault::Name, "{name}");
    }
    let twice =
        DenyPatterns::new([DenyPattern::literal("a").named("n"), DenyPattern::literal("b").named("n")])
            .unwrap_err();
    assert_eq!(
        (twice.position(), twice.fault()),
        (DenyPatternPosition::Pattern(2), &DenyPatternFault::NameTaken)
    );
    assert_eq!(DenyPatterns::new([]).unwrap_err().fault(), &DenyPatternFault::NoPatterns);
    let many = (0..=DenyPatterns::PATTERNS_MAX).map(|n| DenyPattern::literal(n.to_string()));
    assert_eq!(DenyPatterns::new(many).unwrap_err().fault(), &DenyPatternFault::TooMany { max: 1_000 });
}

#[test]
fn a_deny_file_has_literals_expressions_and_comments() {
    let deny = DenyPatterns::from_lines(
        "\u{feff}# names\r\n\r\n Project Zephyr \r\n/sk-[a-z]{4}/\n/inter(nal)?/iw\n\\#Tag\n",
    )
    .unwrap();
    for (text, rule) in [
        ("project zephyr!", Some("deny.1")),
        ("projects zephyr", None),
        ("xsk-abcdx", Some("deny.2")),
        ("INTER nal", Some("deny.3")),
        ("interna", None),
        ("x#Tagx", Some("deny.4")),
        ("#tag names", None),
    ] {
        assert_eq!(rule_of(&deny, text).as_deref(), rule, "{text}");
    }
}

#[test]
fn a_fault_in_a_deny_file_names_its_line_and_not_its_text() {
    for (text, line, fault) in [
        ("ok\n\n/sec[ret/", 3, None),
        ("/secret", 1, Some(DenyPatternFault::Unclosed)),
        ("# c\n/secret/x", 2, Some(DenyPatternFault::UnknownFlag)),
        ("//", 1, Some(DenyPatternFault::MatchesEmpty)),
        ("\\", 1, Some(DenyPatternFault::MatchesEmpty)),
    ] {
        let error = DenyPatterns::from_lines(text).unwrap_err();
        assert_eq!(error.position(), DenyPatternPosition::Line(line), "{text}");
        assert!(fault.is_none_or(|fault| error.fault() == &fault), "{error}");
        assert!(!error.to_string().contains("sec"), "{error}");
    }
    assert_eq!(DenyPatterns::from_lines("# nothing\n").unwrap_err().fault(), &DenyPatternFault::NoPatterns);
}

#[test]
fn a_sever_is_placed_in_code_points_and_comes_before_the_completing_delta() {
    let deny = one(DenyPattern::literal("zephyr"));
    let mut judge = deny.judge();
    assert!(judge.push("é🙂 zep").is_ok() && judge.push("hy").is_ok());
    let violation = judge.push("r!").unwrap_err();
    assert_eq!((violation.rule(), violation.offset(), violation.length()), ("deny.1", Some(3), Some(6)));
}

/// D17: no window: a match wider than 4096 characters is severed, at the delta that completes it.
#[test]
fn a_match_wider_than_4096_characters_is_severed() {
    let deny = one(DenyPattern::regex("(?s)BEGIN KEY.*END KEY"));
    let mut judge = deny.judge();
    judge.push("BEGIN KEY\n").unwrap();
    for _ in 0..2_500 {
        judge.push("payload\n").unwrap();
    }
    judge.push("END KE").unwrap();
    let violation = judge.push("Y").unwrap_err();
    assert_eq!((violation.offset(), violation.length()), (Some(0), Some(20_017)));
}

#[test]
fn text_over_the_bound_is_severed_and_refused_alike() {
    let deny = one(DenyPattern::literal("zephyr"));
    let full = "a".repeat(GUARD_TEXT_BYTES_MAX);
    assert!(deny.check(Phase::Output, &full).is_ok());
    assert_eq!(rule_of(&deny, &format!("{full}a")).as_deref(), Some("text-limit"));
    let mut judge = deny.judge();
    judge.push(&full).unwrap();
    assert_eq!(judge.push("a").unwrap_err().rule(), "text-limit");
}

/// Patterns whose new matches end before, at and after the place where the new text begins, with and without a
/// bound; each alone, so that an easy one does not sever before a hard one is tried.
static PATTERNS: LazyLock<Vec<DenyPatterns>> = LazyLock::new(|| {
    let bounded = [
        r"ab+c",
        r"b(?-u:\b)",
        r"-\b",
        r"c\B",
        r"a.{0,3}é",
        r"(?m)^-b",
        r"(?m)c$",
        r"\bc{2}\b",
        r"(?i)AB-[bc]{2}",
    ];
    let unbounded = [r"é+-*c", "(?s)a.*é"];
    let regexes = bounded.into_iter().chain(unbounded).map(DenyPattern::regex);
    regexes.chain([DenyPattern::literal("b-é").word_bounded()]).map(one).collect()
});

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    /// D10: at each delta the incremental search says what a search of the whole text so far says, so the output
    /// form never refuses what it passed.
    #[test]
    fn the_delta_form_equals_a_search_of_the_text_so_far(
        text in "[abcAB\n é-]{0,14}", lengths in prop::collection::vec(1..4_usize, 1..5),
    ) {
        for (at, deny) in PATTERNS.iter().enumerate() {
            let mut judge = deny.judge();
            let (mut end, mut lengths) = (0, lengths.iter().cycle());
            while end < text.len() {
                let next = text.ceil_char_boundary((end + lengths.next().unwrap()).min(text.len()));
                let severed = judge.push(&text[end..next]).is_err();
                end = next;
                prop_assert_eq!(severed, deny.check(Phase::Output, &text[..end]).is_err(), "pattern {}: {:?}", at, &text[..end]);
                if severed { break; }
            }
        }
    }
}
