//! The effects by which a script keeps values: keys of its own, and a cache.

use std::sync::{Arc, PoisonError};

use agentx_luau_tools::{EffectError, EffectKind, Outcome};
use serde_json::Value;

use super::file_tool_call::FileToolCall;
use super::request_text::text;
use super::store::{KeyOwner, MAX_KEY};

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
