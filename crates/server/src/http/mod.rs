//! HTTP: what is not a stream, and streams for places where sockets die.
//!
//! `table` is the one list of routes: the router, the OpenAPI description and the test that walks every route with every kind
//! of caller are made from it. Handlers take who asks and what they may use as arguments (`extract.rs`), so that none can forget
//! to ask.

mod agents;
mod blobs;
mod body;
mod cursor;
mod describe;
mod extract;
mod failure;
mod health;
mod history;
mod idempotency;
mod inspect;
mod layers;
mod lenses;
mod lists;
mod messages;
mod openapi;
mod query;
mod rate;
mod responses;
mod route;
mod session_actions;
mod session_lookup;
mod sessions;
mod sign_in;
mod stream;
mod turn_body;
mod upkeep;

use std::convert::Infallible;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use agentx_types::wire::Problem;
use axum::Router;
use axum::extract::FromRequestParts;
use axum::http::Method;
use axum::http::request::Parts;
use axum::response::{IntoResponse as _, Response};
use schemars::SchemaGenerator;

pub use describe::Needs;
use describe::{HandlerInput, Operation};
use failure::ApiError;
use idempotency::IdempotentRequests;
use lenses::PageLenses;
use openapi::OpenApiBytes;
use rate::Rates;
use route::HttpRoute;

use crate::ServerState;

/// Every route but the WebSocket's.
pub fn router(state: Arc<ServerState>) -> Router {
    let front = HandlerState::new(state);
    let mut router = Router::new();
    for route in table() {
        router = router.route(route.path, route.handler);
    }
    let router = router
        .fallback(|| async { ApiError::new("not_found", "there is nothing at this path") })
        .method_not_allowed_fallback(|| async {
            ApiError::new("method_not_allowed", "this path does not take this method")
        });
    layers::around(router, &front).with_state(front)
}

/// A problem as a response.
pub fn problem_response(problem: Problem) -> Response {
    ApiError::from(problem).into_response()
}

/// The description of all routes.
pub fn openapi() -> serde_json::Value {
    openapi::document()
}

/// A route as tests see it.
#[derive(Clone, Debug)]
pub struct ListedRoute {
    /// Its method.
    pub method: Method,
    /// Its path.
    pub path: &'static str,
    /// Whom it is for.
    pub needs: Needs,
}

/// All routes, for tests that walk them.
pub fn routes() -> Vec<ListedRoute> {
    let mut schemas = SchemaGenerator::default();
    let listed = |route: HttpRoute| ListedRoute {
        needs: route.operation(&mut schemas).needs,
        method: route.method,
        path: route.path,
    };
    table().into_iter().map(listed).collect()
}

/// The one list of routes.
fn table() -> Vec<HttpRoute> {
    let mut routes = vec![
        HttpRoute::get("/v1/health", "Whether the server is well.", health::health),
        HttpRoute::get("/metrics", "What the server counts.", health::metrics),
        HttpRoute::get("/v1/openapi.json", "This description.", openapi::openapi),
        HttpRoute::post(
            "/v1/auth/challenge",
            "Asks for something to sign.",
            sign_in::challenge,
        ),
        HttpRoute::post(
            "/v1/auth/token",
            "Answers a challenge with a signature, for a token.",
            sign_in::token,
        ),
        HttpRoute::get("/v1/me", "Who the server takes the caller for.", sign_in::me),
        HttpRoute::get("/v1/models", "The models that the server knows.", agents::models),
        HttpRoute::get("/v1/tools", "The tools that the server offers.", agents::tools),
        HttpRoute::get(
            "/v1/agent",
            "The agent that a new session has where nobody says otherwise.",
            agents::agent,
        ),
        HttpRoute::get(
            "/v1/agents",
            "The agents that the server's files describe.",
            agents::list,
        ),
        HttpRoute::get(
            "/v1/agents/{id}",
            "One of them, by its name, as a new session has it.",
            agents::get,
        ),
        HttpRoute::get(
            "/v1/search",
            "Finds words in the caller's sessions.",
            session_lookup::search,
        ),
        HttpRoute::get(
            "/v1/resolve",
            "The one session whose id begins so.",
            session_lookup::resolve,
        ),
        HttpRoute::get(
            "/v1/blobs/{id}",
            "The bytes of a blob, or a part of them.",
            blobs::get,
        ),
    ];
    routes.extend(upkeep_routes());
    routes.extend(session_routes());
    routes.extend(history_routes());
    routes.extend(act_routes());
    routes
}

/// Those about all sessions of somebody, or of the server.
fn upkeep_routes() -> Vec<HttpRoute> {
    vec![
        HttpRoute::get(
            "/v1/usage",
            "What the caller's sessions have cost, added up.",
            upkeep::usage,
        ),
        HttpRoute::get(
            "/v1/reactors",
            "Who serves what sessions want done, and how much of it.",
            upkeep::reactors,
        ),
        HttpRoute::post(
            "/v1/import",
            "Takes in a session that was exported elsewhere: the same facts under the same id, checked.",
            upkeep::import,
        ),
        HttpRoute::post(
            "/v1/gc",
            "Gives back the space of what was deleted.",
            upkeep::collect_garbage,
        ),
    ]
}

/// Those about sessions.
fn session_routes() -> Vec<HttpRoute> {
    vec![
        HttpRoute::get(
            "/v1/sessions",
            "Lists sessions, those with the latest event first.",
            sessions::list,
        ),
        HttpRoute::post("/v1/sessions", "Makes a session.", sessions::create),
        HttpRoute::get(
            "/v1/sessions/{id}",
            "What lists show of a session.",
            sessions::get,
        ),
        HttpRoute::patch("/v1/sessions/{id}", "Gives a session a title.", sessions::patch),
        HttpRoute::delete("/v1/sessions/{id}", "Deletes a session.", sessions::delete),
        HttpRoute::post(
            "/v1/sessions/{id}/fork",
            "A new session that has everything of another up to an event.",
            sessions::fork,
        ),
    ]
}

/// Those about what happens in a session.
fn history_routes() -> Vec<HttpRoute> {
    vec![
        HttpRoute::get(
            "/v1/sessions/{id}/state",
            "How a session stands.",
            sessions::state,
        ),
        HttpRoute::post(
            "/v1/sessions/{id}/verify",
            "Checks every stored byte of a session.",
            inspect::verify,
        ),
        HttpRoute::post(
            "/v1/sessions/{id}/replay",
            "Derives all of a session again and compares it with what was live.",
            inspect::replay,
        ),
        HttpRoute::get(
            "/v1/sessions/{id}/context",
            "The exact request of a model call.",
            inspect::context,
        ),
        HttpRoute::get(
            "/v1/sessions/{id}/messages",
            "The messages of a session, the oldest first.",
            messages::messages,
        ),
        HttpRoute::get(
            "/v1/sessions/{id}/export",
            "Every fact of a session, a line each.",
            history::export,
        ),
        HttpRoute::get(
            "/v1/sessions/{id}/rows",
            "The rows of a session as they are stored, for a copy of the very bytes.",
            inspect::rows,
        ),
        HttpRoute::get(
            "/v1/sessions/{id}/events",
            "The events of a session, as a page or a stream.",
            history::events,
        ),
        HttpRoute::get(
            "/v1/sessions/{id}/file",
            "The file that a call which waits for a decision would change, as it is now.",
            inspect::file,
        ),
        HttpRoute::get(
            "/v1/sessions/{id}/restore",
            "What putting files back to how they were before an event would do.",
            inspect::restore_plan,
        ),
    ]
}

/// Those by which people do something to a session.
fn act_routes() -> Vec<HttpRoute> {
    vec![
        HttpRoute::post(
            "/v1/sessions/{id}/messages",
            "Says something to the agent.",
            session_actions::message,
        ),
        HttpRoute::post(
            "/v1/sessions/{id}/interrupt",
            "Stops what runs.",
            session_actions::interrupt,
        ),
        HttpRoute::post(
            "/v1/sessions/{id}/approvals",
            "Decides about a tool call.",
            session_actions::approval,
        ),
        HttpRoute::post(
            "/v1/sessions/{id}/changes",
            "Changes the agent's configuration from here on.",
            session_actions::change,
        ),
        HttpRoute::post(
            "/v1/sessions/{id}/revisions",
            "Takes back an input that waits, or has it looked at at another time.",
            session_actions::revision,
        ),
        HttpRoute::post(
            "/v1/sessions/{id}/context",
            "Condenses the conversation, takes a summary out again, or has an input stay.",
            session_actions::context,
        ),
        HttpRoute::post(
            "/v1/sessions/{id}/restore",
            "Puts files back to how they were before an event.",
            session_actions::restore,
        ),
        HttpRoute::post(
            "/v1/sessions/{id}/roles",
            "Says what a person may do in a session.",
            session_actions::role,
        ),
    ]
}

/// What all handlers share.
pub(crate) struct Front {
    pub(crate) state: Arc<ServerState>,
    pub(crate) once: IdempotentRequests,
    lenses: PageLenses,
    rates: Mutex<Rates>,
    openapi: OnceLock<OpenApiBytes>,
    requests: AtomicU64,
}

impl Front {
    /// Counts a request of somebody.
    ///
    /// # Errors
    /// Where there were too many of late.
    fn count(&self, who: &str) -> Result<(), ApiError> {
        let now = self.state.now_ms();
        let taken = self
            .rates
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take(who, now);
        taken.map_err(|ms| ApiError::new("rate_limited", "too many requests; wait a moment").retry_after(ms))
    }

    /// How many requests there were.
    fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// The description, made when it is first asked for.
    fn openapi(&self) -> &OpenApiBytes {
        self.openapi.get_or_init(OpenApiBytes::new)
    }
}

/// What all handlers share, as they take it.
#[derive(Clone)]
pub(crate) struct HandlerState(Arc<Front>);

impl HandlerState {
    fn new(state: Arc<ServerState>) -> Self {
        let limits = &state.options().limits;
        let rates = Rates::new(limits.rate, limits.burst);
        Self(Arc::new(Front {
            state,
            once: IdempotentRequests::default(),
            lenses: PageLenses::default(),
            rates: Mutex::new(rates),
            openapi: OnceLock::new(),
            requests: AtomicU64::new(0),
        }))
    }
}

impl Deref for HandlerState {
    type Target = Front;

    fn deref(&self) -> &Front {
        &self.0
    }
}

impl FromRequestParts<HandlerState> for HandlerState {
    type Rejection = Infallible;

    async fn from_request_parts(_: &mut Parts, front: &HandlerState) -> Result<Self, Infallible> {
        Ok(front.clone())
    }
}

impl HandlerInput for HandlerState {
    fn describe(_: &mut Operation, _: &mut SchemaGenerator) {}
}
