//! What a program can rely on beyond the examples: who is stopped when somebody stops waiting, what is told apart as a mistake,
//! and that nothing secret is shown.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::future::Future;
use std::time::Duration;

use agentx::config::{Places, Request, Settings, load};
use agentx::types::{ApprovalMode, RunStatus};
use agentx::{AgentBuilder, AgentError, RuntimeError, Update};

/// Nothing here takes longer.
const BOUND: Duration = Duration::from_secs(30);

async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(BOUND, what).await.unwrap()
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
    let places = Places::find(home.path(), &env).unwrap();
    let request = Request {
        places,
        lookup: &env,
        flags: Vec::new(),
    };
    load(request).unwrap().settings
}

/// Says what it is given, to whoever may ask.
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

/// How a run ended, as the log has it.
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
        if let Update::Undecided(call) = soon(answer.next()).await.unwrap().unwrap() {
            break call;
        }
    };
    let again = soon(async { agent.answer().await }).await.unwrap_err();
    assert!(
        matches!(again, AgentError::Undecided { ref calls } if calls[0] == call),
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
    assert!(nothing.to_string().contains("nothing was asked"), "{nothing}");
}

#[tokio::test]
async fn without_a_place_nothing_is_kept_and_nothing_secret_is_shown() {
    let home = tempfile::tempdir().unwrap();
    let builder = agent(&home).approval(ApprovalMode::Auto);
    assert!(!format!("{builder:?}").contains("secret"));
    let agent = builder.start().await.unwrap();
    assert!(!format!("{agent:?}").contains("secret"));
    let place = agent.runtime().data_dir().to_owned();
    assert!(place.exists() && !home.path().join("sessions.db").exists());
    let answer = soon(async { agent.ask("repeat it: hello").await.unwrap() }).await;
    assert!(answer.text.contains("hello") && answer.model_calls == 2);
    let session = agent.session().clone();
    drop(agent);
    // What has to be done for that is behind everything that was there before it.
    soon(session.suspend()).await;
    soon(async {
        while place.exists() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}
