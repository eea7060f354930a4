//! What people do to a session, as requests: they go through the same door as the frames of a connection.

use std::sync::Arc;

use agentx_runtime::{ContextWish, RestoreReport, RestoreWish};
use agentx_types::wire::{ApprovalFrame, InterruptFrame, UserInputFrame};
use agentx_types::{
    AgentConfig, ApprovalDecision, ConfigChange, ContentPart, InputMode, MessageId, OwnerId, Rule, SessionId,
    SessionRole, ToolCallId,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::body::{JsonBody, OptionalJson};
use super::extract::{Approving, CanFail, Driving, IdempotencyKey, Owning, SessionAs};
use super::responses::JsonResponse;
use super::{ApiError, HandlerState};
use crate::options::KEY_CHARS;
use crate::state::{Caller, ServerState};

/// It is on record.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Recorded {
    /// The event that it became.
    seq: u64,
}

/// Something to say to the agent.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct MessageRequest {
    /// What: content parts, or a text.
    #[serde(deserialize_with = "agentx_types::wire::text_or_parts")]
    #[schemars(schema_with = "agentx_types::schema::text_or_parts")]
    content: Vec<ContentPart>,
    /// When it is looked at.
    #[serde(default)]
    mode: InputMode,
    /// A second message with the same key is the same message.
    #[serde(default)]
    #[schemars(length(min = 1, max = KEY_CHARS))]
    idempotency_key: Option<String>,
    /// When it was said, by the client's clock: ISO 8601, UTC. The model is told.
    #[serde(default)]
    client_timestamp_utc: Option<String>,
    /// The client's time zone: UTC minus local time, in minutes, as JavaScript's `getTimezoneOffset` says it.
    #[serde(default)]
    client_timezone_offset: Option<i32>,
    /// The wheel that the client believes it holds.
    #[serde(default)]
    wheel_epoch: Option<u64>,
}

/// That what runs is to stop.
#[derive(Default, Deserialize, JsonSchema)]
pub(crate) struct InterruptRequest {
    /// The reason.
    #[serde(default)]
    reason: Option<String>,
    /// The wheel that the client believes it holds.
    #[serde(default)]
    wheel_epoch: Option<u64>,
}

/// A decision about a tool call.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ApprovalRequest {
    /// The id of the call.
    tool_call_id: ToolCallId,
    /// What is decided.
    decision: ApprovalDecision,
    /// A word to the model.
    #[serde(default)]
    note: Option<String>,
    /// For `session` and `always`: the rule to keep; by default the one that was suggested.
    #[serde(default)]
    rule: Option<Box<Rule>>,
}

/// A change of the agent's configuration.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ChangeRequest {
    /// What changes.
    change: ConfigChange,
    /// The wheel that the client believes it holds.
    #[serde(default)]
    wheel_epoch: Option<u64>,
}

/// What becomes of an input that waits.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct RevisionRequest {
    /// Which.
    message_id: MessageId,
    /// When it is looked at from now on; it is taken back where this is `null` or absent.
    #[serde(default)]
    mode: Option<InputMode>,
    /// The wheel that the client believes it holds.
    #[serde(default)]
    wheel_epoch: Option<u64>,
}

/// What becomes of the part of the conversation that the model reads.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ContextRequest {
    /// What.
    wish: ContextWish,
    /// The wheel that the client believes it holds.
    #[serde(default)]
    wheel_epoch: Option<u64>,
}

/// Which files go back.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct RestoreRequest {
    /// To how they were before which event, and which: as the plan showed them.
    wish: RestoreWish,
    /// The wheel that the client believes it holds.
    #[serde(default)]
    wheel_epoch: Option<u64>,
}

/// What a person may do from now on.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct RoleRequest {
    /// Who.
    person: OwnerId,
    /// What; nothing if it is `null` or absent.
    #[serde(default)]
    role: Option<SessionRole>,
}

fn recorded(seq: u64) -> JsonResponse<Recorded> {
    JsonResponse(Recorded { seq })
}

pub(crate) async fn message(
    front: HandlerState,
    at: SessionAs<Driving>,
    IdempotencyKey(key): IdempotencyKey,
    _: CanFail<507>,
    JsonBody(request): JsonBody<MessageRequest>,
) -> Result<JsonResponse<Recorded>, ApiError> {
    let frame = UserInputFrame {
        session_id: at.session,
        content: request.content,
        mode: request.mode,
        idempotency_key: request.idempotency_key.or(key),
        client_timestamp_utc: request.client_timestamp_utc,
        client_timezone_offset: request.client_timezone_offset,
        wheel_epoch: request.wheel_epoch,
    };
    Ok(recorded(front.state.say(&at.caller, frame).await?))
}

pub(crate) async fn interrupt(
    front: HandlerState,
    at: SessionAs<Driving>,
    OptionalJson(request): OptionalJson<InterruptRequest>,
) -> Result<JsonResponse<Recorded>, ApiError> {
    let frame = InterruptFrame {
        session_id: at.session,
        reason: request.reason,
        wheel_epoch: request.wheel_epoch,
    };
    Ok(recorded(front.state.interrupt(&at.caller, frame).await?))
}

pub(crate) async fn approval(
    front: HandlerState,
    at: SessionAs<Approving>,
    JsonBody(request): JsonBody<ApprovalRequest>,
) -> Result<JsonResponse<Recorded>, ApiError> {
    let frame = ApprovalFrame {
        session_id: at.session,
        tool_call_id: request.tool_call_id,
        decision: request.decision,
        note: request.note,
        rule: request.rule,
    };
    Ok(recorded(front.state.approve(&at.caller, frame).await?))
}

pub(crate) async fn change(
    front: HandlerState,
    at: SessionAs<Driving>,
    JsonBody(request): JsonBody<ChangeRequest>,
) -> Result<JsonResponse<Recorded>, ApiError> {
    let ChangeRequest { change, wheel_epoch } = request;
    let changed = front.state.change(&at.caller, &at.session, change, wheel_epoch);
    Ok(recorded(changed.await?))
}

pub(crate) async fn revision(
    front: HandlerState,
    at: SessionAs<Driving>,
    JsonBody(request): JsonBody<RevisionRequest>,
) -> Result<JsonResponse<Recorded>, ApiError> {
    let wish = (request.message_id, request.mode);
    let revised = front
        .state
        .revise(&at.caller, &at.session, wish, request.wheel_epoch);
    Ok(recorded(revised.await?))
}

pub(crate) async fn context(
    front: HandlerState,
    at: SessionAs<Driving>,
    _: CanFail<507>,
    JsonBody(request): JsonBody<ContextRequest>,
) -> Result<JsonResponse<Recorded>, ApiError> {
    let place = (at.session, request.wheel_epoch);
    let wished = front.state.context(&at.caller, place, request.wish);
    Ok(recorded(wished.await?))
}

pub(crate) async fn restore(
    front: HandlerState,
    at: SessionAs<Driving>,
    JsonBody(request): JsonBody<RestoreRequest>,
) -> Result<JsonResponse<RestoreReport>, ApiError> {
    let RestoreRequest { wish, wheel_epoch } = request;
    let restored = front.state.restore(&at.caller, &at.session, wish, wheel_epoch);
    Ok(JsonResponse(restored.await?))
}

pub(crate) async fn role(
    front: HandlerState,
    at: SessionAs<Owning>,
    JsonBody(request): JsonBody<RoleRequest>,
) -> Result<JsonResponse<Recorded>, ApiError> {
    let shared = front
        .state
        .share(&at.caller, &at.session, request.person, request.role);
    Ok(recorded(shared.await?))
}

/// Sets the title of a session.
pub(super) async fn rename<R>(
    front: &HandlerState,
    at: &SessionAs<R>,
    title: String,
) -> Result<JsonResponse<Recorded>, ApiError> {
    let renamed = front.state.rename(&at.caller, &at.session, title, None);
    Ok(recorded(renamed.await?))
}

/// Makes a session.
pub(super) async fn create(
    state: &Arc<ServerState>,
    caller: &Caller,
    config: AgentConfig,
) -> Result<SessionId, ApiError> {
    Ok(state.create_by(caller, config).await?)
}

/// Deletes a session.
pub(super) async fn delete<R>(front: &HandlerState, at: &SessionAs<R>) -> Result<(), ApiError> {
    Ok(front.state.delete(&at.caller, &at.session).await?)
}
