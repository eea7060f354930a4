//! Chooses the environment of a model call: the scripted one for the offline demo, HTTP for every other
//! provider.
//!
//! The choice follows from the request alone: the API of its model is recorded in the session, so a session
//! of the demo stays one, and a replay calls no model. An environment that is attached for a provider takes
//! precedence over both, on the bus.

use std::sync::Arc;

use agentx_runtime::{BoxFuture, Effector, EventSink, RedactingModels};
use agentx_types::{Action, ActionBody, Api, SessionId};
use tokio_util::sync::CancellationToken;

use crate::NodeParts;

impl NodeParts {
    /// Returns the effector for model calls: HTTP, or the scripted environment for the offline demo.
    pub fn model_effector(&self) -> Arc<dyn Effector> {
        let router = Arc::new(ModelRouter {
            scripted: Arc::new(self.scripted.clone()),
            network: self.network.clone(),
        });
        match &self.redactor {
            Some(redactor) => Arc::new(RedactingModels::new(router, redactor.clone())),
            None => router,
        }
    }
}

/// Hands model calls to the environment that speaks the model's API.
pub(crate) struct ModelRouter {
    /// Answers without any model.
    pub(crate) scripted: Arc<dyn Effector>,
    /// Answers over the network.
    pub(crate) network: Arc<dyn Effector>,
}

impl Effector for ModelRouter {
    fn perform(
        &self,
        action: Arc<Action>,
        events: EventSink,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, ()> {
        let scripted =
            matches!(&action.body, ActionBody::CallModel(call) if call.request.model.api == Api::Scripted);
        let environment = if scripted { &self.scripted } else { &self.network };
        environment.perform(action, events, cancel)
    }

    fn retry_now(&self, session: &SessionId) {
        self.network.retry_now(session);
    }
}
