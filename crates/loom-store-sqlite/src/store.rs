//! The store as its users see it.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use loom_workflow::record::ExecutionId;
use loom_workflow::store::{
    Append, Durability, EventStore, Fence, Head, List, ListPage, Read, ReadPage, Start, Started, StoreError,
};

use crate::committer::{Committer, Work};
use crate::fault::Site;
use crate::files;
use crate::options::{Access, SqliteOptions};
use crate::reader::Reader;

/// Journals in one SQLite file.
///
/// Dropping it writes what still waits and closes the file, which blocks the thread for as long as that takes.
#[derive(Debug)]
pub struct SqliteStore {
    // INVARIANT: the reader first, so that the writer closes last and folds the log into the file.
    reader: Reader,
    writer: Option<Committer>,
}

impl SqliteStore {
    /// Opens the store; for writing it takes the lock, and waits for another writer as long as the options say.
    ///
    /// # Errors
    /// [`StoreError::Locked`] names the other writer's process; [`StoreError::NotADatabase`] for a folder, a special file, another
    /// format, another application or a newer layout; [`StoreError::BadLocation`] for a path that ends in no file name, a link
    /// that leads nowhere, or a lock file that is none; [`StoreError::Full`] and [`StoreError::Io`] for what the file system says.
    ///
    /// # Cancel safety
    /// A dropped call leaves no lock behind.
    pub async fn open(options: SqliteOptions) -> Result<Self, StoreError> {
        if options.access == Access::Read {
            let path = files::resolve(&options.path, Access::Read)?;
            return Ok(Self { reader: Reader::open(Arc::new(Site::new(path, false))).await?, writer: None });
        }
        let (writer, site) = Committer::open(options).await?;
        Ok(Self { reader: Reader::open(site).await?, writer: Some(writer) })
    }

    fn writer(&self) -> Result<&Committer, StoreError> {
        self.writer.as_ref().ok_or(StoreError::ReadOnly)
    }
}

impl EventStore for SqliteStore {
    fn start(&self, start: Start) -> BoxFuture<'_, Result<Started, StoreError>> {
        async move {
            let done = self.writer()?.ask(Work::Start(start.encode()?)).await?;
            Ok(if done.created { Started::Created(done.head) } else { Started::Attached(done.head) })
        }
        .boxed()
    }

    fn append(&self, append: Append) -> BoxFuture<'_, Result<Head, StoreError>> {
        async move { Ok(self.writer()?.ask(Work::Append(append.encode()?)).await?.head) }.boxed()
    }

    fn take_over<'a>(&'a self, execution: &'a ExecutionId) -> BoxFuture<'a, Result<Head, StoreError>> {
        async move { Ok(self.writer()?.ask(Work::TakeOver(execution.clone())).await?.head) }.boxed()
    }

    fn block<'a>(
        &'a self,
        execution: &'a ExecutionId,
        fence: Fence,
    ) -> BoxFuture<'a, Result<Head, StoreError>> {
        async move { Ok(self.writer()?.ask(Work::Block(execution.clone(), fence)).await?.head) }.boxed()
    }

    fn read(&self, read: Read) -> BoxFuture<'_, Result<ReadPage, StoreError>> {
        self.reader.read(read).boxed()
    }

    fn head<'a>(&'a self, execution: &'a ExecutionId) -> BoxFuture<'a, Result<Option<Head>, StoreError>> {
        self.reader.head(execution.clone()).boxed()
    }

    fn list(&self, list: List) -> BoxFuture<'_, Result<ListPage, StoreError>> {
        self.reader.list(list).boxed()
    }

    fn durability(&self) -> Durability {
        Durability::Sync
    }
}
