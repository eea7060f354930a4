//! Actions on sessions as requests: they call the same functions as the frames of a connection.

use std::sync::Arc;

use agentx_runtime::{ContextRequest, RestoreReport, RestoreRequest};
use agentx_types::wire::{ApprovalFrame, InterruptFrame, UserInputFrame};
use agentx_types::{
    AgentConfig, AnswerSchema, ApprovalDecision, ConfigChange, ContentPart, InputMode, MessageId, OwnerId,
    Rule, SessionId, SessionRole, ToolCallId,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::actions::request_terms::RequestTerms;
use crate::actions::sent_change::SentChange;
use crate::auth::caller::Caller;
use crate::http::requests::body::{JsonBody, OptionalJson, SettingsBody};
use crate::http::requests::extract::{Approving, CanFail, Driving, IdempotencyKey, Owning, SessionAs};
use crate::http::responses::JsonResponse;
use crate::http::{ApiError, HandlerState};
use crate::limits::size_limits::KEY_CHARS;
use crate::state::ServerState;

/// The action was recorded.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Recorded {
    /// The event that it became.
    seq: u64,
}

/// A message to the agent.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct MessageRequest {
    /// The message: content parts, or a text.
    #[serde(deserialize_with = "agentx_types::wire::text_or_parts")]
    #[schemars(schema_with = "agentx_types::schema::text_or_parts")]
    content: Vec<ContentPart>,
    /// The time at which the agent takes it up.
    #[serde(default)]
    mode: InputMode,
    /// A second message with the same key is the same message.
    #[serde(default)]
    #[schemars(length(min = 1, max = KEY_CHARS))]
    idempotency_key: Option<String>,
    /// The time of sending, by the client's clock: ISO 8601, UTC. The model reads it.
    #[serde(default)]
    client_timestamp_utc: Option<String>,
    /// The client's time zone: UTC minus local time, in minutes, as JavaScript's `getTimezoneOffset` returns
    /// it.
    #[serde(default)]
    client_timezone_offset: Option<i32>,
    /// The wheel that the client believes it holds.
    #[serde(default)]
    wheel_epoch: Option<u64>,
    /// The schema that the answer has to fit, if the message opens a run.
    #[serde(default)]
    answer_schema: Option<Arc<AnswerSchema>>,
}

/// Stops the run.
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
    /// The decision.
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
    /// The change.
    #[schemars(with = "ConfigChange")]
    change: SentChange,
    /// The wheel that the client believes it holds.
    #[serde(default)]
    wheel_epoch: Option<u64>,
}

/// A change of an input that waits.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct RevisionRequest {
    /// The input.
    message_id: MessageId,
    /// The time at which the agent takes it up from now on; if `null` or absent, the input is withdrawn.
    #[serde(default)]
    mode: Option<InputMode>,
    /// The wheel that the client believes it holds.
    #[serde(default)]
    wheel_epoch: Option<u64>,
}

/// A change of the part of the conversation that the model reads.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ContextBody {
    /// The change.
    wish: ContextRequest,
    /// The wheel that the client believes it holds.
    #[serde(default)]
    wheel_epoch: Option<u64>,
}

/// The files to restore.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct RestoreBody {
    /// The event to go back to and the files, as the plan showed them.
    wish: RestoreRequest,
    /// The wheel that the client believes it holds.
    #[serde(default)]
    wheel_epoch: Option<u64>,
}

/// The role of a person from now on.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct RoleRequest {
    /// The person.
    person: OwnerId,
    /// The role; `null` or absent removes it.
    #[serde(default)]
    role: Option<SessionRole>,
}

fn recorded(seq: u64) -> JsonResponse<Recorded> {
    JsonResponse(Recorded { seq })
}

pub(crate) async fn message(
    app: HandlerState,
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
        answer_schema: request.answer_schema,
    };
    Ok(recorded(app.state.say(&at.caller, frame).await?))
}

pub(crate) async fn interrupt(
    app: HandlerState,
    at: SessionAs<Driving>,
    IdempotencyKey(key): IdempotencyKey,
    OptionalJson(request): OptionalJson<InterruptRequest>,
) -> Result<JsonResponse<Recorded>, ApiError> {
    let frame = InterruptFrame {
        session_id: at.session,
        reason: request.reason,
        wheel_epoch: request.wheel_epoch,
        idempotency_key: key,
    };
    Ok(recorded(app.state.interrupt(&at.caller, frame).await?))
}

pub(crate) async fn approval(
    app: HandlerState,
    at: SessionAs<Approving>,
    SettingsBody(request): SettingsBody<ApprovalRequest>,
) -> Result<JsonResponse<Recorded>, ApiError> {
    let frame = ApprovalFrame {
        session_id: at.session,
        tool_call_id: request.tool_call_id,
        decision: request.decision,
        note: request.note,
        rule: request.rule,
    };
    Ok(recorded(app.state.approve(&at.caller, frame).await?))
}

pub(crate) async fn change(
    app: HandlerState,
    at: SessionAs<Driving>,
    IdempotencyKey(key): IdempotencyKey,
    SettingsBody(request): SettingsBody<ChangeRequest>,
) -> Result<JsonResponse<Recorded>, ApiError> {
    let ChangeRequest { change, wheel_epoch } = request;
    let change = change.known()?;
    let terms = RequestTerms::new(wheel_epoch, key, "change", &change);
    let changed = app.state.change(&at.caller, &at.session, change, terms);
    Ok(recorded(changed.await?))
}

pub(crate) async fn revision(
    app: HandlerState,
    at: SessionAs<Driving>,
    IdempotencyKey(key): IdempotencyKey,
    SettingsBody(request): SettingsBody<RevisionRequest>,
) -> Result<JsonResponse<Recorded>, ApiError> {
    let wish = (request.message_id, request.mode);
    let terms = RequestTerms::new(request.wheel_epoch, key, "revise", &wish);
    let revised = app.state.revise(&at.caller, &at.session, wish, terms);
    Ok(recorded(revised.await?))
}

pub(crate) async fn context(
    app: HandlerState,
    at: SessionAs<Driving>,
    IdempotencyKey(key): IdempotencyKey,
    _: CanFail<507>,
    SettingsBody(request): SettingsBody<ContextBody>,
) -> Result<JsonResponse<Recorded>, ApiError> {
    let terms = RequestTerms::new(request.wheel_epoch, key, "context", &request.wish);
    let place = (at.session, terms);
    let wished = app.state.context(&at.caller, place, request.wish);
    Ok(recorded(wished.await?))
}

pub(crate) async fn restore(
    app: HandlerState,
    at: SessionAs<Driving>,
    IdempotencyKey(key): IdempotencyKey,
    JsonBody(request): JsonBody<RestoreBody>,
) -> Result<JsonResponse<RestoreReport>, ApiError> {
    let RestoreBody { wish, wheel_epoch } = request;
    let terms = RequestTerms::new(wheel_epoch, key, "restore", &wish);
    let restored = app.state.restore(&at.caller, &at.session, wish, terms);
    Ok(JsonResponse(restored.await?))
}

pub(crate) async fn role(
    app: HandlerState,
    at: SessionAs<Owning>,
    IdempotencyKey(key): IdempotencyKey,
    SettingsBody(request): SettingsBody<RoleRequest>,
) -> Result<JsonResponse<Recorded>, ApiError> {
    let terms = RequestTerms::new(None, key, "share", &(&request.person, request.role));
    let shared = app
        .state
        .share(&at.caller, &at.session, request.person, request.role, terms);
    Ok(recorded(shared.await?))
}

/// Sets the title of a session.
pub(super) async fn rename<R>(
    app: &HandlerState,
    at: &SessionAs<R>,
    title: String,
) -> Result<JsonResponse<Recorded>, ApiError> {
    let renamed = app
        .state
        .rename(&at.caller, &at.session, title, RequestTerms::default());
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

pub(super) async fn delete<R>(app: &HandlerState, at: &SessionAs<R>) -> Result<(), ApiError> {
    Ok(app.state.delete(&at.caller, &at.session).await?)
}
