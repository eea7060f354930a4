//! A model call: attempts, the waits between them, and exactly one end. See the [module](super) for its
//! grammar.
//!
//! # The order of things
//!
//! 1. The endpoint of the model's provider is found, and known problems are reported without sending
//!    anything: another server than before (`other_server`), no key (`missing_key`), an invalid address
//!    (`bad_address`), a key that no header can hold (`bad_key`), tools that this API refuses
//!    (`bad_request`).
//! 2. The request is built once, with the blobs that it names, and has the same bytes in each attempt.
//! 3. Attempts follow each other until one answers, a policy gives up, or the call is cancelled. Ids from a
//!    failed attempt are not used again by the next answer.
//!
//! # Cancelling
//!
//! A cancelled call drops its connection immediately, which stops the vendor's work and bill. The partial
//! answer is kept, with an estimate of its tokens, and the stream ends as `Interrupted`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use agentx_types::{Api, EnvironmentEvent, MessagePlace, ModelSpec, RequestPart, SessionId, StopReason};
use reqwest::header::{ACCEPT_ENCODING, HeaderValue};
use reqwest::{Method, Request};
use tokio::sync::broadcast::{self, error::RecvError};

use super::attempt::Attempt;
use super::call_events;
use super::call_parts::Call;
use super::endpoint::Endpoint;
use super::failure::{AttemptFailure, CallEnd};
use super::policy::{FailedAttempt, RetryDecision, Tries};
use crate::blobs::load_blobs;

impl Call {
    /// Performs it to its end.
    pub(super) async fn run(self) {
        let parts = self.parts.clone();
        let endpoint = match endpoint_of(&parts.endpoints, &self.request.model) {
            Ok(endpoint) => endpoint,
            Err(message) => {
                let failure = AttemptFailure::setup(message);
                return self.end_with(vec![call_events::error(&failure, None)]).await;
            }
        };
        let prepared = tokio::select! {
            biased;
            () = self.cancel.cancelled() => return self.end_with(vec![call_events::stream_end(StopReason::Interrupted)]).await,
            prepared = self.prepare(endpoint) => prepared,
        };
        match prepared {
            Ok(request) => self.attempts(endpoint, &request).await,
            Err(failure) => self.end_with(vec![call_events::error(&failure, None)]).await,
        }
    }

    /// The HTTP request, which is the same for each attempt.
    async fn prepare(&self, endpoint: &Endpoint) -> Result<Request, AttemptFailure> {
        let setup = |code, message| AttemptFailure {
            code,
            ..AttemptFailure::setup(message)
        };
        if let Some(message) = endpoint.other_server(&self.request.model) {
            return Err(setup("other_server", message));
        }
        if let Some(message) = endpoint.missing_key() {
            return Err(setup("missing_key", message));
        }
        let url = endpoint
            .request_url(self.request.model.api, &self.request.model.id)
            .map_err(|message| setup("bad_address", message))?;
        if let Some(message) = endpoint.refuses(&self.request) {
            return Err(setup("bad_request", message));
        }
        let wire = (self.parts.wire_options)(&self.request.model);
        let headers = endpoint.headers();
        let mut headers = headers.map_err(|message| setup("bad_key", message))?;
        if let Some((name, value)) = agentx_llm::header(&self.request, &wire) {
            // A header that a person has set stays in addition.
            headers.append(name, HeaderValue::from_static(value));
        }
        headers
            .entry(ACCEPT_ENCODING)
            .or_insert(HeaderValue::from_static("identity"));
        let blobs = load_blobs(self.parts.blobs.as_ref(), &self.request).await;
        let body = agentx_llm::build(&self.request, &wire, &blobs);
        tracing::debug!(place = endpoint.place(), bytes = body.len(), "asking a model");
        let mut request = Request::new(Method::POST, url.clone());
        *request.headers_mut() = headers;
        *request.body_mut() = Some(body.into());
        Ok(request)
    }

    /// Makes attempts until one answers or none is left, and reports the outcome of each.
    async fn attempts(&self, endpoint: &Endpoint, request: &Request) {
        let mut taken = self.taken.clone();
        let mut tries = Tries::with_earlier(self.given_up.take(&self.owner()));
        // Whether words of an earlier attempt stand: they do until another one begins.
        let mut has_words = false;
        loop {
            let number = tries.attempts() + 1;
            let mut attempt = Attempt::new(self, endpoint, number, taken.clone());
            let outcome = attempt.run(request).await;
            let broken = attempt.broken(&outcome, has_words);
            let (begun, took) = (attempt.has_begun(), attempt.took());
            has_words = begun || (has_words && !attempt.stream_is_open());
            match outcome {
                CallEnd::Answered | CallEnd::NobodyListens => return,
                CallEnd::Interrupted => {
                    return self.end_with(attempt.cut_off(StopReason::Interrupted)).await;
                }
                CallEnd::Failed(failure) => {
                    let mut failure = AttemptFailure {
                        message: endpoint.scrub(&failure.message),
                        ..failure
                    };
                    let server = endpoint.server();
                    let failed = FailedAttempt {
                        failure: &failure,
                        begun,
                        took,
                        server,
                    };
                    let next = tries.next(&self.parts.retry, failed, self.parts.pause.jitter());
                    if matches!(next, RetryDecision::GiveUp(_)) && tries.look_like_a_refusal(failed) {
                        // Then the agent makes the request plainer, as after any refusal without a reason.
                        failure.refused.get_or_insert(RequestPart::Unknown);
                        self.given_up.keep(self.owner(), tries.in_all_forms());
                    }
                    let said = (broken, tries.left());
                    if !self.after_failure(number, &failure, said, next).await {
                        return;
                    }
                    Arc::make_mut(&mut taken).append(&attempt.into_given());
                }
            }
        }
    }

    /// Ends the partial answer, reports the failure and the remaining time of retries, then waits for the
    /// next attempt. Returns `false` if there is none.
    async fn after_failure(
        &self,
        number: u32,
        failure: &AttemptFailure,
        (mut said, left): (Vec<EnvironmentEvent>, Option<Duration>),
        next: RetryDecision,
    ) -> bool {
        match next {
            RetryDecision::GiveUp(remark) => {
                let mut failed = call_events::attempt_failed(number, failure, None, None);
                failed.no_thinking = failed.refused == Some(RequestPart::Unknown) && !self.sends_thinking();
                failed.refused_place = self.refused_place(failure).await.map(Box::new);
                said.push(failed.into());
                said.push(call_events::error(failure, remark));
                self.end_with(said).await;
                false
            }
            RetryDecision::Retry(wait) => {
                said.push(call_events::attempt_failed(number, failure, Some(wait), left).into());
                // Subscribe before the wait is reported, because a person who reads about it may end it.
                let wishes = self.retries.subscribe();
                self.events.emit_all(said).await && self.wait(wait, wishes).await
            }
        }
    }

    /// Returns whether the request contains reasoning of earlier answers.
    fn sends_thinking(&self) -> bool {
        let wire = (self.parts.wire_options)(&self.request.model);
        agentx_llm::sends_thinking(&self.request, &wire)
    }

    /// Returns the part of the conversation that the refusal names, if it certainly names one.
    async fn refused_place(&self, failure: &AttemptFailure) -> Option<MessagePlace> {
        let place = failure.place.as_deref()?;
        let wire = (self.parts.wire_options)(&self.request.model);
        let blobs = load_blobs(self.parts.blobs.as_ref(), &self.request).await;
        agentx_llm::named_part(&self.request, &wire, &blobs, place)
    }

    /// Waits between two attempts, or until a person requests the next one; `false` if it was interrupted,
    /// which is then reported.
    async fn wait(&self, time: Duration, wishes: broadcast::Receiver<SessionId>) -> bool {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => {}
            () = self.is_wanted(wishes) => return true,
            () = self.parts.pause.wait(time) => return true,
        }
        self.end_with(vec![call_events::stream_end(StopReason::Interrupted)])
            .await;
        false
    }

    /// Completes when a person requests the next attempt of this session's calls at once.
    async fn is_wanted(&self, mut wishes: broadcast::Receiver<SessionId>) {
        loop {
            match wishes.recv().await {
                Ok(session) if self.events.session_id() == Some(&session) => return,
                Ok(_) => {}
                // It may have been among those that were missed; one attempt too many does no harm.
                Err(RecvError::Lagged(_)) => return,
                Err(RecvError::Closed) => return std::future::pending().await,
            }
        }
    }

    /// Emits the last events of this call, even if nobody listens any more.
    async fn end_with(&self, events: Vec<EnvironmentEvent>) {
        self.events.emit_all(events).await;
    }
}

/// Returns the endpoint of a model, or the reason why it cannot be called.
fn endpoint_of<'a>(
    endpoints: &'a BTreeMap<String, Endpoint>,
    model: &ModelSpec,
) -> Result<&'a Endpoint, String> {
    if model.api == Api::Unknown {
        return Err(format!(
            "{} is called in a way that this version does not support, because a newer version opened the \
             session: continue with that version, or choose another model",
            model.id
        ));
    }
    let endpoint = endpoints.get(&model.provider);
    endpoint.ok_or_else(|| format!("no endpoint for the provider `{}`", model.provider))
}

#[cfg(test)]
mod tests {
    use agentx_testing::fixture;

    use super::*;

    #[test]
    fn a_model_of_an_api_that_is_not_known_is_not_asked() {
        let model = fixture::model(Api::Unknown);
        let why = endpoint_of(&BTreeMap::new(), &model).err().unwrap_or_default();
        assert!(why.contains("is called in a way that this"), "{why}");
        let known = endpoint_of(&BTreeMap::new(), &fixture::model(Api::Anthropic)).err();
        assert!(known.is_some_and(|why| why.contains("no endpoint")));
    }
}
