//! Plan mode through the program: what is refused, and what an accepted plan starts.

use agentx_testing::StrictServer;
use agentx_testing::vendors::{AnswerPart, ChatServer, Dialect, ModelAnswer};
use serde_json::{Value, json};

use crate::common::{Ran, Sandbox};

/// The call that the model makes after so many results; `None` if it answers.
fn call_after(results: usize) -> Option<(&'static str, Value)> {
    Some(match results {
        0 => ("write", json!({"path": "made.txt", "content": "too early"})),
        1 => ("present_plan", json!({"plan": "# Plan\n\n1. Write made.txt"})),
        2 => ("write", json!({"path": "made.txt", "content": "as planned"})),
        _ => return None,
    })
}

fn plans(request: &Value) -> ModelAnswer {
    let messages = request["messages"].as_array();
    let results = messages.map_or(0, |messages| {
        messages.iter().filter(|m| m["role"] == "tool").count()
    });
    match call_after(results) {
        Some((name, input)) => ModelAnswer::default().then(AnswerPart::Call {
            id: format!("call_{results}"),
            name: name.into(),
            input,
        }),
        None => ModelAnswer::text("done"),
    }
}

async fn planning() -> (Sandbox, StrictServer) {
    let server = StrictServer::chat(ChatServer::new(Dialect::LlamaCpp), plans).await;
    let sandbox = Sandbox::new();
    sandbox.config(&format!(
        "providers:\n  mine: {{base_url: '{}/v1', auth: none}}\nmodels:\n  m: {{provider: mine}}\nmodel: m\n",
        server.url()
    ));
    (sandbox, server)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_accepted_plan_is_carried_out_and_nothing_before_it() {
    let (sandbox, _server) = planning().await;
    let chat = |args: &[&str], input: &str| -> Ran {
        tokio::task::block_in_place(|| sandbox.run_with_input(args, input))
    };
    let ran = chat(&["chat"], "/plan write the file\n1\ny\n");
    let shown = ran.to_string();
    assert!(shown.contains("plan mode is on"), "{ran}");
    assert!(shown.contains("the model presents its plan"), "{ran}");
    assert!(shown.contains("1. Write made.txt"), "{ran}");
    assert!(shown.contains("plan accepted; plan mode is off"), "{ran}");
    let written = std::fs::read_to_string(sandbox.path("ws/made.txt")).unwrap_or_default();
    assert_eq!(written, "as planned", "{ran}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_accepted_plan_asks_about_calls_unless_the_person_said_otherwise_in_plan_mode() {
    let chat = async |input: &str| -> (Ran, bool) {
        let (sandbox, _server) = planning().await;
        let ran = tokio::task::block_in_place(|| sandbox.run_with_input(&["chat"], input));
        (ran, sandbox.path("ws/made.txt").exists())
    };
    let (ran, made) = chat("/approve-mode auto\n/plan write the file\n1\nn\n").await;
    let holds = "plan accepted; plan mode is off; ask: you are asked about calls that no rule covers";
    assert!(ran.to_string().contains(holds) && !made, "{ran}");
    let (ran, made) = chat("/plan\n/approve-mode auto\nwrite the file\n1\n").await;
    let holds = "plan accepted; plan mode is off; auto: calls run without asking";
    assert!(ran.to_string().contains(holds) && made, "{ran}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_without_a_person_changes_nothing_whatever_it_may() {
    let (sandbox, _server) = planning().await;
    let ran = tokio::task::block_in_place(|| sandbox.run(&["run", "--plan", "--yes", "write the file"]));
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(!sandbox.path("ws/made.txt").exists(), "{ran}");
    let id = &tokio::task::block_in_place(|| crate::rewind::id_of(&sandbox, 0));
    let shown = tokio::task::block_in_place(|| sandbox.run(&["show", id]));
    assert!(
        shown.stdout.contains("Nobody is here to accept the plan"),
        "{shown}"
    );
}
