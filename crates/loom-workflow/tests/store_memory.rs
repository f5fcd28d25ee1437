//! The memory store against the rules of every store, and its size limit.

#[cfg(test)]
mod store_conformance;

use std::sync::Arc;

use loom_workflow::memory::MemoryStore;
use loom_workflow::store::{Durability, EventStore, FullCause, Read, StoreError};
use serde_json::json;
use store_conformance::{Store, append, head_of, id, start, step};

async fn open() -> (Store, ()) {
    (Arc::new(MemoryStore::new()), ())
}

store_conformance!(open);

#[tokio::test]
async fn a_full_store_refuses_with_its_name_and_keeps_what_it_acknowledged() {
    let store = MemoryStore::with_bytes_max(400);
    let mut head = head_of(store.start(start("a", "flow", json!(1))).await.unwrap());
    let refused = loop {
        match store.append(append(&head, vec![step(1)])).await {
            Ok(next) => head = next,
            Err(error) => break error,
        }
    };
    assert_eq!(refused, StoreError::Full { cause: FullCause::Configured });
    assert_eq!(refused.stable_name(), "StoreFullError");
    assert!(head.last_seq > 1);
    assert_eq!(store.read(Read::from_start(id("a"))).await.unwrap().records.len() as u64, head.last_seq);
    assert_eq!(store.durability(), Durability::Memory);
}
