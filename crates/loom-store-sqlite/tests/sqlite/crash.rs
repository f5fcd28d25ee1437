//! A writer that is killed at any moment, and what its successor finds.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};

use crate::scratch::{Scratch, named};
use crate::store_conformance::{append, id, start, step};
use futures::future::join_all;
use loom_store_sqlite::SqliteStore;
use loom_workflow::record::{Draft, Event, StepPath, StepStarted};
use loom_workflow::store::{EventStore, Read, StoreError};
use serde_json::json;

const ROUNDS: u64 = 20;
const EXECUTIONS: u64 = 8;

/// The numbers of the steps that an execution's journal holds, in order.
async fn steps(store: &SqliteStore, execution: &str) -> Result<Vec<u64>, StoreError> {
    let (mut numbers, mut next) = (Vec::new(), Some(1));
    while let Some(from) = next {
        let page = store.read(Read::from_seq(id(execution), from)).await?;
        for record in page.records {
            if let Event::StepCompleted(completed) = record.event {
                numbers.push(completed.output.as_u64().unwrap());
            }
        }
        next = page.next_seq;
    }
    Ok(numbers)
}

/// T16: kill -9 at any moment loses no acknowledged event and records no step twice; 20 rounds on one file.
#[tokio::test]
async fn a_killed_writer_loses_nothing_acknowledged_and_doubles_nothing() {
    let scratch = Scratch::new();
    let mut acked = BTreeMap::<String, u64>::new();
    for round in 0..ROUNDS {
        let mut child = scratch
            .child(std::env::current_exe().unwrap(), &[], "crash::writer_to_be_killed")
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let kill_after = 1 + (round * 37) % 90;
        let mut seen = 0;
        for line in lines.map_while(Result::ok) {
            let Some((_, ack)) = line.split_once("ack ") else { continue };
            let (execution, number) = ack.split_once(' ').unwrap();
            acked.insert(execution.to_owned(), number.parse().unwrap());
            seen += 1;
            if seen == kill_after {
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        assert!(seen >= kill_after, "round {round}: the writer ended by itself after {seen} steps");
        let store = scratch.open().await;
        for (execution, last) in &acked {
            let stored = steps(&store, execution).await.unwrap();
            assert_eq!(stored, (1..=stored.len() as u64).collect::<Vec<_>>(), "round {round}, {execution}");
            assert!(
                stored.len() as u64 >= *last,
                "round {round}, {execution}: step {last} was acknowledged and is gone"
            );
            let head = store.head(&id(execution)).await.unwrap().unwrap();
            assert_eq!(
                head.last_seq,
                1 + 2 * stored.len() as u64,
                "round {round}: half an append was stored"
            );
        }
    }
    assert_eq!(acked.len() as u64, EXECUTIONS);
}

#[tokio::test]
#[ignore = "the crash test runs it as a child process"]
async fn writer_to_be_killed() {
    let store = loom_store_sqlite::SqliteOptions::new(named()).unwrap();
    let store = SqliteStore::open(store).await.unwrap();
    let run = async |n: u64| {
        let execution = format!("e{n}");
        store.start(start(&execution, "flow", json!(n))).await.unwrap();
        let mut head = store.take_over(&id(&execution)).await.unwrap();
        for number in steps(&store, &execution).await.unwrap().len() as u64 + 1.. {
            let path = StepPath::new(format!("s#{number}")).unwrap();
            let begun = Draft::new(number, StepStarted::new("tool".into())).with_path(path);
            head = store.append(append(&head, vec![begun, step(number)])).await.unwrap();
            println!("ack {execution} {number}");
        }
    };
    join_all((0..EXECUTIONS).map(run)).await;
}
