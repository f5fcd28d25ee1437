//! What stops it.

use careless_cache::Cache;
use loom_effect_runtime::{EffectRuntime, ErrorName, Identity, Principal};
use loom_testing::kit::Check;
use loom_testing::{Act, Scripted};
use serde_json::{Value, json};

/// T14: by the compiler: a proof is of one call, and cannot be put away for another.
#[test]
fn a_proof_that_is_put_away_does_not_compile() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/proof_put_away.rs");
    cases.pass("tests/ui/kept_put_away.rs");
}

/// T14: by the runtime: what was kept of one identity is not served to another.
#[tokio::test]
async fn the_runtime_serves_nobody_what_another_was_given() {
    let effect = Scripted::<String>::new([Act::answer("for ada")]);
    let runtime =
        EffectRuntime::builder().allow_all_calls().around(Cache::default()).effect(effect).build().unwrap();
    let tool = runtime.tool::<Value, String>("scripted").unwrap();
    let ask =
        |who: &str| runtime.caller(Identity::new(Principal::new(who))).invoke_transient(tool, json!({}));
    assert_eq!(ask("ada").await.unwrap(), "for ada");
    assert_eq!(ask("bob").await.unwrap_err().name(), ErrorName::CapabilityDenied);
}

/// T14: by the kit: the input is the cache's own duty.
#[test]
fn the_kit_reports_the_key_that_is_not_complete() {
    let report = loom_testing::kit::around(Cache::default).report();
    assert!(report.found(Check::KeyComplete), "{report}");
}
