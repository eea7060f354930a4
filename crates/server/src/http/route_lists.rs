//! The routes that are not about one session: signing in, messages to browsers, memories, upkeep.

use crate::http::description::route::HttpRoute;
use crate::http::handlers::{memories, push, sign_in, tokens, upkeep, webhooks};

/// Returns the routes about the caller: who they are, and how they sign in.
pub(super) fn sign_in_routes() -> Vec<HttpRoute> {
    vec![
        HttpRoute::post(
            "/v1/auth/challenge",
            "Requests a challenge to sign.",
            sign_in::challenge,
        ),
        HttpRoute::post(
            "/v1/auth/token",
            "Exchanges a signed challenge for a token.",
            sign_in::token,
        ),
        HttpRoute::post(
            "/v1/auth/page",
            "Exchanges the code of a page for its token.",
            sign_in::page_login,
        ),
        HttpRoute::post("/v1/auth/code", "A code for another browser.", sign_in::page_code),
        HttpRoute::get("/v1/me", "The caller's identity.", sign_in::me),
        HttpRoute::get(
            "/v1/tokens",
            "The caller's tokens for /mcp and of pages.",
            tokens::list,
        ),
        HttpRoute::delete("/v1/tokens/{id}", "Takes such a token back.", tokens::revoke),
    ]
}

/// Returns the routes about the messages that the caller's page gets while it is closed.
pub(super) fn push_routes() -> Vec<HttpRoute> {
    vec![
        HttpRoute::get(
            "/v1/push",
            "The key of the server for Web Push, and whether the caller's page is subscribed.",
            push::status,
        ),
        HttpRoute::post(
            "/v1/push",
            "Subscribes the caller's page to messages about calls that wait.",
            push::subscribe,
        ),
        HttpRoute::delete("/v1/push", "Ends that subscription.", push::unsubscribe),
    ]
}

/// Returns the routes about memories of the person of the server's machine.
pub(super) fn memory_routes() -> Vec<HttpRoute> {
    vec![
        HttpRoute::get(
            "/v1/memories",
            "Lists memories and proposals, the latest first.",
            memories::list,
        ),
        HttpRoute::patch(
            "/v1/memories/{id}",
            "Decides about a memory, or changes it.",
            memories::patch,
        ),
        HttpRoute::delete("/v1/memories/{id}", "Deletes a memory.", memories::delete),
    ]
}

/// Returns the routes about all sessions of a person, or about the server.
pub(super) fn upkeep_routes() -> Vec<HttpRoute> {
    vec![
        HttpRoute::get(
            "/v1/usage",
            "The total usage of the caller's sessions.",
            upkeep::usage,
        ),
        HttpRoute::post(
            "/v1/usage/raise",
            "Raises the limit of a day for 24 hours.",
            upkeep::raise_day,
        ),
        HttpRoute::get(
            "/v1/reactors",
            "The reactors that perform actions, and their load.",
            upkeep::reactors,
        ),
        HttpRoute::post(
            "/v1/import",
            "Imports an exported session: the same events under the same id, verified.",
            upkeep::import,
        ),
        HttpRoute::post(
            "/v1/gc",
            "Reclaims the space of deleted sessions.",
            upkeep::collect_garbage,
        ),
        HttpRoute::post(
            "/v1/hooks/{id}",
            "Delivers something to a webhook: its prompt is run once.",
            webhooks::deliver,
        ),
    ]
}
