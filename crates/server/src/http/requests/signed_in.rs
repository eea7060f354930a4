//! The extractor of handlers that need the identity of a caller, with the key by which the server knows them.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use schemars::SchemaGenerator;

use crate::auth::Identity;
use crate::connections::connection_limits::address_of;
use crate::http::description::describe::{HandlerInput, Operation};
use crate::http::requests::extract::{Member, channel, counted};
use crate::http::{ApiError, HandlerState};

/// The identity of an authenticated caller.
pub(crate) struct SignedIn(pub(crate) Identity);

impl FromRequestParts<HandlerState> for SignedIn {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &HandlerState) -> Result<Self, ApiError> {
        let address = address_of(&parts.extensions);
        let auth = app.state.auth();
        let found = auth
            .sender_of(&parts.headers, &channel(parts), app.state.now_ms())
            .map(|(identity, client)| (identity.at(client, &address), identity));
        let caller = match &found {
            Ok((caller, _)) => Ok(caller.clone()),
            Err(problem) => Err(problem.clone()),
        };
        Member::unless_visitor(counted(parts, app, caller)?)?;
        let (_, identity) = found?;
        Ok(Self(identity))
    }
}

impl HandlerInput for SignedIn {
    fn describe(operation: &mut Operation, schemas: &mut SchemaGenerator) {
        <Member as HandlerInput>::describe(operation, schemas);
    }
}
