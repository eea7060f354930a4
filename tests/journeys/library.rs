//! Interrupts in a program that embeds the runtime: `Session::interrupt` in each state of a run, with the
//! real log and the real tools.

use std::future::Future;
use std::sync::Arc;

use agentx::bus::{Filter, Queue};
use agentx::node::scripted::ScriptedEnvironment;
use agentx::node::{NodeParts, NodeRuntime};
use agentx::runtime::{
    Delivery, ModelInfo, OpenRequest, Runtime as _, Session, SessionLog as _, Subscription, SystemClock,
    SystemEvent, UserInput, View,
};
use agentx::sqlite_log::{LogOptions, SqliteLog};
use agentx::tools::{ToolOptions, Toolbox};
use agentx::types::{Api, ApprovalMode, EnvironmentEvent, OwnerId, RunStatus, RuntimeEvent};
use agentx_testing::{Gate, ModelScript, ScriptedModel, fixture};
use agentx_tests::{BOUND, Leash};
use serde_json::json;

struct Place {
    home: tempfile::TempDir,
    log: Arc<SqliteLog>,
    runtime: NodeRuntime,
    model: ScriptedModel,
    session: Arc<dyn Session>,
    events: Subscription,
}

/// Nothing here takes longer.
async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(BOUND, what).await.unwrap()
}

impl Place {
    async fn new(approval: ApprovalMode, answers: impl IntoIterator<Item = ModelScript>) -> Self {
        let home = tempfile::tempdir().unwrap();
        let log = SqliteLog::open(home.path().join("sessions.db"), LogOptions::default()).unwrap();
        let model = ScriptedModel::new(answers);
        let tools = Toolbox::builtin(ToolOptions::default());
        let mut config = fixture::config();
        config.tools = tools.specs();
        config.approval = approval;
        config.workspace = home.path().to_string_lossy().into_owned();
        config.model = fixture::model(Api::Anthropic);
        let runtime = NodeRuntime::new(NodeParts {
            log: log.clone(),
            owner: OwnerId::new("own_local"),
            models: vec![ModelInfo::new(fixture::model(Api::Anthropic))],
            wire_options: Arc::new(|_| Default::default()),
            network: Arc::new(model.clone()),
            scripted: ScriptedEnvironment::instant(),
            tools,
            clock: Arc::new(SystemClock),
            guard: None,
            redactor: None,
            context: Default::default(),
            analyzers: Default::default(),
            learner: None,
            program: "test".into(),
            data_dir: home.path().to_owned(),
        });
        let session = runtime.open(OpenRequest::New(Box::new(config))).await.unwrap();
        let events = session.subscribe(0, View::Runtime).await.unwrap();
        Self {
            home,
            log,
            runtime,
            model,
            session,
            events,
        }
    }

    async fn say(&self, text: &str) {
        let input = UserInput::text(text);
        self.session.send(input).await.unwrap();
    }

    async fn until(&mut self, wanted: impl Fn(&RuntimeEvent) -> bool) -> RuntimeEvent {
        loop {
            let delivery = soon(self.events.next()).await.unwrap();
            if let Delivery::Runtime(event) = delivery
                && wanted(&event.event)
            {
                return event.event.clone();
            }
        }
    }

    async fn until_status(&mut self, wanted: RunStatus) {
        self.until(|event| matches!(event, RuntimeEvent::RunStatusChanged(now) if now.status == wanted))
            .await;
    }

    /// Returns the status of the next run that ends.
    async fn ends(&mut self) -> RunStatus {
        let event = self
            .until(|event| matches!(event, RuntimeEvent::RunFinished(_)))
            .await;
        match event {
            RuntimeEvent::RunFinished(finished) => finished.status,
            _ => panic!("it was waited for"),
        }
    }

    /// Stops what runs; then the next input is answered, every call has one result, and replay equals what
    /// was live.
    async fn interrupted_it_goes_on(mut self) {
        self.session.interrupt(None).await.unwrap();
        assert_eq!(self.ends().await, RunStatus::Interrupted);
        self.goes_on().await;
    }

    async fn goes_on(mut self) {
        self.model.push(ModelScript::text("well"));
        self.say("and now?").await;
        assert_eq!(self.ends().await, RunStatus::Completed);
        let state = self.session.state().await.unwrap();
        assert!(state.queued.is_empty() && state.pending_approvals.is_empty());
        soon(self.session.close()).await;
        let id = self.session.id();
        let facts = self.log.read(id, 0, usize::MAX).await.unwrap();
        let count =
            |wanted: fn(&EnvironmentEvent) -> bool| facts.iter().filter(|fact| wanted(&fact.event)).count();
        let calls = count(|event| matches!(event, EnvironmentEvent::ToolCall(_)));
        let results = count(|event| matches!(event, EnvironmentEvent::ToolResult(_)));
        assert_eq!(calls, results, "each call has one result");
        assert_eq!(
            self.runtime.verify(id).await.unwrap().problems,
            Vec::<String>::new()
        );
        assert_eq!(self.runtime.replay(id).await.unwrap().divergence, None);
    }
}

#[tokio::test]
async fn before_the_first_byte_and_in_mid_stream() {
    for said in [&[][..], &["half ", "of "]] {
        let gate = Gate::closed();
        let answer = ModelScript::new().then_pieces(said).then_stall(&gate);
        let place = Place::new(ApprovalMode::Auto, [answer]).await;
        place.say("hello").await;
        soon(gate.reached()).await;
        place.interrupted_it_goes_on().await;
    }
}

#[tokio::test]
async fn while_a_decision_is_awaited_the_call_is_not_made() {
    let call = ModelScript::call("call_1", "bash", json!({ "command": "echo x > made" }));
    let mut place = Place::new(ApprovalMode::Ask, [call]).await;
    place.say("do it").await;
    place.until_status(RunStatus::AwaitingApproval).await;
    let made = place.home.path().join("made");
    place.interrupted_it_goes_on().await;
    assert!(!made.exists());
}

#[tokio::test]
async fn while_a_tool_runs_that_does_not_listen() {
    let mut place = Place::new(ApprovalMode::Auto, []).await;
    let mut leash = Leash::new(place.home.path().join("leash"));
    let command = format!(
        "trap '' TERM; {}({}; while :; do read -t 600 x </dev/zero; done) & wait; wait",
        leash.put_on(),
        Leash::say_pid()
    );
    place
        .model
        .push(ModelScript::call("call_1", "bash", json!({ "command": command })));
    place.say("do it").await;
    place.until_status(RunStatus::AwaitingTool).await;
    let mut leash = tokio::task::spawn_blocking(move || {
        leash.taken_by(2);
        leash
    })
    .await
    .unwrap();
    place.interrupted_it_goes_on().await;
    leash.let_go();
}

#[tokio::test]
async fn while_it_is_stopping_a_second_word_changes_nothing() {
    let mut place = Place::new(ApprovalMode::Auto, []).await;
    let mut leash = Leash::new(place.home.path().join("leash"));
    let command = format!(
        "trap '' TERM; {}while :; do read -t 600 x </dev/zero; done",
        leash.put_on()
    );
    place
        .model
        .push(ModelScript::call("call_1", "bash", json!({ "command": command })));
    place.say("do it").await;
    let mut leash = tokio::task::spawn_blocking(move || {
        leash.taken_by(1);
        leash
    })
    .await
    .unwrap();
    place.session.interrupt(None).await.unwrap();
    place.until_status(RunStatus::Stopping).await;
    place.interrupted_it_goes_on().await;
    leash.let_go();
}

#[tokio::test]
async fn an_input_that_waits_is_answered_when_the_one_before_it_is_stopped() {
    let gate = Gate::closed();
    let answers = [
        ModelScript::new().then_stall(&gate),
        ModelScript::text("the second"),
    ];
    let mut place = Place::new(ApprovalMode::Auto, answers).await;
    place.say("first").await;
    soon(gate.reached()).await;
    place.say("second").await;
    assert_eq!(place.session.state().await.unwrap().queued.len(), 1);
    place.session.interrupt(None).await.unwrap();
    assert_eq!(place.ends().await, RunStatus::Interrupted);
    assert_eq!(place.ends().await, RunStatus::Completed);
    place.goes_on().await;
}

#[tokio::test]
async fn with_nothing_to_stop_nothing_is_put_on_record() {
    let place = Place::new(ApprovalMode::Auto, []).await;
    let before = place.session.state().await.unwrap().last_seq;
    assert_eq!(place.session.interrupt(None).await.unwrap(), before);
    place.goes_on().await;
}

#[tokio::test]
async fn whoever_listens_hears_that_a_session_is_deleted() {
    let place = Place::new(ApprovalMode::Auto, []).await;
    soon(place.session.close()).await;
    let id = place.session.id().clone();
    let filter = Filter::all().session(id.as_str()).event_type("session_deleted");
    let mut heard = place
        .runtime
        .bus()
        .subscribe("test", filter, Queue::lag(8))
        .unwrap();
    place.runtime.delete(&id).await.unwrap();
    let told = soon(heard.recv()).await.unwrap().into_event().unwrap();
    let SystemEvent::Runtime(event) = told.as_ref() else {
        panic!("the filter is for what facts mean");
    };
    assert!(
        matches!(&event.event, RuntimeEvent::SessionDeleted(deleted) if deleted.reason == "it was deleted")
    );
    assert!(place.runtime.delete(&id).await.is_err(), "it is gone");
}
