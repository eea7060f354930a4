//! What is made once, however often it is asked for: requests with an idempotency key, for a while, in this process.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use agentx_types::{OwnerId, SessionId};
use serde::Serialize;

use super::Failure;

/// How many are remembered; then the oldest is forgotten.
const REMEMBERED: usize = 4096;

/// Who asked for what, with which key.
type Asked = (OwnerId, String, String);
/// What was made, and the digest of what was asked.
type Place = Arc<tokio::sync::Mutex<Option<(SessionId, Vec<u8>)>>>;

/// What is made once.
#[derive(Default)]
pub(crate) struct Once {
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    made: HashMap<Asked, Place>,
    order: VecDeque<Asked>,
}

impl Once {
    /// What `make` makes, or made when the same was asked for before. Two that ask at once wait for one another.
    ///
    /// # Errors
    /// As `make`; what failed is tried anew when it is asked for again. And where the key was used for something else.
    pub(crate) async fn make<T: Serialize>(
        &self,
        person: &OwnerId,
        (what, request): (&str, &T),
        key: Option<String>,
        make: impl Future<Output = Result<SessionId, Failure>> + Send + 'static,
    ) -> Result<SessionId, Failure> {
        let Some(key) = key else { return make.await };
        let text = serde_json::to_vec(request).unwrap_or_default();
        let digest = ring::digest::digest(&ring::digest::SHA256, &text)
            .as_ref()
            .to_vec();
        let place = self.place((person.clone(), what.to_owned(), key));
        // Who asks may go away in the middle: it is made all the same, and known.
        let making = tokio::spawn(async move {
            let mut made = place.lock_owned().await;
            if let Some((session, asked)) = &*made {
                let same = (*asked == digest).then(|| session.clone());
                return same.ok_or_else(|| Failure::new("refused", "this key was used for another request"));
            }
            let session = make.await?;
            *made = Some((session.clone(), digest));
            Ok(session)
        });
        let gone = |_| Failure::new("internal", "the request broke");
        making.await.map_err(gone)?
    }

    fn place(&self, asked: Asked) -> Place {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = known.made.get(&asked) {
            return place.clone();
        }
        if known.order.len() >= REMEMBERED
            && let Some(oldest) = known.order.pop_front()
        {
            known.made.remove(&oldest);
        }
        known.order.push_back(asked.clone());
        known.made.entry(asked).or_default().clone()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use super::*;

    #[tokio::test]
    async fn the_same_key_is_the_same_session_for_the_same_person() {
        let once = Once::default();
        let (ann, bob) = (OwnerId::new("own_ann"), OwnerId::new("own_bob"));
        let key = || Some("k".to_owned());
        let made = |id: &'static str| async move { Ok(SessionId::new(id)) };
        let create = ("create", &1);
        let first = once.make(&ann, create, key(), made("ses_1")).await.unwrap();
        let again = once.make(&ann, create, key(), made("ses_2")).await.unwrap();
        assert_eq!((first.as_str(), again.as_str()), ("ses_1", "ses_1"));
        let another = once.make(&ann, ("create", &2), key(), made("ses_2")).await;
        assert!(another.is_err(), "the key is that of another request");
        let other = once.make(&bob, create, key(), made("ses_3")).await.unwrap();
        assert_eq!(other.as_str(), "ses_3");
        let failed = async { Err(Failure::new("refused", "no")) };
        let fork = ("fork", &1);
        assert!(once.make(&ann, fork, key(), failed).await.is_err());
        let later = once.make(&ann, fork, key(), made("ses_4")).await.unwrap();
        assert_eq!(later.as_str(), "ses_4", "what failed is tried anew");
    }
}
