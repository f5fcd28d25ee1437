//! Heads and records as rows.

use loom_workflow::record::{ExecutionId, Fingerprint, FlowName, RawRecord, RecordFault};
use loom_workflow::store::{Encoded, ExecutionStatus, Fence, Head, SEQ_MAX, StoreError};
use rusqlite::{Connection, Row, params};

use crate::fault::Trouble;

/// The bits of a log key that hold the sequence.
const SEQ_BITS: u32 = SEQ_MAX.trailing_ones();

/// The highest creation ordinal whose keys fit the 63 bits of a rowid.
const ORDINAL_MAX: i64 = i64::MAX >> SEQ_BITS;

/// A head with its execution's place in the order of creation.
#[derive(Debug)]
pub(crate) struct Placed {
    pub(crate) ordinal: i64,
    pub(crate) head: Head,
}

/// The columns of [`placed`], in its order.
pub(crate) const HEAD_COLUMNS: &str =
    "ordinal, id, flow, status, epoch, last_seq, bytes, started_at_ms, updated_at_ms";

/// Reads a row of [`HEAD_COLUMNS`].
pub(crate) fn placed(row: &Row<'_>) -> Result<Placed, Trouble> {
    let number = |at: usize| row.get::<_, i64>(at).map(i64::cast_unsigned);
    let damaged = || Trouble::Refused(StoreError::Corrupt { seq: None, fault: RecordFault::Layout });
    let head = Head::from_columns(
        ExecutionId::new(row.get::<_, String>(1)?).map_err(|_| damaged())?,
        FlowName::new(row.get::<_, String>(2)?).map_err(|_| damaged())?,
        ExecutionStatus::from_text(&row.get::<_, String>(3)?).ok_or_else(damaged)?,
        Fence::new(number(4)?, number(5)?),
        number(6)?,
        (number(7)?, number(8)?),
    );
    Ok(Placed { ordinal: row.get(0)?, head })
}

/// Finds an execution.
pub(crate) fn find(connection: &Connection, execution: &ExecutionId) -> Result<Option<Placed>, Trouble> {
    let mut statement =
        connection.prepare_cached(&format!("SELECT {HEAD_COLUMNS} FROM execution WHERE id = ?1"))?;
    let mut rows = statement.query([execution.as_str()])?;
    rows.next()?.map(placed).transpose()
}

/// Writes a new execution and answers its ordinal; the refusal for want of one comes before the write.
pub(crate) fn insert_head(connection: &Connection, head: &Head) -> Result<i64, Trouble> {
    let last: Option<i64> =
        connection.prepare_cached("SELECT max(ordinal) FROM execution")?.query_row([], |row| row.get(0))?;
    let ordinal = last.unwrap_or(0).saturating_add(1);
    key(ordinal, SEQ_MAX)?;
    let sql = "INSERT INTO execution (ordinal, id, flow, status, epoch, last_seq, bytes, started_at_ms, updated_at_ms)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    connection.prepare_cached(sql)?.execute(params![
        ordinal,
        head.execution.as_str(),
        head.flow.as_str(),
        head.status.as_str(),
        head.epoch.cast_signed(),
        head.last_seq.cast_signed(),
        head.bytes.cast_signed(),
        head.started_at_ms.cast_signed(),
        head.updated_at_ms.cast_signed(),
    ])?;
    Ok(ordinal)
}

/// Writes what changed of an execution's head.
pub(crate) fn update_head(connection: &Connection, ordinal: i64, head: &Head) -> Result<(), Trouble> {
    let sql = "UPDATE execution SET status = ?2, epoch = ?3, last_seq = ?4, bytes = ?5, updated_at_ms = ?6
               WHERE ordinal = ?1";
    connection.prepare_cached(sql)?.execute(params![
        ordinal,
        head.status.as_str(),
        head.epoch.cast_signed(),
        head.last_seq.cast_signed(),
        head.bytes.cast_signed(),
        head.updated_at_ms.cast_signed(),
    ])?;
    Ok(())
}

/// Writes the records of an append.
pub(crate) fn insert_records(connection: &Connection, ordinal: i64, append: &Encoded) -> Result<(), Trouble> {
    let sql = "INSERT INTO log (key, version, at_ms, kind, path, effect, input_schema_hash, revision, payload, crc32c)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
    let mut statement = connection.prepare_cached(sql)?;
    for row in &append.rows {
        let print = row.fingerprint.as_ref();
        statement.execute(params![
            key(ordinal, row.seq)?,
            row.version,
            row.at_ms.cast_signed(),
            row.kind,
            row.path.as_deref(),
            print.map(|print| &*print.effect),
            print.map(|print| &*print.input_schema_hash),
            print.map(|print| &*print.revision),
            row.payload,
            row.crc32c,
        ])?;
    }
    Ok(())
}

/// Reads records of an execution in order, until `each` says that it has enough.
pub(crate) fn each_record(
    connection: &Connection,
    ordinal: i64,
    (from_seq, to_seq): (u64, u64),
    limit: usize,
    mut each: impl FnMut(RawRecord) -> Result<bool, StoreError>,
) -> Result<(), Trouble> {
    let sql = "SELECT key & 16777215, version, at_ms, kind, path, effect, input_schema_hash, revision, payload, crc32c
               FROM log WHERE key BETWEEN ?1 AND ?2 ORDER BY key LIMIT ?3";
    let mut statement = connection.prepare_cached(sql)?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut rows = statement.query(params![key(ordinal, from_seq)?, key(ordinal, to_seq)?, limit])?;
    while let Some(row) = rows.next()? {
        let seq = row.get::<_, i64>(0)?.cast_unsigned();
        let record =
            raw(seq, row).map_err(|_| StoreError::Corrupt { seq: Some(seq), fault: RecordFault::Layout })?;
        if !each(record)? {
            break;
        }
    }
    Ok(())
}

fn raw(seq: u64, row: &Row<'_>) -> Result<RawRecord, rusqlite::Error> {
    let (effect, schema, revision) = (
        row.get::<_, Option<String>>(5)?,
        row.get::<_, Option<String>>(6)?,
        row.get::<_, Option<String>>(7)?,
    );
    let fingerprint = match (effect, schema, revision) {
        (Some(effect), Some(schema), Some(revision)) => Some(Fingerprint::new(effect, schema, revision)),
        // A part without the others fails the checksum, which counts them all.
        _ => None,
    };
    let at_ms = row.get::<_, i64>(2)?.cast_unsigned();
    let (version, kind, path) = (row.get(1)?, row.get(3)?, row.get(4)?);
    Ok(RawRecord::from_columns(version, seq, at_ms, kind, path, fingerprint, row.get(8)?, row.get(9)?))
}

fn key(ordinal: i64, seq: u64) -> Result<i64, StoreError> {
    if !(0..=ORDINAL_MAX).contains(&ordinal) || seq > SEQ_MAX {
        return Err(StoreError::Malformed { what: "the store has no key for the record" });
    }
    Ok(ordinal << SEQ_BITS | seq.cast_signed())
}

/// Reads the first record of an execution.
pub(crate) fn first_record(connection: &Connection, ordinal: i64) -> Result<RawRecord, Trouble> {
    let mut first = None;
    each_record(connection, ordinal, (1, 1), 1, |record| {
        first = Some(record);
        Ok(false)
    })?;
    Ok(first.ok_or(StoreError::Corrupt { seq: Some(1), fault: RecordFault::Missing })?)
}
