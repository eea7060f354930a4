//! Replaces secrets in requests at the last place before a model. Requests of scripts and of MCP servers pass
//! only here, because no fact is made from them. The same holds for old facts of a session that began before
//! its secret was known.

use std::sync::{Arc, Mutex, PoisonError};

use agentx_secrets::Redactor;
use agentx_types::{Action, ActionBody, AgentStateId, CallModel, ModelRequest, SessionId};
use tokio_util::sync::CancellationToken;

use super::checked_messages::{CheckedConversations, CheckedMessages};
use super::content::redacted_request;
use crate::effects::effect::{Effector, EventSink};
use crate::future::BoxFuture;

/// Calls models with requests that have no secrets.
pub struct RedactingModels {
    models: Arc<dyn Effector>,
    redactor: Redactor,
    checked: Mutex<CheckedConversations>,
}

impl RedactingModels {
    /// Hands requests on to `models`.
    pub fn new(models: Arc<dyn Effector>, redactor: Redactor) -> Self {
        Self {
            models,
            redactor,
            checked: Mutex::default(),
        }
    }

    /// The request without secrets; `None` if it has none.
    fn redacted(
        &self,
        call: &CallModel,
        agent: &AgentStateId,
        session: Option<&SessionId>,
    ) -> Option<CallModel> {
        let conversation = session.map(|session| (session.clone(), agent.clone()));
        let version = self.redactor.version();
        let known = conversation
            .as_ref()
            .map(|of| {
                let mut checked = self.lock();
                checked.keep_of(version);
                checked.take(of)
            })
            .unwrap_or_default();
        let request = redacted_request(&self.redactor, &call.request, &known);
        // The redactor may have learned new values in the meantime.
        let conversation = conversation.filter(|_| self.redactor.version() == version);
        if let (None, Some(of)) = (&request, conversation) {
            self.lock().put(of, CheckedMessages::all_of(&call.request));
        }
        Some(CallModel {
            request: Arc::new(request?),
            taken: call.taken.clone(),
        })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, CheckedConversations> {
        self.checked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the request as a model gets it: without secrets.
pub fn redact_request(redactor: &Redactor, request: Arc<ModelRequest>) -> Arc<ModelRequest> {
    redacted_request(redactor, &request, &CheckedMessages::default()).map_or(request, Arc::new)
}

impl Effector for RedactingModels {
    fn perform(
        &self,
        action: Arc<Action>,
        events: EventSink,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, ()> {
        let redacted = match &action.body {
            ActionBody::CallModel(call) => self.redacted(call, &action.agent_state_id, events.session_id()),
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
