//! A store with something between it and who writes: a gate, a crash, a count.

use futures::FutureExt;
use futures::future::BoxFuture;
use loom_workflow::memory::MemoryStore;
use loom_workflow::record::ExecutionId;
use loom_workflow::store::{
    Append, Durability, EventStore, Fence, Head, List, ListPage, Read, ReadPage, Start, Started, StoreError,
};

/// What becomes of one write.
pub(crate) enum Write {
    Happens,
    /// The store is closed, before or after the write took effect.
    Crashes {
        after: bool,
    },
}

/// Asks before each write how it goes; it is told how many records the write holds.
pub(crate) struct Between {
    pub(crate) inner: MemoryStore,
    pub(crate) ask: Box<dyn Fn(usize) -> BoxFuture<'static, Write> + Send + Sync>,
}

impl Between {
    pub(crate) fn new(
        inner: &MemoryStore,
        ask: impl Fn(usize) -> BoxFuture<'static, Write> + Send + Sync + 'static,
    ) -> Self {
        Self { inner: inner.clone(), ask: Box::new(ask) }
    }

    async fn write<T>(
        &self,
        records: usize,
        write: BoxFuture<'_, Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        match (self.ask)(records).await {
            Write::Happens => write.await,
            Write::Crashes { after: true } => write.await.and(Err(StoreError::Closed)),
            Write::Crashes { after: false } => Err(StoreError::Closed),
        }
    }
}

impl EventStore for Between {
    fn start(&self, start: Start) -> BoxFuture<'_, Result<Started, StoreError>> {
        self.write(1, self.inner.start(start)).boxed()
    }

    fn append(&self, append: Append) -> BoxFuture<'_, Result<Head, StoreError>> {
        self.write(append.drafts.len(), self.inner.append(append)).boxed()
    }

    fn take_over<'a>(&'a self, execution: &'a ExecutionId) -> BoxFuture<'a, Result<Head, StoreError>> {
        self.write(0, self.inner.take_over(execution)).boxed()
    }

    fn block<'a>(
        &'a self,
        execution: &'a ExecutionId,
        fence: Fence,
    ) -> BoxFuture<'a, Result<Head, StoreError>> {
        self.inner.block(execution, fence)
    }

    fn read(&self, read: Read) -> BoxFuture<'_, Result<ReadPage, StoreError>> {
        self.inner.read(read)
    }

    fn head<'a>(&'a self, execution: &'a ExecutionId) -> BoxFuture<'a, Result<Option<Head>, StoreError>> {
        self.inner.head(execution)
    }

    fn list(&self, list: List) -> BoxFuture<'_, Result<ListPage, StoreError>> {
        self.inner.list(list)
    }

    fn durability(&self) -> Durability {
        Durability::Memory
    }
}
