//! Messages of a session in pages, each with a bound of messages and of bytes.

use agentx_runtime::{Delivery, Runtime as _, View};
use agentx_types::{AgentStateId, Envelope, Message, RuntimeEvent, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::http::requests::extract::{QueryParams, SessionAs, Watching};
use crate::http::requests::query::PageLimit;
use crate::http::responses::JsonResponse;
use crate::http::responses::permit_body::WithPermit;
use crate::http::{ApiError, HandlerState};
use crate::limits::size_limits::json_len;

/// Number of bytes of messages at which a page ends.
const MOST_BYTES: u64 = 4 << 20;

/// The requested messages.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct MessagesQuery {
    #[serde(default)]
    limit: PageLimit<50, 500>,
    /// The cursor of the last page.
    cursor: Option<String>,
}

/// A page of messages, the oldest first. It ends early when its messages have 4 MiB.
#[derive(Serialize, JsonSchema)]
pub(crate) struct MessagePage {
    items: Vec<MessageItem>,
    /// The cursor of the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// A message of a conversation.
#[derive(Serialize, JsonSchema)]
pub(crate) struct MessageItem {
    /// The event that completed it.
    seq: u64,
    /// The time of recording.
    at: Timestamp,
    /// The agent that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_state_id: Option<AgentStateId>,
    /// Whether the stream broke off before its end.
    partial: bool,
    /// The message.
    message: Message,
}

pub(crate) async fn messages(
    app: HandlerState,
    at: SessionAs<Watching>,
    QueryParams(query): QueryParams<MessagesQuery>,
) -> Result<WithPermit<JsonResponse<MessagePage>>, ApiError> {
    let answer = app.state.answer_turns().take(&at.caller.line).await;
    let after = query.cursor.as_deref().map_or(Ok((0, 0)), place)?;
    let (mut items, mut bytes, mut last) = (Vec::new(), 0, None);
    let _turn = app.state.history_turns().take(&at.caller.line).await;
    // The events of one fact stay together or apart as the page has room, so its earlier ones may come again.
    let from = u64::saturating_sub(after.0, 1);
    let mut events = at
        .access
        .runtime
        .watch(&at.session, from, View::Runtime, false)
        .await?;
    while let Some(delivery) = events.next().await {
        match delivery {
            Delivery::Runtime(event) => {
                let here = (event.seq, event.index.unwrap_or(0) + 1);
                let Some(item) = item(&event).filter(|_| here > after) else {
                    continue;
                };
                if items.len() == query.limit.get() || bytes >= MOST_BYTES {
                    let next = last.map(|(seq, index)| format!("{seq}.{index}"));
                    return Ok(WithPermit(JsonResponse(MessagePage { items, next }), answer));
                }
                last = Some(here);
                bytes += json_len(&item);
                items.push(item);
            }
            Delivery::CutOff(why) => return Err(ApiError::new("internal", why)),
            Delivery::Environment(_) => {}
            Delivery::CaughtUp(_) => break,
        }
    }
    Ok(WithPermit(
        JsonResponse(MessagePage { items, next: None }),
        answer,
    ))
}

/// Parses the cursor of a page: the event, and how many of its runtime events were already returned.
fn place(cursor: &str) -> Result<(u64, u32), ApiError> {
    let parts = cursor.split_once('.');
    parts
        .and_then(|(seq, index)| Some((seq.parse().ok()?, index.parse().ok()?)))
        .ok_or_else(|| ApiError::new("bad_request", "the cursor was not issued by this server"))
}

fn item(event: &Envelope<RuntimeEvent>) -> Option<MessageItem> {
    let (message, partial) = match &event.event {
        RuntimeEvent::UserMessageAdded(added) => (&added.message, false),
        RuntimeEvent::AssistantMessageAdded(added) => (&added.message, added.partial),
        RuntimeEvent::ToolResultMessageAdded(added) => (&added.message, false),
        _ => return None,
    };
    Some(MessageItem {
        seq: event.seq,
        at: event.at,
        agent_state_id: event.agent_state_id.clone(),
        partial,
        message: message.clone(),
    })
}
