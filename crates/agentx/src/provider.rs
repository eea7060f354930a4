//! A model that a program provides itself: a simple trait in front of the whole contract of model calls.

use std::error::Error;
use std::future::Future;
use std::sync::Arc;

use agentx_runtime::{BoxFuture, Effector, EventSink, ModelEnvironment};
use agentx_types::{
    Action, ActionBody, AttemptFailed, CallModel, EnvironmentEvent, ErrorOccurred, MessageId, ModelRequest,
    StopReason, StreamEnd, StreamStart, TextChunk, ThinkingChunk, ToolCall, ToolCallId, Usage, UsageReport,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// The reason why a provider has no answer: any error, or a text (`Err("the model sleeps".into())`).
pub type ProviderError = Box<dyn Error + Send + Sync>;

/// A model that a program provides itself; see [`AgentBuilder::provider`](crate::AgentBuilder::provider).
///
/// ```
/// use agentx::types::{ModelRequest, Role};
/// use agentx::{Provider, ProviderError, AnswerSink};
///
/// /// Says the last words again.
/// struct Echo;
///
/// impl Provider for Echo {
///     fn name(&self) -> &str {
///         "echo"
///     }
///
///     async fn answer(&self, request: &ModelRequest, says: &mut AnswerSink) -> Result<(), ProviderError> {
///         let last = request.messages.iter().rfind(|message| message.role == Role::User);
///         says.text(last.ok_or("nothing was said")?.text()).await;
///         Ok(())
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), agentx::AgentError> {
/// let agent = agentx::agent("You repeat.").provider(Echo).start().await?;
/// assert_eq!(agent.ask("hello").await?.text, "hello");
/// # Ok(())
/// # }
/// ```
pub trait Provider: Send + Sync + 'static {
    /// Returns its name, as in `name/model`.
    fn name(&self) -> &str;

    /// The number of tokens that fit into a conversation with its models; longer ones are condensed.
    fn context_window(&self) -> u64 {
        128_000
    }

    /// Answers a request: `request.system`, then `request.messages`, with `request.tools` on offer. The
    /// session gets its text at once. When the run is stopped, the future is dropped at its current await.
    ///
    /// # Errors
    /// Returns the reason why there is no answer, with which the run ends. The error is shown and recorded,
    /// so keep secrets out of it. AgentX does not retry: a provider that can try again does so before it
    /// returns.
    fn answer(
        &self,
        request: &ModelRequest,
        says: &mut AnswerSink,
    ) -> impl Future<Output = Result<(), ProviderError>> + Send;

    /// Makes an environment that can be attached while an agent runs
    /// ([`AgentHandle::attach`](crate::AgentHandle::attach)). Until it is detached, it answers instead of the
    /// model of each agent whose model's provider has this name.
    fn into_environment(self) -> ModelEnvironment
    where
        Self: Sized,
    {
        let name = self.name().to_owned();
        ModelEnvironment::new(name.clone(), name, Arc::new(ProviderEffector(Arc::new(self))))
    }
}

/// Takes the answer of a model, piece by piece.
#[derive(Debug)]
pub struct AnswerSink {
    events: EventSink,
    /// Makes the ids of this call differ from those of other calls.
    number: String,
    calls: usize,
    stopped: Option<StopReason>,
}

impl AnswerSink {
    /// Words of the answer.
    pub async fn text(&mut self, words: impl Into<String>) {
        self.emit(TextChunk { text: words.into() }).await;
    }

    /// Words of the reasoning.
    pub async fn thinking(&mut self, words: impl Into<String>) {
        self.emit(ThinkingChunk { text: words.into() }).await;
    }

    /// Adds a call of this tool with these arguments. Several calls in one answer run at once.
    pub async fn call(&mut self, tool: impl Into<String>, arguments: Value) {
        let call = ToolCall {
            tool_call_id: ToolCallId::with_suffix(format_args!("{}_{}", self.number, self.calls)),
            name: tool.into(),
            input: arguments,
            invalid: None,
        };
        self.calls += 1;
        self.emit(call).await;
    }

    /// Reports the tokens of the call, if they are known.
    pub async fn usage(&mut self, usage: Usage) {
        self.emit(UsageReport { usage }).await;
    }

    /// Sets the reason why the answer ends, if it is neither complete nor a request for tools:
    /// [`StopReason::MaxTokens`], for example.
    pub fn set_stop_reason(&mut self, reason: StopReason) {
        self.stopped = Some(reason);
    }

    async fn emit(&self, event: impl Into<EnvironmentEvent>) {
        // If the session is gone, the call is cancelled, too.
        self.events.emit(event).await;
    }
}

/// Makes an effector of a provider.
pub(crate) struct ProviderEffector<P>(pub(crate) Arc<P>);

impl<P: Provider> Effector for ProviderEffector<P> {
    fn perform(
        &self,
        action: Arc<Action>,
        events: EventSink,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, ()> {
        let provider = self.0.clone();
        Box::pin(async move {
            if let ActionBody::CallModel(call) = &action.body {
                ask(&*provider, &action, call, events, cancel).await;
            }
        })
    }
}

async fn ask(
    provider: &impl Provider,
    action: &Action,
    call: &CallModel,
    events: EventSink,
    cancel: CancellationToken,
) {
    let id = action.action_id.as_str();
    let number = id.strip_prefix("act_").unwrap_or(id).to_owned();
    let start = StreamStart {
        message_id: MessageId::with_suffix(&number),
        model: call.request.model.id.clone(),
        attempt: 1,
    };
    events.emit(start).await;
    let mut says = AnswerSink {
        events: events.clone(),
        number,
        calls: 0,
        stopped: None,
    };
    let answered = tokio::select! {
        biased;
        () = cancel.cancelled() => None,
        answered = provider.answer(&call.request, &mut says) => Some(answered),
    };
    let last = match answered {
        None => vec![end(StopReason::Interrupted)],
        Some(Ok(())) => {
            let natural = match says.calls {
                0 => StopReason::EndTurn,
                _ => StopReason::ToolUse,
            };
            vec![end(says.stopped.unwrap_or(natural))]
        }
        Some(Err(why)) => failed(&format!("{}: {why}", provider.name())),
    };
    events.emit_all(last).await;
}

fn end(stop_reason: StopReason) -> EnvironmentEvent {
    StreamEnd {
        stop_reason,
        raw: None,
    }
    .into()
}

fn failed(message: &str) -> Vec<EnvironmentEvent> {
    let attempt = AttemptFailed {
        attempt: 1,
        code: CODE.to_owned(),
        message: message.to_owned(),
        status: None,
        retry_in_ms: None,
        gives_up_in_ms: None,
        overflow: None,
        refused: None,
        longest_answer: None,
        most_media: None,
        no_thinking: false,
        refused_place: None,
    };
    vec![
        end(StopReason::Broken),
        attempt.into(),
        error(message.to_owned()).into(),
    ]
}

/// The error code of a program's own provider.
const CODE: &str = "provider";

fn error(message: String) -> ErrorOccurred {
    ErrorOccurred {
        code: CODE.to_owned(),
        message,
        recoverable: true,
    }
}
