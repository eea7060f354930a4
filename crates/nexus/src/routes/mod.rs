//! The routes below `/api/v1`.

mod bodies;
mod chat;
mod documents;
mod paths;
mod socket;
mod streams;

use axum::Router;
use axum::http::{HeaderName, HeaderValue, Method};
use axum::routing::{get, post};
use tower_http::cors::{AllowOrigin, CorsLayer};

use crate::gateway::Gateway;

/// Returns the routes.
pub(crate) fn routes(gateway: Gateway) -> Router {
    let cors = cors(&gateway);
    Router::new()
        .route("/api/v1/ws/{public_key}", get(socket::upgrade))
        .route("/api/v1/chat", post(chat::chat))
        .route("/api/v1/stream/{public_key}", get(streams::stream))
        .route("/api/v1/commands", get(documents::commands))
        .route("/api/v1/commands/execute", post(documents::execute))
        .route(
            "/api/v1/config",
            get(documents::config).post(documents::set_config),
        )
        .route(
            "/api/v1/prompts",
            get(documents::prompts).post(documents::set_prompts),
        )
        .route("/api/v1/messages", get(documents::messages))
        .layer(cors)
        .with_state(gateway)
}

/// Allows pages of the configured origins, and the server's own, as the API does.
fn cors(gateway: &Gateway) -> CorsLayer {
    let server = gateway.server();
    let own = server.auth().origin().to_owned();
    let origins = server.options().allow_origins.iter().chain([&own]);
    let origins: Vec<HeaderValue> = origins.filter_map(|origin| origin.parse().ok()).collect();
    let sent = ["authorization", "content-type", "agentx-client", "last-event-id"];
    CorsLayer::new()
        .allow_origin(AllowOrigin::list(origins))
        .allow_methods([Method::GET, Method::POST])
        .allow_headers(sent.map(HeaderName::from_static))
}
