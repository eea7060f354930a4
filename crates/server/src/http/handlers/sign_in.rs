//! Authentication over HTTP: a challenge, its answer, and the resulting identity; and the code of a page.

use agentx_types::wire::Person;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::Identity;
use crate::http::handlers::tokens::{McpTokenWish, on_disk};
use crate::http::requests::body::{JsonBody, UnreadBody};
use crate::http::requests::extract::{AnonymousCaller, CanFail, ClientNonce, TokenOrVisitor};
use crate::http::requests::signed_in::SignedIn;
use crate::http::responses::JsonResponse;
use crate::http::{ApiError, HandlerState};

/// A challenge to sign: `agentx.v1 challenge`, the origin, the nonce and the expiry, a line each.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Challenge {
    /// Counts once.
    nonce: String,
    /// The origin of the server.
    origin: String,
    /// Until when it may be answered: milliseconds since 1970.
    expires_at_ms: u64,
    /// The server's signature over the challenge and the client's nonce, if it sent one: 64 bytes in
    /// base64url.
    #[serde(skip_serializing_if = "Option::is_none")]
    proof: Option<String>,
}

/// An answered challenge.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct TokenRequest {
    /// `ed25519:` and the key's 32 bytes in base64url.
    public_key: String,
    /// The nonce of the challenge, unchanged.
    nonce: String,
    /// The expiry of the challenge, unchanged.
    expires_at_ms: u64,
    /// The signature over the challenge, 64 bytes in base64url.
    signature: String,
    /// Asks for a token for another program, in place of one that opens everything for an hour.
    #[serde(default)]
    mcp: Option<McpTokenWish>,
}

/// A token.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Token {
    /// The token for the header `Authorization: Bearer …`.
    token: String,
    /// The owner of the token.
    person: Person,
    /// Until when it counts: milliseconds since 1970.
    expires_at_ms: u64,
    /// The id of a token of a page, or of one that opens `/mcp` alone: `DELETE /v1/tokens/{id}` takes it
    /// back.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
}

/// A code with which one page signs in, once.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PageCode {
    /// The code. A page takes it from the fragment of its address: `/#code=…`.
    code: String,
    /// Until when it counts: milliseconds since 1970.
    expires_at_ms: u64,
}

/// A page that signs in.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct PageLogin {
    /// The code from its address.
    code: String,
    /// The name of the browser: 1 to 64 letters and digits of ASCII, `-`, `_` and `.`.
    name: String,
}

pub(crate) async fn challenge(
    app: HandlerState,
    UnreadBody: UnreadBody,
    AnonymousCaller(address, _): AnonymousCaller,
    ClientNonce(nonce): ClientNonce,
) -> Result<JsonResponse<Challenge>, ApiError> {
    let auth = app.state.auth();
    let challenge = auth.open_challenge(&address, app.state.now_ms())?;
    let proof = nonce.map(|nonce| auth.proof(&challenge, &nonce));
    Ok(JsonResponse(Challenge {
        proof,
        nonce: challenge.nonce,
        origin: challenge.origin,
        expires_at_ms: challenge.expires_at_ms,
    }))
}

pub(crate) async fn token(
    app: HandlerState,
    AnonymousCaller(address, channel): AnonymousCaller,
    _: CanFail<401>,
    JsonBody(request): JsonBody<TokenRequest>,
) -> Result<JsonResponse<Token>, ApiError> {
    let TokenRequest {
        public_key,
        nonce,
        expires_at_ms,
        signature,
        mcp,
    } = request;
    let now = app.state.now_ms();
    if let Some(wish) = mcp {
        let auth = app.state.auth();
        let challenge = auth.challenge_of(nonce, expires_at_ms);
        let owner = auth.answered(&public_key, &challenge, &signature, &channel, now)?;
        return mcp_token(&app, owner, wish, now).await;
    }
    let token = app.state.auth().token(
        &public_key,
        (nonce, expires_at_ms),
        &signature,
        (&channel, &address, now),
    )?;
    Ok(JsonResponse(Token {
        token: token.token,
        person: Person {
            person: token.identity.person,
            name: token.identity.name,
            visitor: token.identity.visitor,
        },
        expires_at_ms: token.expires_at_ms,
        id: None,
    }))
}

/// Creates a code for another browser of the caller.
pub(crate) async fn page_code(
    app: HandlerState,
    UnreadBody: UnreadBody,
    SignedIn(owner): SignedIn,
) -> Result<JsonResponse<PageCode>, ApiError> {
    let (code, expires_at_ms) = app.state.auth().page_code(&owner, app.state.now_ms())?;
    Ok(JsonResponse(PageCode { code, expires_at_ms }))
}

/// Exchanges the code of a page for its token.
pub(crate) async fn page_login(
    app: HandlerState,
    _: AnonymousCaller,
    _: CanFail<401>,
    JsonBody(request): JsonBody<PageLogin>,
) -> Result<JsonResponse<Token>, ApiError> {
    let (state, now) = (app.state.clone(), app.state.now_ms());
    let login = move || state.auth().page_login(&request.code, &request.name, now);
    let issued = on_disk(login).await?;
    Ok(JsonResponse(Token {
        token: issued.token,
        person: Person {
            person: issued.identity.person,
            name: issued.identity.name,
            visitor: issued.identity.visitor,
        },
        expires_at_ms: issued.expires_at_ms,
        id: Some(issued.id),
    }))
}

/// Makes a token that opens `/mcp` alone.
async fn mcp_token(
    app: &HandlerState,
    owner: Identity,
    wish: McpTokenWish,
    now: u64,
) -> Result<JsonResponse<Token>, ApiError> {
    let (state, maker) = (app.state.clone(), owner.clone());
    let made = move || {
        state
            .auth()
            .make_mcp_token(&maker, &wish.name, wish.lifetime_s, now)
    };
    let (entry, token) = on_disk(made).await?;
    Ok(JsonResponse(Token {
        token,
        person: Person {
            person: owner.person,
            name: owner.name,
            visitor: owner.visitor,
        },
        expires_at_ms: entry.expires_at_ms,
        id: Some(entry.id),
    }))
}

pub(crate) async fn me(TokenOrVisitor(caller): TokenOrVisitor) -> Result<JsonResponse<Person>, ApiError> {
    Ok(JsonResponse(Person {
        person: caller.person,
        name: caller.name,
        visitor: caller.visitor,
    }))
}
