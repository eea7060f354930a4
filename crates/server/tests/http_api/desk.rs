//! A server with people around it, asked without a network.

use std::sync::Arc;

use agentx_config::{FolderTrust, Quotas, Settings};
use agentx_identity::{AuthChallenge, Keyring, SecretKey, Trusted, TrustedAs, owner_of, sign_challenge};
use agentx_node_runtime::{KeptBytes, NodeParts, NodeRuntime};
use agentx_runtime::{Agents, NoAgents, Tool};
use agentx_server::channel::ConnectionChannel;
use agentx_server::{Caller, Server, ServerLimits, ServerOptions, ServerState, bind, http};
use agentx_types::wire::{WheelFrame, WheelWish};
use agentx_types::{Rule, SessionId};
use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, Method, Request, StatusCode};
use serde_json::{Value, json};
use tower::ServiceExt as _;

/// A server, and who is known there: the operator, two members, and Vera, who decides about calls of members.
pub(crate) struct Desk {
    pub(crate) state: Arc<ServerState>,
    router: Router,
    pub(crate) operator: String,
    pub(crate) ann: String,
    pub(crate) bob: String,
    pub(crate) vera: String,
    pub(crate) ann_id: String,
    pub(crate) bob_id: String,
    pub(crate) vera_id: String,
    pub(crate) directory: tempfile::TempDir,
    /// The server, which does no chores unless a test runs it.
    pub(crate) server: Option<Server>,
}

/// An answer.
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {:?}", self.body))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// The code of a problem, which has to look like one.
    pub(crate) fn code(&self) -> String {
        assert_eq!(self.header("content-type"), "application/problem+json");
        let problem = self.json();
        assert_eq!(problem["status"], self.status.as_u16());
        let code = problem["code"].as_str().unwrap().to_owned();
        assert_eq!(problem["type"], format!("urn:agentx:problem:{code}"));
        assert!(problem["title"].is_string() && problem["detail"].is_string());
        code
    }

    pub(crate) fn ok(self) -> Self {
        assert!(
            self.status.is_success(),
            "{} {}",
            self.status,
            String::from_utf8_lossy(&self.body)
        );
        self
    }
}

/// A question.
pub(crate) struct Ask<'a> {
    desk: &'a Desk,
    request: axum::http::request::Builder,
    body: Body,
}

impl Ask<'_> {
    pub(crate) fn by(self, token: &str) -> Self {
        self.header("authorization", &format!("Bearer {token}"))
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.request = self.request.header(name, value);
        self
    }

    pub(crate) fn header_bytes(mut self, name: &str, value: &[u8]) -> Self {
        self.request = self.request.header(name, value);
        self
    }

    pub(crate) fn json(self, body: &Value) -> Self {
        let mut ask = self.header("content-type", "application/json");
        ask.body = Body::from(body.to_string());
        ask
    }

    pub(crate) fn text(mut self, body: impl Into<Body>) -> Self {
        self.body = body.into();
        self
    }

    /// The answer whose body is still to come.
    pub(crate) async fn open(self) -> axum::response::Response {
        let request: Request<Body> = self.request.body(self.body).unwrap();
        self.desk.router.clone().oneshot(request).await.unwrap()
    }

    pub(crate) async fn send(self) -> Reply {
        let (parts, body) = self.open().await.into_parts();
        Reply {
            status: parts.status,
            headers: parts.headers,
            body: to_bytes(body, 64 << 20).await.unwrap(),
        }
    }
}

/// A rule of a tool and a pattern of its arguments.
pub(crate) fn rule_of(words: &str) -> Rule {
    let (head, argument) = words.split_once(": ").unwrap();
    let (effect, tool) = head.split_once(' ').unwrap();
    Rule {
        effect: serde_json::from_value(json!(effect)).unwrap(),
        tool: tool.to_owned(),
        argument: Some(argument.to_owned()),
        path: None,
        workspace: None,
        origin: None,
    }
}

/// Bounds that no test meets by accident.
pub(crate) fn wide() -> ServerOptions {
    ServerOptions {
        listen: ([127, 0, 0, 1], 0).into(),
        limits: ServerLimits {
            rate: 1_000_000,
            burst: 1_000_000,
            ..ServerLimits::default()
        },
        ..ServerOptions::default()
    }
}

/// Returns the bytes that scripts keep for an owner: the number in a file with the owner's name, otherwise
/// none.
fn kept_bytes_in(directory: &std::path::Path) -> KeptBytes {
    let directory = directory.to_owned();
    Arc::new(move |owner| {
        let kept = std::fs::read_to_string(directory.join(owner.as_str()));
        let kept = kept.ok().and_then(|kept| kept.parse().ok()).unwrap_or(0);
        Ok(kept)
    })
}

impl Desk {
    pub(crate) async fn new() -> Self {
        Self::with(wide()).await
    }

    pub(crate) async fn with(options: ServerOptions) -> Self {
        Self::ruled(options, &[]).await
    }

    /// A server whose settings have these rules, each as in `deny bash: git push *`.
    pub(crate) async fn ruled(options: ServerOptions, rules: &[&str]) -> Self {
        Self::set(options, |settings| {
            settings.rules = rules.iter().map(|rule| rule_of(rule)).collect();
        })
        .await
    }

    /// A server with other settings.
    pub(crate) async fn set(options: ServerOptions, change: impl FnOnce(&mut Settings)) -> Self {
        let directory = tempfile::tempdir().unwrap();
        Self::at(directory, options, (Vec::new(), Arc::new(NoAgents)), change).await
    }

    /// A server whose files describe these agents.
    pub(crate) async fn with_agents(agents: Arc<dyn Agents>, change: impl FnOnce(&mut Settings)) -> Self {
        Self::at(tempfile::tempdir().unwrap(), wide(), (Vec::new(), agents), change).await
    }

    /// A server with other quotas.
    pub(crate) async fn with_quotas(change: impl FnOnce(&mut Quotas)) -> Self {
        Self::set(wide(), |settings| change(&mut settings.quotas)).await
    }

    /// Returns a server with an additional tool.
    pub(crate) async fn with_tool(tool: Arc<dyn Tool>, change: impl FnOnce(&mut Settings)) -> Self {
        let parts = (vec![tool], Arc::new(NoAgents) as Arc<dyn Agents>);
        Self::at(tempfile::tempdir().unwrap(), wide(), parts, change).await
    }

    /// A server whose folder has this `AGENTS.md`.
    pub(crate) async fn with_instructions(text: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("AGENTS.md"), text).unwrap();
        Self::at(directory, wide(), (Vec::new(), Arc::new(NoAgents)), |_| {}).await
    }

    async fn at(
        directory: tempfile::TempDir,
        options: ServerOptions,
        (tools, agents): (Vec<Arc<dyn Tool>>, Arc<dyn Agents>),
        change: impl FnOnce(&mut Settings),
    ) -> Self {
        let mut settings = crate::support::settings(directory.path());
        if directory.path().join("AGENTS.md").exists() {
            settings.folder.trust = FolderTrust::Trusted;
        }
        change(&mut settings);
        let keyring = Keyring::open(&settings.data_dir).unwrap();
        let operator = keyring.identity_or_new().unwrap();
        let people = [(); 3].map(|()| SecretKey::generate().unwrap());
        let roles = [
            ("Ann", TrustedAs::Member),
            ("Bob", TrustedAs::Member),
            ("Vera", TrustedAs::Approver),
        ];
        for (key, (name, role)) in people.iter().zip(roles) {
            let trusted = Trusted {
                public_key: *key.public_key(),
                name: Some(name.to_owned()),
                role,
            };
            keyring.trust(trusted).unwrap();
        }
        let mut parts = NodeParts::from_settings(&settings, "test").unwrap();
        for tool in tools {
            parts.tools.register(tool).unwrap();
        }
        let runtime = NodeRuntime::new(parts).with_kept_bytes(kept_bytes_in(directory.path()));
        let runtime = Arc::new(runtime.with_agents(agents));
        let server = bind(runtime, &settings, keyring, options).await.unwrap();
        let state = server.state().clone();
        let mut desk = Self {
            router: http::router(state.clone()),
            state,
            operator: String::new(),
            ann: String::new(),
            bob: String::new(),
            vera: String::new(),
            ann_id: owner_of(people[0].public_key()).to_string(),
            bob_id: owner_of(people[1].public_key()).to_string(),
            vera_id: owner_of(people[2].public_key()).to_string(),
            directory,
            server: Some(server),
        };
        desk.operator = desk.token(&operator).await;
        desk.ann = desk.token(&people[0]).await;
        desk.bob = desk.token(&people[1]).await;
        desk.vera = desk.token(&people[2]).await;
        desk
    }

    pub(crate) fn ask(&self, method: Method, path: &str) -> Ask<'_> {
        Ask {
            desk: self,
            request: Request::builder().method(method).uri(path),
            body: Body::empty(),
        }
    }

    pub(crate) fn get(&self, path: &str) -> Ask<'_> {
        self.ask(Method::GET, path)
    }

    /// Answers at an address of this machine from now on, and returns it.
    pub(crate) async fn listen(&self) -> String {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let serving = axum::serve(listener, self.router.clone());
        tokio::spawn(async move { serving.await.unwrap() });
        address
    }

    /// The directory that Ann's sessions work in.
    pub(crate) fn ann_dir(&self) -> std::path::PathBuf {
        let real = std::fs::canonicalize(self.directory.path()).unwrap();
        let directory = real.join("members").join(&self.ann_id);
        std::fs::create_dir_all(&directory).unwrap();
        directory
    }

    /// Returns a view of the session as Ann sees it.
    pub(crate) async fn seen(&self, path: &str) -> Value {
        self.get(path).by(&self.ann).send().await.ok().json()
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Ask<'_> {
        self.ask(Method::POST, path).json(body)
    }

    /// Returns the signed answer to a challenge by the holder of this key.
    pub(crate) async fn answer(&self, key: &SecretKey) -> Value {
        let asked = self
            .post("/v1/auth/challenge", &json!({}))
            .send()
            .await
            .ok()
            .json();
        let challenge = AuthChallenge {
            nonce: asked["nonce"].as_str().unwrap().to_owned(),
            origin: asked["origin"].as_str().unwrap().to_owned(),
            expires_at_ms: asked["expires_at_ms"].as_u64().unwrap(),
        };
        json!({
            "public_key": key.public_key().to_string(),
            "nonce": challenge.nonce,
            "expires_at_ms": challenge.expires_at_ms,
            "signature": sign_challenge(key, &challenge).to_string(),
        })
    }

    async fn token(&self, key: &SecretKey) -> String {
        let answer = self.answer(key).await;
        let token = self.post("/v1/auth/token", &answer).send().await.ok().json();
        token["token"].as_str().unwrap().to_owned()
    }

    /// The agent that the server gives a new session.
    pub(crate) async fn agent(&self) -> Value {
        self.get("/v1/agent").by(&self.ann).send().await.ok().json()
    }

    /// Creates a session of the owner of this token.
    pub(crate) async fn session(&self, token: &str) -> String {
        let config = json!({"config": self.agent().await});
        let made = self.post("/v1/sessions", &config).by(token).send().await.ok();
        made.json()["session_id"].as_str().unwrap().to_owned()
    }

    /// Says what somebody may do in a session.
    pub(crate) async fn share(&self, token: &str, session: &str, person: &str, role: Value) {
        let body = json!({"person": person, "role": role});
        let shared = self
            .post(&format!("/v1/sessions/{session}/roles"), &body)
            .by(token);
        shared.send().await.ok();
    }

    /// Releases the wheel that the owner of this token took by requests.
    pub(crate) async fn release(&self, token: &str, session: &str) {
        let mut headers = HeaderMap::new();
        headers.insert("authorization", format!("Bearer {token}").parse().unwrap());
        let caller = self
            .state
            .caller_of(&headers, &ConnectionChannel::Plain, "desk")
            .unwrap();
        let session_id = SessionId::new(session);
        let wish = WheelWish::Release;
        self.state
            .wheel(&caller, WheelFrame { session_id, wish })
            .await
            .unwrap();
    }

    /// Returns the owner of this token as a caller with this client.
    pub(crate) fn caller(&self, token: &str, client: &str) -> Caller {
        let mut headers = HeaderMap::new();
        headers.insert("authorization", format!("Bearer {token}").parse().unwrap());
        let mut caller = self
            .state
            .caller_of(&headers, &ConnectionChannel::Plain, "desk")
            .unwrap();
        client.clone_into(&mut caller.seat.client);
        caller
    }

    /// Returns the owner of this token as a caller, or a visitor.
    pub(crate) fn caller_or_visitor(&self, token: Option<&str>) -> Caller {
        let nobody = || {
            let channel = ConnectionChannel::Plain;
            self.state.caller_of(&HeaderMap::new(), &channel, "desk").unwrap()
        };
        token.map_or_else(nobody, |token| self.caller(token, "desk"))
    }

    /// Says something, and waits until it was answered.
    pub(crate) async fn say(&self, token: &str, session: &str, content: Value) -> u64 {
        let path = format!("/v1/sessions/{session}/messages");
        let said = self
            .post(&path, &json!({"content": content}))
            .by(token)
            .send()
            .await
            .ok();
        let seq = said.json()["seq"].as_u64().unwrap();
        self.until_finished(session, seq).await;
        seq
    }

    /// Waits until the run that an input opened has ended.
    pub(crate) async fn until_finished(&self, session: &str, seq: u64) {
        use agentx_runtime::{Delivery, View};
        let session = self.state.open(&SessionId::new(session)).await.unwrap();
        let mut events = session
            .subscribe(seq.saturating_sub(1), View::Runtime)
            .await
            .unwrap();
        while let Some(delivery) = events.next().await {
            if let Delivery::Runtime(event) = delivery
                && matches!(event.event, agentx_types::RuntimeEvent::RunFinished(_))
            {
                return;
            }
        }
        panic!("the session ended first");
    }
}
