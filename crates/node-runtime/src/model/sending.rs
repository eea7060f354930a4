//! Sends the request of an attempt, authorized anew. A token of a cloud that its server refuses is forgotten,
//! and the request is sent once more with another one: a token may be revoked before its time is up.

use reqwest::header::AUTHORIZATION;
use reqwest::{Request, Response, StatusCode};
use tokio::time::Instant;

use super::attempt::{Attempt, Step, failed};
use super::failure::AttemptFailure;

impl Attempt<'_> {
    /// Sends `request`, and again if its token was refused. The answer has to begin before `first_byte`.
    ///
    /// # Errors
    /// Returns an error if the request cannot be sent, or the response does not begin in time.
    pub(super) async fn send(&self, request: &Request, first_byte: Instant) -> Step<Response> {
        let (response, refused) = self.send_once(request, first_byte).await?;
        match refused {
            Some(token) if self.endpoint.forgets(&token) => {
                tracing::debug!(
                    place = self.endpoint.place(),
                    "the token was refused, requesting another"
                );
                Ok(self.send_once(request, first_byte).await?.0)
            }
            _ => Ok(response),
        }
    }

    /// Returns the answer, and the credentials if they were refused.
    async fn send_once(&self, request: &Request, first_byte: Instant) -> Step<(Response, Option<String>)> {
        let mut request = request
            .try_clone()
            .ok_or_else(|| failed(AttemptFailure::setup("the request cannot be repeated".into())))?;
        let clock = self.call.parts.clock.as_ref();
        let authorized = self.endpoint.authorize(&mut request, clock);
        self.wait_until(first_byte, authorized).await?.map_err(failed)?;
        let sent_with = request.headers().get(AUTHORIZATION).cloned();
        let url = request.url().clone();
        let client = self
            .wait_until(first_byte, self.call.clients.get(&url))
            .await?
            .map_err(failed)?;
        let sent = self.wait_until(first_byte, client.execute(request)).await?;
        let response = sent.map_err(|error| self.lost(&error))?;
        let is_refused = response.status() == StatusCode::UNAUTHORIZED;
        let refused = sent_with.filter(|_| is_refused);
        let refused = refused.and_then(|value| value.to_str().ok().map(str::to_owned));
        Ok((response, refused))
    }
}
