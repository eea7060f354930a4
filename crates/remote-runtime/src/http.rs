//! Requests to a server over HTTP. Waits and answers are bounded, and errors are those of a local runtime.
//!
//! A question is retried automatically in four cases, all within the 90 seconds of [`ANSWER`]: no connection
//! stood, the answer was lost and the question is repeatable, the token was too old, or the server was busy
//! and named a time of at most 10 seconds. Everything else is the answer.
//!
//! The client gets a token with the first request, renews it half a minute before it expires, and shares it
//! among all requests. Requests during the renewal wait for it.

use std::sync::Arc;
use std::time::Duration;

use agentx_http::{Certificates, client_builder};
use agentx_identity::AuthChallenge;
use agentx_runtime::{Clock as _, RuntimeError, SystemClock};
use agentx_types::from_newer_json;
use agentx_types::wire::{NONCE_HEADER, Problem};
use reqwest::{Client, Response, StatusCode};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use crate::http_failure::{HttpFailure, reason};
use crate::peer::{DialError, Peer, ServerChallenge, new_nonce};
pub(crate) use crate::query::Query;
use crate::{ConnectOptions, Credentials, ServerEndpoint};

/// The maximum time to resolve a name and connect.
const CONNECT: Duration = Duration::from_secs(10);
/// The time for which an unused connection is kept. It may be lost meanwhile without a sign.
const IDLE: Duration = Duration::from_secs(10);
/// The time after which unacknowledged bytes make the connection count as lost.
#[cfg(target_os = "linux")]
const SILENT: Duration = Duration::from_secs(15);
/// The maximum time for an answer, from the request to its last byte.
const ANSWER: Duration = Duration::from_secs(90);
/// The maximum size of an answer, in bytes. The largest is a blob or the rows of a long session.
const ANSWER_BYTES: usize = 256 << 20;
/// The pause before the client repeats a request after a lost connection.
const RETRY_AFTER: [Duration; 2] = [Duration::from_millis(100), Duration::from_millis(400)];
/// The longest wait that an overloaded server may request of the client; a longer one is an error for the
/// caller.
const LONGEST_REST: Duration = Duration::from_secs(10);
/// The maximum time to wait for a busy server.
const FULL_AFTER: Duration = Duration::from_secs(1);
/// Time before the end of a token at which it is renewed.
const RENEW_BEFORE: Duration = Duration::from_secs(30);

/// The code of a problem: the server has reached its connection limit, and did not look at the question.
const FULL: &str = "full";

/// Asks a server. One for each remote runtime, used by many tasks at once.
pub(crate) struct Http {
    /// Keeps connections; follows no redirects, because a token would go along.
    client: Client,
    /// The expected server.
    peer: Peer,
    who: Credentials,
    /// The name of this program, for the server's log.
    name: String,
    /// The token, made when it is first needed and shared by all questions.
    token: Mutex<Option<CachedToken>>,
}

/// A token of the server, which replaces a signature until it expires.
struct CachedToken {
    secret: Arc<str>,
    until: Instant,
}

/// A page of a list.
#[derive(Deserialize)]
pub(crate) struct ListPage<T> {
    /// The items of the page.
    pub(crate) items: Vec<T>,
    /// The cursor of the next page; `None` on the last one.
    #[serde(default)]
    pub(crate) next: Option<String>,
}

/// A request for a token: the key, the signed text, and the signature.
#[derive(Serialize)]
struct TokenRequest<'a> {
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
    pub(crate) fn new(endpoint: ServerEndpoint, options: &ConnectOptions) -> Result<Self, RuntimeError> {
        let peer = Peer::new(endpoint, options)?;
        let builder = match peer.tls() {
            Some(config) => client_builder(Certificates::OfThisMachine)
                .tls_backend_preconfigured(rustls::ClientConfig::clone(config)),
            None => client_builder(Certificates::None),
        };
        let builder = builder
            .connect_timeout(CONNECT)
            .pool_idle_timeout(IDLE)
            .tcp_nodelay(true);
        // A request over a line that went silent fails while there is time to repeat it over another one.
        #[cfg(target_os = "linux")]
        let builder = builder.tcp_user_timeout(SILENT);
        let client = builder
            .build()
            .map_err(|error| RuntimeError::Refused(format!("the HTTP client could not be made: {error}")))?;
        Ok(Self {
            client,
            peer,
            who: options.who.clone(),
            name: options.client.clone(),
            token: Mutex::new(None),
        })
    }

    pub(crate) fn endpoint(&self) -> &ServerEndpoint {
        self.peer.endpoint()
    }

    /// Asks, and reads the answer as JSON.
    pub(crate) async fn json<T: DeserializeOwned>(&self, ask: Query<'_>) -> Result<T, RuntimeError> {
        let bytes = self.bytes(ask).await?;
        from_newer_json(&bytes).map_err(|error| RuntimeError::Remote {
            code: "bad_answer".into(),
            detail: format!(
                "{} gave an answer that this version does not understand: {error}",
                self.endpoint()
            ),
        })
    }

    /// Asks, and reads the answer as it comes.
    pub(crate) async fn bytes(&self, ask: Query<'_>) -> Result<Vec<u8>, RuntimeError> {
        timeout(ANSWER, self.ask(&ask)).await.unwrap_or_else(|_| {
            let limit = format!("it did not answer within {} seconds", ANSWER.as_secs());
            Err(self.unreachable(limit))
        })
    }

    /// Sends the request until there is an answer, according to the rules above.
    async fn ask(&self, ask: &Query<'_>) -> Result<Vec<u8>, RuntimeError> {
        let mut renewed = false;
        let mut waits = RETRY_AFTER.iter();
        loop {
            let token = self.token().await?;
            match self.once(ask, token.as_deref()).await {
                Ok(answer) => return Ok(answer),
                Err(HttpFailure::Unauthorized(_)) if token.is_none() => {
                    return Err(self.lets_no_visitors_in());
                }
                Err(HttpFailure::Unauthorized(error)) => {
                    if std::mem::replace(&mut renewed, true) {
                        return Err(error);
                    }
                    self.forget(token.as_deref()).await;
                }
                Err(HttpFailure::Lost { error, unsent }) => {
                    let wait = waits.next().filter(|_| unsent || ask.repeatable);
                    let Some(wait) = wait else {
                        return Err(self.unreachable(reason(&error)));
                    };
                    tokio::time::sleep(*wait).await;
                }
                // It was not done. The time limit of an answer bounds the repetitions.
                Err(HttpFailure::Later { after, .. }) => tokio::time::sleep(after).await,
                Err(HttpFailure::Answered(error)) => return Err(error),
            }
        }
    }

    /// Asks once, with this token.
    async fn once(&self, ask: &Query<'_>, token: Option<&str>) -> Result<Vec<u8>, HttpFailure> {
        let mut url = self.peer.dialled().http(ask.segments);
        if !ask.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&ask.query);
        }
        let mut request = self
            .client
            .request(ask.method.clone(), url)
            .header("agentx-client", &self.name);
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        if let Some(key) = &ask.key {
            request = request.header("idempotency-key", key);
        }
        if let Some(nonce) = &ask.nonce {
            request = request.header(NONCE_HEADER, nonce);
        }
        if let Some(body) = &ask.body {
            request = request.json(body);
        }
        let response = request.send().await.map_err(|error| self.lost(error))?;
        let status = response.status();
        let body = self.read(response).await?;
        if status.is_success() {
            return Ok(body);
        }
        Err(self.refusal(status, &body))
    }

    /// Reads an answer up to a bound, because the server may be anybody's.
    async fn read(&self, mut response: Response) -> Result<Vec<u8>, HttpFailure> {
        let mut body = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(|error| self.lost(error))? {
            if body.len() + piece.len() > ANSWER_BYTES {
                return Err(HttpFailure::Answered(RuntimeError::Remote {
                    code: "too_long".into(),
                    detail: format!(
                        "the answer of {} is longer than {ANSWER_BYTES} bytes",
                        self.endpoint()
                    ),
                }));
            }
            body.extend_from_slice(&piece);
        }
        Ok(body)
    }

    /// The reason why a connection failed a request.
    fn lost(&self, error: reqwest::Error) -> HttpFailure {
        match self.peer.trouble(&error) {
            Some(DialError::Refused(why)) => HttpFailure::Answered(RuntimeError::Denied(why)),
            Some(DialError::Full) => HttpFailure::Later {
                error: self.unreachable("it has reached its connection limit; try again in a moment".into()),
                after: FULL_AFTER,
            },
            None => HttpFailure::lost(error),
        }
    }

    /// The error of an unsuccessful status.
    fn refusal(&self, status: StatusCode, body: &[u8]) -> HttpFailure {
        if let Ok(problem) = serde_json::from_slice::<Problem>(body) {
            let was_not_done = status == StatusCode::TOO_MANY_REQUESTS || problem.code == FULL;
            let later = problem.retry_after_ms.filter(|_| was_not_done);
            let error = RuntimeError::from(problem);
            return match later.map(Duration::from_millis) {
                Some(after) if after <= LONGEST_REST => HttpFailure::Later { error, after },
                _ if status == StatusCode::UNAUTHORIZED => HttpFailure::Unauthorized(error),
                _ => HttpFailure::Answered(error),
            };
        }
        let status = status.as_u16();
        HttpFailure::Answered(match status {
            502..=504 => self.unreachable(format!("a proxy in front of it answered {status}")),
            404 => self.unreachable("no AgentX server answers at this address (404)".into()),
            _ => RuntimeError::Remote {
                code: format!("http_{status}"),
                detail: format!("{} answered with status {status} and no reason", self.endpoint()),
            },
        })
    }

    fn unreachable(&self, what: String) -> RuntimeError {
        RuntimeError::Unreachable {
            endpoint: self.endpoint().to_string(),
            what,
        }
    }

    /// The error for a visitor who is not admitted. The server's own message is about signing in over HTTP by
    /// hand.
    fn lets_no_visitors_in(&self) -> RuntimeError {
        RuntimeError::Remote {
            code: "unauthenticated".into(),
            detail: format!(
                "{} does not allow visitors; connect with a key that it trusts (`Credentials::Key`)",
                self.endpoint()
            ),
        }
    }

    /// The token of this client, created or renewed if needed; `None` for visitors.
    async fn token(&self) -> Result<Option<Arc<str>>, RuntimeError> {
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
    async fn forget(&self, token: Option<&str>) {
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
        let request = TokenRequest {
            public_key: answer.public_key.as_deref().unwrap_or_default(),
            nonce: &challenge.nonce,
            expires_at_ms: challenge.expires_at_ms,
            signature: answer.signature.as_deref().unwrap_or_default(),
            mcp,
        };
        let request = serde_json::to_value(request).unwrap_or_default();
        self.open(Query::post(&["auth", "token"], request)).await
    }

    /// Sends a request that needs no token.
    async fn open<T: DeserializeOwned>(&self, ask: Query<'_>) -> Result<T, RuntimeError> {
        let mut waits = RETRY_AFTER.iter();
        let bytes = loop {
            match self.once(&ask, None).await {
                Ok(bytes) => break bytes,
                Err(HttpFailure::Lost { error, unsent: true }) => match waits.next() {
                    Some(wait) => tokio::time::sleep(*wait).await,
                    None => return Err(self.unreachable(reason(&error))),
                },
                Err(HttpFailure::Lost { error, .. }) => return Err(self.unreachable(reason(&error))),
                Err(
                    HttpFailure::Unauthorized(error)
                    | HttpFailure::Answered(error)
                    | HttpFailure::Later { error, .. },
                ) => {
                    return Err(error);
                }
            }
        };
        serde_json::from_slice(&bytes).map_err(|error| {
            self.unreachable(format!("its sign-in is not that of an AgentX server: {error}"))
        })
    }
}
