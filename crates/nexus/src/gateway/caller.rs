//! A caller's way to the API of the server. Every request here is one of the server's own, with the headers
//! and the connection of the client: it decides who the client is and what they may do, not this crate.

use agentx_identity::AuthChallenge;
use agentx_server::auth::{CLIENT_HEADER, bearer_subprotocol};
use agentx_server::{ApiConnection, CountedConnection, ServerState};
use agentx_types::wire::{CommandFrame, NONCE_HEADER, Person, Problem};
use agentx_types::{OwnerId, SessionId};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, ORIGIN};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode};
use axum::response::Response;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::sync::Arc;
use tower::ServiceExt as _;

use super::event_stream::{NexusEventStream, QUERY};
use super::refusal::ApiRefusal;
use crate::frames::requests::NexusProof;

/// The name of a program that gives itself none. All tabs of a person are one program, so that each may send.
const PROGRAM: &str = "nexus";
/// The largest answer that is read, in bytes.
const ANSWER_BYTES: usize = 32 << 20;
/// The headers of a client that a request in its name has.
const PASSED: [HeaderName; 3] = [AUTHORIZATION, HOST, ORIGIN];

/// A client, as the API sees it.
#[derive(Clone)]
pub(crate) struct NexusCaller {
    state: Arc<ServerState>,
    api: Router,
    connection: ApiConnection,
    headers: HeaderMap,
}

impl NexusCaller {
    /// Takes the client from a request of theirs.
    pub(crate) fn new(state: &Arc<ServerState>, api: &Router, parts: &Parts) -> Self {
        let mut headers = HeaderMap::new();
        let own = [CLIENT_HEADER, NONCE_HEADER].map(HeaderName::from_static);
        for name in PASSED.into_iter().chain(own) {
            for value in parts.headers.get_all(&name) {
                headers.append(name.clone(), value.clone());
            }
        }
        headers
            .entry(CLIENT_HEADER)
            .or_insert(HeaderValue::from_static(PROGRAM));
        let mut caller = Self {
            state: state.clone(),
            api: api.clone(),
            connection: ApiConnection::new(&parts.extensions),
            headers,
        };
        // A browser cannot set a header of a WebSocket.
        if let Some(token) = bearer_subprotocol(&parts.headers) {
            caller.use_token(token);
        }
        caller
    }

    /// Returns whether the client sent something that says who they are.
    pub(crate) fn has_token(&self) -> bool {
        self.headers.contains_key(AUTHORIZATION)
    }

    /// Sends this token from now on.
    pub(crate) fn use_token(&mut self, token: &str) {
        // A text that cannot be a header cannot be a token: the server refuses what it gets instead.
        let value = HeaderValue::from_str(&format!("Bearer {token}"));
        let value = value.unwrap_or(HeaderValue::from_static("Bearer"));
        self.headers.insert(AUTHORIZATION, value);
    }

    /// Returns the state that the server's connections share.
    pub(crate) fn state(&self) -> &Arc<ServerState> {
        &self.state
    }

    /// Returns who the client is.
    pub(crate) async fn person(&self) -> Result<Person, ApiRefusal> {
        let person = self.ask(Method::GET, "/v1/me", None).await?;
        read(person)
    }

    /// Checks that the client is still who they were: trust may have ended, or the token expired.
    pub(crate) fn check_trust(&self) -> Result<(), String> {
        let caller = self.connection.caller(&self.state, &self.headers);
        caller.map(|_| ()).map_err(|problem| problem.detail)
    }

    /// Counts the client's long connection.
    pub(crate) fn count(&self) -> Result<CountedConnection, ApiRefusal> {
        let refused =
            |code: &str, detail: String| ApiRefusal::new(StatusCode::TOO_MANY_REQUESTS, code, detail);
        let caller = self
            .connection
            .caller(&self.state, &self.headers)
            .map_err(|problem| refused(&problem.code, problem.detail))?;
        let many = "you have too many connections and streams; close some";
        let counted = self.connection.count(&self.state, &caller);
        counted.ok_or_else(|| refused("too_many", many.into()))
    }

    /// Sends a request to the API. Returns the JSON of the answer.
    pub(crate) async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, ApiRefusal> {
        let response = self.send(method, path, body, None).await?;
        let bytes = to_bytes(response.into_body(), ANSWER_BYTES).await;
        let bytes = bytes.map_err(|error| unreadable(&error))?;
        serde_json::from_slice(&bytes).map_err(|error| unreadable(&error))
    }

    /// Follows a session of `owner` after a place: `seq`, or `seq.index`.
    pub(crate) async fn follow(
        &self,
        session: &SessionId,
        owner: &OwnerId,
        after: &str,
    ) -> Result<NexusEventStream, ApiRefusal> {
        let path = format!("/v1/sessions/{session}/events?{QUERY}");
        let after = HeaderValue::from_str(after)
            .map_err(|_| ApiRefusal::bad_request("the place of an event is seq or seq.index"))?;
        let response = self.send(Method::GET, &path, None, Some(after)).await?;
        Ok(NexusEventStream::new(response.into_body(), owner.clone()))
    }

    /// Carries out a command of a file or a reactor; returns its outcome.
    pub(crate) async fn command(
        &self,
        session: SessionId,
        command: &str,
        args: Value,
    ) -> Result<Value, String> {
        let frame = CommandFrame {
            session_id: session,
            command: command.to_owned(),
            args,
            wheel_epoch: None,
            idempotency_key: None,
        };
        let done = self.connection.command(&self.state, &self.headers, frame).await;
        done.map_err(|problem| problem.detail)
    }

    /// Sends a request. An answer without success is a refusal.
    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        after: Option<HeaderValue>,
    ) -> Result<Response, ApiRefusal> {
        let json = body.map(Value::to_string).unwrap_or_default();
        let mut request = Request::new(Body::from(json));
        *request.method_mut() = method;
        *request.uri_mut() = path
            .parse()
            .map_err(|_| ApiRefusal::bad_request("a part of the request cannot be part of an address"))?;
        *request.extensions_mut() = self.connection.extensions();
        let headers = request.headers_mut();
        headers.clone_from(&self.headers);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(after) = after {
            headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
            headers.insert(HeaderName::from_static("last-event-id"), after);
        }
        let response = match self.api.clone().oneshot(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        };
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let bytes = to_bytes(response.into_body(), ANSWER_BYTES).await;
        Err(ApiRefusal::from_problem(status, &bytes.unwrap_or_default()))
    }

    /// Requests a challenge for this connection alone: the API takes no answer to it. Returns the challenge,
    /// and its fields for the client.
    pub(crate) async fn challenge(&self) -> Result<(AuthChallenge, Value), ApiRefusal> {
        let told = self
            .ask(Method::POST, "/v1/auth/challenge", Some(&json!({})))
            .await?;
        let nonce = told["nonce"].as_str().unwrap_or_default();
        match self.connection.keep_challenge(&self.state, nonce) {
            Some(challenge) => Ok((challenge, told)),
            None => Err(ApiRefusal::new(
                StatusCode::TOO_MANY_REQUESTS,
                "too_many",
                "too many challenges of your address are open; connect again in a minute",
            )),
        }
    }

    /// Sends the token of whoever signed the challenge of this connection from now on.
    pub(crate) fn sign_in(
        &mut self,
        challenge: &AuthChallenge,
        proof: &NexusProof,
    ) -> Result<(), ApiRefusal> {
        let signed = self
            .connection
            .sign_in(&self.state, challenge, &proof.public_key, &proof.signature);
        let refused =
            |problem: Box<Problem>| ApiRefusal::new(StatusCode::UNAUTHORIZED, &problem.code, problem.detail);
        self.use_token(&signed.map_err(refused)?);
        Ok(())
    }
}

/// Reads an answer of the API as a type.
pub(crate) fn read<T: DeserializeOwned>(answer: Value) -> Result<T, ApiRefusal> {
    serde_json::from_value(answer).map_err(|error| unreadable(&error))
}

fn unreadable(error: &dyn std::error::Error) -> ApiRefusal {
    tracing::warn!(%error, "an answer of the API cannot be read");
    let what = "the server made a mistake; its log has more";
    ApiRefusal::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", what)
}
