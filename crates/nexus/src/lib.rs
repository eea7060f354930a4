//! The protocol of NEXUS on a server of AgentX, for clients that exist: `/api/v1/ws/{public_key}`, `/chat`
//! and `/stream` as server-sent events, `/commands`, `/config`, `/prompts` and `/messages`.
//!
//! [`frames`] translates both ways and does nothing else. The routes ask the API of the server in the name of
//! their callers, so its authentication, roles, quotas and limits apply here too, and none of them is decided
//! a second time. `docs/NEXUS.md` describes every frame, and the differences.

pub mod frames;
mod gateway;
mod routes;

use agentx_server::Server;
use axum::Router;

/// Returns the routes of NEXUS on a server, for [`Server::with_routes`].
pub fn routes(server: &Server) -> Router {
    routes::routes(gateway::Gateway::new(server.state().clone(), server.api()))
}
