//! The one thread that writes: it gathers what waits into a transaction, syncs it, and only then answers.

use std::fs::File;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use loom_workflow::record::ExecutionId;
use loom_workflow::store::{Encoded, Fence, Head, StoreError};
use rusqlite::{Connection, Transaction, TransactionBehavior};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

use crate::fault::{CloseOnPanic, Site, Trouble, stops_writer};
use crate::options::{Access, SqliteOptions};
use crate::{files, rows, schema};

/// The most jobs that wait for the committer; the next one waits to be let in.
const QUEUE_JOBS_MAX: usize = 1_024;

/// The most bytes that wait for the committer, in KiB; it must hold the largest append.
const QUEUE_KIB_MAX: usize = 64 * 1024;

/// The records at which a group is full.
const GROUP_RECORDS_MAX: usize = 1_024;

/// The bytes at which a group is full.
const GROUP_BYTES_MAX: u64 = 1024 * 1024;

/// What the committer can be asked for.
#[derive(Debug)]
pub(crate) enum Work {
    Start(Encoded),
    Append(Encoded),
    TakeOver(ExecutionId),
    Block(ExecutionId, Fence),
    #[cfg(test)]
    Panic,
}

/// A change that is durable.
#[derive(Clone, Debug)]
pub(crate) struct Done {
    pub(crate) head: Head,
    /// Whether a start made the execution rather than found it.
    pub(crate) created: bool,
}

/// The handle on the committer; dropping it lets the thread finish what waits, and waits for that.
#[derive(Debug)]
pub(crate) struct Committer {
    queue: Option<mpsc::Sender<Job>>,
    room: Arc<Semaphore>,
    site: Arc<Site>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Job {
    work: Work,
    reply: oneshot::Sender<Result<Done, StoreError>>,
    _room: OwnedSemaphorePermit,
}

impl Committer {
    /// Takes the lock and opens the file on a thread of its own.
    pub(crate) async fn open(options: SqliteOptions) -> Result<(Self, Arc<Site>), StoreError> {
        let (told, opened) = oneshot::channel();
        let (queue, jobs) = mpsc::channel(QUEUE_JOBS_MAX);
        let thread = thread::Builder::new()
            .name("loom-store-writer".into())
            .spawn(move || match Writer::open(&options, || !told.is_closed()) {
                Ok(mut writer) => {
                    if told.send(Ok(Arc::clone(&writer.site))).is_ok() {
                        writer.run(jobs);
                    }
                }
                // An answer that nobody waits for has nobody to tell.
                Err(error) => drop(told.send(Err(error))),
            })
            .map_err(|error| files::failed("starting the writer's thread", &error))?;
        let site = opened.await.unwrap_or(Err(StoreError::Closed))?;
        let room = Arc::new(Semaphore::new(QUEUE_KIB_MAX));
        Ok((Self { queue: Some(queue), room, site: Arc::clone(&site), thread: Some(thread) }, site))
    }

    /// Hands work over and waits until it is durable, or refused.
    pub(crate) async fn ask(&self, work: Work) -> Result<Done, StoreError> {
        self.site.open()?;
        let kib = u32::try_from(work.bytes() / 1024 + 1).unwrap_or(u32::MAX);
        let room = Arc::clone(&self.room).acquire_many_owned(kib).await.map_err(|_| StoreError::Closed)?;
        let (reply, answer) = oneshot::channel();
        let queue = self.queue.as_ref().ok_or(StoreError::Closed)?;
        queue.send(Job { work, reply, _room: room }).await.map_err(|_| StoreError::Closed)?;
        answer.await.unwrap_or(Err(StoreError::Closed))
    }
}

impl Drop for Committer {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has closed the store already; there is nothing to add to it here.
            let _ = thread.join();
        }
    }
}

impl Work {
    fn bytes(&self) -> u64 {
        match self {
            Self::Start(append) | Self::Append(append) => append.bytes,
            _ => 0,
        }
    }

    fn records(&self) -> usize {
        match self {
            Self::Start(append) | Self::Append(append) => append.rows.len(),
            _ => 1,
        }
    }
}

struct Writer {
    connection: Connection,
    site: Arc<Site>,
    // INVARIANT: last, so that the lock outlives the connection.
    _lock: File,
}

impl Writer {
    fn open(options: &SqliteOptions, wanted: impl Fn() -> bool) -> Result<Self, StoreError> {
        let path = files::resolve(&options.path, options.access)?;
        let lock = files::lock(&path, options.lock_wait, wanted)?;
        if options.access == Access::Create {
            files::create_file(&path)?;
        }
        let site = Site::new(path, options.max_page_count.is_some());
        let connection =
            schema::open_writer(&site.path, options.max_page_count).map_err(|trouble| match trouble {
                Trouble::Refused(error) => error,
                Trouble::Sql(error) => site.judge("opening the store", &error),
            })?;
        Ok(Self { connection, site: Arc::new(site), _lock: lock })
    }

    fn run(&mut self, mut jobs: mpsc::Receiver<Job>) {
        let site = Arc::clone(&self.site);
        let _close = CloseOnPanic(&site);
        while let Some(first) = jobs.blocking_recv() {
            let (mut records, mut bytes) = (first.work.records(), first.work.bytes());
            let mut group = vec![first];
            while records < GROUP_RECORDS_MAX && bytes < GROUP_BYTES_MAX {
                let Ok(job) = jobs.try_recv() else { break };
                records += job.work.records();
                bytes += job.work.bytes();
                group.push(job);
            }
            self.serve(group);
        }
    }

    fn serve(&mut self, group: Vec<Job>) {
        let answers = match self.site.open().and_then(|()| self.commit(&group)) {
            Ok(answers) => answers,
            Err(error) if stops_writer(&error) => {
                self.site.close();
                vec![Err(error); group.len()]
            }
            // What does not fit must not fail its neighbours, so each is tried alone.
            Err(_) if group.len() > 1 => return group.into_iter().for_each(|job| self.serve(vec![job])),
            Err(error) => vec![Err(error)],
        };
        for (job, answer) in group.into_iter().zip(answers) {
            // The caller may have gone; what it asked for has happened all the same.
            let _ = job.reply.send(answer);
        }
    }

    /// One transaction; the answers are true only once it is committed, the refusals among them too.
    fn commit(&mut self, group: &[Job]) -> Result<Vec<Result<Done, StoreError>>, StoreError> {
        let site = Arc::clone(&self.site);
        let judge = |error: rusqlite::Error| site.judge("committing", &error);
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(judge)?;
        let mut answers = Vec::with_capacity(group.len());
        for job in group {
            answers.push(match apply(&transaction, &job.work) {
                Ok(done) => Ok(done),
                Err(Trouble::Refused(error)) => Err(error),
                Err(Trouble::Sql(error)) => return Err(judge(error)),
            });
        }
        transaction.commit().map_err(judge)?;
        Ok(answers)
    }
}

/// Does one piece of work; every refusal comes before its first write.
fn apply(transaction: &Transaction<'_>, work: &Work) -> Result<Done, Trouble> {
    let found = |execution| rows::find(transaction, execution)?.ok_or(Trouble::Refused(StoreError::NotFound));
    let (ordinal, head) = match work {
        Work::Start(start) => {
            if let Some(there) = rows::find(transaction, &start.execution)? {
                start.attach(rows::first_record(transaction, there.ordinal)?)?;
                return Ok(Done { head: there.head, created: false });
            }
            let head = Head::begin(start)?;
            let ordinal = rows::insert_head(transaction, &head)?;
            rows::insert_records(transaction, ordinal, start)?;
            return Ok(Done { head, created: true });
        }
        Work::Append(append) => {
            let there = found(&append.execution)?;
            let head = there.head.admit(append)?;
            rows::insert_records(transaction, there.ordinal, append)?;
            (there.ordinal, head)
        }
        Work::TakeOver(execution) => {
            let there = found(execution)?;
            (there.ordinal, there.head.taken_over()?)
        }
        Work::Block(execution, fence) => {
            let there = found(execution)?;
            (there.ordinal, there.head.blocked(*fence)?)
        }
        #[cfg(test)]
        Work::Panic => std::panic::resume_unwind(Box::new("a test asked for it")),
    };
    rows::update_head(transaction, ordinal, &head)?;
    Ok(Done { head, created: false })
}

#[cfg(test)]
mod tests {
    use loom_workflow::record::ExecutionStarted;
    use loom_workflow::store::{FullCause, Start};

    use super::*;

    struct Scratch(std::path::PathBuf);

    impl Drop for Scratch {
        fn drop(&mut self) {
            for suffix in ["", "-wal", "-shm", ".lock"] {
                let _ = std::fs::remove_file(files::beside(&self.0, suffix));
            }
        }
    }

    fn scratch() -> (Scratch, SqliteOptions) {
        let path = std::env::temp_dir().join(format!("loom-committer-{}.db", ExecutionId::mint()));
        (Scratch(path.clone()), SqliteOptions::new(path).unwrap())
    }

    /// T16: a committer that panics closes the store; nobody waits for an answer that cannot come.
    #[tokio::test]
    async fn a_panic_of_the_committer_closes_the_store_and_frees_its_callers() {
        let (_scratch, options) = scratch();
        let (committer, site) = Committer::open(options).await.unwrap();
        let id = ExecutionId::mint();
        let (a, b) = tokio::join!(committer.ask(Work::Panic), committer.ask(Work::TakeOver(id.clone())));
        assert_eq!(a.unwrap_err(), StoreError::Closed);
        assert_eq!(b.unwrap_err(), StoreError::Closed);
        assert_eq!(committer.ask(Work::TakeOver(id)).await.unwrap_err(), StoreError::Closed);
        assert_eq!(site.open(), Err(StoreError::Closed), "readers learn of it too");
    }

    /// T16: what does not fit under the page limit does not take down what shares its transaction.
    #[test]
    fn a_job_that_does_not_fit_leaves_its_neighbours_in_the_group_alone() {
        let (_scratch, options) = scratch();
        let mut writer = Writer::open(&options.max_page_count(40), || true).unwrap();
        let room = Arc::new(Semaphore::new(8));
        let (group, mut answers): (Vec<_>, Vec<_>) = [1, 1_000_000, 1]
            .map(|bytes| {
                let input = "x".repeat(bytes).into();
                let started = ExecutionStarted::new("flow".parse().unwrap(), "r1".into(), input);
                let work = Work::Start(Start::new(ExecutionId::mint(), 1, started).encode().unwrap());
                let (reply, answer) = oneshot::channel();
                (Job { work, reply, _room: Arc::clone(&room).try_acquire_owned().unwrap() }, answer)
            })
            .into_iter()
            .unzip();
        writer.serve(group);
        let fits = answers.iter_mut().map(|answer| answer.try_recv().unwrap().map(|done| done.created));
        let full = StoreError::Full { cause: FullCause::Configured };
        assert_eq!(fits.collect::<Vec<_>>(), [Ok(true), Err(full), Ok(true)]);
    }
}
