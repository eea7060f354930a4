//! The last place before a model: requests that no fact was made for pass here too, such as those of scripts
//! and of MCP servers, and the old facts of a session that began before its secret was known.

use std::sync::Arc;

use agentx_secrets::Redactor;
use agentx_types::{Action, ActionBody, CallModel, SessionId};
use tokio_util::sync::CancellationToken;

use super::content::redacted_request;
use crate::effect::{Effector, EventSink};
use crate::future::BoxFuture;

/// Calls models with requests that have no secrets.
pub struct RedactingModels {
    models: Arc<dyn Effector>,
    redactor: Redactor,
}

impl RedactingModels {
    /// Hands requests on to `models`.
    pub fn new(models: Arc<dyn Effector>, redactor: Redactor) -> Self {
        Self { models, redactor }
    }
}

impl Effector for RedactingModels {
    fn perform(
        &self,
        action: Arc<Action>,
        events: EventSink,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, ()> {
        let redacted = match &action.body {
            ActionBody::CallModel(call) => {
                redacted_request(&self.redactor, &call.request).map(|request| CallModel {
                    request: Arc::new(request),
                    taken: call.taken.clone(),
                })
            }
            _ => None,
        };
        let action = match redacted {
            Some(call) => Arc::new(Action {
                body: ActionBody::CallModel(call),
                ..(*action).clone()
            }),
            None => action,
        };
        self.models.perform(action, events, cancel)
    }

    fn retry_now(&self, session: &SessionId) {
        self.models.retry_now(session);
    }
}
