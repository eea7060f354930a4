//! Extractors of handlers: the caller, the session that they may use, the query. A handler can reach a
//! session only through one of these, so it cannot forget the access check.

use std::convert::Infallible;
use std::marker::PhantomData;

use agentx_runtime::EventCursor;
use agentx_types::wire::{NONCE_HEADER, Problem};
use agentx_types::{SessionId, SessionRole};
use axum::extract::{FromRequestParts, Path};
use axum::http::HeaderMap;
use axum::http::header::{ACCEPT, HeaderName};
use axum::http::request::Parts;
use schemars::{JsonSchema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::auth::caller::Caller;
use crate::auth::credentials::nonce_of;
use crate::connections::channel::ConnectionChannel;
use crate::connections::connection_limits::{Permit, address_of};
use crate::http::description::describe::{HandlerInput, Needs, Operation};
use crate::http::requests::body::BodyOwner;
use crate::http::requests::event_id;
use crate::http::{ApiError, HandlerState};
use crate::limits::size_limits::{KEY_CHARS, bounded_id};
use crate::state::SessionAccess;

/// The statuses of a failed authentication.
const ASKED: [u16; 4] = [400, 401, 403, 429];

/// A caller without a token, or a page of an allowed origin: the name of their counter, and the kind of their
/// connection.
pub(crate) struct AnonymousCaller(pub(crate) String, pub(crate) ConnectionChannel);

/// A caller with a token, or a visitor if visitors are allowed.
pub(crate) struct TokenOrVisitor(pub(crate) Caller);

/// An authenticated caller.
pub(crate) struct Member(pub(crate) Caller);

/// The operator of the server.
pub(crate) struct Operator(pub(crate) Caller);

/// A session that the caller may use, at least in the role `R`.
pub(crate) struct SessionAs<R> {
    pub(crate) session: SessionId,
    pub(crate) caller: Caller,
    pub(crate) access: SessionAccess,
    role: PhantomData<R>,
}

/// A role that a handler asks for.
pub(crate) trait MinimumRole: Send + Sync {
    const ROLE: SessionRole;
    /// Whether the operator may do it in any session.
    const OR_OPERATOR: bool = false;
}

/// The owner of the session, or the operator.
pub(crate) struct DeletingCaller;

impl MinimumRole for DeletingCaller {
    const ROLE: SessionRole = SessionRole::Own;
    const OR_OPERATOR: bool = true;
}

macro_rules! roles {
    ($($(#[$doc:meta])* $name:ident = $role:ident;)*) => {$(
        $(#[$doc])*
        pub(crate) struct $name;

        impl MinimumRole for $name {
            const ROLE: SessionRole = SessionRole::$role;
        }
    )*};
}

roles! {
    /// May see it.
    Watching = Watch;
    /// May decide about tool calls.
    Approving = Approve;
    /// May send messages.
    Driving = Drive;
    /// May do everything, as the owner.
    Owning = Own;
}

/// The `{id}` of the path, if it names something other than a session.
pub(crate) struct PathId(pub(crate) String);

/// The query of the request.
pub(crate) struct QueryParams<T>(pub(crate) T);

/// The `Idempotency-Key` header.
pub(crate) struct IdempotencyKey(pub(crate) Option<String>);

/// An empty extractor; it declares that the operation can also fail with this status.
pub(crate) struct CanFail<const STATUS: u16>;

/// The client's nonce, which the server signs to prove its key.
pub(crate) struct ClientNonce(pub(crate) Option<String>);

/// The position of a browser's stream when it was cut off.
pub(crate) struct ResumedStream {
    /// Whether a stream is requested, and not a page.
    pub(crate) is_wanted: bool,
    /// The last event that the reader has.
    pub(crate) after: Option<EventCursor>,
    /// The headers, with which the caller is authenticated again while the stream continues.
    pub(crate) headers: HeaderMap,
    /// The reader's address, as it is counted.
    pub(crate) address: String,
    /// The kind of its connection.
    pub(crate) channel: ConnectionChannel,
}

impl<R> SessionAs<R> {
    fn new(session: SessionId, caller: Caller, access: SessionAccess) -> Self {
        Self {
            session,
            caller,
            access,
            role: PhantomData,
        }
    }
}

/// Returns the kind of the request's connection.
pub(crate) fn channel(parts: &Parts) -> ConnectionChannel {
    parts.extensions.get().copied().unwrap_or_default()
}

fn caller(parts: &mut Parts, app: &HandlerState) -> Result<Caller, ApiError> {
    let address = address_of(&parts.extensions);
    let caller = app.state.caller_of(&parts.headers, &channel(parts), &address);
    counted(parts, app, caller)
}

/// Counts a request for the caller that was found, or for its address.
pub(crate) fn counted(
    parts: &mut Parts,
    app: &HandlerState,
    caller: Result<Caller, Box<Problem>>,
) -> Result<Caller, ApiError> {
    match &caller {
        Ok(caller) if !caller.visitor => {
            if let Some(permit) = parts.extensions.get::<Permit>() {
                permit.belongs_to(&caller.person);
            }
            app.count(caller.person.as_str())?;
        }
        _ => app.count(&address_of(&parts.extensions))?,
    }
    let caller = caller?;
    parts.extensions.insert(BodyOwner(caller.line.clone()));
    Ok(caller)
}

async fn path_id(parts: &mut Parts, app: &HandlerState) -> Result<String, ApiError> {
    let found = Path::<String>::from_request_parts(parts, app).await;
    let Path(id) = found.map_err(|_| ApiError::new("not_found", "the path is not UTF-8"))?;
    Ok(id)
}

impl FromRequestParts<HandlerState> for AnonymousCaller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &HandlerState) -> Result<Self, ApiError> {
        let name = address_of(&parts.extensions);
        app.count(&name)?;
        app.state.auth().check_origin(&parts.headers)?;
        Ok(Self(name, channel(parts)))
    }
}

impl HandlerInput for AnonymousCaller {
    fn describe(operation: &mut Operation, _: &mut SchemaGenerator) {
        operation.add_failures(&[403, 429]);
    }
}

impl FromRequestParts<HandlerState> for TokenOrVisitor {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &HandlerState) -> Result<Self, ApiError> {
        caller(parts, app).map(Self)
    }
}

impl HandlerInput for TokenOrVisitor {
    fn describe(operation: &mut Operation, _: &mut SchemaGenerator) {
        operation.needs = Needs::TokenOrVisitor;
        operation.add_failures(&ASKED);
    }
}

impl FromRequestParts<HandlerState> for Member {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &HandlerState) -> Result<Self, ApiError> {
        Self::unless_visitor(caller(parts, app)?)
    }
}

impl Member {
    pub(crate) fn unless_visitor(caller: Caller) -> Result<Self, ApiError> {
        if caller.visitor {
            let what = "visitors can only see sessions that are shared with them";
            return Err(ApiError::new("denied", what));
        }
        Ok(Self(caller))
    }
}

impl HandlerInput for Member {
    fn describe(operation: &mut Operation, _: &mut SchemaGenerator) {
        operation.needs = Needs::Member;
        operation.add_failures(&ASKED);
    }
}

impl FromRequestParts<HandlerState> for Operator {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &HandlerState) -> Result<Self, ApiError> {
        let caller = caller(parts, app)?;
        if caller.operator {
            return Ok(Self(caller));
        }
        Err(ApiError::new("denied", "this is only for the server's operator"))
    }
}

impl HandlerInput for Operator {
    fn describe(operation: &mut Operation, _: &mut SchemaGenerator) {
        operation.needs = Needs::Operator;
        operation.add_failures(&ASKED);
    }
}

impl<R: MinimumRole> FromRequestParts<HandlerState> for SessionAs<R> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &HandlerState) -> Result<Self, ApiError> {
        let caller = caller(parts, app)?;
        let session = SessionId::new(path_id(parts, app).await?);
        let access = app.state.access(&caller, &session).await?;
        if access.role < R::ROLE && !(R::OR_OPERATOR && caller.operator) {
            let word = |role| serde_json::to_value(role).unwrap_or_default();
            return Err(
                ApiError::new("denied", "your role in this session does not allow it")
                    .with(json!({"role": word(access.role), "needed": word(R::ROLE)})),
            );
        }
        Ok(Self::new(session, caller, access))
    }
}

impl<R: MinimumRole> HandlerInput for SessionAs<R> {
    fn describe(operation: &mut Operation, _: &mut SchemaGenerator) {
        operation.needs = if R::OR_OPERATOR {
            Needs::RoleOrOperator(R::ROLE)
        } else {
            Needs::Role(R::ROLE)
        };
        operation.path("id", "The session.");
        operation.add_failures(&ASKED);
        operation.add_failures(&[404, 410]);
    }
}

impl FromRequestParts<HandlerState> for PathId {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &HandlerState) -> Result<Self, ApiError> {
        let id = path_id(parts, app).await?;
        bounded_id("the requested item", &id)?;
        Ok(Self(id))
    }
}

impl HandlerInput for PathId {
    fn describe(operation: &mut Operation, _: &mut SchemaGenerator) {
        operation.path("id", "Which one.");
        operation.add_failures(&[404]);
    }
}

impl<T: DeserializeOwned> FromRequestParts<HandlerState> for QueryParams<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &HandlerState) -> Result<Self, ApiError> {
        let found = axum::extract::Query::<T>::try_from_uri(&parts.uri);
        let query = found.map_err(|error| ApiError::new("bad_request", error.body_text()))?;
        Ok(Self(query.0))
    }
}

impl<T: JsonSchema> HandlerInput for QueryParams<T> {
    fn describe(operation: &mut Operation, schemas: &mut SchemaGenerator) {
        operation.query::<T>(schemas);
        operation.add_failures(&[400]);
    }
}

/// The header in which such a key comes.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

impl FromRequestParts<HandlerState> for IdempotencyKey {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &HandlerState) -> Result<Self, ApiError> {
        let Some(value) = parts.headers.get(IDEMPOTENCY_KEY) else {
            return Ok(Self(None));
        };
        match value.to_str() {
            Ok(key) if !key.is_empty() && key.len() <= KEY_CHARS => Ok(Self(Some(key.to_owned()))),
            _ => Err(ApiError::new(
                "bad_request",
                format!("an idempotency key has 1 to {KEY_CHARS} printable characters"),
            )),
        }
    }
}

impl HandlerInput for IdempotencyKey {
    fn describe(operation: &mut Operation, _: &mut SchemaGenerator) {
        let what = "Requests with the same key are performed once and get the same answer.";
        let schema = json!({"type": "string", "pattern": "^[ -~]+$", "minLength": 1, "maxLength": KEY_CHARS});
        operation.header(IDEMPOTENCY_KEY.as_str(), what, schema);
        operation.add_failures(&[400]);
    }
}

impl<const STATUS: u16> FromRequestParts<HandlerState> for CanFail<STATUS> {
    type Rejection = Infallible;

    async fn from_request_parts(_: &mut Parts, _: &HandlerState) -> Result<Self, Infallible> {
        Ok(Self)
    }
}

impl<const STATUS: u16> HandlerInput for CanFail<STATUS> {
    fn describe(operation: &mut Operation, _: &mut SchemaGenerator) {
        operation.add_failures(&[STATUS]);
    }
}

impl FromRequestParts<HandlerState> for ClientNonce {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &HandlerState) -> Result<Self, ApiError> {
        Ok(Self(nonce_of(&parts.headers)?))
    }
}

impl HandlerInput for ClientNonce {
    fn describe(operation: &mut Operation, _: &mut SchemaGenerator) {
        let what = "A nonce of the client; the server signs it to prove its key.";
        let schema = json!({"type": "string", "pattern": "^[A-Za-z0-9_-]{16,128}$"});
        operation.header(NONCE_HEADER, what, schema);
        operation.add_failures(&[400]);
    }
}

impl FromRequestParts<HandlerState> for ResumedStream {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &HandlerState) -> Result<Self, ApiError> {
        let accepts = parts.headers.get_all(ACCEPT).iter();
        let kinds = accepts
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','));
        // If both are accepted with equal weight, the first one is used.
        let first = kinds
            .map(|kind| kind.split(';').next().unwrap_or_default().trim())
            .find(|kind| matches!(*kind, "text/event-stream" | "application/json" | "*/*"));
        let is_wanted = first == Some("text/event-stream");
        let last = parts.headers.get("last-event-id");
        let after = last.map(|id| event_id::place(id.to_str().unwrap_or_default()));
        Ok(Self {
            is_wanted,
            after: after.transpose()?,
            headers: parts.headers.clone(),
            address: address_of(&parts.extensions),
            channel: channel(parts),
        })
    }
}

impl HandlerInput for ResumedStream {
    fn describe(operation: &mut Operation, _: &mut SchemaGenerator) {
        let what = "The id of the last event that the reader has; an alternative to `after_seq`.";
        let schema = json!({"type": "string", "pattern": "^[0-9]{1,15}(\\.[0-9]{1,9})?$"});
        operation.header("last-event-id", what, schema);
        operation.add_failures(&[400]);
    }
}
