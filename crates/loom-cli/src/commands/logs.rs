//! `loom logs`: what the journal holds, read without its lock.

use std::sync::Arc;

use loom_effect_runtime::Signal;
use loom_store_sqlite::SqliteStore;
use loom_workflow::store::{EventStore, Head, LIST_EXECUTIONS_MAX, List, Read};

use super::stopped;
use crate::args::LogsArgs;
use crate::exit::Failure;
use crate::render::Screen;
use crate::store;

pub(crate) async fn run(args: LogsArgs, screen: &Arc<Screen>, stop: &Signal) -> Result<(), Failure> {
    let store = store::open_to_read(&args.store).await?;
    match args.id {
        Some(id) => {
            let head = store::find(&store, &id).await?;
            events(&store, &head, screen, stop).await
        }
        None => {
            let limit = usize::try_from(args.limit).unwrap_or(usize::MAX);
            executions(&store, limit, screen, stop).await
        }
    }
}

/// Shows the newest executions, a page at a time.
async fn executions(
    store: &SqliteStore,
    limit: usize,
    screen: &Screen,
    stop: &Signal,
) -> Result<(), Failure> {
    let mut left = limit;
    let mut before = None;
    while left > 0 {
        let mut list = List::newest(left.min(LIST_EXECUTIONS_MAX));
        if let Some(cursor) = before {
            list = list.with_before(cursor);
        }
        let page = store.list(list).await?;
        left = left.saturating_sub(page.heads.len());
        for head in &page.heads {
            screen.show(|view| view.execution(head));
        }
        if stop.is_aborted() {
            return Err(stopped(stop));
        }
        before = page.next;
        if before.is_none() {
            if left == limit {
                screen.note("no executions yet: loom plan \"…\" makes one");
            }
            return Ok(());
        }
    }
    screen.note(&format!("the newest {limit} are shown; --limit N shows more"));
    Ok(())
}

/// Shows the events of one execution in order, a page at a time.
async fn events(store: &SqliteStore, head: &Head, screen: &Screen, stop: &Signal) -> Result<(), Failure> {
    let mut next = Some(1);
    while let Some(from) = next {
        let page = store.read(Read::from_seq(head.execution.clone(), from)).await?;
        for record in &page.records {
            screen.show(|view| view.event(record));
        }
        if stop.is_aborted() {
            return Err(stopped(stop));
        }
        next = page.next_seq;
    }
    Ok(())
}
