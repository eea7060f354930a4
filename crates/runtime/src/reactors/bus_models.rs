//! Model calls by a reactor or a script: the responder for the model's provider on the bus answers them, like
//! those of agents. So an attached environment answers them too, its capacity bounds them, and the list of
//! responders shows them.

use std::sync::{Arc, OnceLock};

use agentx_bus::RequestEnd;
use agentx_types::{Action, EnvironmentEvent, ErrorOccurred, SessionId, StopReason, StreamEnd};
use tokio_util::sync::CancellationToken;

use crate::effects::actions::{ActionDispatcher, ActionRequest, WeakDispatcher};
use crate::effects::effect::{Effector, EventSink};
use crate::future::BoxFuture;

/// Hands model calls to the responders of a runtime. It may be made before the runtime, for tools that are
/// parts of it, and is connected to the runtime afterwards. Clones are connected together.
///
/// It does not keep the runtime alive. A call fails with the code `unserved` while no runtime is connected,
/// after the runtime is gone, and if no responder serves the model.
#[derive(Clone, Default)]
pub struct BusModels(Arc<OnceLock<WeakDispatcher>>);

impl BusModels {
    /// Connects it to the responders of a runtime. Only the first connection counts.
    pub fn connect(&self, actions: &ActionDispatcher) {
        // Ignore the error: it is connected already.
        let _ = self.0.set(actions.downgrade());
    }

    fn dispatcher(&self) -> Result<ActionDispatcher, String> {
        let connected = self.0.get().and_then(WeakDispatcher::upgrade);
        connected.ok_or_else(|| "no runtime answers model calls here any more".to_owned())
    }
}

impl Effector for BusModels {
    fn perform(
        &self,
        action: Arc<Action>,
        events: EventSink,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, ()> {
        let actions = self.dispatcher();
        Box::pin(async move {
            let session = events.session_id().cloned().unwrap_or_else(|| SessionId::new(""));
            let request = ActionRequest::new(session, action, events.clone());
            let ticket =
                actions.and_then(|actions| actions.request(request).map_err(|error| error.to_string()));
            let ticket = match ticket {
                Ok(ticket) => ticket,
                Err(why) => {
                    events.emit(failed("unserved", &why)).await;
                    return;
                }
            };
            let canceller = ticket.canceller();
            let ended = ticket.ended();
            tokio::pin!(ended);
            let end = tokio::select! {
                end = &mut ended => end,
                () = cancel.cancelled() => {
                    canceller.cancel();
                    ended.await
                }
            };
            if let Some(event) = unreported(end) {
                events.emit(event).await;
            }
        })
    }
}

/// The last event of a call that no responder reported; `None` if one did.
fn unreported(end: RequestEnd) -> Option<EnvironmentEvent> {
    Some(match end {
        RequestEnd::Settled => return None,
        RequestEnd::Cancelled => StreamEnd {
            stop_reason: StopReason::Interrupted,
            raw: None,
        }
        .into(),
        RequestEnd::Lost => failed(
            "no_answer",
            "the responder of the model was lost before it answered",
        ),
        RequestEnd::Unserved => failed("unserved", "the responder of the model left before it began"),
    })
}

fn failed(code: &str, message: &str) -> EnvironmentEvent {
    ErrorOccurred {
        code: code.to_owned(),
        message: message.to_owned(),
        recoverable: true,
    }
    .into()
}
