//! The reference store: journals in memory, gone with the process.
//!
//! It keeps the stored form of records and decodes them on every read, so that what is read from it is what
//! a store on disk would give back.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt as _;
use futures::future::BoxFuture;

use crate::record::{ExecutionId, RawRecord, RecordFault};
use crate::store::{
    Append, Durability, Encoded, EventStore, Fence, FullCause, Head, LIST_EXECUTIONS_MAX, List, ListCursor,
    ListPage, READ_BYTES_MAX, READ_RECORDS_MAX, Read, ReadPage, Start, Started, StoreError,
};

/// Journals in memory; a clone is another handle on the same ones.
#[derive(Clone, Debug)]
pub struct MemoryStore {
    shelf: Arc<Mutex<Shelf>>,
    bytes_max: u64,
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryStore {
    /// An empty store that grows as far as memory does.
    pub fn new() -> Self {
        Self::with_bytes_max(u64::MAX)
    }

    /// An empty store that is full at a size, as [`RawRecord::bytes`] counts.
    pub fn with_bytes_max(bytes_max: u64) -> Self {
        Self { shelf: Arc::default(), bytes_max }
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        // No code of others runs under the lock and each change is made after its checks, so a poisoned shelf is whole.
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start_now(&self, start: Start) -> Result<Started, StoreError> {
        let start = start.encode()?;
        let mut shelf = self.shelf();
        if let Some(journal) = shelf.journals.get(&start.execution) {
            let missing = StoreError::Corrupt { seq: Some(1), fault: RecordFault::Missing };
            start.attach(journal.rows.first().cloned().ok_or(missing)?)?;
            return Ok(Started::Attached(journal.head.clone()));
        }
        let head = Head::begin(&start)?;
        shelf.charge(&start, self.bytes_max)?;
        shelf.order.push(start.execution.clone());
        shelf.journals.insert(start.execution, Journal { head: head.clone(), rows: start.rows });
        Ok(Started::Created(head))
    }

    fn append_now(&self, append: Append) -> Result<Head, StoreError> {
        let append = append.encode()?;
        let mut shelf = self.shelf();
        let head = shelf.journal(&append.execution)?.head.admit(&append)?;
        shelf.charge(&append, self.bytes_max)?;
        let journal = shelf.journal(&append.execution)?;
        journal.rows.extend(append.rows);
        journal.head = head.clone();
        Ok(head)
    }

    fn change(
        &self,
        execution: &ExecutionId,
        change: impl FnOnce(&Head) -> Result<Head, StoreError>,
    ) -> Result<Head, StoreError> {
        let mut shelf = self.shelf();
        let journal = shelf.journal(execution)?;
        journal.head = change(&journal.head)?;
        Ok(journal.head.clone())
    }

    fn read_now(&self, read: &Read) -> Result<ReadPage, StoreError> {
        let mut shelf = self.shelf();
        let journal = shelf.journal(&read.execution)?;
        let skip = usize::try_from(read.from_seq.saturating_sub(1)).unwrap_or(usize::MAX);
        let (mut records, mut bytes) = (Vec::new(), 0);
        for row in journal.rows.iter().skip(skip).take(read.limit.clamp(1, READ_RECORDS_MAX)) {
            bytes += row.bytes();
            if bytes > READ_BYTES_MAX && !records.is_empty() {
                break;
            }
            let seq = row.seq;
            records
                .push(row.clone().decode().map_err(|fault| StoreError::Corrupt { seq: Some(seq), fault })?);
        }
        ReadPage::new(read, journal.head.last_seq, records)
    }

    fn list_now(&self, list: &List) -> ListPage {
        let shelf = self.shelf();
        let end = list.before.and_then(|cursor| usize::try_from(cursor.ordinal()).ok()).unwrap_or(usize::MAX);
        let older = shelf.order.iter().enumerate().take(end).rev();
        let page: Vec<_> = older.take(list.limit.clamp(1, LIST_EXECUTIONS_MAX)).collect();
        let next =
            page.last().filter(|(at, _)| *at > 0).map(|(at, _)| ListCursor::before_ordinal(*at as u64));
        let heads =
            page.into_iter().filter_map(|(_, id)| shelf.journals.get(id)).map(|found| found.head.clone());
        ListPage::new(heads.collect(), next)
    }
}

impl EventStore for MemoryStore {
    fn start(&self, start: Start) -> BoxFuture<'_, Result<Started, StoreError>> {
        async move { self.start_now(start) }.boxed()
    }

    fn append(&self, append: Append) -> BoxFuture<'_, Result<Head, StoreError>> {
        async move { self.append_now(append) }.boxed()
    }

    fn take_over<'a>(&'a self, execution: &'a ExecutionId) -> BoxFuture<'a, Result<Head, StoreError>> {
        async move { self.change(execution, Head::taken_over) }.boxed()
    }

    fn block<'a>(
        &'a self,
        execution: &'a ExecutionId,
        fence: Fence,
    ) -> BoxFuture<'a, Result<Head, StoreError>> {
        async move { self.change(execution, |head| head.blocked(fence)) }.boxed()
    }

    fn read(&self, read: Read) -> BoxFuture<'_, Result<ReadPage, StoreError>> {
        async move { self.read_now(&read) }.boxed()
    }

    fn head<'a>(&'a self, execution: &'a ExecutionId) -> BoxFuture<'a, Result<Option<Head>, StoreError>> {
        async move { Ok(self.shelf().journals.get(execution).map(|journal| journal.head.clone())) }.boxed()
    }

    fn list(&self, list: List) -> BoxFuture<'_, Result<ListPage, StoreError>> {
        async move { Ok(self.list_now(&list)) }.boxed()
    }

    fn durability(&self) -> Durability {
        Durability::Memory
    }
}

#[derive(Debug, Default)]
struct Shelf {
    journals: BTreeMap<ExecutionId, Journal>,
    order: Vec<ExecutionId>,
    bytes: u64,
}

#[derive(Debug)]
struct Journal {
    head: Head,
    rows: Vec<RawRecord>,
}

impl Shelf {
    fn journal(&mut self, execution: &ExecutionId) -> Result<&mut Journal, StoreError> {
        self.journals.get_mut(execution).ok_or(StoreError::NotFound)
    }

    fn charge(&mut self, append: &Encoded, bytes_max: u64) -> Result<(), StoreError> {
        let bytes = self.bytes.saturating_add(append.bytes);
        if bytes > bytes_max {
            return Err(StoreError::Full { cause: FullCause::Configured });
        }
        self.bytes = bytes;
        Ok(())
    }
}
