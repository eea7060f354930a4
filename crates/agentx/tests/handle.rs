//! The guarantees for a program beyond the examples: dropping a future stops its run, mistakes are
//! distinguished, and nothing secret is shown.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::future::IntoFuture;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use agentx::bus::{Filter, Listener, Queue, Restart};
use agentx::config::{ConfigPaths, LoadRequest, Settings, load};
use agentx::runtime::{
    Batch, BlobStore, BoxFuture, Digest, Fact, LogError, NewLog, ReactorInfo, ReactorState, ServedInfo,
    SessionInfo, SessionLog, SessionQuery, SystemBus, ToolEnvironment, UserInput, Writer,
};
use agentx::testing::StrictServer;
use agentx::testing::vendors::{AnswerPart, Anthropic, ModelAnswer, ResponsesServer};
use agentx::types::{ApprovalMode, BlobId, OwnerId, RunStatus, SessionId};
use agentx::{
    AgentBuilder, AgentError, ClaudeEnvironment, IntoTool as _, MemoryLog, NodeRuntime, OpenAiEnvironment,
    Reply, RuntimeError, Update, json,
};

/// Nothing here takes longer.
const BOUND: Duration = Duration::from_secs(30);

async fn soon<T>(what: impl IntoFuture<Output = T>) -> T {
    tokio::time::timeout(BOUND, what.into_future()).await.unwrap()
}

/// Settings of a home with nothing in it but this key.
fn settings(home: &tempfile::TempDir) -> Settings {
    let place = home.path().to_string_lossy().into_owned();
    let file = home.path().join("config.yaml");
    std::fs::write(&file, "providers:\n  anthropic:\n    api_key: sk-very-secret\n").unwrap();
    let env = move |name: &str| match name {
        "HOME" | "AGENTX_DATA" => Some(place.clone()),
        "AGENTX_CONFIG" => Some(file.to_string_lossy().into_owned()),
        _ => None,
    };
    let places = ConfigPaths::find(home.path(), &env).unwrap();
    let request = LoadRequest {
        places,
        lookup: &env,
        flags: Vec::new(),
    };
    load(request).unwrap().settings
}

/// Returns its argument.
#[agentx::tool(change)]
async fn repeat_it(
    /// The words.
    words: String,
) -> Result<String, String> {
    Ok(words)
}

fn agent(home: &tempfile::TempDir) -> AgentBuilder {
    agentx::agent("You repeat.")
        .settings(settings(home))
        .model("scripted")
        .tool(repeat_it)
}

#[tokio::test]
async fn an_ask_that_waits_its_turn_is_stopped_alone() {
    let home = tempfile::tempdir().unwrap();
    let agent = agent(&home).start().await.unwrap();
    let mut first = agent.stream("count to 40").await.unwrap();
    let second = agent.stream("tell a long story").await.unwrap();
    let second_run = second.run().clone();
    soon(first.next()).await.unwrap().unwrap();
    drop(second);
    let answer = soon(async { first.await.unwrap() }).await;
    assert!(answer.text.contains("40"), "the run before it goes on: {answer}");
    let third = soon(async { agent.ask("say well").await.unwrap() }).await;
    assert_eq!(third.text, "well");
    let story = soon(async { agent.listen_again(&second_run).await }).await;
    assert_eq!(story, RunStatus::Interrupted);
}

/// Lists the ends of runs, as the log has them.
trait ListenAgain {
    fn listen_again(&self, run: &agentx::types::RunId) -> impl Future<Output = RunStatus> + Send;
}

impl ListenAgain for agentx::AgentHandle {
    async fn listen_again(&self, run: &agentx::types::RunId) -> RunStatus {
        let mut events = self.session().subscribe(0, agentx::View::Runtime).await.unwrap();
        while let Some(delivery) = events.next().await {
            if let agentx::Delivery::Runtime(event) = delivery
                && let agentx::types::RuntimeEvent::RunFinished(finished) = &event.event
                && finished.run_id == *run
            {
                return finished.status;
            }
        }
        panic!("it never ended");
    }
}

#[tokio::test]
async fn a_question_outlives_who_asked_and_can_be_refused() {
    let home = tempfile::tempdir().unwrap();
    let agent = agent(&home).start().await.unwrap();
    let mut answer = agent.stream("repeat it: hello").await.unwrap();
    let call = loop {
        if let Update::ApprovalRequired(call) = soon(answer.next()).await.unwrap().unwrap() {
            break call;
        }
    };
    let again = soon(async { agent.answer().await }).await.unwrap_err();
    assert!(
        matches!(again, AgentError::ApprovalRequired { ref calls } if calls[0] == call),
        "{again}"
    );
    agent.deny(&call.tool_call_id, "not today").await.unwrap();
    let refused = soon(async { answer.await.unwrap() }).await;
    assert!(refused.text.contains("not today"), "{refused}");
    let late = agent.approve(&call.tool_call_id).await.unwrap_err();
    assert!(
        matches!(late, AgentError::Runtime(RuntimeError::Refused(_))),
        "{late}"
    );
}

/// A call of [`wait_for_ever`] has begun.
static BEGUN: tokio::sync::Notify = tokio::sync::Notify::const_new();

/// Waits.
#[agentx::tool]
async fn wait_for_ever() -> Result<String, String> {
    BEGUN.notify_one();
    std::future::pending().await
}

#[tokio::test]
async fn what_waits_when_a_session_is_closed_does_not_begin() {
    let home = tempfile::tempdir().unwrap();
    let log = Arc::new(MemoryLog::new());
    let server = StrictServer::anthropic(Anthropic::new(), |_| {
        ModelAnswer::default().then(AnswerPart::Call {
            id: "toolu_1".into(),
            name: "wait_for_ever".into(),
            input: json!({}),
        })
    })
    .await;
    let agent = || {
        let agent = agentx::agent("You wait.")
            .settings(settings(&home))
            .log(log.clone());
        agent.model("opus").base_url(server.url()).tool(wait_for_ever)
    };
    let first = agent().start().await.unwrap();
    let id = first.id().clone();
    for text in ["wait", "and again"] {
        first.session().send(UserInput::text(text)).await.unwrap();
    }
    soon(BEGUN.notified()).await;
    soon(first.close()).await;
    let back = agent().resume(&id).await.unwrap();
    let state = back.state().await.unwrap();
    let waiting: Vec<&str> = state.queued.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(waiting, ["and again"]);
    assert_eq!(state.run.map(|run| run.status), Some(RunStatus::Interrupted));
    assert_eq!(server.requests().len(), 1, "the model is not asked again");
}

#[tokio::test]
async fn mistakes_are_told_apart() {
    let home = tempfile::tempdir().unwrap();
    let twice = agent(&home).tool(repeat_it).start().await.unwrap_err();
    assert!(matches!(twice, AgentError::Tool(_)), "{twice}");
    let unknown = agent(&home).model("sonet").start().await.unwrap_err();
    assert!(unknown.to_string().contains("did you mean sonnet"), "{unknown}");
    let keyless = agent(&home).model("openai/gpt-5").start().await.unwrap_err();
    assert!(keyless.to_string().contains("OPENAI_API_KEY"), "{keyless}");
    let nothing = agent(&home).start().await.unwrap().answer().await.unwrap_err();
    assert!(nothing.to_string().contains("has no messages yet"), "{nothing}");
}

#[tokio::test]
async fn without_a_place_nothing_is_kept_and_nothing_secret_is_shown() {
    let home = tempfile::tempdir().unwrap();
    let builder = agent(&home).approval(ApprovalMode::Auto);
    assert!(!format!("{builder:?}").contains("secret"));
    let agent = builder.start().await.unwrap();
    assert!(!format!("{agent:?}").contains("secret"));
    let answer = soon(async { agent.ask("repeat it: hello").await.unwrap() }).await;
    assert!(answer.text.contains("hello") && answer.model_calls == 2);
    let session = agent.session().clone();
    drop(agent);
    // The work after the drop is queued behind everything before it.
    soon(session.suspend()).await;
    let left: Vec<_> = std::fs::read_dir(home.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["config.yaml"], "nothing is kept");
}

/// Says what the weather is like.
#[agentx::tool]
async fn weather() -> Result<String, String> {
    Ok("sunny".into())
}

/// Breaks.
#[agentx::tool]
async fn fragile() -> Result<String, String> {
    panic!("it is broken")
}

#[tokio::test]
async fn who_serves_what_is_listed_with_what_came_of_it() {
    let script = [
        Reply::call("fragile", json!({})),
        "It broke.".into(),
        Reply::call("weather", json!({})),
        "Sunny.".into(),
    ];
    let agent = agentx::agent("You help.").all_tools().scripted(script);
    let agent = agent.start().await.unwrap();
    let tools = ToolEnvironment::new("house", [fragile.into_tool(), weather.into_tool()]);
    let house = agent.attach(tools).await.unwrap();
    let idle = Listener::new("idle", Filter::all(), Queue::lag(1), |_: SystemBus, _| async {});
    agent.attach(idle).await.unwrap();
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let answers = [
        soon(agent.ask("break it")).await,
        soon(agent.ask("weather?")).await,
    ];
    std::panic::set_hook(hook);
    assert_eq!(
        answers.map(|answer| answer.unwrap().text),
        ["It broke.", "Sunny."]
    );

    let listed = agent.runtime().reactors().await.unwrap();
    let names: Vec<&str> = listed.iter().map(|reactor| reactor.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "timers",
            "models",
            "condenser",
            "tools",
            "rules",
            "model",
            "house",
            "idle"
        ]
    );
    let is_built_in = |reactor: &ReactorInfo| reactor.state == ReactorState::BuiltIn;
    assert!(listed[..6].iter().all(is_built_in) && !listed[6..].iter().any(is_built_in));
    assert_eq!(listed[1].serves[0].settled, 4, "the models were asked four times");
    let came_of = |served: &ServedInfo| (served.name.clone(), served.settled, served.lost, served.in_flight);
    let came: Vec<_> = listed[6].serves.iter().map(came_of).collect();
    assert_eq!(
        came,
        [("fragile".to_owned(), 0, 1, 0), ("weather".to_owned(), 1, 0, 0)]
    );
    assert_eq!(listed[6].serves[1].on[0].key, "weather");
    assert!(listed[7].serves.is_empty());

    assert!(agent.detach(house, BOUND).await);
    let left = agent.runtime().reactors().await.unwrap();
    assert!(left.iter().all(|reactor| reactor.name != "house"));
}

/// A runtime of a person who has no key of OpenAI, and another one's key of Anthropic.
fn runtime(home: &tempfile::TempDir) -> Arc<NodeRuntime> {
    Arc::new(NodeRuntime::from_settings(&settings(home), "handle").unwrap())
}

#[tokio::test]
async fn an_environment_of_a_vendor_has_a_key_of_its_own_and_goes_with_it() {
    let home = tempfile::tempdir().unwrap();
    let runtime = runtime(&home);
    let catalog = agentx::llm::Catalog::builtin();
    let mut models = catalog.models().iter().map(|entry| &entry.spec);
    let model = models.find(|spec| spec.provider == "openai").unwrap();
    let model = model.id.as_str();
    let agent = || {
        let agent = agentx::agent("You help.").model(format!("openai/{model}"));
        agent.runtime(runtime.clone())
    };
    let missing = agent().start().await.unwrap_err();
    assert!(missing.to_string().contains("OPENAI_API_KEY"), "{missing}");

    let vendor = ResponsesServer::new();
    let server = StrictServer::responses(vendor, |_| ModelAnswer::text("from OpenAI")).await;
    let openai = OpenAiEnvironment::new("key-of-openai").at(format!("{}/v1", server.url()));
    let openai = runtime.attach(openai, Restart::Never).await.unwrap();
    let asked = agent().start().await.unwrap();
    assert_eq!(soon(asked.ask("hello")).await.unwrap().text, "from OpenAI");
    assert_eq!(
        server.requests()[0].header("authorization"),
        Some("Bearer key-of-openai")
    );
    assert!(runtime.detach(openai, BOUND).await);
    assert!(soon(asked.ask("hello")).await.is_err() && server.requests().len() == 1);
}

#[tokio::test]
async fn recall_is_on_offer_from_the_start_so_that_requests_keep_their_beginning() {
    let server = StrictServer::anthropic(Anthropic::new(), |_| ModelAnswer::text("hello")).await;
    let agent = agentx::agent("You help.").model("opus").tool(repeat_it);
    let agent = agent.api_key("key").base_url(server.url()).start().await.unwrap();
    soon(agent.ask("hello")).await.unwrap();
    let asked: serde_json::Value = serde_json::from_slice(&server.requests()[0].body).unwrap();
    let tools: Vec<_> = asked["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| &tool["name"])
        .collect();
    assert_eq!(tools, ["repeat_it", "recall"]);
}

#[tokio::test]
async fn claude_is_asked_with_the_key_of_the_environment_that_was_attached_last() {
    let home = tempfile::tempdir().unwrap();
    let runtime = runtime(&home);
    let server = StrictServer::anthropic(Anthropic::new(), |_| ModelAnswer::text("from Claude")).await;
    for key in ["first-key", "second-key"] {
        let claude = ClaudeEnvironment::new(key).at(server.url());
        runtime.attach(claude, Restart::Never).await.unwrap();
        let agent = agentx::agent("You help.").model("opus").runtime(runtime.clone());
        let agent = agent.start().await.unwrap();
        assert_eq!(soon(agent.ask("hello")).await.unwrap().text, "from Claude");
    }
    let keys: Vec<_> = server
        .requests()
        .iter()
        .map(|request| request.header("x-api-key").map(str::to_owned))
        .collect();
    assert_eq!(
        keys,
        [Some("first-key".to_owned()), Some("second-key".to_owned())]
    );
    server.refused_nothing();
}

#[test]
fn an_error_of_the_programs_own_files_is_told_as_such() {
    fn reads() -> Result<String, AgentError> {
        Ok(std::fs::read_to_string("/nowhere/at/all")?)
    }
    let error = reads().unwrap_err();
    let own = std::fs::read_to_string("/nowhere/at/all").unwrap_err();
    assert!(matches!(error, AgentError::Io(_)));
    assert_eq!(error.to_string(), own.to_string());
}

/// A custom log: the nine methods that a log must have, and its blobs.
struct Own(MemoryLog);

impl BlobStore for Own {
    fn put_blob(&self, bytes: Vec<u8>) -> BoxFuture<'_, Result<BlobId, LogError>> {
        self.0.put_blob(bytes)
    }

    fn get_blob(&self, id: &BlobId, range: Range<u64>) -> BoxFuture<'_, Result<Vec<u8>, LogError>> {
        self.0.get_blob(id, range)
    }

    fn blob_size(&self, id: &BlobId) -> BoxFuture<'_, Result<u64, LogError>> {
        self.0.blob_size(id)
    }
}

impl SessionLog for Own {
    fn create(&self, new: NewLog) -> BoxFuture<'_, Result<(), LogError>> {
        self.0.create(new)
    }

    fn attach(&self, session: &SessionId) -> BoxFuture<'_, Result<Writer, LogError>> {
        self.0.attach(session)
    }

    fn append(&self, writer: &Writer, batch: Batch) -> BoxFuture<'_, Result<(), LogError>> {
        self.0.append(writer, batch)
    }

    fn read(
        &self,
        session: &SessionId,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Fact>, LogError>> {
        self.0.read(session, after, limit)
    }

    fn digests(&self, session: &SessionId) -> BoxFuture<'_, Result<Vec<(u64, Digest)>, LogError>> {
        self.0.digests(session)
    }

    fn info(&self, session: &SessionId) -> BoxFuture<'_, Result<SessionInfo, LogError>> {
        self.0.info(session)
    }

    fn list(&self, query: SessionQuery) -> BoxFuture<'_, Result<Vec<SessionInfo>, LogError>> {
        self.0.list(query)
    }

    fn under_way(&self) -> BoxFuture<'_, Result<Vec<(SessionId, OwnerId)>, LogError>> {
        self.0.under_way()
    }

    fn reminding(&self) -> BoxFuture<'_, Result<Vec<(SessionId, OwnerId)>, LogError>> {
        self.0.reminding()
    }

    fn delete(&self, session: &SessionId) -> BoxFuture<'_, Result<(), LogError>> {
        self.0.delete(session)
    }
}

#[tokio::test]
async fn a_log_of_nine_methods_keeps_agents_and_says_what_it_has_not() {
    let log = Arc::new(Own(MemoryLog::new()));
    let agent = || agentx::agent("You help.").model("scripted").log(log.clone());
    let first = agent().start().await.unwrap();
    let picture = log.put_blob(b"a picture".to_vec()).await.unwrap();
    soon(first.ask(format!("say {picture}"))).await.unwrap();
    let id = first.id().clone();
    first.suspend().await;

    let again = agent().resume(&id).await.unwrap();
    assert!(
        soon(again.answer())
            .await
            .unwrap()
            .text
            .contains(picture.as_str())
    );
    let runtime = again.runtime();
    assert_eq!(runtime.resolve(&id.as_str()[..12]).await.unwrap(), id);
    assert_eq!(runtime.replay(&id).await.unwrap().divergence, None);
    for unknown in ["words", "more words"] {
        let error = runtime.search(unknown, 10).await.unwrap_err();
        assert!(
            error.to_string().contains("does not support an index of words"),
            "{error}"
        );
    }
    let named = log.names_blob(&id, &picture).await.unwrap();
    assert_eq!(named, log.0.names_blob(&id, &picture).await.unwrap());
    assert!(named.is_some());
    let owner = runtime.owner();
    let somebody = OwnerId::new("own_somebody");
    assert_eq!(log.access(&id, &somebody).await.unwrap(), (owner.clone(), None));
}
