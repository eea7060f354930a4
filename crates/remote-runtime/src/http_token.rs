//! Signs in to a server over HTTP. The client gets a token with the first request, renews it half a minute
//! before it expires, and shares it among all requests. Requests during the renewal wait for it.

use std::sync::Arc;
use std::time::Duration;

use agentx_identity::AuthChallenge;
use agentx_runtime::{Clock as _, RuntimeError, SystemClock};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::{Instant, timeout};

use crate::Credentials;
use crate::http::{CachedToken, Http, Query};
use crate::http_failure::{HttpFailure, reason};
use crate::peer::{ServerChallenge, new_nonce};

/// Time before the end of a token at which it is renewed.
const RENEW_BEFORE: Duration = Duration::from_secs(30);
/// The maximum time for each step of signing in, as on the WebSocket.
const STEP: Duration = Duration::from_secs(15);

/// A request for a token: the key, the signed text, and the signature.
#[derive(Serialize)]
struct TokenRequestBody<'a> {
    public_key: &'a str,
    nonce: &'a str,
    expires_at_ms: u64,
    signature: &'a str,
    /// The parameters for which another program needs a token.
    #[serde(skip_serializing_if = "Option::is_none")]
    mcp: Option<&'a Value>,
}

/// A challenge, and the server's proof of its key.
#[derive(Deserialize)]
struct ChallengeAnswer {
    #[serde(flatten)]
    challenge: AuthChallenge,
    #[serde(default)]
    proof: Option<String>,
}

/// A token, and when it ends by the server's clock.
#[derive(Deserialize)]
pub(crate) struct TokenAnswer {
    pub(crate) token: String,
    pub(crate) expires_at_ms: u64,
    /// The id of a token for another program.
    #[serde(default)]
    pub(crate) id: Option<String>,
}

impl Http {
    /// The token of this client, created or renewed if needed; `None` for visitors.
    pub(crate) async fn token(&self) -> Result<Option<Arc<str>>, RuntimeError> {
        if matches!(self.who, Credentials::Visitor) {
            return Ok(None);
        }
        // The lock is held while a token is created, so that others wait for the same one.
        let mut kept = self.token.lock().await;
        if let Some(token) = &*kept
            && token.until > Instant::now() + RENEW_BEFORE
        {
            return Ok(Some(token.secret.clone()));
        }
        let answer = self.sign_in(None).await?;
        // The server's clock may differ: the lifetime of the token counts, and it is at most an hour.
        let left = answer
            .expires_at_ms
            .saturating_sub(SystemClock.now().unix_millis())
            .min(3_600_000);
        let token = CachedToken {
            secret: answer.token.into(),
            until: Instant::now() + Duration::from_millis(left).max(2 * RENEW_BEFORE),
        };
        let secret = token.secret.clone();
        *kept = Some(token);
        Ok(Some(secret))
    }

    /// Drops a token that the server refused, unless another task has replaced it already.
    pub(crate) async fn forget(&self, token: Option<&str>) {
        let mut kept = self.token.lock().await;
        if kept.as_ref().map(|token| &*token.secret) == token {
            *kept = None;
        }
    }

    /// Signs in for a token; `mcp` asks for one for another program.
    pub(crate) async fn sign_in(&self, mcp: Option<&Value>) -> Result<TokenAnswer, RuntimeError> {
        match self.sign_in_once(mcp).await {
            // The server was started again since it made the challenge; the next one it knows.
            Err(RuntimeError::Remote { code, .. }) if code == "stale_challenge" => {
                self.sign_in_once(mcp).await
            }
            made => made,
        }
    }

    /// A challenge, a check of the server, a signature, a token.
    async fn sign_in_once(&self, mcp: Option<&Value>) -> Result<TokenAnswer, RuntimeError> {
        let nonce = new_nonce().map_err(RuntimeError::Refused)?;
        let ask = Query::post(&["auth", "challenge"], Value::Object(Default::default()));
        let answer: ChallengeAnswer = self.open(ask.with_nonce(nonce.clone())).await?;
        let challenge = answer.challenge;
        let asked = ServerChallenge {
            challenge: &challenge,
            proof: answer.proof.as_deref(),
            nonce: &nonce,
            exported: None,
        };
        let answer = self.who.answer(&asked, &self.peer, &self.name);
        let answer = answer.map_err(RuntimeError::Denied)?;
        let request = TokenRequestBody {
            public_key: answer.public_key.as_deref().unwrap_or_default(),
            nonce: &challenge.nonce,
            expires_at_ms: challenge.expires_at_ms,
            signature: answer.signature.as_deref().unwrap_or_default(),
            mcp,
        };
        let request = serde_json::to_value(request).unwrap_or_default();
        self.open(Query::post(&["auth", "token"], request)).await
    }

    /// Sends a request that needs no token, once: whoever needs the token may try again.
    async fn open<T: DeserializeOwned>(&self, ask: Query<'_>) -> Result<T, RuntimeError> {
        let answered = timeout(STEP, self.once(&ask, None)).await;
        let bytes = match answered.map_err(|_| self.unanswered(STEP))? {
            Ok(bytes) => bytes,
            Err(HttpFailure::Lost { error, .. }) => return Err(self.unreachable(reason(&error))),
            Err(
                HttpFailure::Unauthorized(error)
                | HttpFailure::Away(error)
                | HttpFailure::Answered(error)
                | HttpFailure::Later { error, .. },
            ) => return Err(error),
        };
        serde_json::from_slice(&bytes).map_err(|error| {
            self.bad_answer(&format!("its sign-in is not that of an AgentX server: {error}"))
        })
    }
}
