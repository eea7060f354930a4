//! Model calls by a reactor: the responder for the model's provider on the bus answers them, like those of
//! agents.

use std::sync::Arc;

use agentx_types::{Action, ErrorOccurred, SessionId};
use tokio_util::sync::CancellationToken;

use crate::effects::actions::{ActionDispatcher, ActionRequest};
use crate::effects::effect::{Effector, EventSink};
use crate::future::BoxFuture;

/// Hands model calls to the bus.
pub(crate) struct BusModels(pub(crate) ActionDispatcher);

impl Effector for BusModels {
    fn perform(
        &self,
        action: Arc<Action>,
        events: EventSink,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, ()> {
        let actions = self.0.clone();
        Box::pin(async move {
            let session = events.session_id().cloned().unwrap_or_else(|| SessionId::new(""));
            let request = ActionRequest::new(session, action, events.clone());
            let ticket = match actions.request(request) {
                Ok(ticket) => ticket,
                Err(error) => {
                    let failed = ErrorOccurred {
                        code: "unserved".to_owned(),
                        message: error.to_string(),
                        recoverable: true,
                    };
                    events.emit(failed).await;
                    return;
                }
            };
            let canceller = ticket.canceller();
            let ended = ticket.ended();
            tokio::pin!(ended);
            tokio::select! {
                _ = &mut ended => {}
                () = cancel.cancelled() => {
                    canceller.cancel();
                    ended.await;
                }
            }
        })
    }
}
