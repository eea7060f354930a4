//! Warns a person if the provider of a session has another address now than before. Nothing of the session is
//! sent there until a person agrees. The runtime refuses such requests; this module tells the person
//! beforehand, and how to continue.

use agentx::config::Settings;
use agentx::llm::origin;
use agentx::runtime::Session;
use agentx::types::{ConfigChange, ModelSpec};

use crate::error::ChatError;
use crate::place::Place;
use crate::render::clean::visible;

/// A model whose provider has another address now than in its session.
pub(crate) struct MovedProvider {
    /// The model's id.
    model: String,
    provider: String,
    /// The origin of the server that was asked so far.
    asked_at: String,
    /// The origin of the server that would be asked now.
    now: String,
    /// The variable that names the server, of a built-in provider.
    variable: Option<String>,
}

impl MovedProvider {
    fn describe(&self) -> String {
        let (provider, asked_at, now) = (
            visible(&self.provider),
            visible(&self.asked_at),
            visible(&self.now),
        );
        format!("this session used the server at {asked_at}, but {provider} is now at {now}")
    }

    fn return_hint(&self) -> String {
        match &self.variable {
            Some(variable) => format!("set {variable} to that server again"),
            None => format!(
                "set providers.{}.base_url to that server again",
                visible(&self.provider)
            ),
        }
    }

    /// The line on opening a chat.
    pub(crate) fn note(&self) -> String {
        format!(
            "note: {}; nothing is sent there unless you choose it with `/model {}`. To keep the old server, leave and {}\n",
            self.describe(),
            visible(&self.model),
            self.return_hint(),
        )
    }

    fn error(&self, go_on: &str) -> ChatError {
        let (model, now) = (visible(&self.model), visible(&self.now));
        ChatError::usage(
            format!("{}: nothing was sent", self.describe()),
            format!(
                "{}, or send the conversation to {now} with {go_on} {model}",
                self.return_hint()
            ),
        )
    }

    /// Returns the error for a line of a chat that is not sent.
    pub(crate) fn chat_error(&self) -> ChatError {
        self.error("/model")
    }
}

/// Returns the move of a session's model to another server, or `None` if the server is the same or the
/// earlier one is unknown.
pub(crate) fn moved(settings: &Settings, model: &ModelSpec) -> Option<MovedProvider> {
    let provider = settings.catalog.provider(&model.provider)?;
    let asked_at = model.server.clone()?;
    let now = origin(&provider.base_url)?;
    (asked_at != now).then(|| MovedProvider {
        model: format!("{}/{}", model.provider, model.id),
        provider: model.provider.clone(),
        asked_at,
        now,
        variable: provider.base_url_env.clone(),
    })
}

/// Refuses to continue with a session of this machine at another server than before.
///
/// # Errors
/// Returns an error with both addresses and the ways to continue, and an error if the session cannot be read.
pub async fn check(place: &Place, settings: &Settings, session: &dyn Session) -> Result<(), ChatError> {
    if place.remote().is_some() {
        return Ok(());
    }
    let model = session.state().await?.config.model;
    moved(settings, &model).map_or(Ok(()), |moved| Err(moved.error("--model")))
}

/// Records the server that a session of this machine asks from now on, if the session used its provider's own
/// address so far or is older than such records. Returns a note for the person.
pub async fn record(place: &Place, settings: &Settings, session: &dyn Session) -> Option<String> {
    if place.remote().is_some() {
        return None;
    }
    let model = session.state().await.ok()?.config.model;
    let server = settings.catalog.provider(&model.provider)?.other_server()?;
    if model.server.is_some() {
        return None;
    }
    let note = format!("note: this session now uses the server at {}\n", visible(&server));
    let model = ModelSpec {
        server: Some(server),
        ..model
    };
    session.change(ConfigChange::Model(Box::new(model))).await.ok()?;
    Some(note)
}
