//! Agents of files at `/mcp`: as tools that answer with their last answer, and as tasks that outlive their
//! request. Their sessions have the rules, the owners and the limits of all sessions of the server.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use agentx_identity::Keyring;
use agentx_runtime::{AgentInfo, AgentOrigin, Agents, NamedAgent, RuntimeError};
use agentx_types::{AgentConfig, AgentKind, ApprovalMode, OwnerId};
use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::http_api::desk::Desk;

/// The longest wait for the state of a task.
const PATIENCE: Duration = Duration::from_secs(30);

/// The agent `helper` of a file: the agent of the server under another name.
#[derive(Default)]
struct Helper {
    config: OnceLock<AgentConfig>,
}

impl Agents for Helper {
    fn list(&self) -> Vec<AgentInfo> {
        vec![AgentInfo {
            name: "helper".into(),
            kind: AgentKind::React,
            origin: AgentOrigin::User,
            description: "Helps.".into(),
        }]
    }

    fn resolve(&self, wanted: &NamedAgent) -> Result<AgentConfig, RuntimeError> {
        let config = self.config.get().filter(|_| wanted.agent == "helper");
        let config = config.cloned().ok_or_else(|| RuntimeError::UnknownAgent {
            agent: wanted.agent.clone(),
            nearest: Vec::new(),
        })?;
        Ok(AgentConfig {
            name: "helper".into(),
            workspace: wanted.workspace.clone().unwrap_or_default(),
            ..config
        })
    }
}

/// A server with this agent, which asks about commands.
async fn desk() -> Desk {
    let helper = Arc::new(Helper::default());
    let agents: Arc<dyn Agents> = helper.clone();
    let desk = Desk::with_agents(agents, |settings| settings.approval = ApprovalMode::Ask).await;
    let config = serde_json::from_value(desk.agent().await).unwrap();
    helper.config.set(config).unwrap();
    desk
}

/// A request in the version without a handshake, by a client that shows forms; `tasks` says whether it knows
/// tasks.
async fn ask(
    desk: &Desk,
    token: &str,
    (method, name): (&str, &str),
    mut params: Value,
    tasks: bool,
) -> Value {
    let extensions = if tasks {
        json!({"io.modelcontextprotocol/tasks": {}})
    } else {
        json!({})
    };
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}, "extensions": extensions},
    });
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let asked = desk.post("/mcp", &body).by(token);
    let asked = asked
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", method)
        .header("mcp-name", name);
    asked.send().await.json()
}

/// A call of the agent by a client that knows no tasks.
async fn called(desk: &Desk, token: &str, prompt: &str, more: Value) -> Value {
    let mut params = json!({"name": "agent__helper", "arguments": {"prompt": prompt}});
    for (key, value) in more.as_object().unwrap() {
        params[key] = value.clone();
    }
    let answer = ask(desk, token, ("tools/call", "agent__helper"), params, false).await;
    assert!(answer["error"].is_null(), "{answer}");
    answer["result"].clone()
}

/// Begins the agent as a task.
async fn begun(desk: &Desk, token: &str, prompt: &str) -> Value {
    let params = json!({"name": "agent__helper", "arguments": {"prompt": prompt}});
    ask(desk, token, ("tools/call", "agent__helper"), params, true).await
}

/// The id of a task that begins.
async fn task_of(desk: &Desk, token: &str, prompt: &str) -> String {
    let begun = begun(desk, token, prompt).await["result"].clone();
    assert_eq!(
        (&begun["resultType"], &begun["status"]),
        (&json!("task"), &json!("working")),
        "{begun}"
    );
    begun["taskId"].as_str().unwrap().to_owned()
}

async fn about(desk: &Desk, token: &str, method: &str, id: &str) -> Value {
    ask(desk, token, (method, id), json!({"taskId": id}), true).await
}

/// Waits until a task has this status.
async fn until(desk: &Desk, token: &str, id: &str, status: &str) -> Value {
    let reached = async {
        loop {
            let answer = about(desk, token, "tasks/get", id).await;
            assert!(answer["error"].is_null(), "{answer}");
            if answer["result"]["status"] == status {
                return answer["result"].clone();
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, reached).await.unwrap()
}

/// The words of a result.
fn text_of(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}

/// Accepts the only question of a result.
fn accepted(asked: &Value) -> Value {
    let requests = asked["inputRequests"].as_object().unwrap();
    assert_eq!(requests.len(), 1, "{asked}");
    let responses = requests
        .keys()
        .map(|key| (key.clone(), json!({"action": "accept", "content": {}})));
    Value::Object(responses.collect())
}

#[tokio::test]
async fn an_agent_of_a_file_is_a_tool_whose_session_is_the_callers() {
    let desk = desk().await;
    let listed = ask(&desk, &desk.ann, ("tools/list", ""), json!({}), false).await;
    let tools = listed["result"]["tools"].as_array().unwrap();
    let helper = tools.iter().find(|tool| tool["name"] == "agent__helper").unwrap();
    assert!(
        helper["description"].as_str().unwrap().contains("Helps."),
        "{helper}"
    );
    let answer = called(&desk, &desk.ann, "what a fine day", json!({})).await;
    assert_eq!(answer["isError"], false, "{answer}");
    let (_, rest) = text_of(&answer).split_once("[session ").unwrap();
    let path = format!("/v1/sessions/{}", rest.trim_end_matches(']'));
    let seen = desk.get(&path).by(&desk.ann).send().await.ok().json();
    assert_eq!(seen["owner"], json!(desk.ann_id));
    let hidden = desk.get(&path).by(&desk.bob).send().await;
    assert_eq!(hidden.status, StatusCode::NOT_FOUND);
    let wrong = json!({"name": "agent__helper", "arguments": {"prompt": 5}});
    let wrong = ask(&desk, &desk.ann, ("tools/call", "agent__helper"), wrong, true).await;
    assert_eq!(wrong["result"]["isError"], true, "{wrong}");
    let unknown = json!({"name": "agent__other", "arguments": {"prompt": "hello"}});
    let unknown = ask(&desk, &desk.ann, ("tools/call", "agent__other"), unknown, true).await;
    assert_eq!(unknown["error"]["code"], -32_602, "{unknown}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_operators_client_allows_the_calls_of_an_agent_and_a_members_does_not() {
    let desk = desk().await;
    let prompt = "run touch made-up";
    let refused = called(&desk, &desk.ann, prompt, json!({})).await;
    assert_ne!(refused["resultType"], "input_required", "{refused}");
    assert!(!desk.ann_dir().join("made-up").exists());
    let asked = called(&desk, &desk.operator, prompt, json!({})).await;
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    assert!(
        asked["inputRequests"].to_string().contains("touch made-up"),
        "{asked}"
    );
    let made = desk.directory.path().join("made-up");
    assert!(!made.exists());
    let answers = json!({"requestState": asked["requestState"], "inputResponses": accepted(&asked)});
    let done = called(&desk, &desk.operator, prompt, answers).await;
    assert_eq!(done["isError"], false, "{done}");
    assert!(made.exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_waits_for_its_person_and_is_nobody_elses() {
    let desk = desk().await;
    let found = ask(&desk, &desk.operator, ("server/discover", ""), json!({}), true).await;
    let extensions = &found["result"]["capabilities"]["extensions"];
    assert_eq!(*extensions, json!({"io.modelcontextprotocol/tasks": {}}));
    let id = task_of(&desk, &desk.operator, "run touch made-up").await;
    let asks = until(&desk, &desk.operator, &id, "input_required").await;
    for method in ["tasks/get", "tasks/cancel"] {
        let refused = about(&desk, &desk.ann, method, &id).await;
        assert_eq!(refused["error"]["code"], -32_602, "{refused}");
    }
    let answers = json!({"taskId": id, "inputResponses": accepted(&asks)});
    let taken = ask(&desk, &desk.operator, ("tasks/update", &id), answers, true).await;
    assert!(taken["error"].is_null(), "{taken}");
    let done = until(&desk, &desk.operator, &id, "completed").await;
    assert!(text_of(&done["result"]).contains(&id), "{done}");
    assert!(desk.directory.path().join("made-up").exists());
    let other = desk.session(&desk.operator).await;
    desk.say(&desk.operator, &other, json!("hello")).await;
    let refused = about(&desk, &desk.operator, "tasks/get", &other).await;
    assert_eq!(refused["error"]["code"], -32_602, "no task: {refused}");
}

/// Clients poll tasks, and their logs may be long. A read of history would wait for its turn.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_of_an_ended_task_is_read_once_for_all_polls() {
    let desk = desk().await;
    let id = task_of(&desk, &desk.ann, "hello").await;
    until(&desk, &desk.ann, &id, "completed").await;
    // That poll may have begun before the last event of the run.
    let done = about(&desk, &desk.ann, "tasks/get", &id).await;
    let turn = desk.state.history_turns().take(&OwnerId::new(&desk.ann_id)).await;
    let polled = about(&desk, &desk.ann, "tasks/get", &id);
    let again = tokio::time::timeout(PATIENCE, polled).await.unwrap();
    assert_eq!(again["result"]["status"], "completed", "{again}");
    assert_eq!(again, done);
    let hidden = about(&desk, &desk.bob, "tasks/get", &id).await;
    assert_eq!(hidden["error"]["code"], -32_602, "{hidden}");
    drop(turn);
}

/// A member may not allow it, so the client is not asked; the task waits for the operator.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_operator_decides_about_a_call_of_a_members_task() {
    let desk = desk().await;
    let id = task_of(&desk, &desk.ann, "run touch made-up").await;
    let path = format!("/v1/sessions/{id}");
    let waits = async {
        loop {
            let state = desk.get(&format!("{path}/state")).by(&desk.operator);
            let state = state.send().await.ok().json();
            let call = state["pending_approvals"][0]["tool_call_id"].clone();
            if !call.is_null() {
                return call;
            }
            tokio::task::yield_now().await;
        }
    };
    let call = tokio::time::timeout(PATIENCE, waits).await.unwrap();
    let shown = about(&desk, &desk.ann, "tasks/get", &id).await;
    assert_eq!(shown["result"]["status"], "working", "{shown}");
    let mut answers = json!({});
    answers[call.as_str().unwrap()] = json!({"action": "accept", "content": {}});
    let answers = json!({"taskId": id, "inputResponses": answers});
    let taken = ask(&desk, &desk.ann, ("tasks/update", &id), answers, true).await;
    assert!(taken["error"].is_null(), "{taken}");
    assert!(!desk.ann_dir().join("made-up").exists());
    let decision = json!({"tool_call_id": call, "decision": "once"});
    let decided = desk
        .post(&format!("{path}/approvals"), &decision)
        .by(&desk.operator);
    decided.send().await.ok();
    until(&desk, &desk.ann, &id, "completed").await;
    assert!(desk.ann_dir().join("made-up").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_ends_when_it_is_cancelled_and_with_the_token_that_began_it() {
    let mut desk = desk().await;
    let id = task_of(&desk, &desk.operator, "run touch made-up").await;
    until(&desk, &desk.operator, &id, "input_required").await;
    for _ in 0..2 {
        // What has ended stays as it is.
        let cancelled = about(&desk, &desk.operator, "tasks/cancel", &id).await;
        assert!(cancelled["error"].is_null(), "{cancelled}");
        until(&desk, &desk.operator, &id, "cancelled").await;
    }
    let server = desk.server.take().unwrap();
    let chores = tokio::spawn(server.run(std::future::pending()));
    let key = Keyring::at(&desk.state.settings().data_dir);
    let mut answer = desk.answer(&key.identity().unwrap().unwrap()).await;
    answer["mcp"] = json!({"name": "claude", "lifetime_s": 3_600});
    let made = desk.post("/v1/auth/token", &answer).send().await.ok().json();
    let id = task_of(&desk, made["token"].as_str().unwrap(), "run touch made-up").await;
    until(&desk, &desk.operator, &id, "input_required").await;
    let path = format!("/v1/tokens/{}", made["id"].as_str().unwrap());
    let gone = desk.ask(Method::DELETE, &path).by(&desk.operator).send().await;
    assert_eq!(gone.status, StatusCode::NO_CONTENT);
    until(&desk, &desk.operator, &id, "cancelled").await;
    assert!(!desk.directory.path().join("made-up").exists());
    chores.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixteen_tasks_of_a_person_run_at_once() {
    let desk = desk().await;
    let mut ids = Vec::new();
    for _ in 0..16 {
        ids.push(task_of(&desk, &desk.operator, "run touch made-up").await);
    }
    let refused = begun(&desk, &desk.operator, "run touch made-up").await;
    let why = refused["error"]["message"].as_str().unwrap();
    assert!(why.contains("16 of your tasks run already"), "{refused}");
    task_of(&desk, &desk.ann, "hello").await;
    until(&desk, &desk.operator, &ids[0], "input_required").await;
    about(&desk, &desk.operator, "tasks/cancel", &ids[0]).await;
    until(&desk, &desk.operator, &ids[0], "cancelled").await;
    let has_room = async {
        while !begun(&desk, &desk.operator, "hello").await["error"].is_null() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, has_room).await.unwrap();
}

/// A refused call leaves no session.
#[tokio::test]
async fn quotas_of_sessions_hold_for_agents_too() {
    let helper = Arc::new(Helper::default());
    let desk = Desk::with_agents(helper.clone(), |settings| settings.quotas.sessions = Some(1)).await;
    helper
        .config
        .set(serde_json::from_value(desk.agent().await).unwrap())
        .unwrap();
    let first = called(&desk, &desk.ann, "hello", json!({})).await;
    assert_eq!(first["isError"], false, "{first}");
    let second = called(&desk, &desk.ann, "hello", json!({})).await;
    assert!(
        text_of(&second).contains("limit of 1 sessions per member"),
        "{second}"
    );
    assert_eq!(second["isError"], true);
    let begun = begun(&desk, &desk.ann, "hello").await;
    let why = begun["error"]["message"].as_str().unwrap();
    assert!(why.contains("limit of 1 sessions per member"), "{begun}");
}
