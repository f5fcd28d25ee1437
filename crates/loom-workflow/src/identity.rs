//! Who an execution runs as, in the form that its journal keeps: ids, never a secret.

use loom_effect_runtime::{Delegation, Principal};
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Serialize, Deserialize)]
struct Recorded {
    id: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    on_behalf_of: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    delegation: Option<RecordedDelegation>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    actor: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct RecordedDelegation {
    issuer: String,
    covered: Vec<String>,
}

/// The recorded form.
pub(crate) fn record(principal: &Principal) -> Option<Value> {
    let recorded = Recorded {
        id: principal.id().to_owned(),
        on_behalf_of: principal.chain().skip(1).map(str::to_owned).collect(),
        delegation: principal.delegation().map(|delegation| RecordedDelegation {
            issuer: delegation.issuer().to_owned(),
            covered: delegation.covered().map(str::to_owned).collect(),
        }),
        actor: principal.actor().map(str::to_owned),
    };
    serde_json::to_value(recorded).ok()
}

/// The principal of a recorded form; `None` when it is another form, which nobody may then run as.
pub(crate) fn read(value: &Value) -> Option<Principal> {
    let recorded = Recorded::deserialize(value).ok()?;
    let mut principal = Principal::new(recorded.id).on_behalf_of(recorded.on_behalf_of);
    if let Some(RecordedDelegation { issuer, covered }) = recorded.delegation {
        principal = principal.with_delegation(Delegation::new(issuer, covered));
    }
    if let Some(actor) = recorded.actor {
        principal = principal.with_actor(actor);
    }
    Some(principal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_principal_comes_back_whole() {
        let whole = Principal::new("planner")
            .on_behalf_of(["ada", "acme"])
            .with_delegation(Delegation::new("ada", ["llm.plan"]))
            .with_actor("cli");
        assert_eq!(read(&record(&whole).unwrap()), Some(whole));
        let bare = Principal::new("anonymous");
        assert_eq!(record(&bare), Some(serde_json::json!({"id": "anonymous"})));
        assert_eq!(read(&record(&bare).unwrap()), Some(bare));
        assert_eq!(read(&serde_json::json!("ada")), None);
    }
}
