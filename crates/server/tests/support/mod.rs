//! Shared helpers of the server's tests: a server with data of its own, people with keys, and a client that
//! knows only the protocol.
#![allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "each test file uses a part of it"
)]

use std::sync::Arc;
use std::time::Duration;

use agentx_config::{CommandLineSetting, ConfigPaths, LoadRequest, Settings, load};
use agentx_identity::{AuthChallenge, Keyring, SecretKey, Trusted, TrustedAs, sign_challenge};
use agentx_node_runtime::NodeRuntime;
use agentx_runtime::{
    Delivery, OpenRequest, Runtime as _, SharingFact, UsageBy, UsageQuery, UserInput, View,
};
use agentx_server::{Reload, ServerLimits, ServerOptions, ServerState, bind};
use agentx_types::{
    AccessChanged, AgentConfig, ApprovalMode, EnvironmentEvent, NanoUsd, OwnerId, Rule, SessionId,
    SessionRole,
};
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

/// The time limit of any wait.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// A server with data of its own.
pub struct World {
    pub data: Arc<tempfile::TempDir>,
    pub state: Arc<ServerState>,
    pub url: String,
    pub operator: SecretKey,
    stop: Option<oneshot::Sender<()>>,
    running: JoinHandle<()>,
}

pub fn options() -> ServerOptions {
    ServerOptions {
        listen: ([127, 0, 0, 1], 0).into(),
        limits: ServerLimits {
            rate: 10_000,
            burst: 10_000,
            ..ServerLimits::default()
        },
        ..ServerOptions::default()
    }
}

pub fn settings(data: &std::path::Path) -> Settings {
    let place = data.to_string_lossy().into_owned();
    let lookup = move |name: &str| matches!(name, "HOME" | "AGENTX_DATA").then(|| place.clone());
    let request = LoadRequest {
        places: ConfigPaths::find(data, &lookup).unwrap(),
        lookup: &lookup,
        flags: Vec::<CommandLineSetting>::new(),
    };
    Settings {
        members_dir: data.join("members"),
        ..load(request).unwrap().settings
    }
}

impl World {
    pub async fn new() -> Self {
        Self::with(options()).await
    }

    pub async fn with(options: ServerOptions) -> Self {
        Self::again(Arc::new(tempfile::tempdir().unwrap()), options).await
    }

    /// A server on data that is there already.
    pub async fn again(data: Arc<tempfile::TempDir>, options: ServerOptions) -> Self {
        Self::ruled(data, options, Vec::new()).await
    }

    /// The same, whose settings have these rules.
    pub async fn ruled(data: Arc<tempfile::TempDir>, options: ServerOptions, rules: Vec<Rule>) -> Self {
        Self::set(data, options, |settings| settings.rules = rules).await
    }

    /// The same with other settings.
    pub async fn set(
        data: Arc<tempfile::TempDir>,
        options: ServerOptions,
        change: impl FnOnce(&mut Settings),
    ) -> Self {
        let mut settings = settings(data.path());
        change(&mut settings);
        Self::serving(data, options, settings, None).await
    }

    /// The same, which reads its settings again as `reload` says.
    pub async fn reloading(data: Arc<tempfile::TempDir>, reload: Reload) -> Self {
        let settings = settings(data.path());
        Self::serving(data, options(), settings, Some(reload)).await
    }

    async fn serving(
        data: Arc<tempfile::TempDir>,
        options: ServerOptions,
        settings: Settings,
        reload: Option<Reload>,
    ) -> Self {
        let keyring = Keyring::open(data.path()).unwrap();
        let operator = keyring.identity_or_new().unwrap();
        let runtime = Arc::new(NodeRuntime::from_settings(&settings, "server-test").unwrap());
        let mut server = bind(runtime, &settings, keyring, options).await.unwrap();
        if let Some(reload) = reload {
            server = server.reloading(reload);
        }
        let (stop, stopped) = oneshot::channel();
        let state = server.state().clone();
        let url = server.url().to_owned();
        let running = tokio::spawn(async move {
            server
                .run(async {
                    let _ = stopped.await;
                })
                .await
                .unwrap();
        });
        Self {
            data,
            state,
            url,
            operator,
            stop: Some(stop),
            running,
        }
    }

    /// A member with a key of their own.
    pub fn member(&self, name: &str) -> (SecretKey, OwnerId) {
        let key = SecretKey::generate().unwrap();
        self.trust(name, &key);
        let owner = agentx_identity::owner_of(key.public_key());
        (key, owner)
    }

    /// Whoever has this key is a member.
    pub fn trust(&self, name: &str, key: &SecretKey) {
        let trusted = Trusted {
            public_key: *key.public_key(),
            name: Some(name.to_owned()),
            role: TrustedAs::Member,
        };
        Keyring::at(self.data.path()).trust(trusted).unwrap();
    }

    /// A session of the operator with the offline demo.
    pub async fn session(&self, approval: ApprovalMode) -> SessionId {
        self.session_of(&"own_local".into(), approval).await
    }

    pub async fn session_of(&self, owner: &OwnerId, approval: ApprovalMode) -> SessionId {
        let config = demo_agent(&self.state, approval);
        self.state.create(owner, config).await.unwrap()
    }

    /// The same with a model that costs money.
    pub async fn dear_session_of(&self, owner: &OwnerId, approval: ApprovalMode) -> SessionId {
        let config = dear_agent(&self.state, approval);
        self.state.create(owner, config).await.unwrap()
    }

    /// A session of the operator, and they at their desk.
    pub async fn desk(&self, approval: ApprovalMode) -> (SessionId, Client) {
        (self.session(approval).await, self.client("desk").await)
    }

    /// The same, with Bob at his laptop, who has a role in the session.
    pub async fn desk_and_laptop(&self, approval: ApprovalMode, role: &str) -> Two {
        let (session, mut desk) = self.desk(approval).await;
        let (bob, bob_id) = self.member("bob");
        desk.share(&session, bob_id.as_str(), Some(role)).await;
        let laptop = self.client_of(&bob, "laptop").await;
        Two {
            session,
            desk,
            laptop,
            bob_id,
        }
    }

    /// The operator at a program of theirs.
    pub async fn client(&self, name: &str) -> Client {
        self.client_of(&self.operator, name).await
    }

    pub async fn client_of(&self, key: &SecretKey, name: &str) -> Client {
        let mut client = Client::connect(&self.url).await;
        let hello = client.notice("hello").await;
        client.authenticate(&hello, key, name).await;
        client
    }

    pub async fn visitor(&self, name: &str) -> Client {
        let mut client = Client::connect(&self.url).await;
        client.notice("hello").await;
        let who = client.accepted("authenticate", json!({"client": name})).await;
        assert_eq!(who["result"]["visitor"], true);
        client
    }

    /// Ends the server as a signal would.
    pub async fn end(mut self) -> Arc<tempfile::TempDir> {
        let _ = self.stop.take().unwrap().send(());
        within(self.running).await.unwrap();
        self.data
    }
}

/// An agent with the offline demo.
fn demo_agent(state: &ServerState, approval: ApprovalMode) -> AgentConfig {
    let runtime = state.runtime();
    let model = runtime.models().into_iter().next().unwrap().spec;
    let mut config = state.settings().agent(model, runtime.tools());
    config.approval = approval;
    config
}

/// A session of somebody in which a run of a program other than a server was cut off by a kill; these people
/// may look.
pub fn cut_off(settings: &Settings, owner: &OwnerId, watchers: &[&str]) -> SessionId {
    cut_off_in(settings, (owner, watchers), |program| program)
}

/// The same for the operator, in a session that a server had opened.
pub fn cut_off_at_a_server(settings: &Settings) -> SessionId {
    cut_off_in(settings, (&"own_local".into(), &[]), |program| {
        program.as_server()
    })
}

fn cut_off_in(
    settings: &Settings,
    (owner, watchers): (&OwnerId, &[&str]),
    program: impl Fn(NodeRuntime) -> NodeRuntime,
) -> SessionId {
    let killed = tokio::runtime::Runtime::new().unwrap();
    let (program, session) = killed.block_on(async {
        let program = program(NodeRuntime::from_settings(settings, "killed").unwrap());
        let program = program.for_owner(owner.clone());
        let model = program.models().into_iter().next().unwrap().spec;
        let mut config = settings.agent(model, program.tools());
        config.approval = ApprovalMode::Auto;
        let session = program.open(OpenRequest::New(Box::new(config))).await.unwrap();
        for person in watchers {
            let watches = AccessChanged {
                person: OwnerId::new(*person),
                role: Some(SessionRole::Watch),
                by: None,
            };
            session
                .record_sharing(SharingFact::Access(watches))
                .await
                .unwrap();
        }
        let mut facts = session.subscribe(0, View::Environment).await.unwrap();
        session.send(UserInput::text("count to 100")).await.unwrap();
        let is_chunk = |delivery: &Delivery| match delivery {
            Delivery::Environment(fact) => matches!(fact.event, EnvironmentEvent::TextChunk(_)),
            _ => false,
        };
        while !is_chunk(&within(facts.next()).await.unwrap()) {}
        (program, session)
    });
    // A session that is let go of while the program runs is closed, and its run is recorded as interrupted.
    killed.shutdown_timeout(PATIENCE);
    let id = session.id().clone();
    drop((session, program));
    id
}

/// The price of one output token of an expensive model.
pub const CENT: NanoUsd = NanoUsd(10_000_000);

/// The same with a model that costs money.
pub fn dear_agent(state: &ServerState, approval: ApprovalMode) -> AgentConfig {
    let mut config = demo_agent(state, approval);
    config.model.prices.output = CENT.0;
    config
}

/// Returns the cost of a person's sessions.
pub async fn spent_by(state: &ServerState, owner: &OwnerId) -> NanoUsd {
    let query = UsageQuery {
        owner: owner.clone(),
        by: UsageBy::Model,
        session: None,
        since: None,
    };
    let rows = state.runtime_of(owner).usage(query).await.unwrap();
    NanoUsd(rows.iter().map(|row| row.cost.0).sum())
}

/// An amount of whole cents, as people read it.
pub fn dollars(amount: NanoUsd) -> String {
    let cents = amount.0 / CENT.0;
    format!("${}.{:02}", cents / 100, cents % 100)
}

/// Two people at a session.
pub struct Two {
    pub session: SessionId,
    /// The owner.
    pub desk: Client,
    /// Bob's.
    pub laptop: Client,
    pub bob_id: OwnerId,
}

/// Waits, but not for ever.
pub async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, work).await.expect("in time")
}

/// A client that knows nothing but the protocol.
pub struct Client {
    pub socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    ids: u64,
    /// The frames that came while another one was awaited.
    pub aside: Vec<Value>,
}

impl Client {
    pub async fn connect(url: &str) -> Self {
        let request = socket_url(url).into_client_request().unwrap();
        let (socket, _) = within(tokio_tungstenite::connect_async(request)).await.unwrap();
        Self::of(socket)
    }

    pub fn of(socket: WebSocketStream<MaybeTlsStream<TcpStream>>) -> Self {
        Self {
            socket,
            ids: 0,
            aside: Vec::new(),
        }
    }

    pub async fn authenticate(&mut self, hello: &Value, key: &SecretKey, name: &str) -> Value {
        let payload = Self::proof(hello, key, name);
        self.accepted("authenticate", payload).await
    }

    /// The same if it ends the connection; returns the reason.
    pub async fn authenticate_unheard(&mut self, hello: &Value, key: &SecretKey, name: &str) -> Value {
        self.send("authenticate", Self::proof(hello, key, name)).await;
        self.bye().await
    }

    fn proof(hello: &Value, key: &SecretKey, name: &str) -> Value {
        let hello = &hello["payload"];
        let challenge = AuthChallenge {
            nonce: hello["nonce"].as_str().unwrap().to_owned(),
            origin: hello["origin"].as_str().unwrap().to_owned(),
            expires_at_ms: hello["expires_at_ms"].as_u64().unwrap(),
        };
        json!({
            "public_key": key.public_key().to_string(),
            "signature": sign_challenge(key, &challenge).to_string(),
            "client": name,
        })
    }

    pub async fn raw(&mut self, text: impl Into<String>) {
        within(self.socket.send(Message::text(text.into())))
            .await
            .unwrap();
    }

    /// Sends a frame. Returns its id.
    pub async fn send(&mut self, kind: &str, payload: Value) -> String {
        self.ids += 1;
        let id = format!("c{}", self.ids);
        self.raw(json!({"type": kind, "id": id, "payload": payload}).to_string())
            .await;
        id
    }

    /// The next frame; `None` at the end.
    pub async fn next(&mut self) -> Option<Value> {
        loop {
            match within(self.socket.next()).await {
                Some(Ok(Message::Text(text))) => return Some(serde_json::from_str(text.as_str()).unwrap()),
                Some(Ok(Message::Close(_)) | Err(_)) | None => return None,
                Some(Ok(_)) => {}
            }
        }
    }

    /// The next frame that fits; those before it are set aside.
    pub async fn until(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        let wait = async {
            loop {
                let frame = self.next().await.expect("it goes on");
                if fits(&frame) {
                    return frame;
                }
                self.aside.push(frame);
            }
        };
        let found = tokio::time::timeout(PATIENCE, wait).await;
        found.unwrap_or_else(|_| panic!("it did not come; there were {:?}", self.aside))
    }

    /// The same, but it may have come already.
    pub async fn find(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        match self.aside.iter().position(&fits) {
            Some(at) => self.aside.remove(at),
            None => self.until(fits).await,
        }
    }

    pub async fn notice(&mut self, event: &str) -> Value {
        self.until(|frame| frame["event"] == event).await
    }

    /// Returns the answer to the frame with this id.
    pub async fn answer(&mut self, id: &str) -> Value {
        let is_answer = |frame: &Value| {
            matches!(frame["event"].as_str(), Some("accepted" | "refused")) && frame["payload"]["id"] == id
        };
        self.until(is_answer).await
    }

    pub async fn ask(&mut self, kind: &str, payload: Value) -> Value {
        let id = self.send(kind, payload).await;
        self.answer(&id).await
    }

    pub async fn accepted(&mut self, kind: &str, payload: Value) -> Value {
        let answer = self.ask(kind, payload).await;
        assert_eq!(answer["event"], "accepted", "{answer}");
        answer["payload"].clone()
    }

    /// The code of the problem that a frame is refused with.
    pub async fn refused(&mut self, kind: &str, payload: Value) -> String {
        let answer = self.ask(kind, payload).await;
        assert_eq!(answer["event"], "refused", "{answer}");
        answer["payload"]["problem"]["code"].as_str().unwrap().to_owned()
    }

    pub async fn subscribe(&mut self, session: &SessionId, after_seq: u64, view: &str) -> Value {
        let payload = json!({"session_id": session, "after_seq": after_seq, "view": view});
        let id = self.send("subscribe", payload).await;
        let subscribed = self
            .until(|frame| frame["event"] == "subscribed" || frame["event"] == "refused")
            .await;
        assert_eq!(subscribed["event"], "subscribed", "{subscribed}");
        self.answer(&id).await;
        subscribed["payload"].clone()
    }

    /// Gives a person a role in a session, or takes it.
    pub async fn share(&mut self, session: &SessionId, person: &str, role: Option<&str>) {
        let args = json!({"person": person, "role": role});
        let command = json!({"session_id": session, "command": "share", "args": args});
        self.accepted("system_command", command).await;
    }

    pub async fn say(&mut self, session: &SessionId, words: &str) -> u64 {
        let answer = self
            .accepted("user_message", json!({"session_id": session, "content": words}))
            .await;
        answer["seq"].as_u64().unwrap()
    }

    /// Facts, or their meaning, until one with this tag.
    pub async fn events_until(&mut self, tag: &str) -> Vec<Value> {
        let mut events: Vec<Value> = self.aside.extract_if(.., |frame| frame["seq"].is_u64()).collect();
        if events.iter().any(|event| event["event"] == tag) {
            return events;
        }
        loop {
            let frame = self.next().await.expect("it goes on");
            let is_last = frame["event"] == tag && frame["seq"].is_u64();
            if frame["seq"].is_u64() {
                events.push(frame);
            } else {
                self.aside.push(frame);
            }
            if is_last {
                return events;
            }
        }
    }

    /// Returns the reason why the connection ends.
    pub async fn bye(&mut self) -> Value {
        self.notice("bye").await["payload"].clone()
    }
}

pub fn socket_url(url: &str) -> String {
    format!("{}/v1/socket", url.replacen("http", "ws", 1))
}

pub fn tags(events: &[Value]) -> Vec<&str> {
    events
        .iter()
        .map(|event| event["event"].as_str().unwrap())
        .collect()
}

pub fn seqs(events: &[Value]) -> Vec<u64> {
    events
        .iter()
        .map(|event| event["seq"].as_u64().unwrap())
        .collect()
}
