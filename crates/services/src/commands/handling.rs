//! The part that carries out a command, seen from a page that talks to a server.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The part that carries out a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommandHandler {
    /// The program of the person alone.
    Client,
    /// The server, by a `system_command` of the connection.
    Server,
    /// The server, by requests over HTTP.
    Rest,
}

/// The requests of a command. `{id}` stands for the session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RestOptions {
    /// The path that is read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub get: Option<&'static str>,
    /// The path to which changes are sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub post: Option<&'static str>,
}

/// The way in which a command is carried out.
pub(super) struct Handling {
    pub(super) handler: CommandHandler,
    /// The name of the `system_command`.
    pub(super) frame: Option<&'static str>,
    pub(super) rest: Option<RestOptions>,
}

/// Returns how a server carries out a built-in command; those that no server knows belong to the client.
pub(super) fn handling(name: &str) -> Handling {
    match name {
        "ping" => by_frame("ping"),
        "retry" => by_frame("retry"),
        "title" => by_frame("rename"),
        "compact" | "pin" | "unpin" => by_frame("context"),
        "model" | "effort" | "plan" | "approve-mode" => by_frame("change"),
        "queue" => by_frame("revise"),
        "config" | "prompt" => by_rest(Some("/v1/config"), Some("/v1/config")),
        "history" => by_rest(Some("/v1/sessions/{id}/messages"), None),
        "steer" => by_rest(None, Some("/v1/sessions/{id}/messages")),
        "sessions" | "resume" => by_rest(Some("/v1/sessions"), None),
        "new" | "clear" => by_rest(None, Some("/v1/sessions")),
        "fork" => by_rest(None, Some("/v1/sessions/{id}/fork")),
        "usage" => by_rest(Some("/v1/usage"), None),
        "context" => by_rest(Some("/v1/sessions/{id}/context"), None),
        "export" => by_rest(Some("/v1/sessions/{id}/export"), None),
        _ => Handling {
            handler: CommandHandler::Client,
            frame: None,
            rest: None,
        },
    }
}

/// Returns whether only a graphical page has a use for a command.
pub(super) fn requires_gui(name: &str) -> bool {
    matches!(name, "identity" | "theme")
}

fn by_frame(frame: &'static str) -> Handling {
    Handling {
        handler: CommandHandler::Server,
        frame: Some(frame),
        rest: None,
    }
}

fn by_rest(get: Option<&'static str>, post: Option<&'static str>) -> Handling {
    Handling {
        handler: CommandHandler::Rest,
        frame: None,
        rest: Some(RestOptions { get, post }),
    }
}
