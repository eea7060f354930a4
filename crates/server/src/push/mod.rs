//! Web Push: short messages that reach the browser of a person who has no page open.
//!
//! A message has the ids of a session and of the call that waits in it, and nothing of their text. It goes to
//! the push service of the browser, which is a server of somebody else: it is encrypted for the page
//! (`encryption.rs`, RFC 8291), signed by this server (`push_key.rs`, RFC 8292), and sent only to addresses
//! that the guard permits (`endpoints.rs`). The subscriptions of pages are in one file (`subscriptions.rs`).
//! `push_notices.rs` decides which pages get a message, and when.

mod encryption;
mod endpoints;
mod push_key;
mod subscriptions;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use agentx_types::{SessionId, Timestamp, ToolCallId};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use serde::Serialize;

use crate::push::encryption::encrypt;
pub(crate) use crate::push::endpoints::PushOutcome;
use crate::push::endpoints::{PushEndpoints, PushRequestParts};
use crate::push::push_key::{PushKey, PushKeyError};
use crate::push::subscriptions::PushSubscriptions;
pub(crate) use crate::push::subscriptions::{PushSubscription, SubscriptionError};

/// The length in bytes beyond which a message leaves out the id of the call: push services take 4,096 bytes
/// with the encryption.
const MESSAGE_BYTES: usize = 2_000;
/// The number of characters of a topic: at most 32 are permitted.
const TOPIC_CHARS: usize = 24;

/// The content of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct PushMessage {
    /// The session in which a call or a question waits.
    pub(crate) session_id: SessionId,
    /// The call that waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tool_call_id: Option<ToolCallId>,
}

impl PushMessage {
    fn text(&self) -> String {
        let text = |message: &Self| serde_json::to_string(message).unwrap_or_default();
        let whole = text(self);
        if whole.len() <= MESSAGE_BYTES {
            return whole;
        }
        text(&Self {
            session_id: self.session_id.clone(),
            tool_call_id: None,
        })
    }
}

/// Everything that a server needs to push: its key, the subscriptions of pages, and the way out.
pub(crate) struct PushService {
    data_dir: PathBuf,
    /// Made, or read, when it is first needed, by one thread: of two keys made at once, the file would keep
    /// one, and a page that subscribed to the other would get nothing after a restart.
    key: Mutex<Option<Arc<PushKey>>>,
    subscriptions: PushSubscriptions,
    endpoints: PushEndpoints,
    /// The address under which push services can reach the operator; `None` if it is not `https`.
    contact: Option<String>,
}

impl PushService {
    /// Returns the service of the server of this directory. `hosts` are the hosts outside of the public
    /// internet that the operator permits, and `origin` is the server's own.
    pub(crate) fn new(data_dir: &Path, hosts: &[String], origin: &str) -> Self {
        Self {
            data_dir: data_dir.to_owned(),
            key: Mutex::default(),
            subscriptions: PushSubscriptions::read(data_dir),
            endpoints: PushEndpoints::new(hosts),
            contact: origin.starts_with("https://").then(|| origin.to_owned()),
        }
    }

    /// Returns the key by which push services know this server. Waits for the disk.
    ///
    /// # Errors
    /// Returns an error if the key cannot be read or made.
    pub(crate) fn key(&self) -> Result<Arc<PushKey>, PushKeyError> {
        let mut known = self.key.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(key) = &*known {
            return Ok(key.clone());
        }
        let key = Arc::new(PushKey::read_or_make(&self.data_dir)?);
        Ok(known.insert(key).clone())
    }

    /// Returns the subscriptions of pages.
    pub(crate) fn subscriptions(&self) -> &PushSubscriptions {
        &self.subscriptions
    }

    /// Checks the address and the keys of a subscription.
    ///
    /// # Errors
    /// Returns why no message could be sent there.
    pub(crate) fn check_subscription(&self, subscription: &PushSubscription) -> Result<(), String> {
        self.endpoints.read(&subscription.endpoint)?;
        // Only the encryption tells whether the key is a point of the curve.
        encrypt(&subscription.receiver()?, b"").map(|_| ())
    }

    /// Sends a message to a page. It takes 20 seconds at most.
    pub(crate) async fn deliver(
        self: Arc<Self>,
        subscription: PushSubscription,
        message: PushMessage,
        now: Timestamp,
    ) -> PushOutcome {
        let service = self.clone();
        let built = tokio::task::spawn_blocking(move || service.request(&subscription, &message, now)).await;
        match built {
            Ok(Ok(request)) => self.endpoints.send(request).await,
            Ok(Err(why)) => PushOutcome::Refused(why),
            Err(lost) => PushOutcome::Refused(lost.to_string()),
        }
    }

    /// Returns the request that brings a message to a page.
    fn request(
        &self,
        subscription: &PushSubscription,
        message: &PushMessage,
        now: Timestamp,
    ) -> Result<PushRequestParts, String> {
        let url = self.endpoints.read(&subscription.endpoint)?;
        let key = self.key().map_err(|error| error.to_string())?;
        let audience = url.origin().ascii_serialization();
        Ok(PushRequestParts {
            authorization: key.authorization(
                &audience,
                self.contact.as_deref(),
                now.unix_millis() / 1_000,
            )?,
            body: encrypt(&subscription.receiver()?, message.text().as_bytes())?,
            topic: topic(subscription, &message.session_id),
            url,
        })
    }
}

/// Returns the topic of a session's messages: a newer one takes the place of an older one that the browser
/// has not fetched. The push service cannot tell the session from it.
fn topic(subscription: &PushSubscription, session: &SessionId) -> String {
    let named = format!("{} {session}", subscription.auth);
    let mut topic = URL_SAFE_NO_PAD.encode(digest(&SHA256, named.as_bytes()));
    topic.truncate(TOPIC_CHARS);
    topic
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use std::sync::Barrier;

    use super::*;

    #[test]
    fn pages_that_ask_for_the_key_at_once_get_the_one_that_is_kept() {
        const PAGES: usize = 8;
        for _ in 0..8 {
            let directory = tempfile::tempdir().unwrap();
            let service = PushService::new(directory.path(), &[], "https://agents.example");
            let begin = Barrier::new(PAGES);
            let ask = || {
                begin.wait();
                service.key().unwrap().public()
            };
            let keys: Vec<String> = std::thread::scope(|scope| {
                let asking: Vec<_> = (0..PAGES).map(|_| scope.spawn(ask)).collect();
                asking.into_iter().map(|page| page.join().unwrap()).collect()
            });
            let kept = PushKey::read_or_make(directory.path()).unwrap().public();
            assert!(keys.iter().all(|key| *key == kept), "{keys:?}");
        }
    }

    #[test]
    fn a_message_has_ids_and_leaves_out_one_that_is_too_long() {
        let message = |call: &str| PushMessage {
            session_id: SessionId::new("ses_1"),
            tool_call_id: Some(ToolCallId::new(call)),
        };
        assert_eq!(
            message("call_1").text(),
            r#"{"session_id":"ses_1","tool_call_id":"call_1"}"#
        );
        assert_eq!(message(&"x".repeat(3_000)).text(), r#"{"session_id":"ses_1"}"#);
    }

    #[test]
    fn a_topic_is_the_same_for_a_session_of_a_page_alone() {
        let subscription = |auth: &str| PushSubscription {
            login: "tok_1".to_owned(),
            person: "own_1".into(),
            endpoint: "https://push.example/1".to_owned(),
            p256dh: String::new(),
            auth: auth.to_owned(),
        };
        let of = |auth: &str, session: &str| topic(&subscription(auth), &SessionId::new(session));
        assert_eq!(of("a", "ses_1"), of("a", "ses_1"));
        assert_ne!(of("a", "ses_1"), of("a", "ses_2"));
        assert_ne!(of("a", "ses_1"), of("b", "ses_1"));
        assert_eq!(of("a", "ses_1").len(), TOPIC_CHARS);
    }
}
