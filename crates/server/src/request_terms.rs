//! Request metadata: the wheel that the sender believes they hold, and the idempotency key, which identifies
//! the request if the client repeats it because the answer was lost.

use std::sync::Arc;

use agentx_runtime::{RequestKey, RuntimeError, Session, request_hash};
use serde::Serialize;

use crate::authorized_session::AuthorizedSession;

/// The metadata of a request.
#[derive(Clone, Debug, Default)]
pub struct RequestTerms {
    /// The wheel that the client believes it holds.
    pub wheel_epoch: Option<u64>,
    /// Identifies the request: sent again with the same key, it is not carried out again.
    pub key: Option<String>,
    /// The hash of what is requested, with a key: the key is refused for another request.
    pub request: Option<String>,
}

impl RequestTerms {
    /// The terms of a request for this action with this content; `key` identifies the request.
    pub fn new(
        wheel_epoch: Option<u64>,
        key: Option<String>,
        action: &str,
        content: &impl Serialize,
    ) -> Self {
        let request = key.as_ref().map(|_| request_hash(&(action, content)));
        Self {
            wheel_epoch,
            key,
            request,
        }
    }
}

impl AuthorizedSession {
    /// Returns the stored form of the key of a request.
    ///
    /// # Errors
    /// Returns an error if it has no form of a key.
    pub(crate) fn stored_key(&self, terms: &RequestTerms) -> Result<Option<RequestKey>, RuntimeError> {
        let Some(key) = &terms.key else { return Ok(None) };
        Ok(Some(RequestKey {
            key: self.key_of(key)?,
            request: terms.request.clone(),
        }))
    }

    /// Returns the event of this request, if it was carried out before. It was allowed then, so the present
    /// driver and quotas do not matter: it is asked before they are checked.
    ///
    /// # Errors
    /// Returns an error if the key has no form of one or belongs to another request, or the session cannot
    /// continue.
    pub(crate) async fn done_before(&self, terms: &RequestTerms) -> Result<Option<u64>, RuntimeError> {
        match self.stored_key(terms)? {
            Some(key) => self.session.done_before(&key).await,
            None => Ok(None),
        }
    }

    /// Does something that needs the wheel, like [`Self::drive_with`], and only once for each key, even if two
    /// equal requests come at once.
    ///
    /// # Errors
    /// Returns an error if the caller does not drive, the key has no form of one, or `act` fails.
    pub(crate) async fn drive_once<F>(
        &self,
        terms: RequestTerms,
        is_bounded: bool,
        act: impl FnOnce(Arc<dyn Session>) -> F,
    ) -> Result<u64, RuntimeError>
    where
        F: Future<Output = Result<u64, RuntimeError>>,
    {
        let key = self.stored_key(&terms)?;
        let act = |session| act(with_key(session, key.as_ref()));
        self.drive_with(terms.wheel_epoch, is_bounded, act).await
    }
}

/// The session for one request with this key.
pub(crate) fn with_key(session: Arc<dyn Session>, key: Option<&RequestKey>) -> Arc<dyn Session> {
    key.and_then(|key| session.once(key)).unwrap_or(session)
}
