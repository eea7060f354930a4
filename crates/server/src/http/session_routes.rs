//! The routes of sessions: their list, their history, and what callers do in them.

use crate::http::description::route::HttpRoute;
use crate::http::handlers::{history, inspect, messages, session_actions, sessions};

/// Returns the routes of sessions.
pub(super) fn session_routes() -> Vec<HttpRoute> {
    let mut routes = list_routes();
    routes.extend(history_routes());
    routes.extend(act_routes());
    routes
}

/// Returns the routes that list, make, change and delete sessions.
fn list_routes() -> Vec<HttpRoute> {
    vec![
        HttpRoute::get(
            "/v1/sessions",
            "Lists sessions, the most recently active first.",
            sessions::list,
        ),
        HttpRoute::post("/v1/sessions", "Makes a session.", sessions::create),
        HttpRoute::get(
            "/v1/sessions/{id}",
            "The summary of a session, as in lists.",
            sessions::get,
        ),
        HttpRoute::patch(
            "/v1/sessions/{id}",
            "Sets the title of a session.",
            sessions::patch,
        ),
        HttpRoute::delete("/v1/sessions/{id}", "Deletes a session.", sessions::delete),
        HttpRoute::post(
            "/v1/sessions/{id}/fork",
            "Forks a session at an event.",
            sessions::fork,
        ),
    ]
}

/// Returns the routes about the history of a session.
fn history_routes() -> Vec<HttpRoute> {
    vec![
        HttpRoute::get(
            "/v1/sessions/{id}/state",
            "The current state of a session.",
            sessions::state,
        ),
        HttpRoute::post(
            "/v1/sessions/{id}/verify",
            "Checks every stored byte of a session.",
            inspect::verify,
        ),
        HttpRoute::post(
            "/v1/sessions/{id}/replay",
            "Derives a session again from its log and compares it with the live run.",
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
            "Every event of a session, one per line.",
            history::export,
        ),
        HttpRoute::get(
            "/v1/sessions/{id}/rows",
            "The stored rows of a session, for an exact copy.",
            inspect::rows,
        ),
        HttpRoute::get(
            "/v1/sessions/{id}/events",
            "The events of a session, as a page or a stream.",
            history::events,
        ),
        HttpRoute::get(
            "/v1/sessions/{id}/file",
            "The current content of the file that a waiting call would change.",
            inspect::file,
        ),
        HttpRoute::get(
            "/v1/sessions/{id}/restore",
            "Previews restoring files to their state before an event.",
            inspect::restore_plan,
        ),
    ]
}

/// Returns the routes that act on a session.
fn act_routes() -> Vec<HttpRoute> {
    vec![
        HttpRoute::post(
            "/v1/sessions/{id}/messages",
            "Sends a message to the agent.",
            session_actions::message,
        ),
        HttpRoute::post(
            "/v1/sessions/{id}/interrupt",
            "Stops the run.",
            session_actions::interrupt,
        ),
        HttpRoute::post(
            "/v1/sessions/{id}/approvals",
            "Decides about a tool call.",
            session_actions::approval,
        ),
        HttpRoute::post(
            "/v1/sessions/{id}/changes",
            "Changes the agent's configuration.",
            session_actions::change,
        ),
        HttpRoute::post(
            "/v1/sessions/{id}/revisions",
            "Removes a queued input, or changes when it is handled.",
            session_actions::revision,
        ),
        HttpRoute::post(
            "/v1/sessions/{id}/context",
            "Condenses the conversation, removes a summary, or pins an input.",
            session_actions::context,
        ),
        HttpRoute::post(
            "/v1/sessions/{id}/restore",
            "Restores files to their state before an event.",
            session_actions::restore,
        ),
        HttpRoute::post(
            "/v1/sessions/{id}/roles",
            "Sets a person's role in a session.",
            session_actions::role,
        ),
    ]
}
