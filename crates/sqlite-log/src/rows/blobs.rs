//! Content-addressed bytes: each stored once and found by hash, with the sessions that refer to them. Called
//! by the writer for payloads that are too long for the record stream, and through `BlobStore`.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::ops::Range;

use agentx_runtime::{Digest, LogError};
use agentx_types::BlobId;
use rusqlite::blob::ZeroBlob;
use rusqlite::{Connection, OptionalExtension as _, params};

use crate::error::Fault;
use crate::keys::{int, now, unsigned};

/// Output of the encoder besides the record stream.
#[derive(Default)]
pub(crate) struct EncodedBlobs {
    /// Payloads that are too long for the stream, with their hashes.
    pub(crate) blobs: Vec<(Digest, Vec<u8>)>,
    /// Blobs that events name: the `seq` that names it, and its hash.
    pub(crate) references: Vec<(u64, Digest)>,
}

/// The id of a blob with this hash.
pub(crate) fn id_of(hash: &Digest) -> BlobId {
    BlobId::with_suffix(blake3::Hash::from_bytes(*hash).to_hex())
}

pub(crate) fn hash_of(id: &BlobId) -> Option<Digest> {
    let hex = id.as_str().strip_prefix(BlobId::PREFIX)?;
    blake3::Hash::from_hex(hex).ok().map(|hash| *hash.as_bytes())
}

/// Calls `found` with the hash of each blob id anywhere in a payload. It finds too many rather than too few,
/// because an id may be in the middle of a text for a model.
pub(crate) fn find_references(payload: &[u8], mut found: impl FnMut(Digest)) {
    for at in memchr::memmem::find_iter(payload, BlobId::PREFIX) {
        let from = at + BlobId::PREFIX.len();
        let hex = payload
            .get(from..from + 64)
            .filter(|hex| !hex.iter().any(u8::is_ascii_uppercase));
        if let Some(hash) = hex.and_then(|hex| blake3::Hash::from_hex(hex).ok()) {
            found(*hash.as_bytes());
        }
    }
}

/// Larger blobs are written into their row piece by piece, because SQLite copies bound values twice.
const WHOLE: usize = 256 << 10;

/// The number of bytes to copy at a time.
const PIECE: usize = 64 << 10;

/// Stores bytes under their hash. An existing blob is only marked as used now; a damaged one is replaced,
/// which repairs every session that refers to it.
pub(crate) fn put(connection: &Connection, hash: &Digest, bytes: &[u8]) -> Result<(), Fault> {
    if bytes.len() <= WHOLE {
        connection
            .prepare_cached(
                "INSERT INTO blobs (hash, size, touched_at, data) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (hash) DO UPDATE SET touched_at = excluded.touched_at, size = excluded.size,
                 data = CASE WHEN data = excluded.data THEN data ELSE excluded.data END",
            )?
            .execute(params![&hash[..], int(bytes.len() as u64), now().0, bytes])?;
        return Ok(());
    }
    let known: Option<i64> = connection
        .prepare_cached("SELECT id FROM blobs WHERE hash = ?1")?
        .query_row([&hash[..]], |row| row.get(0))
        .optional()?;
    if let Some(row) = known {
        connection
            .prepare_cached("UPDATE blobs SET touched_at = ?2 WHERE id = ?1")?
            .execute(params![row, now().0])?;
        if is_intact(connection, row, bytes)? {
            return Ok(());
        }
        connection
            .prepare_cached("DELETE FROM blobs WHERE id = ?1")?
            .execute([row])?;
    }
    let row = connection
        .prepare_cached("INSERT INTO blobs (hash, size, touched_at, data) VALUES (?1, ?2, ?3, ?4)")?
        .insert(params![
            &hash[..],
            int(bytes.len() as u64),
            now().0,
            ZeroBlob(bytes.len() as u64)
        ])?;
    let mut blob = connection.blob_open("main", "blobs", "data", row, false)?;
    for (index, piece) in bytes.chunks(PIECE).enumerate() {
        blob.write_all_at(piece, index * PIECE)?;
    }
    Ok(blob.close()?)
}

/// Returns whether the blob of a row has these bytes.
fn is_intact(connection: &Connection, row: i64, bytes: &[u8]) -> Result<bool, Fault> {
    let blob = connection.blob_open("main", "blobs", "data", row, true)?;
    if blob.size() as usize != bytes.len() {
        return Ok(false);
    }
    let mut stored = [0; PIECE];
    for (index, piece) in bytes.chunks(PIECE).enumerate() {
        let stored = &mut stored[..piece.len()];
        blob.read_at_exact(stored, index * PIECE)?;
        if stored != piece {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Stores the blobs of the encoder, and the references of the session to blobs.
pub(crate) fn store_blobs(connection: &Connection, session: i64, aside: &EncodedBlobs) -> Result<(), Fault> {
    for (hash, payload) in &aside.blobs {
        put(connection, hash, payload)?;
    }
    for (seq, hash) in &aside.references {
        connection
            .prepare_cached(
                "INSERT INTO blob_refs (session, hash, seq, present)
                 VALUES (?1, ?2, ?3, EXISTS (SELECT 1 FROM blobs WHERE hash = ?2))
                 ON CONFLICT DO UPDATE SET present = max (present, excluded.present)",
            )?
            .execute(params![session, &hash[..], int(*seq)])?;
    }
    Ok(())
}

/// A complete payload, checked against its hash.
pub(crate) fn payload(connection: &Connection, hash: &Digest) -> Result<String, Fault> {
    let bytes: Option<Vec<u8>> = connection
        .prepare_cached("SELECT data FROM blobs WHERE hash = ?1")?
        .query_row([&hash[..]], |row| row.get(0))
        .optional()?;
    let bytes = bytes.ok_or_else(|| LogError::NoBlob(id_of(hash)))?;
    if blake3::hash(&bytes).as_bytes() != hash {
        return Err(Fault::Other(format!(
            "blob {} is not what was stored",
            id_of(hash)
        )));
    }
    String::from_utf8(bytes).map_err(|_| Fault::Other(format!("blob {} is not text", id_of(hash))))
}

fn find(connection: &Connection, id: &BlobId) -> Result<(i64, u64), Fault> {
    let missing = || Fault::from(LogError::NoBlob(id.clone()));
    let hash = hash_of(id).ok_or_else(missing)?;
    connection
        .prepare_cached("SELECT id, size FROM blobs WHERE hash = ?1")?
        .query_row([&hash[..]], |row| Ok((row.get(0)?, unsigned(row, 1)?)))
        .optional()?
        .ok_or_else(missing)
}

pub(crate) fn size(connection: &Connection, id: &BlobId) -> Result<u64, Fault> {
    find(connection, id).map(|(_, size)| size)
}

/// A part of a blob, without reading the rest.
pub(crate) fn range(connection: &Connection, id: &BlobId, range: &Range<u64>) -> Result<Vec<u8>, Fault> {
    let (row, _) = find(connection, id)?;
    let mut blob = connection.blob_open("main", "blobs", "data", row, true)?;
    let from = range.start.min(blob.len() as u64);
    let length = range.end.min(blob.len() as u64).saturating_sub(from);
    let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
    let read = blob
        .seek(SeekFrom::Start(from))
        .and_then(|_| blob.read_exact(&mut bytes));
    read.map_err(|e| Fault::Other(format!("blob {id} cannot be read: {e}")))?;
    Ok(bytes)
}

/// Returns the fault of a blob; `None` if its content matches its hash.
pub(crate) fn fault_of(connection: &Connection, hash: &Digest) -> Result<Option<String>, Fault> {
    let id = id_of(hash);
    let row = match find(connection, &id) {
        Ok((row, _)) => row,
        Err(Fault::Log(error)) => return Ok(Some(error.to_string())),
        Err(fault) => return Err(fault),
    };
    let blob = connection.blob_open("main", "blobs", "data", row, true)?;
    let mut hasher = blake3::Hasher::new();
    Ok(match hasher.update_reader(blob) {
        Ok(hasher) if hasher.finalize().as_bytes() == hash => None,
        Ok(_) => Some(format!("blob {id} is not what was stored")),
        Err(error) => Some(format!("blob {id} cannot be read: {error}")),
    })
}
