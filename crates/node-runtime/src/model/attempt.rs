//! An attempt: sends the request, decodes the answer and emits its events, within limits.

use std::sync::Arc;
use std::time::Duration;

use agentx_llm::{ModelError, StreamContext, StreamDecoder, StreamError, decode_body, decode_error};
use agentx_types::{EnvironmentEvent, MessageId, StopReason, UsedIds};
use reqwest::Request;
use tokio::time::Instant;

use super::call_events;
use super::call_parts::Call;
use super::content_coding::{IncomingBody, is_no_object};
use super::endpoint::Endpoint;
use super::estimate::TokenEstimate;
use super::failure::{AttemptFailure, CallEnd};
use super::streaming_body::{StreamingBody, stream_type};

/// Maximum number of bytes read of a refusal's body.
const MAX_ERROR_BODY: usize = 64 * 1024;
/// Timeout for a refusal's body.
const ERROR_BODY_TIME: Duration = Duration::from_secs(5);
/// Timeout for the end of the current answer, so that the next call can reuse the connection.
const REUSE_TIME: Duration = Duration::from_millis(200);
/// Comments and pings keep an answer without text alive for this many times the limit on silence.
const WORDLESS: u32 = 6;

/// An attempt of a call.
pub(super) struct Attempt<'a> {
    pub(super) call: &'a Call,
    pub(super) endpoint: &'a Endpoint,
    number: u32,
    taken: Arc<UsedIds>,
    /// The ids of the calls in the current answer.
    given: UsedIds,
    counted: TokenEstimate,
    began: Instant,
    /// Whether the server took the request: it answered with success, and not with a page.
    accepted: bool,
    started: bool,
    /// Whether anything of the answer itself came.
    begun: bool,
    ended: bool,
}

/// Ways to end before the answer is complete.
pub(super) type Step<T> = Result<T, CallEnd>;

impl<'a> Attempt<'a> {
    /// Attempt `number`, whose answer must not use the ids in `taken`.
    pub(super) fn new(call: &'a Call, endpoint: &'a Endpoint, number: u32, taken: Arc<UsedIds>) -> Self {
        Self {
            call,
            endpoint,
            number,
            taken,
            given: UsedIds::default(),
            counted: TokenEstimate::default(),
            began: Instant::now(),
            accepted: false,
            started: false,
            begun: false,
            ended: false,
        }
    }

    /// Returns whether a stream was begun and not ended.
    pub(super) fn stream_is_open(&self) -> bool {
        self.started && !self.ended
    }

    /// The time since it began.
    pub(super) fn took(&self) -> Duration {
        self.began.elapsed()
    }

    /// Returns whether a part of an answer came; its announcement does not count.
    pub(super) fn has_begun(&self) -> bool {
        self.begun
    }

    /// Returns whether the server took the request and has said nothing of the answer yet.
    fn is_unanswered(&self) -> bool {
        self.accepted && !self.started
    }

    /// Ends an answer that failed, if it was announced, or was waited for in vain after the server took the
    /// request. A refusal before its first word costs what the provider says and no more.
    ///
    /// With `keeps_words` only the cost of an answer that never began is reported: its beginning would drop
    /// the words of an earlier attempt.
    pub(super) fn broken(&self, outcome: &CallEnd, keeps_words: bool) -> Vec<EnvironmentEvent> {
        let is_in_vain =
            matches!(outcome, CallEnd::Failed(failure) if failure.is_timeout() || failure.is_broken_off());
        if is_in_vain && self.is_unanswered() {
            return if keeps_words {
                self.counted.estimate(&self.call.request).into_iter().collect()
            } else {
                self.cut_off(StopReason::Broken)
            };
        }
        let is_refusal = matches!(outcome, CallEnd::Failed(failure) if failure.was_said);
        match (self.stream_is_open(), is_refusal && !self.begun) {
            (false, _) => Vec::new(),
            (true, true) => vec![call_events::stream_end(StopReason::Broken)],
            (true, false) => self.cut_off(StopReason::Broken),
        }
    }

    /// Ends an answer that is cut off here, with an estimate of its cost if the provider reported none. One
    /// that has not begun begins here if the server took the request: it reads what it is sent, and bills
    /// that.
    pub(super) fn cut_off(&self, reason: StopReason) -> Vec<EnvironmentEvent> {
        let start = self
            .is_unanswered()
            .then(|| call_events::stream_start(self.message_id(), &self.call.request.model.id, self.number));
        let cost = (self.stream_is_open() || start.is_some())
            .then(|| self.counted.estimate(&self.call.request))
            .flatten();
        let end = call_events::stream_end(reason);
        start.into_iter().chain(cost).chain([end]).collect()
    }

    /// The ids that its answer gave.
    pub(super) fn into_given(self) -> UsedIds {
        self.given
    }

    /// Sends `request` and emits the events of the response.
    pub(super) async fn run(&mut self, request: &Request) -> CallEnd {
        match self.exchange(request).await {
            Ok(()) => CallEnd::Answered,
            Err(outcome) => outcome,
        }
    }

    async fn exchange(&mut self, request: &Request) -> Step<()> {
        let first_byte = self.began + self.call.parts.limits.first_byte;
        let response = self.send(request, first_byte).await?;
        let status = response.status();
        if status.is_redirection() {
            let to = response.headers().get("location");
            let to = to.and_then(|value| value.to_str().ok());
            let place = self.endpoint.place();
            return Err(failed(AttemptFailure::redirected(status.as_u16(), &place, to)));
        }
        if !status.is_success() {
            return Err(self.refusal(response).await);
        }
        let incoming = IncomingBody::new(response, self.call.parts.limits.max_body_bytes);
        let kind = incoming.content_type();
        if kind == "application/json" {
            self.accepted = true;
            return self.whole(incoming).await;
        }
        let hopeless = !kind.is_empty() && kind != stream_type(self.call.request.model.api);
        self.accepted = !hopeless;
        self.stream(incoming, None, first_byte, hopeless).await
    }

    /// Decodes a stream. `hopeless` if its content type is another one.
    async fn stream(
        &mut self,
        incoming: IncomingBody,
        first: Option<Vec<u8>>,
        until: Instant,
        hopeless: bool,
    ) -> Step<()> {
        let decoder = StreamDecoder::new(self.call.request.model.api, self.context());
        let mut body = StreamingBody::new(incoming, decoder, first, until, hopeless);
        let broken = loop {
            let mut events = Vec::new();
            let taken = self.take(&mut body, &mut events).await;
            self.emit(events, body.flow.gathers()).await?;
            body.flow.on_emitted(Instant::now());
            if self.ended {
                self.read_to_end(body.incoming).await;
                return Ok(());
            }
            match taken {
                Ok(true) => {}
                Ok(false) => break None,
                Err(CallEnd::Interrupted) => return Err(CallEnd::Interrupted),
                Err(broken) => break Some(broken),
            }
        };
        let mut events = Vec::new();
        let decoded = body.decoder.finish(&mut events);
        // An answer with a stop reason is complete, and paid, although its connection broke.
        let whole = decoded.is_ok() && matches!(events.last(), Some(EnvironmentEvent::StreamEnd(_)));
        if let Some(broken) = broken.filter(|_| !whole) {
            return Err(broken);
        }
        self.emit(events, false).await?;
        if self.ended {
            Ok(())
        } else {
            decoded.map_err(|error| self.misunderstood(error, hopeless))
        }
    }

    /// Decodes the next piece of a body, and in a fast stream those that are emitted with it. The decoded
    /// events are in `events`, even if the rest fails. Returns `false` at the end of the body.
    async fn take(&self, body: &mut StreamingBody, events: &mut Vec<EnvironmentEvent>) -> Step<bool> {
        let mut goes_on = self.piece(body, events).await?;
        while goes_on && let Some(until) = body.flow.holds(events, Instant::now()) {
            goes_on = tokio::select! {
                biased;
                goes_on = self.piece(body, events) => goes_on?,
                () = tokio::time::sleep_until(until) => return Ok(true),
            };
        }
        while goes_on && body.flow.has_room(events) {
            goes_on = tokio::select! {
                biased;
                goes_on = self.piece(body, events) => goes_on?,
                // Then the task that reads the socket has had its turn.
                () = tokio::task::yield_now() => return Ok(true),
            };
        }
        Ok(goes_on)
    }

    /// Waits for a piece and understands it; `false` at the end of the body. Safe to drop while it waits.
    async fn piece(&self, body: &mut StreamingBody, events: &mut Vec<EnvironmentEvent>) -> Step<bool> {
        let waits = Instant::now();
        let piece = match body.first.take() {
            Some(first) => first,
            None => match self.chunk(&mut body.incoming, body.until).await? {
                Some(piece) => piece,
                None => return Ok(false),
            },
        };
        let (now, limits) = (Instant::now(), self.call.parts.limits);
        body.flow.waited(now - waits);
        if body.bytes + piece.len() > limits.max_body_bytes {
            return Err(failed(AttemptFailure::too_much(limits.max_body_bytes)));
        }
        let before = events.len();
        let decoded = body.decode(&piece, events, now, limits.idle);
        decoded.map_err(|error| self.misunderstood(error, body.hopeless))?;
        if events.len() > before {
            body.heard = now;
        } else if now - body.heard > limits.idle * WORDLESS {
            let time = now - body.heard;
            return Err(failed(AttemptFailure::wordless(time, &self.endpoint.place())));
        }
        Ok(true)
    }

    /// Decodes an answer that came as one body, from a server that does not stream. Some call a stream JSON.
    async fn whole(&mut self, mut incoming: IncomingBody) -> Step<()> {
        let limits = self.call.parts.limits;
        let mut body = Vec::new();
        let mut until = self.began + limits.first_byte;
        while let Some(chunk) = self.chunk(&mut incoming, until).await? {
            until = Instant::now() + limits.idle;
            body.extend_from_slice(&chunk);
            if is_no_object(&body) {
                return self.stream(incoming, Some(body), until, true).await;
            }
            if body.len() > limits.max_body_bytes {
                return Err(failed(AttemptFailure::too_much(limits.max_body_bytes)));
            }
        }
        let mut events = Vec::new();
        let decoded = decode_body(self.call.request.model.api, self.context(), &body, &mut events);
        self.emit(events, false).await?;
        decoded.map_err(|error| self.misunderstood(error, false))
    }

    /// Reads the server's reason for a refusal, within a time limit.
    async fn refusal(&self, response: reqwest::Response) -> CallEnd {
        let mut incoming = IncomingBody::new(response, MAX_ERROR_BODY);
        let until = Instant::now() + ERROR_BODY_TIME.min(self.call.parts.limits.idle);
        let mut body = Vec::new();
        loop {
            match self.chunk(&mut incoming, until).await {
                Ok(Some(chunk)) if body.len() < MAX_ERROR_BODY => body.extend_from_slice(&chunk),
                Err(CallEnd::Interrupted) => return CallEnd::Interrupted,
                Ok(_) | Err(_) => break,
            }
        }
        body.truncate(MAX_ERROR_BODY);
        let response = incoming.response();
        let headers: Vec<(&str, &str)> = response
            .headers()
            .iter()
            .filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)))
            .collect();
        let now = self.call.parts.clock.now();
        let error = decode_error(response.status().as_u16(), &headers, &body, now);
        failed(AttemptFailure::from_provider(
            self.about_request(error),
            &self.endpoint.server_name(),
        ))
    }

    async fn chunk(&self, incoming: &mut IncomingBody, until: Instant) -> Step<Option<Vec<u8>>> {
        let received = self.wait_until(until, incoming.chunk()).await?;
        received.map_err(|unreadable| failed(unreadable.into_failure(&self.endpoint.place())))
    }

    /// Waits for `future` until a point in time, or until the call is to stop.
    pub(super) async fn wait_until<T>(&self, until: Instant, future: impl Future<Output = T>) -> Step<T> {
        let total = self.call.parts.limits.total.map(|total| self.began + total);
        let ends = total.filter(|total| *total <= until);
        tokio::select! {
            biased;
            () = self.call.cancel.cancelled() => Err(CallEnd::Interrupted),
            value = future => Ok(value),
            () = tokio::time::sleep_until(ends.unwrap_or(until)) => {
                let (limits, place) = (&self.call.parts.limits, self.endpoint.place());
                Err(failed(AttemptFailure::timed_out(ends.is_some(), self.started, limits, &place)))
            },
        }
    }

    /// Returns the failure for data that the decoder rejects, or for the provider's error within an answer. A
    /// page of HTML instead of an answer would come again: the address is wrong.
    fn misunderstood(&self, error: StreamError, hopeless: bool) -> CallEnd {
        let wrong_place = hopeless && matches!(error, StreamError::NotAStream { .. });
        let who = self.endpoint.server_name();
        let mut failure = match error {
            StreamError::Provider(error) => AttemptFailure::from_provider(self.about_request(error), &who),
            other => AttemptFailure::misunderstood(other.into_model_error(), &who),
        };
        if wrong_place {
            failure.retryable = false;
            failure.message.push_str(" (is the base URL right?)");
        }
        failed(failure)
    }

    /// Refines a refusal with the request that was sent.
    fn about_request(&self, error: ModelError) -> ModelError {
        let request = &self.call.request;
        error
            .refine_schema_refusal(request, &(self.call.parts.wire_options)(&request.model))
            .refine_missing_path(request.model.api)
            .refine_missing_key(self.endpoint.sends_credentials())
    }

    pub(super) fn lost(&self, error: &reqwest::Error) -> CallEnd {
        failed(AttemptFailure::transport(error, &self.endpoint.place(), false))
    }

    /// Emits decoded events; `gathered` if further ones were already awaited. If the server did not count the
    /// tokens of an answer, their estimate is emitted before its end.
    async fn emit(&mut self, mut events: Vec<EnvironmentEvent>, gathered: bool) -> Step<()> {
        let mut uncounted = None;
        self.call.price(&mut events);
        for (index, event) in events.iter().enumerate() {
            if self.started && matches!(event, EnvironmentEvent::StreamEnd(_)) {
                let cost = self.counted.estimate(&self.call.request);
                uncounted = cost.map(|cost| (index, cost));
            }
            self.started |= matches!(event, EnvironmentEvent::StreamStart(_));
            self.begun |= call_events::is_of_an_answer(event);
            self.ended |= matches!(event, EnvironmentEvent::StreamEnd(_));
            self.given.note(event);
            self.counted.note(event);
        }
        if let Some((index, cost)) = uncounted {
            events.insert(index, cost);
        }
        let heard = if gathered {
            self.call.events.emit_gathered(events).await
        } else {
            self.call.events.emit_all(events).await
        };
        heard.then_some(()).ok_or(CallEnd::NobodyListens)
    }

    /// Reads the little that follows a complete answer: a connection with unread bytes cannot be used again.
    async fn read_to_end(&self, mut incoming: IncomingBody) {
        let until = Instant::now() + REUSE_TIME;
        while let Ok(Some(_)) = self.chunk(&mut incoming, until).await {}
    }

    /// The id of the message that the answer is.
    fn message_id(&self) -> MessageId {
        let id = self.call.action.action_id.as_str();
        let id = id.strip_prefix("act_").unwrap_or(id);
        MessageId::with_suffix(format_args!("{id}_{}", self.number))
    }

    fn context(&self) -> StreamContext {
        StreamContext::new(self.message_id().as_str(), self.number)
            .avoid_ids_of(self.call.request.clone())
            .taken_ids(self.taken.clone())
    }
}

pub(super) fn failed(failure: AttemptFailure) -> CallEnd {
    CallEnd::Failed(failure)
}
