//! The doors of a builder: custom models, keys, addresses, logs and runtimes, each in the few lines that it
//! should take; and that nothing of the person who runs the program is read unless it is requested.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;

use agentx::config::{ConfigPaths, LoadRequest, load};
use agentx::identity::Keyring;
use agentx::llm::bedrock::AwsCredentials;
use agentx::llm::google_auth::GoogleCredentials;
use agentx::llm::{CloudCredentials, Secret};
use agentx::runtime::{ModelEnvironment, SessionQuery, ToolEnvironment};
use agentx::server::ServerOptions;
use agentx::testing::{self, ScriptedModel, TestServer, wire};
use agentx::types::{ModelRequest, RunStatus, StopReason, Usage};
use agentx::{
    AgentError, AnswerSink, ClaudeEnvironment, IntoTool as _, MemoryLog, NodeRuntime, OpenAiEnvironment,
    Provider, ProviderError, Reply, RuntimeError, ScriptedEnvironment,
};
use serde_json::json;

/// Says what the weather is like.
#[agentx::tool]
async fn weather(#[arg("The city.")] city: String) -> Result<String, String> {
    Ok(format!("sunny in {city}"))
}

#[tokio::test]
async fn environments_serve_from_their_start_to_their_stop() {
    let tools = ToolEnvironment::new("weather", [weather.into_tool()]);
    testing::check_environment(tools).await;
    let model = Arc::new(ScriptedModel::new([]));
    testing::check_environment(ModelEnvironment::new("own", "own", model)).await;
    testing::check_environment(ScriptedEnvironment::instant()).await;
    testing::check_environment(ClaudeEnvironment::new("key")).await;
    testing::check_environment(OpenAiEnvironment::new("key")).await;
}

#[tokio::test]
async fn a_test_of_an_agent_is_five_lines() {
    let replies = [
        Reply::call("weather", json!({"city": "Rome"})),
        "It is sunny.".into(),
    ];
    let agent = agentx::agent("You help.")
        .tool(weather)
        .scripted(replies)
        .start()
        .await
        .unwrap();
    let answer = agent.ask("Weather in Rome?").await.unwrap();
    assert_eq!((answer.text.as_str(), answer.model_calls), ("It is sunny.", 2));
}

#[tokio::test]
async fn a_script_that_is_over_or_fails_is_an_error_that_says_so() {
    let agent = agentx::agent("You help.").scripted([Reply::error("the model sleeps")]);
    let agent = agent.start().await.unwrap();
    for why in ["the model sleeps", "more often than there are answers (1)"] {
        let error = agent.ask("hi").await.unwrap_err();
        let AgentError::Ended { status, .. } = &error else {
            panic!("{error}")
        };
        assert_eq!(*status, RunStatus::Failed);
        assert!(error.to_string().contains(why), "{error}");
    }
}

#[tokio::test]
async fn helpers_have_scripts_of_their_own() {
    let helper = agentx::agent("You look.").scripted(["It rains."]);
    let work = json!({"agent": "looker", "task": "look out"});
    let agent = agentx::agent("You ask.")
        .scripted([Reply::call("delegate", work), "Take a coat.".into()])
        .helper("looker", helper)
        .start()
        .await
        .unwrap();
    assert_eq!(agent.ask("coat?").await.unwrap().text, "Take a coat.");
}

/// A model that counts the messages it received.
struct Counter;

impl Provider for Counter {
    fn name(&self) -> &str {
        "counter"
    }

    async fn answer(&self, request: &ModelRequest, says: &mut AnswerSink) -> Result<(), ProviderError> {
        says.thinking("hm").await;
        says.text(format!("{} of {}", request.messages.len(), request.model.id))
            .await;
        says.usage(Usage {
            output_tokens: 3,
            ..Usage::default()
        })
        .await;
        says.set_stop_reason(StopReason::StopSequence);
        Ok(())
    }
}

#[tokio::test]
async fn a_provider_of_ones_own_answers_for_its_models() {
    let agent = agentx::agent("You count.")
        .provider(Counter)
        .model("counter/large");
    let agent = agent.start().await.unwrap();
    let answer = agent.ask("one").await.unwrap();
    assert_eq!(
        (answer.text.as_str(), answer.usage.output_tokens),
        ("1 of large", 3)
    );
    assert_eq!(agent.ask("two").await.unwrap().text, "3 of large");
    let models = agent.runtime().models();
    assert!(models.iter().any(|model| model.spec.provider == "counter"));
}

/// A model that never has an answer.
struct Silent(Arc<()>);

impl Provider for Silent {
    fn name(&self) -> &str {
        "silent"
    }

    async fn answer(&self, _: &ModelRequest, says: &mut AnswerSink) -> Result<(), ProviderError> {
        let _asked = self.0.clone();
        says.text("well").await;
        std::future::pending().await
    }
}

#[tokio::test]
async fn a_provider_is_dropped_where_it_waits_when_the_run_is_stopped() {
    let asked = Arc::new(());
    let agent = agentx::agent("You wait.").provider(Silent(asked.clone()));
    let agent = agent.start().await.unwrap();
    let mut answer = agent.stream("hello?").await.unwrap();
    assert!(matches!(answer.next().await, Some(Ok(agentx::Update::Text(_)))));
    assert_eq!(Arc::strong_count(&asked), 3, "it is being asked");
    agent.interrupt().await.unwrap();
    let AgentError::Ended { status, text, .. } = answer.await.unwrap_err() else {
        panic!("it has no answer")
    };
    assert_eq!((status, text.as_str()), (RunStatus::Interrupted, "well"));
    assert_eq!(Arc::strong_count(&asked), 2, "it is asked no more");
}

#[tokio::test]
async fn an_environment_answers_by_the_whole_contract() {
    let model = ScriptedModel::new([testing::ModelScript::text("4")]);
    let agent = agentx::agent("You add.")
        .environment(ModelEnvironment::new("test", "test", Arc::new(model.clone())))
        .start()
        .await
        .unwrap();
    assert_eq!(agent.ask("2 + 2?").await.unwrap().text, "4");
    assert_eq!(model.requests()[0].messages[0].text(), "2 + 2?");
}

#[tokio::test]
async fn one_call_of_a_model_needs_no_agent() {
    let answer = agentx::model("counter/small")
        .provider(Counter)
        .ask("hi")
        .await
        .unwrap();
    assert_eq!(answer.text, "1 of small");
    let answer = agentx::model("scripted").ask("say hi").await.unwrap();
    assert!(answer.text.contains("hi"), "{answer}");
}

#[tokio::test]
async fn a_key_and_an_address_are_all_that_a_model_needs() {
    let words = wire::anthropic_text(&["hel", "lo"]);
    let server = TestServer::start([testing::ServerReply::stream().then(words)]).await;
    let answer = agentx::model("claude-sonnet-4-5")
        .api_key("sk-of-the-test")
        .base_url(server.url())
        .ask("hi")
        .await
        .unwrap();
    assert_eq!(answer.text, "hello");
    assert_eq!(server.requests()[0].header("x-api-key"), Some("sk-of-the-test"));
}

/// Made-up credentials of both clouds.
fn clouds(token_uri: &str) -> [CloudCredentials; 2] {
    let file = serde_json::json!({
        "type": "authorized_user", "client_id": "made-up-client", "client_secret": "made-up-client-secret",
        "refresh_token": "made-up-refresh-token", "token_uri": token_uri,
    });
    [
        CloudCredentials::Aws(AwsCredentials {
            access_key_id: "AKIAMADEUP".to_owned(),
            secret_access_key: Secret::new("made-up-secret"),
            session_token: None,
        }),
        CloudCredentials::Google(GoogleCredentials::parse(&file.to_string()).unwrap()),
    ]
}

#[tokio::test]
async fn credentials_of_a_cloud_are_in_the_place_of_a_key() {
    let server = TestServer::answering(|request| match request.path.as_str() {
        "/token" => {
            let token = serde_json::json!({"access_token": "made-up-token", "expires_in": 3_599, "token_type": "Bearer"});
            testing::ServerReply::json(200, &token)
        }
        // Whatever authorizes it, it is refused: what was sent is looked at.
        _ => testing::ServerReply::json(400, &serde_json::json!({"message": "made up"})),
    })
    .await;
    let [aws, google] = clouds(&format!("{}/token", server.url()));
    for (model, cloud) in [
        ("bedrock/anthropic.claude-opus-4-6-v1:0", aws.clone()),
        ("vertex-anthropic/claude-opus-4-6", google.clone()),
    ] {
        let asked = agentx::model(model)
            .cloud(cloud)
            .base_url(server.url())
            .ask("hi")
            .await;
        assert!(asked.is_err());
    }
    let requests = server.requests();
    let sent: Vec<&str> = requests
        .iter()
        .filter_map(|request| request.header("authorization"))
        .collect();
    assert!(
        sent[0].starts_with("AWS4-HMAC-SHA256 Credential=AKIAMADEUP/"),
        "{sent:?}"
    );
    assert_eq!(sent.last(), Some(&"Bearer made-up-token"));
    for (model, cloud) in [
        ("bedrock/anthropic.claude-opus-4-6-v1:0", google),
        ("claude-opus-4-6", aws.clone()),
    ] {
        let wrong = agentx::model(model).cloud(cloud).ask("hi").await.unwrap_err();
        assert!(
            wrong.to_string().contains("credentials of another cloud"),
            "{wrong}"
        );
    }
    let both = agentx::model("bedrock/anthropic.claude-opus-4-6-v1:0")
        .cloud(aws)
        .api_key("k");
    let both = both.ask("hi").await.unwrap_err();
    assert!(both.to_string().contains("cannot be combined"), "{both}");
}

#[tokio::test]
async fn an_unknown_model_at_an_address_is_asked_by_the_usual_protocol() {
    let server = TestServer::start([testing::ServerReply::stream().then(wire::chat_text(&["hello"]))]).await;
    let model = agentx::model("made-up-7b").base_url(format!("{}/v1", server.url()));
    assert_eq!(model.ask("hi").await.unwrap().text, "hello");
    assert_eq!(server.requests()[0].path, "/v1/chat/completions");
}

#[tokio::test]
async fn what_is_missing_is_said_with_the_door_that_it_goes_through() {
    let nameless = agentx::agent("You help.").start().await.unwrap_err();
    assert!(matches!(nameless, AgentError::NoModel), "{nameless}");
    for door in [".model(", ".api_key(..)", ".from_user_config()"] {
        assert!(nameless.to_string().contains(door), "{nameless}");
    }
    let unknown = agentx::agent("You help.")
        .model("claude-sonet-4-5")
        .start()
        .await
        .unwrap_err();
    assert!(
        unknown.to_string().contains("did you mean claude-sonnet-4-5"),
        "{unknown}"
    );
    let twice = agentx::agent("You help.")
        .model("claude-sonnet-4-5")
        .api_key("one")
        .helper(
            "other",
            agentx::agent("").model("claude-haiku-4-5").api_key("two"),
        );
    let twice = twice.start().await.unwrap_err();
    assert!(
        twice
            .to_string()
            .contains("different values for keys of the provider `anthropic`"),
        "{twice}"
    );
    let nowhere = agentx::agent("")
        .model("scripted")
        .workspace("/no/such/place")
        .start()
        .await;
    assert!(nowhere.unwrap_err().to_string().contains("/no/such/place"));
}

/// Set in the process that has an environment and a configuration which it must not read.
const CHILD: &str = "AGENTX_DOORS_CHILD";

#[tokio::test]
async fn nothing_of_the_person_is_read_unless_asked() {
    if std::env::var_os(CHILD).is_some() {
        let agent = agentx::agent("You help.").model("claude-sonnet-4-5");
        let error = agent.start().await.unwrap_err();
        assert!(
            matches!(error, AgentError::Runtime(RuntimeError::Unavailable { .. })),
            "{error}"
        );
        for door in ["no key for anthropic", ".api_key(..)", ".from_user_config()"] {
            assert!(error.to_string().contains(door), "{error}");
        }
        agentx::agent("You help.")
            .model("scripted")
            .start()
            .await
            .unwrap();
        let model = ScriptedModel::new([testing::ModelScript::text("hello")]);
        let own = ModelEnvironment::new("own", "own", Arc::new(model.clone()));
        let agent = agentx::agent("You help.").environment(own).start().await.unwrap();
        agent.ask("hi").await.unwrap();
        let request = serde_json::to_string(&model.requests()[0]).unwrap();
        assert!(
            request.contains("You help.") && !request.contains("sesame"),
            "{request}"
        );
        let asked = agentx::agent("You help.")
            .model("scripted")
            .from_user_config()
            .start()
            .await;
        assert!(
            matches!(asked, Err(AgentError::Config(_))),
            "the broken file is read when asked for"
        );
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("config.yaml");
    std::fs::write(&file, "model: [broken").unwrap();
    std::fs::write(home.path().join("AGENTS.md"), "Say sesame.").unwrap();
    std::fs::create_dir_all(home.path().join(".agentx/agents")).unwrap();
    std::fs::write(home.path().join(".agentx/config.yaml"), "model: [sesame").unwrap();
    std::fs::write(home.path().join(".agentx/agents/own.yaml"), "prompt: [sesame").unwrap();
    let output = tokio::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "doors::nothing_of_the_person_is_read_unless_asked"])
        .env(CHILD, "1")
        .current_dir(home.path())
        .env("ANTHROPIC_API_KEY", "sk-of-the-person")
        .env("AGENTX_CONFIG", &file)
        .env("HOME", home.path())
        .output()
        .await
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

#[tokio::test]
async fn a_log_is_gone_on_with() {
    let log = Arc::new(MemoryLog::new());
    let first = agentx::agent("You count.")
        .provider(Counter)
        .log(log.clone())
        .start()
        .await
        .unwrap();
    first.ask("one").await.unwrap();
    let id = first.id().clone();
    first.close().await;
    let later = agentx::agent("You count.")
        .provider(Counter)
        .log(log.clone())
        .resume(&id)
        .await
        .unwrap();
    assert_eq!(later.ask("two").await.unwrap().text, "3 of counter");
    later.close().await;
    // Another model of the program continues in the place of that one.
    let scripted = agentx::agent("")
        .scripted(["three"])
        .log(log)
        .resume(&id)
        .await
        .unwrap();
    assert_eq!(scripted.ask("three").await.unwrap().text, "three");
}

#[tokio::test]
async fn a_log_on_disk_is_gone_on_with_and_is_no_file_of_the_agents() {
    let home = tempfile::tempdir().unwrap();
    let bank = || agentx::agent("You help.").data_dir(home.path());
    let first = bank().scripted(["one"]).start().await.unwrap();
    first.ask("hi").await.unwrap();
    let guard = first.state().await.unwrap().config.guard.unwrap();
    let own = home.path().canonicalize().unwrap().join("**");
    assert_eq!(guard.own, [own.to_string_lossy()]);
    let id = first.id().clone();
    first.close().await;
    let later = bank().scripted(["two"]).resume(&id).await.unwrap();
    assert_eq!(later.ask("again").await.unwrap().text, "two");
}

#[tokio::test]
async fn a_runtime_that_is_there_already_has_several_agents() {
    let first = agentx::agent("You help.")
        .tool(weather)
        .model("scripted")
        .start()
        .await
        .unwrap();
    let runtime = first.runtime().clone();
    let second = agentx::agent("You help, too.")
        .model("scripted")
        .tool(weather)
        .runtime(runtime.clone());
    let second = second.start().await.unwrap();
    assert!(
        second
            .ask("weather in Rome?")
            .await
            .unwrap()
            .text
            .contains("sunny in Rome")
    );
    let query = SessionQuery {
        owner: runtime.owner().clone(),
        workspace: None,
        limit: 10,
        before: None,
    };
    assert_eq!(runtime.sessions(query).await.unwrap().len(), 2);
    let keyed = agentx::agent("")
        .model("scripted")
        .api_key("k")
        .runtime(runtime.clone())
        .start()
        .await;
    assert!(matches!(keyed, Err(AgentError::Setup(_))));
    let kept = agentx::agent("")
        .log(Arc::new(MemoryLog::new()))
        .runtime(runtime.clone());
    assert_eq!(
        kept.start().await.unwrap_err().to_string(),
        "`.log(..)` and `.runtime(..)` cannot be combined: that runtime keeps the session and has the settings. Remove one of them"
    );
    let valued = second
        .ask("weather in Rome?")
        .with(7_u32)
        .await
        .unwrap_err()
        .to_string();
    assert!(
        valued.contains("`.with(value)` cannot be combined with `.remote(..)` and `.runtime(..)`"),
        "{valued}"
    );
    let other = agentx::agent("").scripted(["x"]).start().await.unwrap();
    let missing = agentx::agent("")
        .model("scripted")
        .tool(weather)
        .runtime(other.runtime().clone());
    let missing = missing.start().await.unwrap_err().to_string();
    assert!(missing.contains("has no tool `weather`"), "{missing}");
}

#[tokio::test]
async fn doors_that_do_not_go_together_are_an_error_that_names_both() {
    let keys = tempfile::tempdir().unwrap();
    let keyring = Keyring::open(keys.path()).unwrap();
    // No server listens at that address, and nobody is asked.
    let key = || keyring.identity_or_new().unwrap();
    let on_a_server = || {
        agentx::agent("")
            .model("scripted")
            .remote("http://127.0.0.1:9", key())
    };
    for (builder, door) in [
        (on_a_server().log(Arc::new(MemoryLog::new())), ".log(..)"),
        (on_a_server().data_dir(keys.path()), ".data_dir(..)"),
        (on_a_server().from_user_config(), ".from_user_config()"),
        (on_a_server().workspace(keys.path()), ".workspace(..)"),
    ] {
        let error = builder.start().await.unwrap_err();
        assert!(matches!(error, AgentError::Setup(_)), "{error:?}");
        let both = format!("`{door}` and `.remote(..)` cannot be combined: the server keeps the session");
        assert!(error.to_string().starts_with(&both), "{error}");
    }
}

#[tokio::test]
async fn an_agent_on_a_server_has_its_models_and_its_own_instructions() {
    let home = tempfile::tempdir().unwrap();
    let place = home.path().to_string_lossy().into_owned();
    let env = move |name: &str| matches!(name, "HOME" | "AGENTX_DATA").then(|| place.clone());
    let places = ConfigPaths::find(home.path(), &env).unwrap();
    let request = LoadRequest {
        places,
        lookup: &env,
        flags: Vec::new(),
    };
    let settings = load(request).unwrap().settings;
    let keyring = Keyring::open(home.path()).unwrap();
    let key = keyring.identity_or_new().unwrap();
    let runtime = Arc::new(NodeRuntime::from_settings(&settings, "doors").unwrap());
    let options = ServerOptions {
        listen: ([127, 0, 0, 1], 0).into(),
        ..ServerOptions::default()
    };
    let server = agentx::server::bind(runtime, &settings, keyring, options)
        .await
        .unwrap();
    let url = server.url().to_owned();
    let running = tokio::spawn(server.run(std::future::pending()));
    let agent = agentx::agent("You greet.").model("scripted").remote(url, key);
    let agent = agent.start().await.unwrap();
    assert_eq!(agent.ask("say hi").await.unwrap().text, "hi");
    let config = agent.state().await.unwrap().config;
    assert_eq!(&*config.system_prompt, "You greet.");
    let valued = agent.ask("say hi").with(7_u32).await.unwrap_err().to_string();
    assert!(
        valued.contains("`.with(value)` cannot be combined with `.remote(..)` and `.runtime(..)`: the agent's tools run elsewhere"),
        "{valued}"
    );
    agent.close().await;
    running.abort();
}
