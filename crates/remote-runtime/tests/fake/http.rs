//! The HTTP half.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use agentx_identity::{AuthChallenge, verify_challenge};
use agentx_runtime::{LogError, RuntimeError, SessionInfo};
use agentx_types::wire::{Person, Problem};
use agentx_types::{SessionId, Timestamp};
use axum::Json;
use axum::Router;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Fake, person, socket};

pub fn router(fake: Fake) -> Router {
    let v1 = Router::new()
        .route("/auth/challenge", post(challenge))
        .route("/auth/token", post(token))
        .route("/me", get(me))
        .route("/models", get(list))
        .route("/tools", get(list))
        .route("/sessions", post(create))
        .route("/sessions/{id}", get(info))
        .route("/sessions/{id}/events", get(events))
        .route("/sessions/{id}/messages", post(message))
        .route("/sessions/{id}/restore", post(restore))
        .route("/blobs/{id}", get(blob))
        .route("/garbage", get(async || "<html>not this</html>"))
        .route("/socket", get(socket::upgrade));
    Router::new().nest("/v1", v1).with_state(fake)
}

fn problem(status: u16, error: &RuntimeError) -> Response {
    let status = StatusCode::from_u16(status).unwrap();
    (status, Json(Problem::from(error))).into_response()
}

fn check(fake: &Fake, headers: &HeaderMap) -> Result<(), Box<Response>> {
    let token = headers.get("authorization").and_then(|value| value.to_str().ok());
    let token = token.and_then(|value| value.strip_prefix("Bearer "));
    if token.is_some_and(|token| fake.state().tokens.contains(token)) {
        return Ok(());
    }
    let error = RuntimeError::Remote {
        code: "unauthenticated".into(),
        detail: "no such token".into(),
    };
    Err(Box::new(problem(401, &error)))
}

async fn challenge(State(fake): State<Fake>) -> Json<Value> {
    let mut state = fake.state();
    state.challenges += 1;
    let nonce = format!("nonce_{}", state.challenges);
    drop(state);
    Json(json!({ "nonce": nonce, "origin": fake.origin(), "expires_at_ms": u64::MAX / 2 }))
}

/// The idempotency key of a request; empty if it has none.
fn key_of(headers: &HeaderMap) -> String {
    let key = headers.get("idempotency-key").and_then(|key| key.to_str().ok());
    key.unwrap_or_default().to_owned()
}

/// The first answer never comes; a request with the same key gets the session of the first.
async fn create(State(fake): State<Fake>, headers: HeaderMap) -> Json<Value> {
    let key = key_of(&headers);
    let is_known = !key.is_empty() && fake.state().creations.contains(&key);
    fake.state().creations.push(key);
    fake.shared.changes.send_modify(|changes| *changes += 1);
    if !is_known {
        std::future::pending::<()>().await;
    }
    Json(json!({ "session_id": super::session() }))
}

/// The first answer never comes; a request with the same key gets the result of the first.
async fn restore(State(fake): State<Fake>, headers: HeaderMap) -> Json<Value> {
    let key = key_of(&headers);
    let is_known = !key.is_empty() && fake.state().restores.contains(&key);
    fake.state().restores.push(key);
    fake.shared.changes.send_modify(|changes| *changes += 1);
    if !is_known {
        std::future::pending::<()>().await;
    }
    Json(json!({"seq": 9, "restored": ["/w/notes.txt"], "failed": []}))
}

#[derive(Deserialize)]
struct TokenRequest {
    public_key: String,
    nonce: String,
    expires_at_ms: u64,
    signature: String,
}

async fn token(State(fake): State<Fake>, Json(request): Json<TokenRequest>) -> Json<Value> {
    let challenge = AuthChallenge {
        nonce: request.nonce.clone(),
        origin: fake.origin(),
        expires_at_ms: request.expires_at_ms,
    };
    let key = request.public_key.parse().unwrap();
    verify_challenge(&key, &challenge, &request.signature.parse().unwrap(), 0).unwrap();
    let token = format!("token_{}", request.nonce);
    fake.state().tokens.insert(token.clone());
    Json(json!({ "token": token, "person": person(), "expires_at_ms": u64::MAX / 2 }))
}

async fn me(State(fake): State<Fake>, headers: HeaderMap) -> Result<Json<Person>, Response> {
    check(&fake, &headers).map_err(|response| *response)?;
    Ok(Json(Person {
        person: person(),
        name: None,
        visitor: false,
    }))
}

async fn list() -> Json<Value> {
    Json(json!([]))
}

async fn info(
    State(fake): State<Fake>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Json<SessionInfo>, Response> {
    check(&fake, &headers).map_err(|response| *response)?;
    let session_id = SessionId::new(&id);
    let state = fake.state();
    let Some(log) = state.logs.get(&session_id) else {
        return Err(problem(404, &LogError::NotFound(id).into()));
    };
    let info = SessionInfo::new(session_id, person(), Timestamp(1)).with_workspace("/");
    Ok(Json(info.with_last_event(log.len() as u64, Timestamp(2))))
}

#[derive(Deserialize)]
struct EventsQuery {
    after_seq: usize,
    limit: usize,
}

async fn events(
    State(fake): State<Fake>,
    Path(id): Path<String>,
    Query(query): Query<EventsQuery>,
) -> Json<Value> {
    let facts = fake.facts(&SessionId::new(id));
    let items: Vec<_> = facts.iter().skip(query.after_seq).take(query.limit).collect();
    Json(json!({ "items": items }))
}

async fn message(State(fake): State<Fake>, Path(id): Path<String>, Json(body): Json<Value>) -> Json<Value> {
    let key = body["idempotency_key"].as_str().unwrap();
    let seq = socket::take_message(&fake, &SessionId::new(id), Some(key));
    Json(json!({ "seq": seq }))
}

async fn blob(State(fake): State<Fake>, Path(id): Path<String>) -> Response {
    match fake.state().blobs.get(&id) {
        Some(bytes) => bytes.clone().into_response(),
        None => problem(404, &LogError::NoBlob(id.as_str().into()).into()),
    }
}
