//! The service that builds the context `memory`: it answers actions on the topic `context.build.request` with
//! one `context_built` each.
//!
//! | request | answer |
//! | --- | --- |
//! | of the person's own session | the pinned memories and those that have words of the input, within `max_tokens` |
//! | of another person's session, or for the words of another person | nothing |
//! | while memory is off | nothing |
//! | the store cannot be read, or takes longer than 2 s | a `problem`, and the run continues |

use std::sync::Arc;
use std::time::Duration;

use agentx_runtime::{BoxFuture, Effector, EventSink, SessionLog};
use agentx_types::{Action, ActionBody, BuildContext, ContextBuilt, OwnerId, SessionId};
use tokio_util::sync::CancellationToken;

use crate::memory::MemoryError;
use crate::selection::{Selection, select};
use crate::sessions::Sessions;
use crate::store::MemoryStore;

/// The maximum time for an answer.
const TIME: Duration = Duration::from_secs(2);
/// Memories that are considered for one input.
const CONSIDERED: usize = 64;

/// Builds the context `memory`.
pub struct MemoryContext {
    /// The memories and whose they are; `None` while memory is off, or the reason why they cannot be read.
    memories: Result<Option<(Arc<MemoryStore>, Sessions)>, String>,
}

impl MemoryContext {
    /// The service for the memories of `person`, whose sessions are in `log`.
    pub fn new(store: Arc<MemoryStore>, log: Arc<dyn SessionLog>, person: OwnerId) -> Self {
        Self {
            memories: Ok(Some((store, Sessions { log, person }))),
        }
    }

    /// The service while memory is off: sessions that were opened with memory get nothing.
    pub fn off() -> Self {
        Self { memories: Ok(None) }
    }

    /// The service while the store cannot be opened, for this reason.
    pub fn unavailable(problem: impl Into<String>) -> Self {
        Self {
            memories: Err(problem.into()),
        }
    }
}

impl Effector for MemoryContext {
    fn perform(
        &self,
        action: Arc<Action>,
        events: EventSink,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, ()> {
        let (memories, session) = (self.memories.clone(), events.session_id().cloned());
        Box::pin(async move {
            let ActionBody::BuildContext(request) = &action.body else {
                return;
            };
            let built = tokio::select! {
                biased;
                () = cancel.cancelled() => answer(request, Err("stopped".to_owned())),
                built = tokio::time::timeout(TIME, build(memories, session, request)) => {
                    let built = built.unwrap_or_else(|_| Err(format!("the memories were not read within {TIME:?}")));
                    answer(request, built)
                }
            };
            events.emit(built).await;
        })
    }
}

async fn build(
    memories: Result<Option<(Arc<MemoryStore>, Sessions)>, String>,
    session: Option<SessionId>,
    request: &BuildContext,
) -> Result<Selection, String> {
    let (Some((store, sessions)), Some(session)) = (memories?, session) else {
        return Ok(Selection::default());
    };
    if request.by.is_some() || !sessions.is_own(&session).await {
        return Ok(Selection::default());
    }
    let request = request.clone();
    let selected = tokio::task::spawn_blocking(move || chosen(&store, &request)).await;
    selected
        .map_err(|error| error.to_string())?
        .map_err(|error| error.to_string())
}

fn chosen(store: &MemoryStore, request: &BuildContext) -> Result<Selection, MemoryError> {
    let ranked = store.recall(&request.text, &request.workspace, CONSIDERED)?;
    Ok(select(
        &ranked,
        &request.known,
        u64::from(request.source.max_tokens),
    ))
}

fn answer(request: &BuildContext, built: Result<Selection, String>) -> ContextBuilt {
    let (selection, problem) = match built {
        Ok(selection) => (selection, None),
        Err(problem) => (Selection::default(), Some(problem)),
    };
    ContextBuilt {
        text: selection.text,
        items: selection.items,
        problem,
        ..ContextBuilt::nothing(&request.source.name)
    }
}
