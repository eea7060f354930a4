//! Requests with an idempotency key are carried out once, however often they are sent. Keys are remembered in
//! memory, for a while.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentx_runtime::RuntimeError;
use agentx_types::{OwnerId, SessionId};
use serde::Serialize;
use tokio::sync::OwnedMutexGuard;

use crate::http::ApiError;

/// The number of people whose requests are remembered; the one who asked longest ago is then forgotten.
const PEOPLE: usize = 1024;

/// The key, with the operation.
type KeyedRequest = (String, String);
/// The session that was created, with the digest of the request.
type OnceResult = Arc<tokio::sync::Mutex<Option<(SessionId, Vec<u8>)>>>;

/// The requests with an idempotency key.
pub(crate) struct IdempotentRequests {
    known: Arc<Mutex<OnceTable>>,
}

/// The requests of each person; one person's requests do not push out another's.
struct OnceTable {
    /// The number of requests that are remembered per person; the oldest is then forgotten.
    each: usize,
    people: HashMap<OwnerId, OwnRequests>,
    /// The number of lookups so far.
    asked: u64,
}

#[derive(Default)]
struct OwnRequests {
    made: HashMap<KeyedRequest, OnceResult>,
    order: VecDeque<KeyedRequest>,
    last_asked: u64,
}

impl IdempotentRequests {
    /// Remembers so many requests of each person, at least one.
    pub(crate) fn new(each: u64) -> Self {
        let table = OnceTable {
            each: usize::try_from(each).unwrap_or(usize::MAX).max(1),
            people: HashMap::new(),
            asked: 0,
        };
        Self {
            known: Arc::new(Mutex::new(table)),
        }
    }

    /// Returns the session that `make` creates, or that an equal request created before. If two equal
    /// requests arrive at the same time, the second waits for the first.
    ///
    /// # Errors
    /// Returns an error if `make` does; the next equal request then tries again. Returns an error if the key
    /// was used for a different request.
    pub(crate) async fn make<T: Serialize>(
        &self,
        person: &OwnerId,
        (what, request): (&str, &T),
        key: Option<String>,
        make: impl Future<Output = Result<SessionId, ApiError>> + Send + 'static,
    ) -> Result<SessionId, ApiError> {
        let Some(key) = key else { return make.await };
        let text = serde_json::to_vec(request).unwrap_or_default();
        let digest = ring::digest::digest(&ring::digest::SHA256, &text)
            .as_ref()
            .to_vec();
        let (person, asked) = (person.clone(), (what.to_owned(), key));
        let known = self.known.clone();
        let place = locked(&known).place(&person, &asked);
        // If the client disconnects in the middle, the session is created anyway, and its key remembered.
        let making = tokio::spawn(async move {
            let mut made = place.lock_owned().await;
            if let Some((session, before)) = &*made {
                let same = (*before == digest).then(|| session.clone());
                return same.ok_or_else(|| {
                    ApiError::from(RuntimeError::key_reused("this key was used for another request"))
                });
            }
            let session = match make.await {
                Ok(session) => session,
                Err(failure) => {
                    locked(&known).give_back(&person, &asked, OwnedMutexGuard::mutex(&made));
                    return Err(failure);
                }
            };
            *made = Some((session.clone(), digest));
            Ok(session)
        });
        let gone = |_| ApiError::new("internal", "the request failed");
        making.await.map_err(gone)?
    }
}

fn locked(known: &Mutex<OnceTable>) -> MutexGuard<'_, OnceTable> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}

impl OnceTable {
    fn place(&mut self, person: &OwnerId, asked: &KeyedRequest) -> OnceResult {
        self.asked += 1;
        if !self.people.contains_key(person) && self.people.len() >= PEOPLE {
            self.forget_somebody();
        }
        let own = self.people.entry(person.clone()).or_default();
        own.last_asked = self.asked;
        if let Some(place) = own.made.get(asked) {
            return place.clone();
        }
        if own.order.len() >= self.each
            && let Some(oldest) = own.order.pop_front()
        {
            own.made.remove(&oldest);
        }
        own.order.push_back(asked.clone());
        own.made.entry(asked.clone()).or_default().clone()
    }

    fn forget_somebody(&mut self) {
        let longest_ago = self.people.iter().min_by_key(|(_, own)| own.last_asked);
        if let Some(person) = longest_ago.map(|(person, _)| person.clone()) {
            self.people.remove(&person);
        }
    }

    /// Frees the entry after a failure, unless another request waits for it.
    fn give_back(&mut self, person: &OwnerId, asked: &KeyedRequest, place: &OnceResult) {
        let Some(own) = self.people.get_mut(person) else {
            return;
        };
        let is_kept = own.made.get(asked).is_some_and(|kept| Arc::ptr_eq(kept, place));
        // Each waiting request holds a reference, and so do the map and the caller.
        if !is_kept || Arc::strong_count(place) > 2 {
            return;
        }
        own.made.remove(asked);
        own.order.retain(|other| other != asked);
        if own.made.is_empty() {
            self.people.remove(person);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use super::*;

    const REMEMBERED: usize = 100;

    #[tokio::test]
    async fn the_same_key_is_the_same_session_for_the_same_person() {
        let once = IdempotentRequests::new(REMEMBERED as u64);
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
        let failed = async { Err(ApiError::new("refused", "no")) };
        let fork = ("fork", &1);
        assert!(once.make(&ann, fork, key(), failed).await.is_err());
        let later = once.make(&ann, fork, key(), made("ses_4")).await.unwrap();
        assert_eq!(later.as_str(), "ses_4", "what failed is tried anew");
    }

    #[tokio::test]
    async fn nobody_pushes_out_the_keys_of_somebody_else() {
        let once = IdempotentRequests::new(REMEMBERED as u64);
        let (ann, bob) = (OwnerId::new("own_ann"), OwnerId::new("own_bob"));
        let made = |id: String| async move { Ok(SessionId::new(id)) };
        let (create, key) = (("create", &1), || Some("k".to_owned()));
        once.make(&ann, create, key(), made("ses_1".into()))
            .await
            .unwrap();
        for number in 0..5000 {
            let key = Some(format!("bob {number}"));
            once.make(&bob, create, key, made(format!("ses_b{number}")))
                .await
                .unwrap();
        }
        let again = once
            .make(&ann, create, key(), made("ses_2".into()))
            .await
            .unwrap();
        assert_eq!(again.as_str(), "ses_1");
        assert_eq!(locked(&once.known).people[&bob].made.len(), REMEMBERED);
        for number in 0..PEOPLE {
            let person = OwnerId::new(format!("own_{number}"));
            once.make(&person, create, key(), made("ses_3".into()))
                .await
                .unwrap();
        }
        assert_eq!(locked(&once.known).people.len(), PEOPLE);
    }

    #[tokio::test]
    async fn what_failed_takes_no_place() {
        let once = IdempotentRequests::new(REMEMBERED as u64);
        let ann = OwnerId::new("own_ann");
        let made = |id: &'static str| async move { Ok(SessionId::new(id)) };
        let create = ("create", &1);
        let first = once.make(&ann, create, Some("first".into()), made("ses_1")).await;
        assert_eq!(first.unwrap().as_str(), "ses_1");
        for number in 0..2 * REMEMBERED {
            let failed = async { Err(ApiError::new("refused", "no")) };
            let key = Some(format!("failed {number}"));
            assert!(once.make(&ann, create, key, failed).await.is_err());
        }
        assert_eq!(locked(&once.known).people[&ann].order.len(), 1);
        let again = once.make(&ann, create, Some("first".into()), made("ses_2")).await;
        assert_eq!(again.unwrap().as_str(), "ses_1");
    }

    /// A request that waits while another fails creates the session, and its key is remembered.
    #[tokio::test]
    async fn who_waits_for_what_fails_makes_it_once() {
        let once = IdempotentRequests::new(REMEMBERED as u64);
        let ann = OwnerId::new("own_ann");
        let (create, key) = (("create", &1), || Some("k".to_owned()));
        let (fail, told) = tokio::sync::oneshot::channel::<()>();
        let failing = async move {
            let _ = told.await;
            Err(ApiError::new("refused", "no"))
        };
        let made = |id: &'static str| async move { Ok(SessionId::new(id)) };
        let first = once.make(&ann, create, key(), failing);
        let second = once.make(&ann, create, key(), made("ses_1"));
        let third = async {
            tokio::task::yield_now().await;
            let _ = fail.send(());
        };
        let (first, second, ()) = tokio::join!(first, second, third);
        assert!(first.is_err());
        assert_eq!(second.unwrap().as_str(), "ses_1");
        let again = once.make(&ann, create, key(), made("ses_2")).await.unwrap();
        assert_eq!(again.as_str(), "ses_1");
    }
}
