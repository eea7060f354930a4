//! A single model call, without an agent.

use agentx_llm::{CloudCredentials, Secret};

use crate::builder::{AgentBuilder, agent};
use crate::error::AgentError;
use crate::provider::Provider;
use crate::reply::Reply;
use crate::update::Answer;

/// Creates a single call of a model: an id, an alias or `provider/id`, as for [`AgentBuilder::model`].
///
/// ```no_run
/// # async fn asked(key: String) -> Result<(), agentx::AgentError> {
/// let haiku = agentx::model("claude-haiku-4-5").api_key(key).ask("A haiku about logs?").await?;
/// # drop(haiku);
/// # Ok(())
/// # }
/// ```
pub fn model(name: impl Into<String>) -> Model {
    Model {
        agent: agent("").model(name),
    }
}

/// A model that is about to be asked.
#[must_use = "nothing is sent until `ask`"]
#[derive(Debug)]
pub struct Model {
    agent: AgentBuilder,
}

impl Model {
    /// Standing instructions.
    pub fn system(mut self, instructions: impl Into<std::sync::Arc<str>>) -> Self {
        self.agent = self.agent.instructed(instructions.into());
        self
    }

    /// See [`AgentBuilder::api_key`].
    pub fn api_key(mut self, key: impl Into<String>) -> Self {
        self.agent = self.agent.keyed(Secret::new(key));
        self
    }

    /// See [`AgentBuilder::cloud`].
    pub fn cloud(mut self, credentials: CloudCredentials) -> Self {
        self.agent = self.agent.cloud(credentials);
        self
    }

    /// See [`AgentBuilder::base_url`].
    pub fn base_url(mut self, address: impl Into<String>) -> Self {
        self.agent = self.agent.base_url(address);
        self
    }

    /// See [`AgentBuilder::provider`].
    pub fn provider(mut self, provider: impl Provider) -> Self {
        self.agent = self.agent.provider(provider);
        self
    }

    /// See [`AgentBuilder::scripted`].
    pub fn scripted<R: Into<Reply>>(mut self, replies: impl IntoIterator<Item = R>) -> Self {
        self.agent = self.agent.scripted(replies);
        self
    }

    /// See [`AgentBuilder::from_user_config`].
    #[cfg(feature = "config")]
    pub fn from_user_config(mut self) -> Self {
        self.agent = self.agent.from_user_config();
        self
    }

    /// Asks, and waits for the answer. Nothing is stored. A failed call is retried like an agent's; dropping
    /// the future stops the call.
    ///
    /// # Errors
    /// Returns an error for the same reasons as [`AgentBuilder::start`], and if the model gives no answer.
    pub async fn ask(self, text: impl Into<String>) -> Result<Answer, AgentError> {
        let agent = self.agent.start().await?;
        let answer = agent.ask(text).await;
        agent.close().await;
        answer
    }
}
