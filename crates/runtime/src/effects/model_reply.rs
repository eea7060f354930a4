//! Asks a model for one answer in words, beside the conversation of an agent: for a judge, and for proposals
//! of memories. The stream is not recorded in the session; the caller reports the cost.

use std::sync::Arc;

use agentx_types::{
    Action, ActionBody, Assembler, CallModel, EffectBill, EnvironmentEvent, ModelRequest, ModelSpec,
    SessionId, StopReason, Usage,
};
use tokio_util::sync::CancellationToken;

use crate::effects::captured_effect::CapturedEffect;
use crate::effects::effect::Effector;

/// The answer of a model in words, or the reason why there is none, with the tokens of all attempts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelReply {
    /// The words of the answer, or the reason, for people.
    pub outcome: Result<String, String>,
    /// The tokens of all attempts.
    pub usage: Usage,
}

impl ModelReply {
    /// The cost at the prices of the model; `None` if no tokens are known.
    pub fn bill(&self, model: &ModelSpec) -> Option<Box<EffectBill>> {
        (self.usage != Usage::default()).then(|| Box::new(EffectBill::of(model, self.usage)))
    }
}

/// Calls a model once for `action`, with all its attempts, and reads its events up to the terminal one. The
/// effector for model calls performs the call, as for any answer.
pub async fn ask_model(
    models: &dyn Effector,
    action: &Action,
    request: ModelRequest,
    session: Option<SessionId>,
    cancel: CancellationToken,
) -> ModelReply {
    let mut assembler = Assembler::default();
    assembler.set_model(&request.model.id);
    let call = Arc::new(Action {
        body: ActionBody::CallModel(CallModel {
            request: Arc::new(request),
            taken: Arc::default(),
        }),
        ..action.clone()
    });
    let mut usage = Usage::default();
    let mut asked = CapturedEffect::of(models, call, session, cancel);
    let outcome = loop {
        match asked.next().await {
            None => break Err("it ended without an answer".to_owned()),
            Some(EnvironmentEvent::ErrorOccurred(error)) => break Err(error.message),
            Some(EnvironmentEvent::StreamEnd(end)) if end.stop_reason == StopReason::Broken => {
                usage += assembler.finish_partial().usage;
            }
            Some(EnvironmentEvent::StreamEnd(end)) => {
                let answer = assembler.finish();
                usage += answer.usage;
                let text = answer.message.map(|message| message.text()).unwrap_or_default();
                break match end.stop_reason {
                    StopReason::EndTurn | StopReason::StopSequence => Ok(text),
                    other => Err(format!("its answer ended with {other:?}")),
                };
            }
            Some(event) => assembler.feed(&event),
        }
    };
    usage += assembler.finish_partial().usage;
    ModelReply { outcome, usage }
}
