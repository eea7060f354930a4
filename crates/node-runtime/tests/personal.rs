//! A personal agent in whole runs: what its services tell the model, from the running system, is in the log
//! before the model is called, and persons, files and reactors change it.
#![cfg(feature = "settings")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::sync::{Arc, Mutex};

use agentx_bus::{Reactor, ReactorFailure, ReactorTask, Restart};
use agentx_config::{ConfigPaths, LoadRequest, Settings, load};
use agentx_node_runtime::{NodeRuntime, scripted_model};
use agentx_runtime::{
    BoxFuture, Effector, EventSink, OpenRequest, Runtime as _, Session, SystemBus, UserInput, View,
};
use agentx_services::{ContextReactor, DEFAULT_PERSONA, PersonStore};
use agentx_types::{
    Action, ActionBody, ActionKind, ContextBuilt, EnvironmentEvent as E, MessageId, ModelRequest, OwnerId,
    StopReason, StreamEnd, StreamStart, TextChunk,
};
use tokio_util::sync::CancellationToken;

const PERSONAL: &str = "profile: personal\ncontext: {time_zone: UTC}\n";

/// A model that keeps its requests and answers "done".
#[derive(Clone, Default)]
struct Listening {
    requests: Arc<Mutex<Vec<Arc<ModelRequest>>>>,
    stop: CancellationToken,
}

impl Listening {
    /// The standing instructions of the latest request.
    fn system(&self) -> Vec<String> {
        let requests = self.requests.lock().unwrap();
        let latest = requests.last().unwrap();
        latest.system.iter().map(|part| part.to_string()).collect()
    }

    /// The texts of the messages of the latest request.
    fn messages(&self) -> Vec<String> {
        let requests = self.requests.lock().unwrap();
        let messages = &requests.last().unwrap().messages;
        messages.iter().map(|message| message.text()).collect()
    }
}

impl Effector for Listening {
    fn perform(
        &self,
        action: Arc<Action>,
        events: EventSink,
        _: CancellationToken,
    ) -> BoxFuture<'static, ()> {
        let requests = self.requests.clone();
        Box::pin(async move {
            let ActionBody::CallModel(call) = &action.body else {
                return;
            };
            let number = {
                let mut requests = requests.lock().unwrap();
                requests.push(call.request.clone());
                requests.len()
            };
            let start = StreamStart {
                message_id: MessageId::new(format!("msg_{number}")),
                model: call.request.model.id.clone(),
                attempt: 1,
            };
            let end = StreamEnd {
                stop_reason: StopReason::EndTurn,
                raw: None,
            };
            let text = TextChunk { text: "done".into() };
            events.emit_all(vec![start.into(), text.into(), end.into()]).await;
        })
    }
}

impl Reactor<SystemBus> for Listening {
    fn name(&self) -> &str {
        "listening"
    }

    async fn start(&mut self, bus: SystemBus) -> Result<ReactorTask, ReactorFailure> {
        let models = bus.serve_models("scripted", Arc::new(self.clone()));
        Ok(models.run_until(self.stop.clone()))
    }

    async fn stop(&mut self) {
        self.stop.cancel();
    }
}

fn settings(dir: &Path, file: &str) -> Settings {
    let root = std::fs::canonicalize(dir).unwrap().join("ws");
    std::fs::create_dir_all(&root).unwrap();
    std::fs::write(dir.join("config.yaml"), file).unwrap();
    let request = LoadRequest {
        places: ConfigPaths {
            cwd: root.clone(),
            user_file: dir.join("config.yaml"),
            user_file_named: true,
            workspace_file: root.join(".agentx/config.yaml"),
            workspace_root: root,
            data_dir: dir.join("data"),
        },
        lookup: &|_| None,
        flags: Vec::new(),
    };
    load(request).unwrap().settings
}

/// A runtime of these settings with a session, and the model that hears what is sent.
struct Desk {
    dir: tempfile::TempDir,
    settings: Settings,
    runtime: NodeRuntime,
    session: Arc<dyn Session>,
    model: Listening,
}

impl Desk {
    async fn new(file: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let settings = settings(dir.path(), file);
        let runtime = NodeRuntime::from_settings(&settings, "test 1.0").unwrap();
        let model = Listening::default();
        runtime.attach(model.clone(), Restart::Never).await.unwrap();
        let config = settings.agent(scripted_model().spec, runtime.tools().to_vec());
        let session = runtime.open(OpenRequest::New(Box::new(config))).await.unwrap();
        Self {
            dir,
            settings,
            runtime,
            session,
            model,
        }
    }

    /// Sends an input and waits for the end of its run.
    async fn says(&self, text: &str) {
        let head = self.facts().await.len() as u64;
        let mut events = self.session.subscribe(head, View::Runtime).await.unwrap();
        self.session.send(UserInput::text(text)).await.unwrap();
        while let Some(delivery) = events.next().await {
            if format!("{delivery:?}").contains("RunFinished") {
                break;
            }
        }
    }

    async fn facts(&self) -> Vec<E> {
        let facts = self.runtime.facts(self.session.id(), 0, 1_000).await.unwrap();
        facts.into_iter().map(|fact| fact.event.clone()).collect()
    }
}

#[tokio::test]
async fn the_agent_knows_itself_from_the_running_system() {
    let desk = Desk::new(PERSONAL).await;
    desk.says("what are you?").await;
    let config = desk
        .settings
        .agent(scripted_model().spec, desk.runtime.tools().to_vec());
    let system = desk.model.system();
    assert_eq!(system[0], DEFAULT_PERSONA.trim_end());
    let facts = &system[1];
    let model = &config.model;
    for said in [
        "- Program: test 1.0".to_owned(),
        format!(
            "- Model: {} of scripted; its window has {} tokens",
            model.id, model.context_window
        ),
        "- Limits of a run: 5 rounds of tools".to_owned(),
        "- Conversation: you get at most 20 earlier messages; it is condensed when 80 %".to_owned(),
        "- Calls that no rule covers: a person is asked".to_owned(),
        "- Sandbox for commands: none".to_owned(),
        "- Memory: off".to_owned(),
        "- Services before each run: persona, system, tools, moment".to_owned(),
    ] {
        assert!(facts.contains(&said), "{said:?} is not in\n{facts}");
    }
    for tool in config.tools.iter() {
        let line = format!("\n- {}: ", tool.name);
        assert!(
            facts.contains(&tool.name) && system[2].contains(&line),
            "{line}\n{}",
            system[2]
        );
    }
    assert!(system[2].contains("\n- bash: runs programs"), "{}", system[2]);
}

#[tokio::test]
async fn other_settings_are_other_facts() {
    let desk = Desk::new(
        "profile: personal\nlimits: {max_iterations: 7}\napproval: deny\nmemory: {enabled: true}\n",
    )
    .await;
    desk.says("what are you?").await;
    let facts = &desk.model.system()[1];
    for said in [
        "7 rounds of tools",
        "they are refused",
        "- Memory: on",
        "moment, memory",
    ] {
        assert!(facts.contains(said), "{said:?} is not in\n{facts}");
    }
}

#[tokio::test]
async fn everything_is_in_the_log_before_the_model_is_called() {
    let desk = Desk::new(PERSONAL).await;
    desk.says("hello").await;
    let facts = desk.facts().await;
    let call = |fact: &E| matches!(fact, E::ActionStarted(started) if started.kind == ActionKind::CallModel);
    let called = facts.iter().position(call).unwrap();
    let built = facts[..called]
        .iter()
        .filter(|fact| matches!(fact, E::ContextBuilt(_)));
    assert_eq!(built.count(), 4);
    let sent = desk.model.messages();
    assert!(sent[0].starts_with("<Context>\n  <Current_Time>"), "{}", sent[0]);
    let end = "  <Human_Input>\n    hello\n  </Human_Input>\n</Context>";
    assert!(sent[0].ends_with(end), "{}", sent[0]);
    assert!(
        sent[0].contains("<Spent_So_Far>0 tokens, $0.0000</Spent_So_Far>"),
        "{}",
        sent[0]
    );
    assert_eq!(sent.len(), 1, "no message twice");
}

#[tokio::test]
async fn a_coding_agent_asks_for_nothing() {
    let desk = Desk::new("").await;
    desk.says("hello").await;
    assert!(
        desk.facts()
            .await
            .iter()
            .all(|fact| !matches!(fact, E::ContextBuilt(_)))
    );
    assert_eq!(desk.model.messages(), ["hello"]);
}

#[tokio::test]
async fn a_person_has_a_persona_of_their_own_until_they_take_it_back() {
    let desk = Desk::new(PERSONAL).await;
    let people = PersonStore::new(&desk.settings.data_dir);
    let owner = OwnerId::new("own_local");
    let persona = "You are the {model} of {person}. {unknown}";
    let change = |own: &mut agentx_services::PersonSettings| {
        own.prompts.insert("persona".into(), persona.into());
        own.prompts
            .insert("system".into(), "You are all-powerful.".into());
        own.config.insert("name".into(), "Ada".into());
        Ok(())
    };
    people.change(&owner, change).unwrap();
    desk.says("hello").await;
    let model = scripted_model().spec.id;
    assert_eq!(
        desk.model.system()[0],
        format!("You are the {model} of Ada. {{unknown}}")
    );
    assert!(
        desk.model.system()[1].starts_with("Facts about you"),
        "no person writes the facts"
    );
    assert!(desk.model.messages()[0].contains("<Speaker>Ada</Speaker>"));
    let reset = |own: &mut agentx_services::PersonSettings| {
        own.prompts.clear();
        Ok(())
    };
    people.change(&owner, reset).unwrap();
    desk.says("hello again").await;
    assert_eq!(desk.model.system()[0], DEFAULT_PERSONA.trim_end());
}

#[tokio::test]
async fn a_file_replaces_a_text_and_one_that_is_gone_costs_only_that() {
    let desk = Desk::new("profile: personal\ncontext: {persona_file: ada.md, tools_file: gone.md}\n").await;
    let file = desk.dir.path().join("ada.md");
    std::fs::write(&file, "You are Ada.\n").unwrap();
    desk.says("hello").await;
    assert_eq!(desk.model.system()[0], "You are Ada.");
    let problem = |fact: &E| match fact {
        E::ContextBuilt(built) => built.problem.clone(),
        _ => None,
    };
    let problems: Vec<String> = desk.facts().await.iter().filter_map(problem).collect();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].contains("gone.md"), "{problems:?}");
    std::fs::write(&file, "You are Bo.\n").unwrap();
    desk.says("and now?").await;
    assert_eq!(
        desk.model.system()[0],
        "You are Bo.",
        "files are read for each run"
    );
}

#[tokio::test]
async fn a_reactor_takes_the_place_of_a_module() {
    let desk = Desk::new(PERSONAL).await;
    let other = ContextReactor::new("persona", |_| ContextBuilt {
        instructions: Some("You are a pirate.".into()),
        ..ContextBuilt::nothing("persona")
    });
    let id = desk.runtime.attach(other, Restart::Never).await.unwrap();
    desk.says("hello").await;
    assert_eq!(desk.model.system()[0], "You are a pirate.");
    assert!(desk.runtime.detach(id, std::time::Duration::from_secs(5)).await);
    desk.says("hello again").await;
    assert_eq!(desk.model.system()[0], DEFAULT_PERSONA.trim_end());
}
