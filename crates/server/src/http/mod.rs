//! HTTP: what is not a stream, and streams for places where sockets die.
//!
//! `table` is the one list of routes: the router, the OpenAPI description and the test that walks every route with every kind
//! of caller are made from it. Handlers take who asks and what they may use as arguments (`extract.rs`), so that none can forget
//! to ask.

mod act;
mod agents;
mod answer;
mod blobs;
mod body;
mod cursor;
mod describe;
mod extract;
mod failure;
mod find;
mod health;
mod history;
mod in_turn;
mod inspect;
mod layers;
mod lenses;
mod lists;
mod messages;
mod once;
mod openapi;
mod query;
mod rate;
mod route;
mod sessions;
mod stream;
mod upkeep;
mod who;

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
use describe::{Input, Operation};
use failure::Failure;
use lenses::Lenses;
use once::Once;
use openapi::Described;
use rate::Rates;
use route::Route;

use crate::ServerState;

/// Every route but the WebSocket's.
pub fn router(state: Arc<ServerState>) -> Router {
    let front = Shared::new(state);
    let mut router = Router::new();
    for route in table() {
        router = router.route(route.path, route.handler);
    }
    let router = router
        .fallback(|| async { Failure::new("not_found", "there is nothing at this path") })
        .method_not_allowed_fallback(|| async {
            Failure::new("method_not_allowed", "this path does not take this method")
        });
    layers::around(router, &front).with_state(front)
}

/// A problem as a response.
pub fn problem_response(problem: Problem) -> Response {
    Failure::from(problem).into_response()
}

/// The description of all routes.
pub fn openapi() -> serde_json::Value {
    openapi::document()
}

/// A route as tests see it.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Its method.
    pub method: Method,
    /// Its path.
    pub path: &'static str,
    /// Whom it is for.
    pub needs: Needs,
}

/// All routes, for tests that walk them.
pub fn routes() -> Vec<Listed> {
    let mut schemas = SchemaGenerator::default();
    let listed = |route: Route| Listed {
        needs: route.operation(&mut schemas).needs,
        method: route.method,
        path: route.path,
    };
    table().into_iter().map(listed).collect()
}

/// The one list of routes.
fn table() -> Vec<Route> {
    let mut routes = vec![
        Route::get("/v1/health", "Whether the server is well.", health::health),
        Route::get("/metrics", "What the server counts.", health::metrics),
        Route::get("/v1/openapi.json", "This description.", openapi::openapi),
        Route::post(
            "/v1/auth/challenge",
            "Asks for something to sign.",
            who::challenge,
        ),
        Route::post(
            "/v1/auth/token",
            "Answers a challenge with a signature, for a token.",
            who::token,
        ),
        Route::get("/v1/me", "Who the server takes the caller for.", who::me),
        Route::get("/v1/models", "The models that the server knows.", agents::models),
        Route::get("/v1/tools", "The tools that the server offers.", agents::tools),
        Route::get(
            "/v1/agent",
            "The agent that a new session has where nobody says otherwise.",
            agents::agent,
        ),
        Route::get(
            "/v1/agents",
            "The agents that the server's files describe.",
            agents::list,
        ),
        Route::get(
            "/v1/agents/{id}",
            "One of them, by its name, as a new session has it.",
            agents::get,
        ),
        Route::get(
            "/v1/search",
            "Finds words in the caller's sessions.",
            find::search,
        ),
        Route::get(
            "/v1/resolve",
            "The one session whose id begins so.",
            find::resolve,
        ),
        Route::get(
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
fn upkeep_routes() -> Vec<Route> {
    vec![
        Route::get(
            "/v1/usage",
            "What the caller's sessions have cost, added up.",
            upkeep::usage,
        ),
        Route::get(
            "/v1/reactors",
            "Who serves what sessions want done, and how much of it.",
            upkeep::reactors,
        ),
        Route::post(
            "/v1/import",
            "Takes in a session that was exported elsewhere: the same facts under the same id, checked.",
            upkeep::import,
        ),
        Route::post(
            "/v1/gc",
            "Gives back the space of what was deleted.",
            upkeep::collect_garbage,
        ),
    ]
}

/// Those about sessions.
fn session_routes() -> Vec<Route> {
    vec![
        Route::get(
            "/v1/sessions",
            "Lists sessions, those with the latest event first.",
            sessions::list,
        ),
        Route::post("/v1/sessions", "Makes a session.", sessions::create),
        Route::get(
            "/v1/sessions/{id}",
            "What lists show of a session.",
            sessions::get,
        ),
        Route::patch("/v1/sessions/{id}", "Gives a session a title.", sessions::patch),
        Route::delete("/v1/sessions/{id}", "Deletes a session.", sessions::delete),
        Route::post(
            "/v1/sessions/{id}/fork",
            "A new session that has everything of another up to an event.",
            sessions::fork,
        ),
    ]
}

/// Those about what happens in a session.
fn history_routes() -> Vec<Route> {
    vec![
        Route::get(
            "/v1/sessions/{id}/state",
            "How a session stands.",
            sessions::state,
        ),
        Route::post(
            "/v1/sessions/{id}/verify",
            "Checks every stored byte of a session.",
            inspect::verify,
        ),
        Route::post(
            "/v1/sessions/{id}/replay",
            "Derives all of a session again and compares it with what was live.",
            inspect::replay,
        ),
        Route::get(
            "/v1/sessions/{id}/context",
            "The exact request of a model call.",
            inspect::context,
        ),
        Route::get(
            "/v1/sessions/{id}/messages",
            "The messages of a session, the oldest first.",
            messages::messages,
        ),
        Route::get(
            "/v1/sessions/{id}/export",
            "Every fact of a session, a line each.",
            history::export,
        ),
        Route::get(
            "/v1/sessions/{id}/rows",
            "The rows of a session as they are stored, for a copy of the very bytes.",
            inspect::rows,
        ),
        Route::get(
            "/v1/sessions/{id}/events",
            "The events of a session, as a page or a stream.",
            history::events,
        ),
        Route::get(
            "/v1/sessions/{id}/file",
            "The file that a call which waits for a decision would change, as it is now.",
            inspect::file,
        ),
        Route::get(
            "/v1/sessions/{id}/restore",
            "What putting files back to how they were before an event would do.",
            inspect::restore_plan,
        ),
    ]
}

/// Those by which people do something to a session.
fn act_routes() -> Vec<Route> {
    vec![
        Route::post(
            "/v1/sessions/{id}/messages",
            "Says something to the agent.",
            act::message,
        ),
        Route::post("/v1/sessions/{id}/interrupt", "Stops what runs.", act::interrupt),
        Route::post(
            "/v1/sessions/{id}/approvals",
            "Decides about a tool call.",
            act::approval,
        ),
        Route::post(
            "/v1/sessions/{id}/changes",
            "Changes the agent's configuration from here on.",
            act::change,
        ),
        Route::post(
            "/v1/sessions/{id}/revisions",
            "Takes back an input that waits, or has it looked at at another time.",
            act::revision,
        ),
        Route::post(
            "/v1/sessions/{id}/context",
            "Condenses the conversation, takes a summary out again, or has an input stay.",
            act::context,
        ),
        Route::post(
            "/v1/sessions/{id}/restore",
            "Puts files back to how they were before an event.",
            act::restore,
        ),
        Route::post(
            "/v1/sessions/{id}/roles",
            "Says what a person may do in a session.",
            act::role,
        ),
    ]
}

/// What all handlers share.
pub(crate) struct Front {
    pub(crate) state: Arc<ServerState>,
    pub(crate) once: Once,
    lenses: Lenses,
    rates: Mutex<Rates>,
    openapi: OnceLock<Described>,
    requests: AtomicU64,
}

impl Front {
    /// Counts a request of somebody.
    ///
    /// # Errors
    /// Where there were too many of late.
    fn count(&self, who: &str) -> Result<(), Failure> {
        let now = self.state.now_ms();
        let taken = self
            .rates
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take(who, now);
        taken.map_err(|ms| Failure::new("rate_limited", "too many requests; wait a moment").retry_after(ms))
    }

    /// How many requests there were.
    fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// The description, made when it is first asked for.
    fn openapi(&self) -> &Described {
        self.openapi.get_or_init(Described::new)
    }
}

/// What all handlers share, as they take it.
#[derive(Clone)]
pub(crate) struct Shared(Arc<Front>);

impl Shared {
    fn new(state: Arc<ServerState>) -> Self {
        let limits = &state.options().limits;
        let rates = Rates::new(limits.rate, limits.burst);
        Self(Arc::new(Front {
            state,
            once: Once::default(),
            lenses: Lenses::default(),
            rates: Mutex::new(rates),
            openapi: OnceLock::new(),
            requests: AtomicU64::new(0),
        }))
    }
}

impl Deref for Shared {
    type Target = Front;

    fn deref(&self) -> &Front {
        &self.0
    }
}

impl FromRequestParts<Shared> for Shared {
    type Rejection = Infallible;

    async fn from_request_parts(_: &mut Parts, front: &Shared) -> Result<Self, Infallible> {
        Ok(front.clone())
    }
}

impl Input for Shared {
    fn describe(_: &mut Operation, _: &mut SchemaGenerator) {}
}
