//! The storage of tools: keys in a small database in the owner's data directory, and a cache in memory. Both
//! are bounded.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use agentx_luau_tools::{EffectError, EffectKind, Outcome};
use agentx_types::CurrentFolder;
use rusqlite::{Connection, OptionalExtension as _, params};
use serde_json::Value;

use super::{FileToolCall, text};
use crate::kept_values::{bytes_of, open, open_in_memory, prefix, settle};

/// The longest key in bytes.
const MAX_KEY: usize = 512;
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
    cache: Mutex<StoreCache>,
}

/// The database, and how the key spaces of the folder begin in it.
struct OpenStore {
    connection: Connection,
    of_folder: String,
}

#[derive(Default)]
struct StoreCache {
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

    fn get(&self, place: &KeyOwner) -> Result<Option<Value>, EffectError> {
        let found: Option<String> = self.with(place, |database, space| {
            database
                .prepare_cached("SELECT value FROM kv WHERE owner = ?1 AND space = ?2 AND key = ?3")?
                .query_row(params![place.owner, space, place.key], |row| row.get(0))
                .optional()
        })?;
        Ok(found.and_then(|text| serde_json::from_str(&text).ok()))
    }

    fn set(&self, place: &KeyOwner, value: &Value) -> Result<(), EffectError> {
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

    fn delete(&self, place: &KeyOwner) -> Result<(), EffectError> {
        self.with(place, |database, space| {
            database
                .prepare_cached("DELETE FROM kv WHERE owner = ?1 AND space = ?2 AND key = ?3")?
                .execute(params![place.owner, space, place.key])
        })?;
        Ok(())
    }

    fn list(&self, place: &KeyOwner) -> Result<Vec<String>, EffectError> {
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

/// `kv_get`, `kv_set`, `kv_delete`, `kv_list`.
pub(crate) async fn kept(call: Arc<FileToolCall>, kind: EffectKind, asked: Value) -> Outcome {
    let place = place(&call, &asked).await?;
    let store = call.shared.store.clone();
    let work = move || match kind {
        EffectKind::KvGet => store.get(&place).map(|found| found.unwrap_or(Value::Null)),
        EffectKind::KvList => store
            .list(&place)
            .map(|keys| keys.into_iter().map(Value::String).collect()),
        EffectKind::KvDelete => store.delete(&place).map(|()| Value::Null),
        _ => match asked.get("value").filter(|value| !value.is_null()) {
            Some(value) => store.set(&place, value).map(|()| Value::Null),
            None => store.delete(&place).map(|()| Value::Null),
        },
    };
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| EffectError::new("failed", format!("the store of keys: {error}")))?
}

async fn place(call: &FileToolCall, asked: &Value) -> Result<KeyOwner, EffectError> {
    let key = asked
        .get("key")
        .or_else(|| asked.get("prefix"))
        .and_then(Value::as_str)
        .unwrap_or_default();
    if key.len() > MAX_KEY {
        return Err(EffectError::new(
            "too_large",
            format!("a key has at most {MAX_KEY} bytes"),
        ));
    }
    let (space, key) = call.grants.space(key)?;
    Ok(KeyOwner {
        owner: call.owner().await?,
        space: space.to_owned(),
        of_folder: call.grants.of_folder,
        key: key.to_owned(),
    })
}

impl FileToolCall {
    /// Returns the owner of the session.
    async fn owner(&self) -> Result<String, EffectError> {
        let Some(listener) = self.context.journal.listener() else {
            return Ok(String::new());
        };
        let owner = listener.owner().await;
        owner.map(|owner| owner.to_string()).map_err(|error| {
            EffectError::new(
                "failed",
                format!("the owner of this session cannot be read: {error}"),
            )
        })
    }
}

/// `cache_get`, `cache_set`, `cache_delete`: each tool of each owner has its own keys.
pub(crate) async fn cached(call: Arc<FileToolCall>, kind: EffectKind, asked: Value) -> Outcome {
    let key = format!("{}\n{}\n{}", call.owner().await?, call.tool, text(&asked, "key"));
    let mut cache = call
        .shared
        .store
        .cache
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    match kind {
        EffectKind::CacheGet => Ok(cache.get(&key)),
        EffectKind::CacheSet => {
            let value = asked.get("value").cloned().unwrap_or(Value::Null);
            let ttl = asked.get("ttl").and_then(Value::as_f64).filter(|ttl| *ttl > 0.0);
            cache.set(key, value, ttl)?;
            Ok(Value::Null)
        }
        _ => {
            cache.remove(&key);
            Ok(Value::Null)
        }
    }
}

impl StoreCache {
    fn get(&mut self, key: &str) -> Value {
        match self.entries.get(key) {
            Some(found) if found.is_over() => {
                self.remove(key);
                Value::Null
            }
            Some(found) => found.value.clone(),
            None => Value::Null,
        }
    }

    fn set(&mut self, key: String, value: Value, ttl: Option<f64>) -> Result<(), EffectError> {
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

    fn remove(&mut self, key: &str) {
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
