//! What handlers take beside the body: who asks, which session they may use, what follows the question mark. A handler cannot get at
//! a session but through one of these, so it cannot forget to ask whose it is.

use std::convert::Infallible;
use std::marker::PhantomData;

use agentx_runtime::Position;
use agentx_types::{SessionId, SessionRole};
use axum::extract::{FromRequestParts, Path};
use axum::http::HeaderMap;
use axum::http::header::{ACCEPT, HeaderName};
use axum::http::request::Parts;
use schemars::{JsonSchema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde_json::json;

use super::body::Sender;
use super::describe::{Input, Needs, Operation};
use super::{Failure, Shared, stream};
use crate::channel::Channel;
use crate::credentials::{NONCE_HEADER, nonce_of};
use crate::options::KEY_CHARS;
use crate::seats::{Permit, address_of};
use crate::sizes::bounded_id;
use crate::state::{Access, Caller};

/// The statuses of whoever has to say who they are.
const ASKED: [u16; 4] = [400, 401, 403, 429];

/// Anybody, with a page of an origin that may ask: under which name they are counted, and how they came in.
pub(crate) struct Anybody(pub(crate) String, pub(crate) Channel);

/// Somebody: with a token, or a visitor where they are let in.
pub(crate) struct Somebody(pub(crate) Caller);

/// Somebody who has said who they are.
pub(crate) struct Member(pub(crate) Caller);

/// Whoever runs the server.
pub(crate) struct Operator(pub(crate) Caller);

/// A session that the caller may use, at least in the role `R`.
pub(crate) struct In<R> {
    pub(crate) session: SessionId,
    pub(crate) caller: Caller,
    pub(crate) access: Access,
    role: PhantomData<R>,
}

/// A role that a handler asks for.
pub(crate) trait AtLeast: Send + Sync {
    const ROLE: SessionRole;
    /// Whether whoever runs the server may do it in any session.
    const OR_OPERATOR: bool = false;
}

/// Whose it is, or whoever runs the server.
pub(crate) struct Deleting;

impl AtLeast for Deleting {
    const ROLE: SessionRole = SessionRole::Own;
    const OR_OPERATOR: bool = true;
}

macro_rules! roles {
    ($($(#[$doc:meta])* $name:ident = $role:ident;)*) => {$(
        $(#[$doc])*
        pub(crate) struct $name;

        impl AtLeast for $name {
            const ROLE: SessionRole = SessionRole::$role;
        }
    )*};
}

roles! {
    /// May see it.
    Watching = Watch;
    /// May decide about tool calls.
    Approving = Approve;
    /// May say something.
    Driving = Drive;
    /// Whose it is.
    Owning = Own;
}

/// What stands at `{id}` in the path, where that is no session.
pub(crate) struct PathId(pub(crate) String);

/// What follows the question mark.
pub(crate) struct Query<T>(pub(crate) T);

/// By which a creation that is asked for again is known.
pub(crate) struct Key(pub(crate) Option<String>);

/// Nothing; says that the operation can also fail with this status.
pub(crate) struct CanFail<const STATUS: u16>;

/// What a client wants signed, so that the server proves its key.
pub(crate) struct ClientNonce(pub(crate) Option<String>);

/// What a browser's stream had when it broke off.
pub(crate) struct Stream {
    /// Whether a stream is wanted, and no page.
    pub(crate) is_wanted: bool,
    /// The last event that the reader has.
    pub(crate) after: Option<Position>,
    /// By which it is asked again, while the stream goes on, whether the caller is still who they were.
    pub(crate) headers: HeaderMap,
    /// Where the reader is, as it is counted.
    pub(crate) address: String,
    /// How it came in.
    pub(crate) channel: Channel,
}

impl<R> In<R> {
    fn new(session: SessionId, caller: Caller, access: Access) -> Self {
        Self {
            session,
            caller,
            access,
            role: PhantomData,
        }
    }
}

/// How the request came in.
fn channel(parts: &Parts) -> Channel {
    parts.extensions.get().copied().unwrap_or_default()
}

fn caller(parts: &mut Parts, front: &Shared) -> Result<Caller, Failure> {
    let address = address_of(&parts.extensions);
    let caller = front.state.caller_of(&parts.headers, &channel(parts), &address);
    match &caller {
        Ok(caller) if !caller.visitor => {
            if let Some(permit) = parts.extensions.get::<Permit>() {
                permit.identified();
            }
            front.count(caller.person.as_str())?;
        }
        _ => front.count(&address)?,
    }
    let caller = caller?;
    parts.extensions.insert(Sender(caller.line.clone()));
    Ok(caller)
}

async fn path_id(parts: &mut Parts, front: &Shared) -> Result<String, Failure> {
    let found = Path::<String>::from_request_parts(parts, front).await;
    let Path(id) = found.map_err(|_| Failure::new("not_found", "the path is not UTF-8"))?;
    Ok(id)
}

impl FromRequestParts<Shared> for Anybody {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, front: &Shared) -> Result<Self, Failure> {
        let name = address_of(&parts.extensions);
        front.count(&name)?;
        front.state.auth().check_origin(&parts.headers)?;
        Ok(Self(name, channel(parts)))
    }
}

impl Input for Anybody {
    fn describe(operation: &mut Operation, _: &mut SchemaGenerator) {
        operation.can_fail(&[403, 429]);
    }
}

impl FromRequestParts<Shared> for Somebody {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, front: &Shared) -> Result<Self, Failure> {
        caller(parts, front).map(Self)
    }
}

impl Input for Somebody {
    fn describe(operation: &mut Operation, _: &mut SchemaGenerator) {
        operation.needs = Needs::Somebody;
        operation.can_fail(&ASKED);
    }
}

impl FromRequestParts<Shared> for Member {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, front: &Shared) -> Result<Self, Failure> {
        let caller = caller(parts, front)?;
        if caller.visitor {
            return Err(Failure::new(
                "denied",
                "visitors only look at what is shared with them",
            ));
        }
        Ok(Self(caller))
    }
}

impl Input for Member {
    fn describe(operation: &mut Operation, _: &mut SchemaGenerator) {
        operation.needs = Needs::Member;
        operation.can_fail(&ASKED);
    }
}

impl FromRequestParts<Shared> for Operator {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, front: &Shared) -> Result<Self, Failure> {
        let caller = caller(parts, front)?;
        if caller.operator {
            return Ok(Self(caller));
        }
        Err(Failure::new("denied", "this is for whoever runs the server"))
    }
}

impl Input for Operator {
    fn describe(operation: &mut Operation, _: &mut SchemaGenerator) {
        operation.needs = Needs::Operator;
        operation.can_fail(&ASKED);
    }
}

impl<R: AtLeast> FromRequestParts<Shared> for In<R> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, front: &Shared) -> Result<Self, Failure> {
        let caller = caller(parts, front)?;
        let session = SessionId::new(path_id(parts, front).await?);
        let access = front.state.access(&caller, &session).await?;
        if access.role < R::ROLE && !(R::OR_OPERATOR && caller.operator) {
            let word = |role| serde_json::to_value(role).unwrap_or_default();
            return Err(
                Failure::new("denied", "your role in this session does not allow it")
                    .with(json!({"role": word(access.role), "needed": word(R::ROLE)})),
            );
        }
        Ok(Self::new(session, caller, access))
    }
}

impl<R: AtLeast> Input for In<R> {
    fn describe(operation: &mut Operation, _: &mut SchemaGenerator) {
        operation.needs = match R::OR_OPERATOR {
            true => Needs::RoleOrOperator(R::ROLE),
            false => Needs::Role(R::ROLE),
        };
        operation.path("id", "The session.");
        operation.can_fail(&ASKED);
        operation.can_fail(&[404, 410]);
    }
}

impl FromRequestParts<Shared> for PathId {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, front: &Shared) -> Result<Self, Failure> {
        let id = path_id(parts, front).await?;
        bounded_id("what is asked for", &id)?;
        Ok(Self(id))
    }
}

impl Input for PathId {
    fn describe(operation: &mut Operation, _: &mut SchemaGenerator) {
        operation.path("id", "Which one.");
        operation.can_fail(&[404]);
    }
}

impl<T: DeserializeOwned> FromRequestParts<Shared> for Query<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &Shared) -> Result<Self, Failure> {
        let found = axum::extract::Query::<T>::try_from_uri(&parts.uri);
        let query = found.map_err(|error| Failure::new("bad_request", error.body_text()))?;
        Ok(Self(query.0))
    }
}

impl<T: JsonSchema> Input for Query<T> {
    fn describe(operation: &mut Operation, schemas: &mut SchemaGenerator) {
        operation.query::<T>(schemas);
        operation.can_fail(&[400]);
    }
}

/// The header in which such a key comes.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

impl FromRequestParts<Shared> for Key {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &Shared) -> Result<Self, Failure> {
        let Some(value) = parts.headers.get(IDEMPOTENCY_KEY) else {
            return Ok(Self(None));
        };
        match value.to_str() {
            Ok(key) if !key.is_empty() && key.len() <= KEY_CHARS => Ok(Self(Some(key.to_owned()))),
            _ => Err(Failure::new(
                "bad_request",
                format!("an idempotency key has 1 to {KEY_CHARS} printable characters"),
            )),
        }
    }
}

impl Input for Key {
    fn describe(operation: &mut Operation, _: &mut SchemaGenerator) {
        let what = "A request with the same key is the same request: it is done once, and answered alike.";
        let schema = json!({"type": "string", "pattern": "^[ -~]+$", "minLength": 1, "maxLength": KEY_CHARS});
        operation.header(IDEMPOTENCY_KEY.as_str(), what, schema);
        operation.can_fail(&[400]);
    }
}

impl<const STATUS: u16> FromRequestParts<Shared> for CanFail<STATUS> {
    type Rejection = Infallible;

    async fn from_request_parts(_: &mut Parts, _: &Shared) -> Result<Self, Infallible> {
        Ok(Self)
    }
}

impl<const STATUS: u16> Input for CanFail<STATUS> {
    fn describe(operation: &mut Operation, _: &mut SchemaGenerator) {
        operation.can_fail(&[STATUS]);
    }
}

impl FromRequestParts<Shared> for ClientNonce {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &Shared) -> Result<Self, Failure> {
        Ok(Self(nonce_of(&parts.headers)?))
    }
}

impl Input for ClientNonce {
    fn describe(operation: &mut Operation, _: &mut SchemaGenerator) {
        let what = "A nonce of the client; the server proves its key by a signature over it.";
        let schema = json!({"type": "string", "pattern": "^[A-Za-z0-9_-]{16,128}$"});
        operation.header(NONCE_HEADER, what, schema);
        operation.can_fail(&[400]);
    }
}

impl FromRequestParts<Shared> for Stream {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &Shared) -> Result<Self, Failure> {
        let accepts = parts.headers.get_all(ACCEPT).iter();
        let kinds = accepts
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','));
        // Whoever names both and does not say which is better gets the one that is named first.
        let first = kinds
            .map(|kind| kind.split(';').next().unwrap_or_default().trim())
            .find(|kind| matches!(*kind, "text/event-stream" | "application/json" | "*/*"));
        let is_wanted = first == Some("text/event-stream");
        let last = parts.headers.get("last-event-id");
        let after = last.map(|id| stream::place(id.to_str().unwrap_or_default()));
        Ok(Self {
            is_wanted,
            after: after.transpose()?,
            headers: parts.headers.clone(),
            address: address_of(&parts.extensions),
            channel: channel(parts),
        })
    }
}

impl Input for Stream {
    fn describe(operation: &mut Operation, _: &mut SchemaGenerator) {
        let what = "The id of the last event that the reader has; in place of `after_seq`.";
        let schema = json!({"type": "string", "pattern": "^[0-9]{1,15}(\\.[0-9]{1,9})?$"});
        operation.header("last-event-id", what, schema);
        operation.can_fail(&[400]);
    }
}
