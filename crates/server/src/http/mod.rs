//! The HTTP routes: requests, and event streams for networks in which sockets die.
//!
//! The router, the OpenAPI description and the test of all routes are made from one list (`table`). Handlers
//! take the caller and the session as arguments (`requests/extract.rs`), so none can forget the access check.

mod between_requests;
mod description;
mod handlers;
mod layers;
mod mcp;
mod openapi;
mod requests;
mod responses;
mod route_lists;
mod session_routes;

use std::convert::Infallible;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use agentx_types::wire::Problem;
use axum::Router;
use axum::extract::FromRequestParts;
use axum::http::{Method, request::Parts};
use axum::response::{IntoResponse as _, Response};
use schemars::SchemaGenerator;

use crate::http::between_requests::idempotency::IdempotentRequests;
use crate::http::between_requests::page_folds::PageFolds;
use crate::http::between_requests::rate::RequestRates;
pub use crate::http::description::describe::Needs;
use crate::http::description::describe::{HandlerInput, Operation};
use crate::http::description::route::HttpRoute;
use crate::http::handlers::{agents, blobs, commands, health, person_config, session_lookup};
use crate::http::openapi::OpenApiBytes;
use crate::http::responses::failure::ApiError;
use crate::http::route_lists::{memory_routes, push_routes, sign_in_routes, upkeep_routes};
use crate::http::session_routes::session_routes;
use crate::state::ServerState;

/// Returns every route but the WebSocket's.
pub fn router(state: Arc<ServerState>) -> Router {
    let app = HandlerState::new(state);
    let mut router = Router::new();
    for route in table() {
        router = router.route(route.path, route.handler);
    }
    let router = router
        .fallback(|| async { ApiError::new("not_found", "nothing at this path") })
        .method_not_allowed_fallback(|| async {
            ApiError::new("method_not_allowed", "this path does not support this method")
        });
    layers::with_layers(router, &app).with_state(app)
}

/// Returns a problem as a response.
pub fn problem_response(problem: Problem) -> Response {
    ApiError::from(problem).into_response()
}

/// Returns the description of all routes.
pub fn openapi() -> serde_json::Value {
    openapi::document()
}

/// A route as tests see it.
#[derive(Clone, Debug)]
pub struct ListedRoute {
    /// The method.
    pub method: Method,
    /// The path.
    pub path: &'static str,
    /// The callers that it is for.
    pub needs: Needs,
}

/// Returns all routes, for tests that walk them.
pub fn routes() -> Vec<ListedRoute> {
    let mut schemas = SchemaGenerator::default();
    let listed = |route: HttpRoute| ListedRoute {
        needs: route.operation(&mut schemas).needs,
        method: route.method,
        path: route.path,
    };
    table().into_iter().map(listed).collect()
}

/// Returns the one list of routes.
fn table() -> Vec<HttpRoute> {
    let mut routes = vec![
        HttpRoute::get("/v1/health", "Whether the server is healthy.", health::health),
        HttpRoute::get("/metrics", "Metrics of the server.", health::metrics),
        HttpRoute::get("/v1/openapi.json", "This description.", openapi::openapi),
        HttpRoute::get("/v1/models", "The models that the server knows.", agents::models),
        HttpRoute::get("/v1/tools", "The tools that the server offers.", agents::tools),
        HttpRoute::get("/v1/agent", "The default agent of a new session.", agents::agent),
        HttpRoute::get(
            "/v1/agents",
            "The agents defined in the server's files.",
            agents::list,
        ),
        HttpRoute::get(
            "/v1/agents/{id}",
            "One agent by name, as a new session gets it.",
            agents::get,
        ),
        HttpRoute::get(
            "/v1/commands",
            "The commands that a page may offer.",
            commands::list,
        ),
        HttpRoute::get(
            "/v1/config",
            "The caller's own settings and their bounds.",
            person_config::get,
        ),
        HttpRoute::post(
            "/v1/config",
            "Changes the caller's own settings.",
            person_config::set,
        ),
        HttpRoute::get(
            "/v1/search",
            "Searches the caller's sessions.",
            session_lookup::search,
        ),
        HttpRoute::get(
            "/v1/resolve",
            "The session whose id has this prefix.",
            session_lookup::resolve,
        ),
        HttpRoute::get(
            "/v1/blobs/{id}",
            "The bytes of a blob, or a part of them.",
            blobs::get,
        ),
    ];
    routes.extend(sign_in_routes());
    routes.push(HttpRoute::post(
        "/mcp",
        "A message of the Model Context Protocol: tools and sessions of the caller.",
        mcp::message,
    ));
    routes.extend(push_routes());
    routes.extend(memory_routes());
    routes.extend(upkeep_routes());
    routes.extend(session_routes());
    routes
}

/// The state that all handlers share.
pub(crate) struct HandlerStateInner {
    pub(crate) state: Arc<ServerState>,
    pub(crate) once: IdempotentRequests,
    folds: PageFolds,
    rates: Mutex<RequestRates>,
    openapi: OnceLock<OpenApiBytes>,
    requests: AtomicU64,
}

impl HandlerStateInner {
    /// Counts a request for the caller's rate limit.
    ///
    /// # Errors
    /// Returns an error if there were too many requests recently.
    fn count(&self, who: &str) -> Result<(), ApiError> {
        let now = self.state.now_ms();
        let taken = self
            .rates
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take(who, now);
        taken.map_err(|ms| ApiError::new("rate_limited", "too many requests; wait a moment").retry_after(ms))
    }

    /// Returns the number of requests.
    fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Returns the description, made when it is first asked for.
    fn openapi(&self) -> &OpenApiBytes {
        self.openapi.get_or_init(OpenApiBytes::new)
    }
}

/// A cheap clone of the shared state, as handlers extract it.
#[derive(Clone)]
pub(crate) struct HandlerState(Arc<HandlerStateInner>);

impl HandlerState {
    fn new(state: Arc<ServerState>) -> Self {
        let limits = &state.options().limits;
        let once = IdempotentRequests::new(state.settings().quotas.idempotency_keys);
        let rates = RequestRates::new(limits.rate, limits.burst);
        Self(Arc::new(HandlerStateInner {
            state,
            once,
            folds: PageFolds::default(),
            rates: Mutex::new(rates),
            openapi: OnceLock::new(),
            requests: AtomicU64::new(0),
        }))
    }
}

impl Deref for HandlerState {
    type Target = HandlerStateInner;

    fn deref(&self) -> &HandlerStateInner {
        &self.0
    }
}

impl FromRequestParts<HandlerState> for HandlerState {
    type Rejection = Infallible;

    async fn from_request_parts(_: &mut Parts, app: &HandlerState) -> Result<Self, Infallible> {
        Ok(app.clone())
    }
}

impl HandlerInput for HandlerState {
    fn describe(_: &mut Operation, _: &mut SchemaGenerator) {}
}
