//! A model call with all its parts, which its attempts share.

use std::sync::Arc;

use agentx_runtime::EventSink;
use agentx_types::{Action, EnvironmentEvent, ModelFellBack, ModelRequest, SessionId, UsedIds};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use super::ModelParts;
use super::client::ModelClients;
use super::given_up_forms::{GivenUpForms, RequestOwner};

/// A call with all its parts. [`Call::run`] consumes it.
pub(super) struct Call {
    /// Endpoints, limits and clocks of the effector.
    pub(super) parts: Arc<ModelParts>,
    /// Connections, shared by all calls of the effector.
    pub(super) clients: Arc<ModelClients>,
    /// The answered action. The ids of the messages of each attempt derive from its id.
    pub(super) action: Arc<Action>,
    /// The request: the model, the conversation, the tools.
    pub(super) request: Arc<ModelRequest>,
    /// Ids of messages and calls that the conversation has already.
    pub(super) taken: Arc<UsedIds>,
    /// The sink of its events. It refuses them once the session is gone.
    pub(super) events: EventSink,
    /// Fires when the call has to stop.
    pub(super) cancel: CancellationToken,
    /// The sessions in which a person requests the next attempt at once.
    pub(super) retries: broadcast::Sender<SessionId>,
    /// The forms of requests that earlier calls gave up.
    pub(super) given_up: Arc<GivenUpForms>,
}

impl Call {
    /// The run that the request belongs to, and its model.
    pub(super) fn owner(&self) -> RequestOwner {
        RequestOwner {
            session: self.events.session_id().cloned(),
            run: self.action.run_id.clone(),
            model: self.request.model.id.clone(),
        }
    }

    /// Adds the prices of another model that continues the answer, and the name of the answering model if it
    /// is not the requested one and has other prices.
    pub(super) fn price(&self, events: &mut Vec<EnvironmentEvent>) {
        let asked = &self.request.model;
        let price = |model: &str| (self.parts.prices)(&asked.provider, model);
        let mut other = None;
        for (at, event) in events.iter_mut().enumerate() {
            match event {
                EnvironmentEvent::ModelFellBack(fallback) => {
                    fallback.prices = price(&fallback.model).map(Box::new);
                }
                EnvironmentEvent::StreamStart(start) if is_other(&asked.id, &start.model) => {
                    let prices = price(&start.model).filter(|prices| *prices != asked.prices);
                    other = prices.map(|prices| (at + 1, start.model.clone(), prices));
                }
                _ => {}
            }
        }
        if let Some((at, model, prices)) = other {
            let prices = Some(Box::new(prices));
            events.insert(at, ModelFellBack { model, prices }.into());
        }
    }
}

/// Returns whether the server names another model than the called one: an alias and its dated version are the
/// same model.
fn is_other(asked: &str, answering: &str) -> bool {
    !answering.starts_with(asked) && !asked.starts_with(answering)
}
