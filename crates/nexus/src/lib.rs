//! The protocol of NEXUS on a server of AgentX, for clients that exist: `/api/v1/ws/{public_key}`, `/chat` and
//! `/stream` as server-sent events, `/commands`, `/config`, `/prompts` and `/messages`.
//!
//! [`frames`] translates both ways and does nothing else. The routes ask the API of the server in the name of
//! their callers, so its authentication, roles, quotas and limits hold here too, and none of them is decided a
//! second time. `docs/NEXUS.md` describes every frame, and the differences.

pub mod frames;
mod gateway;
mod routes;

use agentx_server::Server;

/// Adds the routes of NEXUS to a server.
#[must_use]
pub fn with_nexus(server: Server) -> Server {
    let gateway = gateway::Gateway::new(server.state().clone(), server.api());
    server.with_routes(routes::routes(gateway))
}
