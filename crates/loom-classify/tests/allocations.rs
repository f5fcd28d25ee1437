//! What the hot path allocates: nothing.

use std::collections::BTreeMap;
use std::hint::black_box;

use loom_classify::guard::{RequestLimits, guard_request};
use loom_classify::{Fenced, Origins, TaintOrigin, Tainted, TaintedStr};
use serde::Serialize;

fn allocations<T>(run: impl FnOnce() -> T) -> u64 {
    allocation_counter::measure(|| {
        black_box(run());
    })
    .count_total
}

#[derive(Serialize)]
struct Request {
    id: u64,
    prompt: String,
    tags: BTreeMap<String, Vec<f64>>,
    peer: std::net::IpAddr,
    history: Vec<Fenced<String>>,
}

fn request() -> Request {
    Request {
        id: 7,
        prompt: "hello".to_owned(),
        tags: BTreeMap::from([("a".to_owned(), vec![1.0, 2.0])]),
        peer: std::net::Ipv6Addr::LOCALHOST.into(),
        history: vec![Fenced::trusted("earlier".to_owned())],
    }
}

#[test]
fn the_counter_counts() {
    assert_eq!(allocations(|| vec![1_u8]), 1);
}

/// D9: guarding a clean request allocates nothing, typed or JSON.
#[test]
fn a_clean_request_is_guarded_without_an_allocation() {
    let (typed, limits) = (request(), RequestLimits::default());
    let json = serde_json::to_value(&typed).unwrap();
    assert!(guard_request(&typed, &limits).is_ok());
    assert_eq!(allocations(|| guard_request(&typed, &limits)), 0);
    assert_eq!(allocations(|| guard_request(&json, &limits)), 0);
}

/// D9: delta text is tainted at no allocation; keeping it costs its own text.
#[test]
fn tainting_a_delta_allocates_nothing() {
    let origins = Origins::from(TaintOrigin::llm("plan"));
    assert_eq!(allocations(|| TaintedStr::new(black_box("delta"), &origins).expose_tainted()), 0);
    assert_eq!(allocations(|| TaintedStr::new(black_box("delta"), &origins).to_owned()), 1);
}

/// D9: joining equal or contained origins allocates nothing.
#[test]
fn joining_what_adds_nothing_allocates_nothing() {
    let plan = Origins::from(TaintOrigin::llm("plan"));
    let equal = Origins::from(TaintOrigin::llm("plan"));
    let both = plan.join(&TaintOrigin::llm("other").into());
    assert_eq!(allocations(|| plan.join(&Origins::none())), 0);
    assert_eq!(allocations(|| Origins::none().join(&plan)), 0);
    assert_eq!(allocations(|| plan.join(&plan)), 0);
    assert_eq!(allocations(|| plan.join(&equal)), 0);
    assert_eq!(allocations(|| plan.join(&both)), 0);
    assert_eq!(allocations(|| both.join(&plan)), 0);
    let (a, b) = (Tainted::new(1, &plan), Tainted::new(2, &equal));
    assert_eq!(allocations(|| a.join(b, |a, b| a + b)), 0);
}
