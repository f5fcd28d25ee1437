//! References: one for a value in a call, another in every other call, and values for their owners only.

#![expect(clippy::unwrap_used, reason = "test code outside a test function")]

use std::sync::Arc;

use loom_effect_runtime::{CallKey, EffectRuntime, Identity, Principal, RunAs};
use loom_safety::{
    DenyPattern, DenyPatterns, MemoryVault, PiiRule, PiiValidator, Placeholder, Redaction, RedactionError,
    RuleId, Secret, SecretRef, SecretVault, VaultError, reference,
};
use proptest::prelude::*;

use crate::generate;
use crate::stage::{CARD, Says, cut, runtime, said_to, say};

fn referring(vault: &Arc<MemoryVault>) -> Redaction {
    Redaction::new([PiiValidator::default().into()], Placeholder::reference(vault.clone())).unwrap()
}

fn saying(text: &str, vault: &Arc<MemoryVault>) -> EffectRuntime {
    runtime(Says::new([text]), referring(vault))
}

fn execution(principal: &'static str) -> Identity {
    Identity::execution(Principal::new(principal), RunAs::new("flow", "e1"))
}

/// The references in a text, in order.
fn references(text: &str) -> Vec<SecretRef> {
    let parts = text.split_inclusive(']').filter_map(|part| SecretRef::parse(&part[part.find('[')?..]));
    parts.collect()
}

/// D21: live text and output have the same reference, and it resolves to the value.
#[test]
fn a_value_has_one_reference_in_a_call_whichever_form_saw_it_first() {
    let vault = Arc::new(MemoryVault::default());
    let (output, view) = say(Says::new([CARD, " or ", CARD, " or jane@example.com"]), referring(&vault));
    let output = output.unwrap();
    assert_eq!(view.ever(), output);
    let [first, second, third] = references(&output).try_into().unwrap();
    assert_eq!(first, second);
    assert!(
        first.as_str().starts_with("[secret:pii.card:") && third.as_str().starts_with("[secret:pii.email:")
    );
    let identity = Identity::default();
    assert_eq!(vault.resolve(&first, &identity).unwrap().expose(), CARD);
    assert_eq!(vault.resolve(&third, &identity).unwrap().expose(), "jane@example.com");
    assert_eq!(vault.len(), 2);
}

/// T8: two scope calls of one tool share execution id and step id; the call key keeps their references apart.
#[test]
fn two_scope_calls_of_one_tool_have_references_of_their_own() {
    let vault = Arc::new(MemoryVault::default());
    let runtime = saying(CARD, &vault);
    let ada = execution("ada");
    let of_key = |ordinal| said_to(&runtime, &ada, Some(CallKey::decide("plan", ordinal)));
    assert_ne!(of_key(1), of_key(2));
    assert_eq!(of_key(1), of_key(1));
    assert_ne!(of_key(1), said_to(&runtime, &ada, Some(CallKey::decide("plan:1", 1))));
    assert_ne!(of_key(1), said_to(&runtime, &ada, None));
    for reference in references(&(of_key(1) + &of_key(2))) {
        assert_eq!(vault.resolve(&reference, &ada).unwrap().expose(), CARD);
    }
}

/// T8: two bare calls share execution id and step id and have no key: they never mix values, nor owners.
#[test]
fn two_bare_calls_never_mix_values() {
    let vault = Arc::new(MemoryVault::default());
    let other = "5555 5555 5555 4444";
    let (ada, bob) = (Identity::new(Principal::new("ada")), Identity::new(Principal::new("bob")));
    let said = [(CARD, &ada), (other, &ada), (CARD, &bob)].map(|(text, identity)| {
        let runtime = saying(text, &vault);
        (references(&said_to(&runtime, identity, None)).remove(0), text, identity)
    });
    for (reference, text, identity) in &said {
        assert_eq!(vault.resolve(reference, identity).unwrap().expose(), *text);
        let stranger = if *identity == &ada { &bob } else { &ada };
        assert_eq!(vault.resolve(reference, stranger).unwrap_err(), VaultError::Unknown);
    }
    let runtime = saying(&format!("{CARD} {other}"), &vault);
    let both = references(&said_to(&runtime, &ada, None));
    assert_ne!(both[0], both[1]);
    assert_eq!(vault.resolve(&both[1], &ada).unwrap().expose(), other);
}

/// D21: a full vault refuses the call, and nothing of the text is delivered or told.
#[test]
fn a_full_vault_refuses_the_call() {
    let vault = Arc::new(MemoryVault::new(1));
    let (output, view) = say(Says::new(["pay ", CARD, " of jane@example.com"]), referring(&vault));
    let error = output.unwrap_err();
    assert_eq!((error.rule(), view.ever().as_str()), (Some("vault.full"), ""));
    assert!(error.is_refusal() && !format!("{error} {error:?}").contains("4111"));
    vault.forget(&Identity::default());
    assert!(say(Says::new(["pay ", CARD]), referring(&vault)).0.is_ok());
}

/// A vault that cannot be asked, or panics.
struct Broken(bool);

impl SecretVault for Broken {
    fn put(&self, _: &SecretRef, _: &str, _: &Identity) -> Result<(), VaultError> {
        if self.0 { std::panic::panic_any("vault") } else { Err(VaultError::Unavailable) }
    }
    fn resolve(&self, _: &SecretRef, _: &Identity) -> Result<Secret, VaultError> {
        Err(VaultError::Unavailable)
    }
}

#[test]
fn a_broken_vault_fails_closed() {
    for (panics, rule) in [(false, "vault.unavailable"), (true, "redaction.panicked")] {
        let placeholder = Placeholder::reference(Arc::new(Broken(panics)));
        let redaction = Redaction::new([PiiValidator::default().into()], placeholder).unwrap();
        let (output, view) = say(Says::new(["pay ", CARD]), redaction);
        assert_eq!((output.unwrap_err().rule(), view.ever().as_str()), (Some(rule), ""));
    }
}

/// A text that only looks like a reference, or a reference with one letter changed, is nobody's.
#[test]
fn a_look_alike_resolves_to_nothing() {
    let vault = Arc::new(MemoryVault::default());
    let forged = format!("[secret:pii.card:{}]", "a".repeat(32));
    let runtime = saying(&format!("{forged} {CARD}"), &vault);
    let said = said_to(&runtime, &Identity::default(), None);
    let [look_alike, minted] = references(&said).try_into().unwrap();
    assert_eq!(look_alike.as_str(), forged);
    assert_eq!(vault.resolve(&look_alike, &Identity::default()).unwrap_err(), VaultError::Unknown);
    let renamed = minted.as_str().replace("pii.card", "pii.ssn");
    let renamed = SecretRef::parse(&renamed).unwrap();
    assert_eq!(vault.resolve(&renamed, &Identity::default()).unwrap_err(), VaultError::Unknown);
}

/// A rule that matches what every reference has, or whose id cannot stand in one, is refused when the redaction is
/// made; one that matches the letters of a single reference refuses that call.
#[test]
fn a_rule_that_matches_references_is_refused() {
    let made = |pattern| {
        let vault = Arc::new(MemoryVault::default());
        let deny = DenyPatterns::new([DenyPattern::regex(pattern)]).unwrap();
        Redaction::new([deny.into()], Placeholder::reference(vault))
    };
    let (rule, matched) = (RuleId::new("deny.1"), RuleId::new("deny.1"));
    assert_eq!(made("secret").unwrap_err(), RedactionError::PlaceholderMatches { rule, matched });
    let (output, view) = say(Says::new(["x1x"]), made("[b-p]{4}|x1x").unwrap());
    assert_eq!(
        (output.unwrap_err().rule(), view.ever().as_str()),
        (Some("redaction.placeholder-matches"), "")
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]

    /// D21: with references too, live text and output are one text in any split, nothing matches in it, and with the
    /// values back it is the original.
    #[test]
    fn values_put_back_give_the_original(
        text in generate::text(), lengths in prop::collection::vec(1..9_usize, 1..6),
    ) {
        let vault = Arc::new(MemoryVault::default());
        let (output, view) = say(Says::new(cut(&text, &lengths)), referring(&vault));
        let output = output.unwrap();
        prop_assert_eq!(view.ever(), output.as_str());
        for rule in PiiRule::ALL {
            prop_assert_eq!(reference::earliest(rule.id().as_str(), &output), None, "{:?}", output);
        }
        let mut back = output.clone();
        for reference in references(&output) {
            let secret = vault.resolve(&reference, &Identity::default()).unwrap();
            back = back.replacen(reference.as_str(), secret.expose(), 1);
        }
        prop_assert_eq!(back, text);
    }
}
