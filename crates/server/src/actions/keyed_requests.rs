//! Requests with an idempotency key: each is carried out once, even if the client repeats it.

use std::sync::Arc;

use agentx_runtime::{RequestKey, RuntimeError, Session};

use crate::actions::authorized_session::AuthorizedSession;
use crate::actions::request_terms::{RequestTerms, with_key};

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

    /// Does something that needs the wheel, like [`Self::drive_with`], and only once for each key, even if
    /// two equal requests come at once.
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
