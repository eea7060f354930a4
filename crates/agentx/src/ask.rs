//! A question to an agent: its options, and its start.

use std::future::IntoFuture;
use std::sync::Arc;

use agentx_runtime::{BoxFuture, RequestValues, UserInput};
use agentx_types::{AnswerSchema, RunId};
use tokio_util::sync::CancellationToken;

use crate::{AgentError, AgentHandle, Answer, Answering};

/// A question that is about to be asked. Await it for the [`Answer`], or [stream](Ask::stream) it.
///
/// Whoever stops waiting stops the run, with its model call, its tools and the agents that it made, unless it
/// waits for a decision: then it continues waiting.
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

    /// A value for the tools of this run, and of no other: they have it with `context.get::<T>()`. It is in
    /// no log and does not outlive the process; helpers do not get it. It is for the tools that the agent
    /// brings itself: if the agent is on a server or on a runtime that was there already, asking with a value
    /// is an error.
    pub fn with<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.values = self.values.with(value);
        self
    }

    /// Stops the run when `token` fires.
    pub fn cancelled_by(mut self, token: CancellationToken) -> Self {
        self.cancel = Some(token);
        self
    }

    /// The schema that the answer has to fit: the run ends only with an answer that does, or fails once the
    /// model was asked again [as often as it may be](AnswerSchema::repairs). Calls of tools on the way are
    /// not held against it. Without one the schema of the agent's file holds, if it has one.
    pub fn answer_schema(mut self, schema: AnswerSchema) -> Self {
        self.answer_schema = Some(Arc::new(schema));
        self
    }

    /// Asks, and hears what the agent says and does on the way. When this returns the input is in the log.
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

impl IntoFuture for Ask {
    type Output = Result<Answer, AgentError>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.stream().await?.await })
    }
}
