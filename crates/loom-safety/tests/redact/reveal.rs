//! Values put back into the input of a wrapped effect, and of no other.

#![expect(clippy::unwrap_used, reason = "test code outside a test function")]

use std::sync::{Arc, Mutex};

use futures::executor::block_on;
use loom_effect_runtime::{
    CallError, Effect, EffectContext, EffectRuntime, Identity, Principal, Refusal, RunAs, Step, authorize,
};
use loom_safety::{MemoryVault, PiiValidator, Placeholder, Redaction, Revealing, SafetyMiddleware};
use serde_json::{Value, json};

use crate::stage::{CARD, Gives};

/// Takes a value and remembers it.
struct Takes(&'static str, Arc<Mutex<Vec<Value>>>);

impl Effect for Takes {
    type Input = Value;
    type Output = ();
    fn id(&self) -> &str {
        self.0
    }
    async fn execute(&self, input: &Value, _cx: &EffectContext<'_>) -> Result<(), CallError> {
        self.1.lock().unwrap().push(input.clone());
        Ok(())
    }
}

struct Shop {
    runtime: EffectRuntime,
    taken: Arc<Mutex<Vec<Value>>>,
    authorized: Arc<Mutex<Vec<Value>>>,
}

fn shop() -> Shop {
    let vault = Arc::new(MemoryVault::default());
    let (taken, authorized) = (Arc::<Mutex<Vec<Value>>>::default(), Arc::<Mutex<Vec<Value>>>::default());
    let asked = Arc::clone(&authorized);
    let redaction =
        Redaction::new([PiiValidator::default().into()], Placeholder::reference(vault.clone())).unwrap();
    let runtime = EffectRuntime::builder()
        .authorizer(authorize(move |call, input| {
            asked.lock().unwrap().push(input.json().unwrap().clone());
            if call.identity().principal().id() == "eve" {
                Step::Deny(Refusal::capability_denied("pay"))
            } else {
                Step::Go
            }
        }))
        .middleware(SafetyMiddleware::new([PiiValidator::default().into()]))
        .output_middleware(redaction)
        .effect(Gives(CARD.to_owned()))
        .effect(Revealing::new(Takes("pay", Arc::clone(&taken)), vault))
        .effect(Takes("log", Arc::clone(&taken)))
        .build()
        .unwrap();
    Shop { runtime, taken, authorized }
}

fn ada() -> Identity {
    Identity::execution(Principal::new("ada"), RunAs::new("flow", "e1"))
}

impl Shop {
    fn call(&self, identity: &Identity, tool: &str, input: Value) -> Result<Value, CallError> {
        block_on(self.runtime.caller(identity.clone()).invoke_transient(tool, input).into_future())
    }

    /// A reference that was minted for Ada.
    fn reference(&self) -> String {
        self.call(&ada(), "gives", Value::Null).unwrap().as_str().unwrap().to_owned()
    }

    fn taken(&self) -> Vec<Value> {
        std::mem::take(&mut *self.taken.lock().unwrap())
    }
}

/// D21: only the wrapped effect gets the value; the authorizer and the guards of input see the reference.
#[test]
fn a_value_is_put_back_for_the_named_tool_behind_the_authorizer() {
    let shop = shop();
    let reference = shop.reference();
    let order = json!({"card": format!("<{reference}{reference}>"), "items": [1, reference], "none": null});
    shop.call(&ada(), "pay", order.clone()).unwrap();
    assert_eq!(shop.taken(), [json!({"card": format!("<{CARD}{CARD}>"), "items": [1, CARD], "none": null})]);
    shop.call(&ada(), "log", order.clone()).unwrap();
    assert_eq!(shop.taken(), std::slice::from_ref(&order));
    assert!(!format!("{:?}", shop.authorized.lock().unwrap()).contains("4111"));
}

/// D21: another principal, another execution, no execution, and a look-alike get nothing, each by one refusal.
#[test]
fn a_reference_of_another_and_a_look_alike_refuse_the_call() {
    let shop = shop();
    let reference = shop.reference();
    let others = [
        Identity::execution(Principal::new("bob"), RunAs::new("flow", "e1")),
        Identity::execution(Principal::new("ada"), RunAs::new("flow", "e2")),
        Identity::execution(Principal::new("ada").on_behalf_of(["boss"]), RunAs::new("flow", "e1")),
        Identity::new(Principal::new("ada")),
    ];
    for other in others {
        let error = shop.call(&other, "pay", json!(reference)).unwrap_err();
        assert_eq!((error.rule(), error.is_refusal()), (Some("vault.unknown"), true));
    }
    let forged = format!("[secret:pii.card:{}]", "a".repeat(32));
    assert_eq!(shop.call(&ada(), "pay", json!([forged])).unwrap_err().rule(), Some("vault.unknown"));
    let eve = Identity::execution(Principal::new("eve"), RunAs::new("flow", "e1"));
    assert!(shop.call(&eve, "pay", json!(reference)).unwrap_err().refusal().is_some());
    assert_eq!(shop.taken(), Vec::<Value>::new());
    shop.call(&ada(), "pay", json!({"card": "none"})).unwrap();
    assert_eq!(shop.taken(), [json!({"card": "none"})]);
}

/// The texts that values are put into are bounded together.
#[test]
fn an_input_that_grows_over_the_bound_is_refused() {
    let vault = Arc::new(MemoryVault::default());
    let word = "zephyr".repeat(100_000);
    let deny = loom_safety::DenyPatterns::new([loom_safety::DenyPattern::regex("(?:zephyr)+")]).unwrap();
    let redaction = Redaction::new([deny.into()], Placeholder::reference(vault.clone())).unwrap();
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .output_middleware(redaction)
        .effect(Gives(word.clone()))
        .effect(Revealing::new(Takes("pay", Arc::default()), vault))
        .build()
        .unwrap();
    let call = |tool: &'static str, input| block_on(runtime.invoke_transient(tool, input).into_future());
    let reference = call("gives", Value::Null).unwrap();
    let fit = loom_safety::INPUT_TEXT_BYTES_MAX / word.len();
    assert!(call("pay", Value::Array(vec![reference.clone(); fit])).is_ok());
    let error = call("pay", Value::Array(vec![reference; fit + 1])).unwrap_err();
    assert_eq!(error.rule(), Some("text-limit"));
}
