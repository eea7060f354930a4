//! A question to an agent: its options, and its start.

use std::future::IntoFuture;
use std::sync::Arc;

use agentx_runtime::{BoxFuture, RequestValues, UserInput};
use agentx_types::{AnswerSchema, RunId};
use tokio_util::sync::CancellationToken;

use crate::answering::Answering;
use crate::error::AgentError;
use crate::handle::AgentHandle;
use crate::update::Answer;

/// A question that is about to be asked. Await it for the [`Answer`], or [stream](Ask::stream) it.
///
/// Dropping the future stops the run, with its model call, its tools and the agents that it created, unless
/// the run waits for a decision: then it continues waiting.
#[must_use = "nothing is sent until it is awaited or streamed"]
pub struct Ask {
    agent: AgentHandle,
    text: String,
    values: RequestValues,
    cancel: Option<CancellationToken>,
    answer_schema: Option<Arc<AnswerSchema>>,
}

impl Ask {
    pub(crate) fn new(agent: AgentHandle, text: String) -> Self {
        Self {
            agent,
            text,
            values: RequestValues::default(),
            cancel: None,
            answer_schema: None,
        }
    }

    /// Adds a value for the tools of this run alone: they read it with `context.get::<T>()`. It is in no log
    /// and does not outlive the process; helpers do not get it. Only the agent's own tools get it: if the
    /// agent is on a server or on an existing runtime, asking with a value is an error.
    pub fn with<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.values = self.values.with(value);
        self
    }

    /// Stops the run when `token` fires.
    pub fn cancelled_by(mut self, token: CancellationToken) -> Self {
        self.cancel = Some(token);
        self
    }

    /// Sets the schema that the answer has to fit. The run ends with such an answer, or fails after the model
    /// was asked again [the maximum number of times](AnswerSchema::repairs). Calls of tools before the answer
    /// are not checked. Without it, the schema of the agent's file applies, if there is one.
    pub fn answer_schema(mut self, schema: AnswerSchema) -> Self {
        self.answer_schema = Some(Arc::new(schema));
        self
    }

    /// Asks, and streams the agent's updates. When this returns, the input is in the log.
    ///
    /// # Errors
    /// Returns an error if the input cannot be committed, or if a [value](Ask::with) would reach no tool.
    pub async fn stream(self) -> Result<Answering, AgentError> {
        let Self {
            agent,
            text,
            values,
            cancel,
            answer_schema,
        } = self;
        if !values.is_empty() {
            agent.takes_values()?;
        }
        let input = UserInput::text(text).answer_schema(answer_schema);
        let say = Box::pin(agent.send(input));
        let seq = agent.asks().begin(agent.session().as_ref(), values, say).await?;
        let answering = agent.listen(RunId::of_input(seq)).await?;
        Ok(match cancel {
            Some(token) => answering.cancelled_by(token),
            None => answering,
        })
    }
}

impl AgentHandle {
    /// Sends `text` to the agent. Nothing happens until the result is awaited for the answer, or
    /// [streamed](Ask::stream). While the agent is busy, the input waits for its turn.
    pub fn ask(&self, text: impl Into<String>) -> Ask {
        Ask::new(self.clone(), text.into())
    }

    /// Sends `text` to the agent and streams its updates.
    ///
    /// # Errors
    /// Returns an error if the input cannot be committed.
    pub async fn stream(&self, text: impl Into<String>) -> Result<Answering, AgentError> {
        self.ask(text).stream().await
    }
}

impl IntoFuture for Ask {
    type Output = Result<Answer, AgentError>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.stream().await?.await })
    }
}
