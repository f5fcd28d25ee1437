//! The thread that reads, with a connection of its own: it sees only what is committed.

use std::sync::Arc;
use std::thread::{self, JoinHandle};

use loom_workflow::record::ExecutionId;
use loom_workflow::store::{
    Head, LIST_EXECUTIONS_MAX, List, ListCursor, ListPage, READ_BYTES_MAX, READ_RECORDS_MAX, Read, ReadPage,
    StoreError,
};
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use crate::fault::{CloseOnPanic, Site, Trouble};
use crate::reading::Reading;
use crate::{files, rows, schema};

/// The most questions that wait for the reader; the next one waits to be let in.
const QUEUE_QUESTIONS_MAX: usize = 64;

type Question = Box<dyn FnOnce(&Reading) + Send>;

/// The handle on the reader; dropping it lets the thread finish what waits, and waits for that.
#[derive(Debug)]
pub(crate) struct Reader {
    queue: Option<mpsc::Sender<Question>>,
    site: Arc<Site>,
    thread: Option<JoinHandle<()>>,
}

impl Reader {
    /// Opens a reading connection on a thread of its own.
    pub(crate) async fn open(site: Arc<Site>) -> Result<Self, StoreError> {
        let (told, opened) = oneshot::channel();
        let (queue, mut questions) = mpsc::channel::<Question>(QUEUE_QUESTIONS_MAX);
        let there = Arc::clone(&site);
        let thread = thread::Builder::new()
            .name("loom-store-reader".into())
            .spawn(move || {
                let reading = match schema::open_reader(&there.path) {
                    Ok(reading) => reading,
                    // An answer that nobody waits for has nobody to tell.
                    Err(trouble) => return drop(told.send(Err(answer(&there, trouble)))),
                };
                let _close = CloseOnPanic(&there);
                if told.send(Ok(())).is_ok() {
                    while let Some(question) = questions.blocking_recv() {
                        question(&reading);
                    }
                }
            })
            .map_err(|error| files::failed("starting the reader's thread", &error))?;
        opened.await.unwrap_or(Err(StoreError::Closed))?;
        Ok(Self { queue: Some(queue), site, thread: Some(thread) })
    }

    /// One page of a journal, as of one moment.
    pub(crate) async fn read(&self, read: Read) -> Result<ReadPage, StoreError> {
        self.ask(move |connection| page(connection, &read)).await
    }

    /// The head of an execution.
    pub(crate) async fn head(&self, execution: ExecutionId) -> Result<Option<Head>, StoreError> {
        self.ask(move |connection| Ok(rows::find(connection, &execution)?.map(|there| there.head))).await
    }

    /// One page of executions.
    pub(crate) async fn list(&self, list: List) -> Result<ListPage, StoreError> {
        self.ask(move |connection| heads(connection, &list)).await
    }

    async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Connection) -> Result<T, Trouble> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.site.open()?;
        let (reply, told) = oneshot::channel();
        let site = Arc::clone(&self.site);
        let question: Question = Box::new(move |reading| {
            // The caller may have gone; a read has no other effect.
            let _ = reply.send(reading.ask(question).map_err(|trouble| answer(&site, trouble)));
        });
        let queue = self.queue.as_ref().ok_or(StoreError::Closed)?;
        queue.send(question).await.map_err(|_| StoreError::Closed)?;
        told.await.unwrap_or(Err(StoreError::Closed))
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has closed the store already; there is nothing to add to it here.
            let _ = thread.join();
        }
    }
}

fn answer(site: &Site, trouble: Trouble) -> StoreError {
    let error = match trouble {
        Trouble::Refused(error) => error,
        Trouble::Sql(error) => site.judge("reading the store", &error),
    };
    if matches!(error, StoreError::Io { .. } | StoreError::Full { .. }) {
        site.close();
    }
    error
}

fn page(connection: &Connection, read: &Read) -> Result<ReadPage, Trouble> {
    let transaction = connection.unchecked_transaction()?;
    let there = rows::find(&transaction, &read.execution)?.ok_or(StoreError::NotFound)?;
    let last_seq = there.head.last_seq;
    let (mut records, mut bytes) = (Vec::new(), 0);
    let range = (read.from_seq.clamp(1, last_seq + 1), last_seq);
    rows::each_record(&transaction, there.ordinal, range, read.limit.clamp(1, READ_RECORDS_MAX), |row| {
        bytes += row.bytes();
        if bytes > READ_BYTES_MAX && !records.is_empty() {
            return Ok(false);
        }
        let seq = row.seq;
        records.push(row.decode().map_err(|fault| StoreError::Corrupt { seq: Some(seq), fault })?);
        Ok(true)
    })?;
    Ok(ReadPage::new(read, last_seq, records)?)
}

fn heads(connection: &Connection, list: &List) -> Result<ListPage, Trouble> {
    let sql = format!(
        "SELECT {} FROM execution WHERE ordinal < ?1 ORDER BY ordinal DESC LIMIT ?2",
        rows::HEAD_COLUMNS
    );
    let before = list.before.map_or(i64::MAX, |cursor| i64::try_from(cursor.ordinal()).unwrap_or(i64::MAX));
    let limit = i64::try_from(list.limit.clamp(1, LIST_EXECUTIONS_MAX)).unwrap_or(1);
    let mut statement = connection.prepare_cached(&sql)?;
    let mut found = statement.query([before, limit])?;
    let (mut heads, mut oldest) = (Vec::new(), 1);
    while let Some(row) = found.next()? {
        let there = rows::placed(row)?;
        oldest = there.ordinal;
        heads.push(there.head);
    }
    // Ordinals are dense from 1: nothing is ever removed.
    let next = (oldest > 1).then(|| ListCursor::before_ordinal(oldest.cast_unsigned()));
    Ok(ListPage::new(heads, next))
}
