//! The runtime of a server behind the same trait as the local one.

use std::sync::Arc;

use agentx_runtime::{
    AgentInfo, BoxFuture, ContextView, FileChangePreview, ModelInfo, NamedAgent, OpenRequest, ReactorInfo,
    ReplayReport, RestorePlan, RestoreReport, RestoreRequest, Runtime, RuntimeError, SearchHit, Session,
    SessionExport, SessionInfo, SessionQuery, Subscription, UsageQuery, UsageRow, VerifyReport, View,
};
use agentx_types::wire::{Person, WheelFrame, WheelWish};
use agentx_types::{
    AgentConfig, BlobId, ConfigChange, ModelSpec, OwnerId, Seat, SessionId, ToolCallId, ToolSpec,
};
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::first_contact::first_contact;
use crate::follow::{self, FollowRequest};
use crate::http::{Http, Query};
use crate::presence::Presence;
use crate::remote_core::RemoteCore;
use crate::session::RemoteSession;
use crate::{CallsWaiting, ConnectOptions, ConnectionState, ServerEndpoint};

/// The runtime of a server: sessions that are written elsewhere, behind the trait that the local one has.
///
/// ```no_run
/// use agentx_remote_runtime::{ConnectOptions, Credentials, RemoteRuntime};
/// use agentx_runtime::{OpenRequest, Runtime as _};
///
/// # async fn open() -> Result<(), agentx_runtime::RuntimeError> {
/// let options = ConnectOptions::new("https://agents.example.com", Credentials::Visitor, "reader");
/// let server = RemoteRuntime::connect(options).await?;
/// let session = server.open(OpenRequest::Resume("ses_1".into(), Vec::new())).await?;
/// println!("{:?}", session.state().await?.last_seq);
/// server.close().await;
/// # Ok(())
/// # }
/// ```
pub struct RemoteRuntime {
    core: Arc<RemoteCore>,
    /// The server's entry of this person, from the first contact.
    person: Person,
    /// The server's offers at that time, so that lists need no request. A visitor gets none.
    models: Vec<ModelInfo>,
    tools: Vec<ToolSpec>,
}

/// A session that a request made or found.
#[derive(Deserialize)]
struct Named {
    session_id: SessionId,
}

impl RemoteRuntime {
    /// Connects to a server and authenticates.
    ///
    /// # Errors
    /// Returns [`RuntimeError::Unreachable`] if the server cannot be reached, [`RuntimeError::Denied`] if its
    /// name differs from the dialled one, and [`RuntimeError::Remote`] if it does not admit this person.
    pub async fn connect(options: ConnectOptions) -> Result<Self, RuntimeError> {
        check_client(&options.client)?;
        let endpoint = ServerEndpoint::parse(&options.url)?;
        let http = Http::new(endpoint, &options)?;
        let (person, models, tools) = first_contact(&http, &options).await?;
        let seat = Seat {
            person: person.person.clone(),
            client: options.client.clone(),
        };
        let http = http.with_patience(options.reach_within);
        let core = RemoteCore::start(http, seat, options).await?;
        Ok(Self {
            core,
            person,
            models,
            tools,
        })
    }

    pub(crate) fn core(&self) -> &Arc<RemoteCore> {
        &self.core
    }

    /// The address of the server.
    pub fn endpoint(&self) -> &ServerEndpoint {
        self.core.endpoint()
    }

    /// The person, as the server knows them.
    pub fn person(&self) -> &Person {
        &self.person
    }

    /// The server's default agent for a new session.
    ///
    /// # Errors
    /// Returns an error as [`RuntimeError`] describes.
    pub async fn default_agent(&self) -> Result<AgentConfig, RuntimeError> {
        self.core.http.json(Query::get(&["agent"])).await
    }

    /// The state of the connection, now and from now on.
    pub fn connection(&self) -> watch::Receiver<ConnectionState> {
        self.core.connection.state()
    }

    /// The calls in sessions of members that wait, if this person may decide about them.
    pub fn calls_waiting(&self) -> CallsWaiting {
        self.core.connection.calls_waiting()
    }

    /// Tries to connect again now, if it waits or gave up.
    pub async fn dial_now(&self) {
        self.core.connection.dial_now().await;
    }

    /// Closes the connection to the server. Nothing can be followed or sent any more.
    pub async fn close(&self) {
        self.core.close().await;
    }

    /// Requests the wheel of a session, takes it, hands it over or releases it.
    ///
    /// # Errors
    /// Returns [`RuntimeError::Denied`] if this person may not have the wheel.
    pub async fn wheel(&self, session: &SessionId, wish: WheelWish) -> Result<(), RuntimeError> {
        let session_id = session.clone();
        let (answer, _) = self.core.ask(WheelFrame { session_id, wish }).await;
        answer.map(drop)
    }

    /// The people who are present in a session, and the driver.
    ///
    /// # Errors
    /// Returns an error if the session does not exist, or it cannot be reached.
    pub async fn presence(&self, session: &SessionId) -> Result<Presence, RuntimeError> {
        let held = self.core.connection.hold(session);
        if held.feed.people().borrow().role.is_none() {
            // Followers of a session get notices about presence; its events are not needed for this.
            let head = self.info(session).await?.last_seq;
            self.core.connection.follow(&held, head).await?;
        }
        Ok(Presence::new(held))
    }

    /// A blob that a session names.
    ///
    /// # Errors
    /// Returns an error if there is no such blob in this session.
    pub async fn blob(&self, session: &SessionId, blob: &BlobId) -> Result<Vec<u8>, RuntimeError> {
        let path = ["blobs", blob.as_str()];
        let ask = Query::get(&path).with("session", Some(session.to_string()));
        self.core.http.bytes(ask).await
    }

    /// Checks that this model can be used, according to the server.
    fn check_model(&self, model: &ModelSpec) -> Result<(), RuntimeError> {
        let mut same = self
            .models
            .iter()
            .filter(|info| info.spec.provider == model.provider);
        match same.find_map(|info| info.missing.clone()) {
            Some(what) => Err(RuntimeError::Unavailable {
                model: model.id.clone(),
                what,
            }),
            None => Ok(()),
        }
    }

    async fn create(&self, body: Value) -> Result<Arc<dyn Session>, RuntimeError> {
        let ask = Query::post(&["sessions"], body).once()?;
        let named: Named = self.core.http.json(ask).await?;
        Ok(Arc::new(RemoteSession::new(self.core.clone(), named.session_id)))
    }

    async fn open_any(&self, request: OpenRequest) -> Result<Arc<dyn Session>, RuntimeError> {
        match request {
            OpenRequest::New(config) => self.create(json!({ "config": config })).await,
            OpenRequest::Resume(session, changes) => {
                self.info(&session).await?;
                for change in &changes {
                    if let ConfigChange::Model(model) = change {
                        self.check_model(model)?;
                    }
                }
                let session = RemoteSession::new(self.core.clone(), session);
                for change in changes {
                    session.change(change).await?;
                }
                Ok(Arc::new(session))
            }
        }
    }
}

/// Refuses a name that cannot be in a header.
fn check_client(client: &str) -> Result<(), RuntimeError> {
    let is_good =
        (1..=64).contains(&client.len()) && client.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    if is_good {
        return Ok(());
    }
    Err(RuntimeError::Refused(format!(
        "a client name has 1 to 64 printable ASCII characters, not {client:?}"
    )))
}

impl Runtime for RemoteRuntime {
    fn owner(&self) -> &OwnerId {
        &self.person.person
    }

    fn open(&self, request: OpenRequest) -> BoxFuture<'_, Result<Arc<dyn Session>, RuntimeError>> {
        Box::pin(self.open_any(request))
    }

    fn open_named(&self, agent: NamedAgent) -> BoxFuture<'_, Result<Arc<dyn Session>, RuntimeError>> {
        Box::pin(async move { self.create(json!(agent)).await })
    }

    fn watch(
        &self,
        session: &SessionId,
        after_seq: u64,
        view: View,
        follow: bool,
    ) -> BoxFuture<'_, Result<Subscription, RuntimeError>> {
        let wanted = FollowRequest {
            session: session.clone(),
            after_seq,
            has: None,
            view,
            live: follow,
            end: CancellationToken::new(),
        };
        Box::pin(follow::follow(&self.core, wanted))
    }

    fn sessions(&self, query: SessionQuery) -> BoxFuture<'_, Result<Vec<SessionInfo>, RuntimeError>> {
        Box::pin(self.list(query))
    }

    fn info(&self, session: &SessionId) -> BoxFuture<'_, Result<SessionInfo, RuntimeError>> {
        let session = session.clone();
        Box::pin(async move {
            let path = ["sessions", session.as_str()];
            self.core.http.json(Query::get(&path)).await
        })
    }

    fn blob(&self, session: &SessionId, blob: &BlobId) -> BoxFuture<'_, Result<Vec<u8>, RuntimeError>> {
        let (session, blob) = (session.clone(), blob.clone());
        Box::pin(async move { Self::blob(self, &session, &blob).await })
    }

    fn resolve(&self, prefix: &str) -> BoxFuture<'_, Result<SessionId, RuntimeError>> {
        let prefix = prefix.to_owned();
        Box::pin(async move {
            let ask = Query::get(&["resolve"]).with("prefix", Some(prefix));
            let named: Named = self.core.http.json(ask).await?;
            Ok(named.session_id)
        })
    }

    fn fork(
        &self,
        session: &SessionId,
        at_seq: Option<u64>,
    ) -> BoxFuture<'_, Result<SessionId, RuntimeError>> {
        let session = session.clone();
        Box::pin(async move {
            let body = at_seq.map_or_else(|| json!({}), |at_seq| json!({ "at_seq": at_seq }));
            let path = ["sessions", session.as_str(), "fork"];
            let named: Named = self.core.http.json(Query::post(&path, body).once()?).await?;
            Ok(named.session_id)
        })
    }

    fn preview_file_change(
        &self,
        session: &SessionId,
        _: Option<Arc<dyn Session>>,
        call: &ToolCallId,
    ) -> BoxFuture<'_, Result<FileChangePreview, RuntimeError>> {
        Box::pin(self.file(session.clone(), call.clone()))
    }

    fn plan_restore(
        &self,
        session: &SessionId,
        to_seq: u64,
    ) -> BoxFuture<'_, Result<RestorePlan, RuntimeError>> {
        Box::pin(self.restore_plan(session.clone(), to_seq))
    }

    fn restore(
        &self,
        session: &SessionId,
        _: Option<Arc<dyn Session>>,
        wish: RestoreRequest,
    ) -> BoxFuture<'_, Result<RestoreReport, RuntimeError>> {
        Box::pin(self.put_back(session.clone(), wish))
    }

    fn import(&self, export: SessionExport) -> BoxFuture<'_, Result<VerifyReport, RuntimeError>> {
        Box::pin(self.import_copy(export))
    }

    fn usage(&self, query: UsageQuery) -> BoxFuture<'_, Result<Vec<UsageRow>, RuntimeError>> {
        Box::pin(self.spent(query))
    }

    fn collect_garbage(&self) -> BoxFuture<'_, Result<u64, RuntimeError>> {
        Box::pin(self.give_back())
    }

    fn delete(&self, session: &SessionId) -> BoxFuture<'_, Result<(), RuntimeError>> {
        let session = session.clone();
        Box::pin(async move {
            let path = ["sessions", session.as_str()];
            self.core
                .http
                .bytes(Query::new(Method::DELETE, &path))
                .await
                .map(drop)
        })
    }

    fn verify(&self, session: &SessionId) -> BoxFuture<'_, Result<VerifyReport, RuntimeError>> {
        let session = session.clone();
        Box::pin(async move {
            let path = ["sessions", session.as_str(), "verify"];
            let ask = Query::post(&path, json!({})).repeatable();
            self.core.http.json(ask).await
        })
    }

    fn replay(&self, session: &SessionId) -> BoxFuture<'_, Result<ReplayReport, RuntimeError>> {
        let session = session.clone();
        Box::pin(async move {
            let path = ["sessions", session.as_str(), "replay"];
            let ask = Query::post(&path, json!({})).repeatable();
            self.core.http.json(ask).await
        })
    }

    fn context(
        &self,
        session: &SessionId,
        at_seq: Option<u64>,
    ) -> BoxFuture<'_, Result<ContextView, RuntimeError>> {
        let session = session.clone();
        Box::pin(async move {
            let path = ["sessions", session.as_str(), "context"];
            let ask = Query::get(&path).with("at_seq", at_seq.map(|at_seq| at_seq.to_string()));
            self.core.http.json(ask).await
        })
    }

    fn search(&self, words: &str, limit: usize) -> BoxFuture<'_, Result<Vec<SearchHit>, RuntimeError>> {
        let words = words.to_owned();
        Box::pin(async move {
            let ask = Query::get(&["search"])
                .with("q", Some(words))
                .with("limit", Some(limit.to_string()));
            self.core.http.json(ask).await
        })
    }

    fn models(&self) -> Vec<ModelInfo> {
        self.models.clone()
    }

    fn tools(&self) -> Vec<ToolSpec> {
        self.tools.clone()
    }

    fn reactors(&self) -> BoxFuture<'_, Result<Vec<ReactorInfo>, RuntimeError>> {
        Box::pin(self.core.http.json(Query::get(&["reactors"])))
    }

    fn agents(&self) -> BoxFuture<'_, Result<Vec<AgentInfo>, RuntimeError>> {
        Box::pin(self.core.http.json(Query::get(&["agents"])))
    }

    fn agent(&self, wanted: &NamedAgent) -> BoxFuture<'_, Result<AgentConfig, RuntimeError>> {
        let wanted = wanted.clone();
        Box::pin(self.named(wanted))
    }
}
