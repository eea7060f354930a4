//! Memories and proposals, as the page shows them: listed, decided about, changed, deleted. They belong to
//! the person of the server's machine, so only the operator sees them.

use agentx_memory::{Memory, MemoryEdit, MemoryError, MemoryFilter, MemoryState, MemoryStore};
use agentx_node_runtime::{open_memories, redactor};
use agentx_types::wire::Problem;
use agentx_types::{SessionId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::http::handlers::tokens::on_disk;
use crate::http::requests::body::SettingsBody;
use crate::http::requests::extract::{Operator, PathId, QueryParams};
use crate::http::requests::query::PageLimit;
use crate::http::responses::{DoneResponse, JsonResponse};
use crate::http::{ApiError, HandlerState};
use crate::problems::problem;
use crate::state::ServerState;

/// The state of a memory: `proposed` waits for the person, and models get only what is `accepted`.
#[derive(Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MemoryWord {
    /// It waits for the person.
    Proposed,
    /// Models get it where it fits.
    Accepted,
    /// It is not proposed again.
    Refused,
}

/// A decision about a memory.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MemoryDecision {
    /// Models get it where it fits.
    Accepted,
    /// Models do not get it, and it is not proposed again.
    Refused,
}

/// The requested memories.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct MemoriesQuery {
    #[serde(default)]
    limit: PageLimit<100, 200>,
    /// Only those in this state.
    state: Option<MemoryWord>,
    /// Only those with these words, the best first.
    q: Option<String>,
}

/// A memory.
#[derive(Serialize, JsonSchema)]
pub(crate) struct MemoryView {
    /// The number, which is never used again.
    id: i64,
    /// The text, one line.
    text: String,
    /// Whether models get it.
    state: MemoryWord,
    /// Whether models always get it.
    pinned: bool,
    /// The folder in which and below which it is used; absent for everywhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    folder: Option<String>,
    /// The session in which it was proposed; absent if the person added it.
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<SessionId>,
    /// The event of the input in whose run it was proposed; absent if that is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    seq: Option<u64>,
    /// The time at which it was proposed or added: microseconds since 1970.
    created_at: Timestamp,
    /// The time of the last change: microseconds since 1970.
    changed_at: Timestamp,
}

/// Memories, and how many there are.
#[derive(Serialize, JsonSchema)]
pub(crate) struct MemoryPage {
    /// Whether new sessions propose and use memories.
    enabled: bool,
    /// The number of proposals that wait.
    waiting: u64,
    /// The number of accepted memories.
    accepted: u64,
    /// The requested ones.
    items: Vec<MemoryView>,
}

/// A change of a memory; what is absent stays.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct MemoryPatch {
    /// The decision about it.
    #[serde(default)]
    state: Option<MemoryDecision>,
    /// Other words.
    #[serde(default)]
    #[schemars(length(max = 1000))]
    text: Option<String>,
    /// Whether models always get it.
    #[serde(default)]
    pinned: Option<bool>,
}

impl From<MemoryState> for MemoryWord {
    fn from(state: MemoryState) -> Self {
        match state {
            MemoryState::Proposed => Self::Proposed,
            MemoryState::Accepted => Self::Accepted,
            MemoryState::Refused => Self::Refused,
        }
    }
}

impl From<MemoryWord> for MemoryState {
    fn from(word: MemoryWord) -> Self {
        match word {
            MemoryWord::Proposed => Self::Proposed,
            MemoryWord::Accepted => Self::Accepted,
            MemoryWord::Refused => Self::Refused,
        }
    }
}

impl From<MemoryDecision> for MemoryState {
    fn from(decision: MemoryDecision) -> Self {
        match decision {
            MemoryDecision::Accepted => Self::Accepted,
            MemoryDecision::Refused => Self::Refused,
        }
    }
}

impl From<Memory> for MemoryView {
    fn from(memory: Memory) -> Self {
        let seq = memory.origin.as_ref().map(|origin| origin.seq);
        Self {
            id: memory.id,
            text: memory.text,
            state: memory.state.into(),
            pinned: memory.pinned,
            folder: memory.folder,
            session_id: memory.origin.map(|origin| origin.session),
            seq: seq.filter(|seq| *seq > 0),
            created_at: memory.created_at,
            changed_at: memory.changed_at,
        }
    }
}

pub(crate) async fn list(
    app: HandlerState,
    _: Operator,
    QueryParams(query): QueryParams<MemoriesQuery>,
) -> Result<JsonResponse<MemoryPage>, ApiError> {
    let enabled = app.state.settings().memory.enabled;
    let found = with_store(&app, move |store, _| {
        let filter = MemoryFilter {
            state: query.state.map(Into::into),
            workspace: None,
        };
        let limit = query.limit.get();
        let found = match query
            .q
            .as_deref()
            .map(str::trim)
            .filter(|words| !words.is_empty())
        {
            Some(words) => store.search(words, &filter, limit)?,
            None => store.list(&filter, limit)?,
        };
        Ok(MemoryPage {
            enabled,
            waiting: store.count(MemoryState::Proposed)?,
            accepted: store.count(MemoryState::Accepted)?,
            items: found.into_iter().map(MemoryView::from).collect(),
        })
    });
    Ok(JsonResponse(found.await?))
}

pub(crate) async fn patch(
    app: HandlerState,
    _: Operator,
    PathId(id): PathId,
    SettingsBody(wish): SettingsBody<MemoryPatch>,
) -> Result<JsonResponse<MemoryView>, ApiError> {
    let id = number(&id)?;
    let edit = MemoryEdit {
        text: wish.text,
        state: wish.state.map(Into::into),
        pinned: wish.pinned,
        folder: None,
    };
    if edit == MemoryEdit::default() {
        let what = "nothing to change: name `state`, `text` or `pinned`";
        return Err(ApiError::new("bad_request", what));
    }
    let changed = with_store(&app, move |store, state| {
        if let Some(text) = &edit.text {
            check_secrets(text, state)?;
        }
        Ok(store.edit(id, &edit, state.now())?)
    });
    Ok(JsonResponse(changed.await?.into()))
}

pub(crate) async fn delete(
    app: HandlerState,
    _: Operator,
    PathId(id): PathId,
) -> Result<DoneResponse, ApiError> {
    let id = number(&id)?;
    with_store(&app, move |store, _| Ok(store.delete(id)?)).await?;
    Ok(DoneResponse)
}

fn number(id: &str) -> Result<i64, ApiError> {
    id.parse().map_err(|_| {
        ApiError::new(
            "not_found",
            format!("there is no memory {id:?}; memories have numbers"),
        )
    })
}

/// Checks that a text has none of the secrets that the server knows.
fn check_secrets(text: &str, state: &ServerState) -> Result<(), MemoryRefusal> {
    let redactor = redactor(&state.settings());
    let found = redactor.and_then(|redactor| redactor.find(text).into_iter().next());
    found.map_or(Ok(()), |found| {
        let what = format!(
            "the text contains the secret {}, which is never kept as a memory",
            found.name
        );
        Err(MemoryRefusal(problem("bad_request", &what)))
    })
}

/// The reason why a request about memories fails.
struct MemoryRefusal(Box<Problem>);

impl From<MemoryError> for MemoryRefusal {
    fn from(error: MemoryError) -> Self {
        let what = error.to_string();
        let code = match &error {
            MemoryError::NotFound(_) => "not_found",
            MemoryError::InvalidText(_) => "bad_request",
            MemoryError::Full(_) => "too_many",
            MemoryError::NoSpace { .. } => "disk_full",
            MemoryError::Store { .. } => "store",
        };
        // Paths of the machine are for its log.
        if matches!(error, MemoryError::NoSpace { .. } | MemoryError::Store { .. }) {
            tracing::warn!(%error, "cannot use the memories");
            return Self(problem(
                code,
                "the server cannot use its memories; its log says why",
            ));
        }
        Self(problem(code, &what))
    }
}

/// Does something with the memories, on a thread that may wait for the disk.
async fn with_store<T: Send + 'static>(
    app: &HandlerState,
    work: impl FnOnce(&MemoryStore, &ServerState) -> Result<T, MemoryRefusal> + Send + 'static,
) -> Result<T, ApiError> {
    let state = app.state.clone();
    let done = on_disk(move || {
        let store = open_memories(&state.settings()).map_err(MemoryRefusal::from);
        let done = store.and_then(|store| work(&store, &state));
        done.map_err(|MemoryRefusal(problem)| problem)
    });
    done.await
}
