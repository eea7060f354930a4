//! Subscriptions notify a client when documents or their list change. A client can watch only documents in
//! the list, so a subscription reveals nothing that `resources/list` does not.
//!
//! Other processes also write sessions, so the list is read again at short intervals.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::message::{INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND};
use super::refusal::{McpRefusal, no_resource};
use super::{ServedDocument, ServedParts, answers};

/// The maximum number of addresses that one connection or stream watches.
const WATCHED: usize = 64;
/// The pause between two looks at the list.
const PAUSE: Duration = Duration::from_secs(1);
/// The longest stream; then it ends with its result, and the client may open another one.
const LONGEST: Duration = Duration::from_secs(600);

/// The method that opens a stream, in the version without a handshake.
const LISTEN: &str = "subscriptions/listen";

/// The documents that a client watches, as they were when it last heard of them.
#[derive(Debug, Default)]
pub(super) struct WatchedDocuments {
    seen: BTreeMap<String, u64>,
    /// The addresses and titles of the list, if the client watches it.
    list: Option<BTreeMap<String, String>>,
}

impl WatchedDocuments {
    /// Begins to watch a document of the list.
    ///
    /// # Errors
    /// Returns false if the list does not have it, and a refusal if there is no room.
    fn add(&mut self, address: &str, documents: &[ServedDocument]) -> Result<bool, McpRefusal> {
        let found = documents.iter().find(|document| document.address == address);
        let Some(document) = found else {
            return Ok(false);
        };
        if self.seen.len() >= WATCHED && !self.seen.contains_key(address) {
            let why = format!("a client may watch {WATCHED} resources");
            return Err(McpRefusal::new(INVALID_PARAMS, why));
        }
        self.seen.insert(address.to_owned(), document.version);
        Ok(true)
    }

    fn watch_list(&mut self, documents: &[ServedDocument]) {
        self.list = Some(titles(documents));
    }

    fn is_empty(&self) -> bool {
        self.seen.is_empty() && self.list.is_none()
    }

    /// Returns the notifications about what has changed since the last look. A document that left the list is
    /// not reported.
    fn changes(&mut self, documents: &[ServedDocument]) -> Vec<Value> {
        let mut changes = Vec::new();
        for document in documents {
            let Some(seen) = self.seen.get_mut(&document.address) else {
                continue;
            };
            if std::mem::replace(seen, document.version) != document.version {
                let params = json!({"uri": document.address});
                changes.push(notification("notifications/resources/updated", params));
            }
        }
        if let Some(list) = &mut self.list {
            let titles = titles(documents);
            if *list != titles {
                *list = titles;
                changes.push(notification("notifications/resources/list_changed", json!({})));
            }
        }
        changes
    }
}

fn titles(documents: &[ServedDocument]) -> BTreeMap<String, String> {
    let title = |document: &ServedDocument| (document.address.clone(), document.title.clone());
    documents.iter().map(title).collect()
}

fn notification(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

async fn listed(parts: &dyn ServedParts) -> Result<Vec<ServedDocument>, McpRefusal> {
    let documents = parts.documents().await;
    documents.map_err(|why| McpRefusal::new(INTERNAL_ERROR, why))
}

/// Returns whether a request opens a stream of subscriptions.
pub(super) fn is_listening(method: &str, params: &Map<String, Value>) -> bool {
    method == LISTEN && answers::is_stateless(params) && answers::missing(params).is_none()
}

/// Answers `subscriptions/listen`: sends changes until the client cancels it or goes away, its time is over,
/// or the list cannot be read.
pub(super) async fn listen(
    parts: &dyn ServedParts,
    id: &Value,
    params: &Map<String, Value>,
    cancel: CancellationToken,
    said: mpsc::Sender<Value>,
) -> Result<Value, McpRefusal> {
    let wanted = ListenFilter::read(params)?;
    let documents = listed(parts).await?;
    let mut watched = WatchedDocuments::default();
    let honored = wanted.begin(&mut watched, &documents)?;
    let meta = json!({"io.modelcontextprotocol/subscriptionId": id});
    let begun = notification(
        "notifications/subscriptions/acknowledged",
        json!({"notifications": honored}),
    );
    let stream = async {
        let mut waiting = vec![begun];
        loop {
            for mut message in waiting {
                message["params"]["_meta"] = meta.clone();
                if said.send(message).await.is_err() {
                    return;
                }
            }
            tokio::time::sleep(PAUSE).await;
            // The client may open another stream, if it may still see the list.
            let Ok(documents) = listed(parts).await else {
                return;
            };
            waiting = watched.changes(&documents);
        }
    };
    let bounded = tokio::time::timeout(LONGEST, stream);
    // All of its ends are the same to the client.
    let _ = cancel.run_until_cancelled(bounded).await;
    Ok(answers::complete(json!({ "_meta": meta }), true, false))
}

/// The notifications that a client requests in a stream. Lists of tools and prompts never change here.
struct ListenFilter {
    addresses: Option<Vec<String>>,
    list: bool,
}

impl ListenFilter {
    fn read(params: &Map<String, Value>) -> Result<Self, McpRefusal> {
        let wrong = |why: &str| McpRefusal::new(INVALID_PARAMS, why);
        let Some(Value::Object(wanted)) = params.get("notifications") else {
            return Err(wrong("`notifications` must be an object"));
        };
        let addresses = match wanted.get("resourceSubscriptions") {
            None | Some(Value::Null) => None,
            Some(Value::Array(listed)) if listed.len() <= WATCHED => {
                let texts: Option<Vec<String>> =
                    listed.iter().map(|one| one.as_str().map(str::to_owned)).collect();
                Some(texts.ok_or_else(|| wrong("`resourceSubscriptions` must be texts"))?)
            }
            Some(_) => {
                let why = format!("`resourceSubscriptions` must be a list of at most {WATCHED} addresses");
                return Err(wrong(&why));
            }
        };
        Ok(Self {
            addresses,
            list: wanted.get("resourcesListChanged") == Some(&Value::Bool(true)),
        })
    }

    /// Begins to watch, and returns what of it the server agrees to.
    fn begin(
        &self,
        watched: &mut WatchedDocuments,
        documents: &[ServedDocument],
    ) -> Result<Value, McpRefusal> {
        let mut honored = json!({});
        if let Some(addresses) = &self.addresses {
            let mut accepted = Vec::new();
            for address in addresses {
                if watched.add(address, documents)? {
                    accepted.push(address);
                }
            }
            honored["resourceSubscriptions"] = json!(accepted);
        }
        if self.list {
            watched.watch_list(documents);
            honored["resourcesListChanged"] = true.into();
        }
        Ok(honored)
    }
}

/// The subscriptions of a connection that lasts, in the versions with a handshake.
#[derive(Clone, Debug, Default)]
pub(super) struct McpSubscriptions(Arc<Mutex<WatchedDocuments>>);

impl McpSubscriptions {
    /// Returns whether a request changes the subscriptions of its connection.
    pub(super) fn takes(method: &str, params: &Map<String, Value>) -> bool {
        matches!(method, "resources/subscribe" | "resources/unsubscribe") && !answers::is_stateless(params)
    }

    /// Answers `resources/subscribe` and `resources/unsubscribe`.
    pub(super) async fn answer(
        &self,
        parts: &dyn ServedParts,
        method: &str,
        params: &Map<String, Value>,
    ) -> Result<Value, McpRefusal> {
        let Some(address) = params.get("uri").and_then(Value::as_str) else {
            let why = "`uri` must be the address of a resource";
            return Err(McpRefusal::new(INVALID_PARAMS, why));
        };
        match method {
            "resources/subscribe" => {
                let documents = listed(parts).await?;
                if !self.lock().add(address, &documents)? {
                    return Err(no_resource(address, false));
                }
            }
            "resources/unsubscribe" => {
                self.lock().seen.remove(address);
            }
            _ => {
                return Err(McpRefusal::new(
                    METHOD_NOT_FOUND,
                    format!("there is no method {method:?}"),
                ));
            }
        }
        Ok(json!({}))
    }

    /// Sends changes as long as somebody hears them.
    pub(super) async fn run(self, parts: Arc<dyn ServedParts>, said: mpsc::Sender<Value>) {
        loop {
            tokio::time::sleep(PAUSE).await;
            if self.lock().is_empty() {
                continue;
            }
            // A list that cannot be read now may be read later.
            let Ok(documents) = listed(&*parts).await else {
                continue;
            };
            let changes = self.lock().changes(&documents);
            for change in changes {
                if said.send(change).await.is_err() {
                    return;
                }
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, WatchedDocuments> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(number: usize, version: u64) -> ServedDocument {
        ServedDocument {
            address: format!("agentx://sessions/ses_{number}"),
            name: format!("ses_{number}"),
            title: "Made up".into(),
            version,
        }
    }

    fn methods(changes: &[Value]) -> Vec<&str> {
        changes
            .iter()
            .filter_map(|change| change["method"].as_str())
            .collect()
    }

    #[test]
    fn a_client_hears_once_of_each_change_of_what_it_watches() {
        let mut watched = WatchedDocuments::default();
        let before = [document(1, 5), document(2, 5)];
        assert!(
            watched
                .add("agentx://sessions/ses_1", &before)
                .is_ok_and(|added| added)
        );
        assert!(
            watched
                .add("agentx://sessions/ses_3", &before)
                .is_ok_and(|added| !added)
        );
        assert!(watched.changes(&before).is_empty());
        let after = [document(3, 1), document(2, 6), document(1, 6)];
        let changes = watched.changes(&after);
        assert_eq!(methods(&changes), ["notifications/resources/updated"]);
        assert_eq!(changes[0]["params"]["uri"], "agentx://sessions/ses_1");
        assert!(watched.changes(&after).is_empty());
        assert!(
            watched.changes(&[]).is_empty(),
            "one that left the list says nothing"
        );
        watched.watch_list(&after);
        assert_eq!(
            methods(&watched.changes(&before)),
            [
                "notifications/resources/updated",
                "notifications/resources/list_changed"
            ]
        );
    }

    #[test]
    fn a_client_watches_no_more_than_its_bound() {
        let documents: Vec<ServedDocument> = (0..=WATCHED).map(|number| document(number, 1)).collect();
        let mut watched = WatchedDocuments::default();
        let added = documents
            .iter()
            .map(|one| watched.add(&one.address, &documents).is_ok());
        let added: Vec<bool> = added.collect();
        assert_eq!(added.iter().filter(|added| **added).count(), WATCHED);
        assert!(
            watched.add(&documents[0].address, &documents).is_ok(),
            "it is watched already"
        );
        let filter = |listed: Value| {
            let params = json!({"notifications": {"resourceSubscriptions": listed}});
            params
                .as_object()
                .is_some_and(|params| ListenFilter::read(params).is_ok())
        };
        assert!(filter(json!(vec!["a"; WATCHED])));
        assert!(!filter(json!(vec!["a"; WATCHED + 1])));
        assert!(!filter(json!([7])));
    }
}
