//! A server in a temporary directory, and requests to it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a helper that fails fails its test"
)]

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use agentx_exec_server::{ExecKey, ExecServer, ExecServerOptions};
use reqwest::{Client, RequestBuilder};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub(crate) const KEY: &str = "made-up-key-of-a-test";
/// Far longer than anything here takes: a bound, not a measurement.
pub(crate) const BOUND: Duration = Duration::from_secs(60);

/// A server that runs.
pub(crate) struct Running {
    home: tempfile::TempDir,
    pub(crate) address: SocketAddr,
    pub(crate) client: Client,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Running {
    pub(crate) async fn start() -> Self {
        Self::with(|options| options).await
    }

    pub(crate) async fn with(change: impl FnOnce(ExecServerOptions) -> ExecServerOptions) -> Self {
        let home = tempfile::tempdir().unwrap();
        let directory = home.path().join("work");
        std::fs::create_dir_all(&directory).unwrap();
        let options = ExecServerOptions::new(directory, ExecKey::new(KEY).unwrap());
        let server = ExecServer::open(change(options)).await.unwrap();
        let (address, stop) = (server.address(), CancellationToken::new());
        let stopped = stop.clone().cancelled_owned();
        let task = tokio::spawn(async move { server.run(stopped).await.unwrap() });
        let certificates = agentx_http::Certificates::None;
        Self {
            home,
            address,
            client: agentx_http::client_builder(certificates)
                .timeout(BOUND)
                .build()
                .unwrap(),
            stop,
            task,
        }
    }

    pub(crate) fn directory(&self) -> PathBuf {
        self.home.path().canonicalize().unwrap().join("work")
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn get(&self, path: &str) -> RequestBuilder {
        self.client.get(self.url(path)).header("X-Session-API-Key", KEY)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> RequestBuilder {
        let request = self.client.post(self.url(path)).header("X-Session-API-Key", KEY);
        request.json(body)
    }

    /// Sends a request; returns its status and its body.
    pub(crate) async fn answer(&self, request: RequestBuilder) -> (u16, Value) {
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        (status, response.json().await.unwrap())
    }

    /// Performs an action as OpenHands' client sends it, and returns the observation.
    pub(crate) async fn act(&self, action: Value) -> Value {
        let body = json!({ "action": action });
        let (status, observation) = self.answer(self.post("/execute_action", &body)).await;
        assert_eq!(status, 200, "{observation}");
        observation
    }

    /// Runs a command line; returns its exit code and its output.
    pub(crate) async fn run(&self, command: &str) -> (i64, String) {
        let observation = self.act(command_action(command, json!({}))).await;
        let exit_code = observation["extras"]["metadata"]["exit_code"].as_i64().unwrap();
        (exit_code, observation["content"].as_str().unwrap().to_owned())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.cancel();
        self.task.abort();
    }
}

/// The action of a command line as OpenHands writes it, with other arguments.
pub(crate) fn command_action(command: &str, other: Value) -> Value {
    let mut args = json!({
        "command": command, "is_input": false, "thought": "", "blocking": false, "is_static": false, "cwd": null,
        "hidden": false, "confirmation_state": "confirmed", "security_risk": -1,
    });
    for (name, value) in other.as_object().unwrap() {
        args[name] = value.clone();
    }
    json!({
        "id": 7, "timestamp": "2025-01-02T03:04:05.000000", "source": "agent", "message": "Running command",
        "action": "run", "args": args, "timeout": 20,
    })
}
