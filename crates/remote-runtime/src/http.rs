//! Requests to a server over HTTP. Waits and answers are bounded, and errors are those of a local runtime.
//!
//! A question is retried automatically in five cases, all within the time of an answer: no connection stood,
//! the answer was lost and the question is repeatable, a proxy says that the server is away, the token was
//! too old, or the server was busy and named a time of at most 10 seconds. Everything else is the answer.
//! [`RetryPauses`] says how often: an unattended program tries for as long as it has patience, every other
//! one three times.
//!
//! `http_token.rs` signs in: the client gets a token with the first request, and all requests share it.

use std::sync::Arc;
use std::time::Duration;

use agentx_http::{Certificates, client_builder};
use agentx_runtime::RuntimeError;
use agentx_types::from_newer_json;
use agentx_types::wire::{NONCE_HEADER, Problem};
use reqwest::{Client, Response, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use crate::http_failure::{HttpFailure, reason};
use crate::peer::{DialError, Peer};
pub(crate) use crate::query::Query;
use crate::retry_pauses::{RetryPauses, may_pass};
use crate::{ConnectOptions, Credentials, ServerEndpoint};

/// The maximum time to resolve a name and connect.
const CONNECT: Duration = Duration::from_secs(10);
/// The time for which an unused connection is kept. It may be lost meanwhile without a sign.
const IDLE: Duration = Duration::from_secs(10);
/// The time after which unacknowledged bytes make the connection count as lost.
#[cfg(target_os = "linux")]
const SILENT: Duration = Duration::from_secs(15);
/// The maximum size of an answer, in bytes. The largest is a blob or the rows of a long session.
const ANSWER_BYTES: usize = 256 << 20;
/// The longest wait that an overloaded server may request of the client; a longer one is an error for the
/// caller.
const LONGEST_REST: Duration = Duration::from_secs(10);
/// The maximum time to wait for a busy server.
const FULL_AFTER: Duration = Duration::from_secs(1);

/// The code of a problem: the server has reached its connection limit, and did not look at the question.
const FULL: &str = "full";
/// The code of a problem: the server is shutting down.
const CLOSING: &str = "closing";

/// Asks a server. One for each remote runtime, used by many tasks at once.
pub(crate) struct Http {
    /// Keeps connections; follows no redirects, because a token would go along.
    client: Client,
    /// The expected server.
    pub(crate) peer: Peer,
    pub(crate) who: Credentials,
    /// The name of this program, for the server's log.
    pub(crate) name: String,
    /// The token, made when it is first needed and shared by all questions.
    pub(crate) token: Mutex<Option<CachedToken>>,
    /// The maximum time for an answer, from the request to its last byte, repetitions included.
    longest_answer: Duration,
    /// The time in which a question is repeated whose connection was lost; zero for a few attempts.
    patience: Duration,
    /// The first pause of a client with patience.
    first_pause: Duration,
}

/// A token of the server, which replaces a signature until it expires.
pub(crate) struct CachedToken {
    pub(crate) secret: Arc<str>,
    pub(crate) until: Instant,
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
            longest_answer: options.longest_answer,
            patience: Duration::ZERO,
            first_pause: options.retry_after,
        })
    }

    /// The client of a server that was reached: a connection that is lost from now on may come back.
    pub(crate) fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    pub(crate) fn endpoint(&self) -> &ServerEndpoint {
        self.peer.endpoint()
    }

    /// Asks, and reads the answer as JSON.
    pub(crate) async fn json<T: DeserializeOwned>(&self, ask: Query<'_>) -> Result<T, RuntimeError> {
        let bytes = self.bytes(ask).await?;
        from_newer_json(&bytes).map_err(|error| self.bad_answer(&error.to_string()))
    }

    /// Asks, and reads the answer as it comes.
    pub(crate) async fn bytes(&self, ask: Query<'_>) -> Result<Vec<u8>, RuntimeError> {
        let within = ask.within.unwrap_or(self.longest_answer).min(self.longest_answer);
        let answered = timeout(within, self.ask(&ask)).await;
        answered.unwrap_or_else(|_| Err(self.unanswered(within)))
    }

    /// Sends the request until there is an answer, according to the rules above.
    async fn ask(&self, ask: &Query<'_>) -> Result<Vec<u8>, RuntimeError> {
        let mut renewed = false;
        let mut pauses = RetryPauses::new(self.patience, self.first_pause, Instant::now());
        loop {
            let token = match self.token().await {
                Ok(token) => token,
                // The question was not sent.
                Err(error) if may_pass(&error) => {
                    pauses.wait_or(error).await?;
                    continue;
                }
                Err(error) => return Err(error),
            };
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
                    let error = self.unreachable(reason(&error));
                    if !unsent && !ask.repeatable {
                        return Err(error);
                    }
                    pauses.wait_or(error).await?;
                }
                Err(HttpFailure::Away(error)) if ask.repeatable => pauses.wait_or(error).await?,
                // It was not done. The time limit of an answer bounds the repetitions.
                Err(HttpFailure::Later { after, .. }) => tokio::time::sleep(after).await,
                Err(HttpFailure::Away(error) | HttpFailure::Answered(error)) => return Err(error),
            }
        }
    }

    /// Asks once, with this token.
    pub(crate) async fn once(&self, ask: &Query<'_>, token: Option<&str>) -> Result<Vec<u8>, HttpFailure> {
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
                error: self.unreachable("it has no room for another connection, or not for one from your address; try again in a moment".into()),
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
            let is_closing = problem.code == CLOSING;
            let error = RuntimeError::from(problem);
            return match later.map(Duration::from_millis) {
                Some(after) if after <= LONGEST_REST => HttpFailure::Later { error, after },
                _ if is_closing => HttpFailure::Away(error),
                _ if status == StatusCode::UNAUTHORIZED => HttpFailure::Unauthorized(error),
                _ => HttpFailure::Answered(error),
            };
        }
        let status = status.as_u16();
        HttpFailure::Answered(match status {
            502..=504 => {
                let what = format!("a proxy in front of it answered {status}");
                return HttpFailure::Away(self.unreachable(what));
            }
            404 => self.unreachable("no AgentX server answers at this address (404)".into()),
            _ => RuntimeError::Remote {
                code: format!("http_{status}"),
                detail: format!("{} answered with status {status} and no reason", self.endpoint()),
            },
        })
    }

    /// The error of an answer that is none of an AgentX server, or of one that is too new.
    pub(crate) fn bad_answer(&self, what: &str) -> RuntimeError {
        RuntimeError::Remote {
            code: "bad_answer".into(),
            detail: format!(
                "{} gave an answer that this version does not understand: {what}",
                self.endpoint()
            ),
        }
    }

    /// The error of an answer that did not come in time.
    pub(crate) fn unanswered(&self, within: Duration) -> RuntimeError {
        self.unreachable(format!(
            "it did not answer within {} seconds",
            within.as_secs_f32()
        ))
    }

    pub(crate) fn unreachable(&self, what: String) -> RuntimeError {
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
}
