//! Model calls over HTTP: one effector for every provider with an endpoint.
//!
//! # The events of a call, and its end
//!
//! A call makes one or more attempts. Its events, always under the action's id, are
//!
//! ```text
//! call    = attempt* end
//! attempt = [ stream | usage ] attempt_failed{retry_in_ms: Some}   // still open: the next attempt follows
//! stream  = stream_start … [ [usage] stream_end{Broken} ]                  // in a failed attempt: the partial answer is kept
//! end     = stream_start … stream_end{any reason but Broken}       // answered, or interrupted in the middle
//!         | stream_end{Interrupted}                                // interrupted before or between streams
//!         | [ stream | usage ] attempt_failed{retry_in_ms: None} error // given up
//!         | error                                                  // nothing could be tried: no endpoint, no key
//! ```
//!
//! So for a fold of the log:
//!
//! - `stream_end{Broken}` never closes the action; any other `stream_end` does, and is the last event;
//! - `attempt_failed` never closes the action; with `retry_in_ms: Some` the next attempt begins a new stream;
//! - `error` closes the action and fails the run (`recoverable: true`: the session continues). Its `code` and
//!   `message` are those of the last attempt.
//!
//! # When it is tried again
//!
//! An overloaded, failing or unreachable server is tried again, with growing pauses, within
//! [`RetryPolicy::retry_for`]; a person who sees the pause in `attempt_failed` can end it
//! ([`Effector::retry_now`]). An answer that broke off or made no sense may have to be paid again and is
//! requested again [`RetryPolicy::retries`] times. An answer that one of the program's limits cut off is not
//! requested again.
//!
//! If a provider did not count an answer, its usage is estimated, and a `usage` before the `stream_end` says
//! so (`estimated_tokens`). That applies to answers that are cut off, and to complete ones of servers that
//! report no usage. A server that accepted the request (a status of success) and was stopped or too slow
//! before it answered has read the request, so an answer without a word begins and ends then. If the log has
//! words of an earlier attempt, which that beginning would drop, only the `usage` is recorded. Before that
//! status nothing is counted.
//!
//! The events of a failure are committed together: `stream_end{Broken}`, `attempt_failed` and `error` are one
//! batch. If the session is gone (the sink refuses), the call stops without further events.
//!
//! # Secrets
//!
//! Keys, the values of extra headers, and a user name or password inside an address never occur in events,
//! errors or logs, even if a server repeats them (they are replaced by `<hidden>`). Redirects are not
//! followed, because they would pass on a header with a key.

mod attempt;
mod call;
mod call_events;
mod call_limits;
mod call_parts;
mod client;
mod cloud_access;
#[cfg(feature = "settings")]
mod configured_endpoints;
mod content_coding;
mod endpoint;
mod environments;
mod estimate;
mod failure;
mod given_up_forms;
mod google_tokens;
#[cfg(feature = "settings")]
mod listing;
mod policy;
#[cfg(feature = "settings")]
mod published_list;
mod sending;
#[cfg(feature = "settings")]
mod served_window;
mod shown_time;
mod stream_pace;
mod streaming_body;
mod unix_seconds;

use std::collections::BTreeMap;
use std::sync::Arc;

use agentx_runtime::{BlobStore, BoxFuture, Clock, Effector, EventSink, SystemClock};
use agentx_types::{Action, ActionBody, Prices, SessionId};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use crate::WireOptionsOf;
use call_parts::Call;
use client::ModelClients;
use given_up_forms::GivenUpForms;

pub use call_limits::CallLimits;
#[cfg(feature = "settings")]
pub(crate) use configured_endpoints::endpoints;
pub use endpoint::Endpoint;
pub use environments::{ClaudeEnvironment, OpenAiEnvironment};
#[cfg(feature = "settings")]
pub use listing::{ModelListError, models_of_server};
pub use policy::{Backoff, RetryPolicy, SystemBackoff};
#[cfg(feature = "settings")]
pub use published_list::published_list;
#[cfg(feature = "settings")]
pub use served_window::{listed_window, served_window};

/// Capacity of the queue of requests to retry immediately; a missed one can be repeated.
const RETRY_WISHES: usize = 64;

/// Returns the prices of a model, by the names of its provider and itself.
pub type PricesOf = Arc<dyn Fn(&str, &str) -> Option<Prices> + Send + Sync>;

/// The parts of a [`ModelEffector`].
#[derive(Clone)]
pub struct ModelParts {
    /// The endpoints of providers, by name.
    pub endpoints: BTreeMap<String, Endpoint>,
    /// The wire options of models.
    pub wire_options: WireOptionsOf,
    /// The prices of another model of a provider that continues an answer; `None` if unknown.
    pub prices: PricesOf,
    /// The store of pictures and documents.
    pub blobs: Arc<dyn BlobStore>,
    /// Tells the time, for `retry-after` dates.
    pub clock: Arc<dyn Clock>,
    /// Waits between attempts: [`SystemBackoff`] with real dice, another one in tests.
    pub pause: Arc<dyn Backoff>,
    /// The time limits.
    pub limits: CallLimits,
    /// The retry policy.
    pub retry: RetryPolicy,
}

impl ModelParts {
    /// These endpoints, with the default limits and retries, on the machine's clock.
    pub fn new(
        endpoints: BTreeMap<String, Endpoint>,
        wire_options: WireOptionsOf,
        blobs: Arc<dyn BlobStore>,
    ) -> Self {
        Self {
            endpoints,
            wire_options,
            prices: Arc::new(|_, _| None),
            blobs,
            clock: Arc::new(SystemClock),
            pause: Arc::new(SystemBackoff),
            limits: CallLimits::default(),
            retry: RetryPolicy::default(),
        }
    }
}

/// Calls models over HTTP. The [module](self) describes its events. Clones share connections.
///
/// ```
/// use std::collections::BTreeMap;
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// use agentx_llm::{Catalog, Secret};
/// use agentx_node_runtime::model::{CallLimits, Endpoint, ModelEffector, ModelParts};
/// use agentx_runtime::MemoryLog;
/// use agentx_types::ModelSpec;
///
/// let catalog = Catalog::builtin();
/// let provider = catalog.provider("openai").unwrap();
/// let endpoint = Endpoint::new(provider, None, Some(Secret::new("made-up".to_owned())));
/// let parts = ModelParts::new(
///     BTreeMap::from([("openai".to_owned(), endpoint)]),
///     Arc::new(move |model: &ModelSpec| catalog.wire_options(model)),
///     Arc::new(MemoryLog::new()),
/// );
/// // No answer may take longer than a minute; everything else is as usual.
/// let limits = CallLimits { total: Some(Duration::from_secs(60)), ..parts.limits };
/// let effector = ModelEffector::new(ModelParts { limits, ..parts });
/// # drop(effector);
/// ```
#[derive(Clone)]
pub struct ModelEffector {
    parts: Arc<ModelParts>,
    clients: Arc<ModelClients>,
    retries: broadcast::Sender<SessionId>,
    given_up: Arc<GivenUpForms>,
}

impl ModelEffector {
    /// An effector of these parts. Nothing is opened before the first call or [`warm_up`](Self::warm_up).
    pub fn new(parts: ModelParts) -> Self {
        let clients = Arc::new(ModelClients::new(parts.limits.connect));
        Self {
            parts: Arc::new(parts),
            clients,
            retries: broadcast::Sender::new(RETRY_WISHES),
            given_up: Arc::default(),
        }
    }

    /// Makes the HTTP client for `provider` ready in the background, so that the first call need not wait for
    /// it. Must be called inside a tokio runtime.
    pub fn warm_up(&self, provider: &str) {
        if let Some(endpoint) = self.parts.endpoints.get(provider) {
            self.clients.warm_up(endpoint.url());
        }
    }
}

impl Effector for ModelEffector {
    fn perform(
        &self,
        action: Arc<Action>,
        events: EventSink,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, ()> {
        let ActionBody::CallModel(model_call) = &action.body else {
            return Box::pin(std::future::ready(()));
        };
        let (request, taken) = (model_call.request.clone(), model_call.taken.clone());
        let (parts, clients) = (self.parts.clone(), self.clients.clone());
        let (retries, given_up) = (self.retries.clone(), self.given_up.clone());
        Box::pin(async move {
            Call {
                parts,
                clients,
                action,
                request,
                taken,
                events,
                cancel,
                retries,
                given_up,
            }
            .run()
            .await
        })
    }

    fn retry_now(&self, session: &SessionId) {
        // Nobody listens if no call is waiting.
        let _ = self.retries.send(session.clone());
    }
}
