//! `agentx mcp serve` asks the person at its client, and runs agents as tasks that outlive the connection.

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::common::Sandbox;

/// The longest wait for the state of a task.
const PATIENCE: Duration = Duration::from_secs(60);

/// A client at the pipes of a server.
struct McpClient {
    server: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl McpClient {
    fn start(sandbox: &Sandbox) -> Self {
        let mut command = sandbox.command(&["mcp", "serve"]);
        let mut server = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self {
            input: server.stdin.take().unwrap(),
            output: BufReader::new(server.stdout.take().unwrap()).lines(),
            server,
        }
    }

    fn send(&mut self, message: &Value) {
        self.input.write_all(format!("{message}\n").as_bytes()).unwrap();
    }

    fn heard(&mut self) -> Value {
        serde_json::from_str(&self.output.next().unwrap().unwrap()).unwrap()
    }

    /// A request of a client that shows forms, in a version with a handshake or in the one without.
    fn ask(&mut self, method: &str, mut params: Value, extensions: Option<Value>) -> Value {
        if let Some(extensions) = extensions {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}, "extensions": extensions},
            });
        }
        self.send(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}));
        self.heard()
    }

    /// A request of a client that knows tasks.
    fn ask_about_tasks(&mut self, method: &str, params: Value) -> Value {
        let extensions = json!({"io.modelcontextprotocol/tasks": {}});
        self.ask(method, params, Some(extensions))
    }

    /// Waits until a task has this status.
    fn until(&mut self, task: &Value, status: &str) -> Value {
        let began = Instant::now();
        loop {
            let answer = self.ask_about_tasks("tasks/get", json!({"taskId": task}));
            if answer["result"]["status"] == status {
                return answer["result"].clone();
            }
            assert!(answer["error"].is_null(), "{answer}");
            assert!(began.elapsed() < PATIENCE, "{answer}");
        }
    }

    fn end(self) {
        let Self {
            mut server, input, ..
        } = self;
        drop(input);
        assert!(server.wait().unwrap().success());
    }
}

/// Calls the tool `asks`, and answers all its questions in this way. Returns the questions, and the result.
fn called(client: &mut McpClient, action: &str) -> (Vec<String>, Value) {
    let mut answer = client.ask("tools/call", json!({"name": "asks"}), None);
    let mut questions = Vec::new();
    while answer["method"] == "elicitation/create" {
        let question = answer["params"]["message"].as_str().unwrap().to_owned();
        let action = if question.contains("bash for asks") {
            action
        } else {
            "accept"
        };
        questions.push(question);
        let result = json!({"action": action});
        client.send(&json!({"jsonrpc": "2.0", "id": answer["id"], "result": result}));
        answer = client.heard();
    }
    (questions, answer["result"].clone())
}

#[test]
fn the_person_at_the_client_decides_about_a_call_that_a_served_script_makes() {
    let sandbox = Sandbox::new();
    sandbox.config("rules:\n  - {effect: ask, tool: bash}\n").write(
        "home/.config/agentx/tools/asks.yaml",
        "name: asks\ntype: luau\ncapabilities: {tools: [bash]}\n\
             lua: 'return function(ctx) return ctx.invoke(\"bash\", {command = \"touch made\"}) end'\n",
    );
    let mut client = McpClient::start(&sandbox);
    let capable = json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}});
    client.ask("initialize", capable, None);
    let (questions, declined) = called(&mut client, "decline");
    assert!(
        questions.iter().any(|asked| asked.contains("touch made")),
        "{questions:?}"
    );
    assert_eq!(declined["isError"], true, "{declined}");
    assert!(
        declined.to_string().contains("the caller did not allow it"),
        "{declined}"
    );
    assert!(!sandbox.path("ws/made").exists());
    let (_, accepted) = called(&mut client, "accept");
    assert_eq!(accepted["isError"], false, "{accepted}");
    assert!(sandbox.path("ws/made").exists());
    client.end();
}

/// A sandbox with an agent that touches a file, which its person is asked about.
fn with_agent() -> Sandbox {
    let sandbox = Sandbox::new();
    let script = "- { system: \"You work.*\", result: \"*\", say: It is done. }\n\
                  - { system: \"You work.*\", call: { tool: bash, input: { command: touch made } } }\n";
    sandbox
        .write(
            "home/.config/agentx/agents/chief.yaml",
            "name: chief\ntype: react\nprompt: You work.\ntools: [{ $ref: 'tool:bash' }]\n",
        )
        .demo(script, "");
    sandbox
}

/// Begins the agent as a task; returns its id.
fn begun(client: &mut McpClient) -> Value {
    let call = json!({"name": "agent__chief", "arguments": {"prompt": "touch it"}});
    let begun = client.ask_about_tasks("tools/call", call)["result"].clone();
    assert_eq!(
        (&begun["resultType"], &begun["status"]),
        (&json!("task"), &json!("working")),
        "{begun}"
    );
    begun["taskId"].clone()
}

#[test]
fn a_task_and_its_question_outlive_the_server_that_began_it() {
    let sandbox = with_agent();
    let mut client = McpClient::start(&sandbox);
    let found = client.ask_about_tasks("server/discover", json!({}));
    let extensions = &found["result"]["capabilities"]["extensions"];
    assert_eq!(*extensions, json!({"io.modelcontextprotocol/tasks": {}}));
    let task = begun(&mut client);
    client.until(&task, "input_required");
    client.end();
    let mut client = McpClient::start(&sandbox);
    let asks = client.until(&task, "input_required");
    let (key, asked) = asks["inputRequests"].as_object().unwrap().iter().next().unwrap();
    let message = asked["params"]["message"].as_str().unwrap();
    assert!(message.contains("touch made"), "{asks}");
    let mut responses = json!({"other": {"action": "decline"}});
    responses[key.as_str()] = json!({"action": "accept", "content": {}});
    let taken = client.ask_about_tasks(
        "tasks/update",
        json!({"taskId": task, "inputResponses": responses}),
    );
    assert_eq!(taken["result"], json!({"resultType": "complete"}));
    let done = client.until(&task, "completed");
    assert!(done["result"].to_string().contains("It is done."), "{done}");
    assert!(sandbox.path("ws/made").exists());
    client.end();
    let mut client = McpClient::start(&sandbox);
    client.until(&task, "completed");
    client.end();
}

#[test]
fn a_task_is_cancelled_and_no_other_session_is_a_task() {
    let sandbox = with_agent();
    let mut client = McpClient::start(&sandbox);
    let task = begun(&mut client);
    client.until(&task, "input_required");
    let bare = client.ask("tasks/get", json!({"taskId": task}), Some(json!({})));
    assert_eq!(bare["error"]["code"], -32_021, "{bare}");
    let cancelled = client.ask_about_tasks("tasks/cancel", json!({"taskId": task}));
    assert_eq!(cancelled["result"], json!({"resultType": "complete"}));
    client.until(&task, "cancelled");
    // What has ended stays as it is.
    client.ask_about_tasks("tasks/cancel", json!({"taskId": task}));
    client.until(&task, "cancelled");
    assert!(!sandbox.path("ws/made").exists());
    client.end();
    assert_eq!(sandbox.run(&["run", "hello"]).code, Some(0));
    let other = sandbox.latest_id([]);
    assert_ne!(json!(other), task);
    let mut client = McpClient::start(&sandbox);
    for id in [other.as_str(), "ses_none"] {
        for method in ["tasks/get", "tasks/cancel"] {
            let refused = client.ask_about_tasks(method, json!({"taskId": id}));
            assert_eq!(refused["error"]["code"], -32_602, "{refused}");
        }
    }
    client.end();
}

/// Each client of a folder has a server of its own, and a task runs in one of them.
#[test]
fn a_second_server_shows_a_task_of_the_first_and_takes_no_answer_for_it() {
    let sandbox = with_agent();
    let mut first = McpClient::start(&sandbox);
    let task = begun(&mut first);
    first.until(&task, "input_required");
    let mut second = McpClient::start(&sandbox);
    let asks = second.until(&task, "input_required");
    let (key, asked) = asks["inputRequests"].as_object().unwrap().iter().next().unwrap();
    assert!(
        asked["params"]["message"]
            .as_str()
            .unwrap()
            .contains("touch made"),
        "{asks}"
    );
    let mut responses = json!({});
    responses[key.as_str()] = json!({"action": "accept", "content": {}});
    let answers = json!({"taskId": task, "inputResponses": responses});
    let process = format!("process {}", first.server.id());
    for (method, params, what) in [
        ("tasks/update", answers.clone(), "the answers were not taken"),
        ("tasks/cancel", json!({"taskId": task}), "it was not cancelled"),
    ] {
        let refused = second.ask_about_tasks(method, params);
        let why = refused["error"]["message"].as_str().unwrap();
        assert!(why.contains(what) && why.contains(&process), "{refused}");
    }
    first.until(&task, "input_required");
    first.end();
    // Nobody runs it now.
    second.until(&task, "input_required");
    let taken = second.ask_about_tasks("tasks/update", answers);
    assert_eq!(taken["result"], json!({"resultType": "complete"}));
    second.until(&task, "completed");
    assert!(sandbox.path("ws/made").exists());
    second.end();
}

/// A client that does not know tasks gets the answer when the agent has it, and is asked meanwhile.
#[test]
fn an_agent_that_is_no_task_asks_its_client_too() {
    let sandbox = with_agent();
    let mut client = McpClient::start(&sandbox);
    let capable = json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}});
    client.ask("initialize", capable, None);
    let call = json!({"name": "agent__chief", "arguments": {"prompt": "touch it"}});
    let asked = client.ask("tools/call", call, None);
    assert_eq!(asked["method"], "elicitation/create", "{asked}");
    client.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "accept"}}));
    let done = client.heard();
    assert!(done["result"].to_string().contains("It is done."), "{done}");
    assert!(sandbox.path("ws/made").exists());
    client.end();
}
