//! The storage of tools: keys in a small database in the owner's data directory, and a cache in memory. Both
//! are bounded.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use agentx_luau_tools::EffectError;
use agentx_types::CurrentFolder;
use rusqlite::{Connection, OptionalExtension as _, params};
use serde_json::Value;

use crate::kept_values::{bytes_of, open, open_in_memory, prefix, settle};

/// The longest key in bytes.
pub(super) const MAX_KEY: usize = 512;
/// The longest value as JSON in bytes.
const MAX_VALUE: usize = 256 << 10;
/// Keys of one space of one owner.
const MAX_KEYS: i64 = 10_000;
/// Bytes of all keys and values of one owner, unless [`ToolFactoryParts::kept_bytes`] is less.
///
/// [`ToolFactoryParts::kept_bytes`]: crate::ToolFactoryParts::kept_bytes
const MAX_BYTES: u64 = 128 << 20;
/// Values in the cache, of all tools.
const MAX_CACHED: usize = 10_000;
/// Bytes in the cache, of all tools.
const MAX_CACHED_BYTES: usize = 64 << 20;

/// The storage of all tools.
pub(crate) struct ToolStore {
    path: Option<PathBuf>,
    /// The path of the folder that tools of a folder come from.
    folder: String,
    /// The identity of the folder.
    now: Option<CurrentFolder>,
    /// Maximum number of bytes of all keys and values of one owner.
    max_bytes: u64,
    database: Mutex<Option<OpenStore>>,
    pub(super) cache: Mutex<StoreCache>,
}

/// The database, and how the key spaces of the folder begin in it.
struct OpenStore {
    connection: Connection,
    of_folder: String,
}

/// Values of all tools that are kept until the program ends.
#[derive(Default)]
pub(super) struct StoreCache {
    entries: HashMap<String, Cached>,
    bytes: usize,
}

struct Cached {
    value: Value,
    bytes: usize,
    until: Option<Instant>,
}

impl ToolStore {
    /// Creates a store in a file that is made when it is first needed; in memory without one.
    pub(crate) fn new(
        path: Option<PathBuf>,
        folder: String,
        now: Option<CurrentFolder>,
        max_bytes: Option<u64>,
    ) -> Self {
        Self {
            path,
            folder,
            now,
            max_bytes: max_bytes.map_or(MAX_BYTES, |most| most.min(MAX_BYTES)),
            database: Mutex::new(None),
            cache: Mutex::default(),
        }
    }

    fn open(&self) -> rusqlite::Result<OpenStore> {
        let mut connection = match &self.path {
            Some(path) => open(path)?,
            None => open_in_memory()?,
        };
        let name = match &self.now {
            Some(now) => settle(&mut connection, &self.folder, now)?,
            None => self.folder.clone(),
        };
        Ok(OpenStore {
            connection,
            of_folder: prefix(&name),
        })
    }

    /// Runs `work` with the database and the key space of a place: tools of each folder have their own, apart
    /// from those of the person's tools.
    pub(super) fn with<T>(
        &self,
        place: &KeyOwner,
        work: impl FnOnce(&Connection, &str) -> rusqlite::Result<T>,
    ) -> Result<T, EffectError> {
        let mut database = self.database.lock().unwrap_or_else(PoisonError::into_inner);
        let failed =
            |error: rusqlite::Error| EffectError::new("failed", format!("the store of keys: {error}"));
        let open = match database.take() {
            Some(open) => open,
            None => self.open().map_err(failed)?,
        };
        let space = if place.of_folder {
            format!("{}{}", open.of_folder, place.space)
        } else {
            place.space.clone()
        };
        let done = work(&open.connection, &space).map_err(failed);
        *database = Some(open);
        done
    }

    pub(super) fn get(&self, place: &KeyOwner) -> Result<Option<Value>, EffectError> {
        let found: Option<String> = self.with(place, |database, space| {
            database
                .prepare_cached("SELECT value FROM kv WHERE owner = ?1 AND space = ?2 AND key = ?3")?
                .query_row(params![place.owner, space, place.key], |row| row.get(0))
                .optional()
        })?;
        Ok(found.and_then(|text| serde_json::from_str(&text).ok()))
    }

    pub(super) fn set(&self, place: &KeyOwner, value: &Value) -> Result<(), EffectError> {
        let written = value.to_string();
        if written.len() > MAX_VALUE {
            return Err(EffectError::new(
                "too_large",
                format!("a value has at most {MAX_VALUE} bytes as JSON"),
            ));
        }
        let full = self.with(place, |database, space| {
            let count: i64 = database
                .prepare_cached("SELECT count(*) FROM kv WHERE owner = ?1 AND space = ?2 AND key <> ?3")?
                .query_row(params![place.owner, space, place.key], |row| row.get(0))?;
            if count >= MAX_KEYS {
                return Ok(Some(too_many(&place.space)));
            }
            let bytes = bytes_of(database, &place.owner)?;
            if bytes + (place.key.len() + written.len()) as u64 > self.max_bytes {
                return Ok(Some(too_much(self.max_bytes)));
            }
            database
                .prepare_cached(
                    "INSERT OR REPLACE INTO kv (owner, space, key, value) VALUES (?1, ?2, ?3, ?4)",
                )?
                .execute(params![place.owner, space, place.key, written])?;
            Ok(None)
        })?;
        full.map_or(Ok(()), Err)
    }

    pub(super) fn delete(&self, place: &KeyOwner) -> Result<(), EffectError> {
        self.with(place, |database, space| {
            database
                .prepare_cached("DELETE FROM kv WHERE owner = ?1 AND space = ?2 AND key = ?3")?
                .execute(params![place.owner, space, place.key])
        })?;
        Ok(())
    }

    pub(super) fn list(&self, place: &KeyOwner) -> Result<Vec<String>, EffectError> {
        let mut keys: Vec<String> = self.with(place, |database, space| {
            let mut query = database.prepare_cached("SELECT key FROM kv WHERE owner = ?1 AND space = ?2")?;
            query
                .query_map(params![place.owner, space], |row| row.get(0))?
                .collect()
        })?;
        keys.retain(|key| key.starts_with(&place.key));
        keys.sort();
        Ok(keys)
    }
}

fn too_many(space: &str) -> EffectError {
    let problem = format!("the key space {space} has {MAX_KEYS} keys, which is the most");
    EffectError::new("too_many", problem)
}

fn too_much(most: u64) -> EffectError {
    let most = match most >> 20 {
        0 => format!("{most} bytes"),
        mebibytes => format!("{mebibytes} MiB"),
    };
    let problem = format!("all values together would take more than {most}; delete some keys");
    EffectError::new("too_large", problem)
}

/// The owner of a key.
pub(crate) struct KeyOwner {
    pub(crate) owner: String,
    pub(crate) space: String,
    pub(crate) of_folder: bool,
    pub(crate) key: String,
}

impl StoreCache {
    pub(super) fn get(&mut self, key: &str) -> Value {
        match self.entries.get(key) {
            Some(found) if found.is_over() => {
                self.remove(key);
                Value::Null
            }
            Some(found) => found.value.clone(),
            None => Value::Null,
        }
    }

    pub(super) fn set(&mut self, key: String, value: Value, ttl: Option<f64>) -> Result<(), EffectError> {
        let bytes = key.len() + value.to_string().len();
        if key.len() > MAX_KEY * 2 || bytes > MAX_VALUE * 2 {
            return Err(EffectError::new(
                "too_large",
                format!("a cached value has at most {MAX_VALUE} bytes as JSON"),
            ));
        }
        self.remove(&key);
        if self.entries.len() >= MAX_CACHED || self.bytes + bytes > MAX_CACHED_BYTES {
            self.make_room();
        }
        let ttl = ttl.and_then(|ttl| Duration::try_from_secs_f64(ttl).ok());
        let until = ttl.and_then(|ttl| Instant::now().checked_add(ttl));
        self.bytes += bytes;
        self.entries.insert(key, Cached { value, bytes, until });
        Ok(())
    }

    pub(super) fn remove(&mut self, key: &str) {
        if let Some(gone) = self.entries.remove(key) {
            self.bytes -= gone.bytes;
        }
    }

    /// Frees space: expired entries first, and all entries if that is not enough. It is a cache.
    fn make_room(&mut self) {
        self.entries.retain(|_, cached| !cached.is_over());
        self.bytes = self.entries.values().map(|cached| cached.bytes).sum();
        if self.entries.len() >= MAX_CACHED / 2 || self.bytes > MAX_CACHED_BYTES / 2 {
            self.entries.clear();
            self.bytes = 0;
        }
    }
}

impl Cached {
    fn is_over(&self) -> bool {
        self.until.is_some_and(|until| until <= Instant::now())
    }
}
