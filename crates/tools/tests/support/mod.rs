//! Calls tools in tests: a workspace in a temporary directory, blobs in memory, every event kept, and a time
//! limit, so that a tool that hangs fails its test.
#![allow(dead_code, unreachable_pub, reason = "each test file uses a part of it")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a helper that fails fails its test"
)]

use std::collections::HashMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentx_runtime::{
    BlobStore, BoxFuture, EventSink, FactBatch, Journal, LogError, ToolContext, ToolOutcome, ToolOutputSink,
};
use agentx_tools::{ToolOptions, Toolbox};
use agentx_types::{
    Action, ActionBody, ActionId, AgentConfig, AgentStateId, AnswerCall, BlobId, CallingAgent, ContentPart,
    EnvironmentEvent, InputMedium, SessionId, ToolCallId, ToolOutputChunk, ToolStatus,
};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Far longer than any call here takes: a bound, not a measurement.
pub const BOUND: Duration = Duration::from_secs(60);

/// Blobs in memory, by their hash.
#[derive(Default)]
pub struct Blobs {
    blobs: Mutex<HashMap<BlobId, Vec<u8>>>,
    pub full: Mutex<bool>,
}

impl Blobs {
    pub fn get(&self, id: &str) -> Vec<u8> {
        self.blobs.lock().unwrap()[&BlobId::new(id)].clone()
    }
}

impl BlobStore for Blobs {
    fn put_blob(&self, bytes: Vec<u8>) -> BoxFuture<'_, Result<BlobId, LogError>> {
        Box::pin(async move {
            if *self.full.lock().unwrap() {
                return Err(LogError::Full { path: "test".into() });
            }
            let id = BlobId::with_suffix(blake3::hash(&bytes).to_hex());
            self.blobs.lock().unwrap().insert(id.clone(), bytes);
            Ok(id)
        })
    }

    fn get_blob(&self, id: &BlobId, range: Range<u64>) -> BoxFuture<'_, Result<Vec<u8>, LogError>> {
        let found = self.blobs.lock().unwrap().get(id).map(|bytes| {
            let end = (range.end as usize).min(bytes.len());
            bytes[(range.start as usize).min(end)..end].to_vec()
        });
        let id = id.clone();
        Box::pin(async move { found.ok_or(LogError::NoBlob(id)) })
    }

    fn blob_size(&self, id: &BlobId) -> BoxFuture<'_, Result<u64, LogError>> {
        let found = self.blobs.lock().unwrap().get(id).map(|bytes| bytes.len() as u64);
        let id = id.clone();
        Box::pin(async move { found.ok_or(LogError::NoBlob(id)) })
    }
}

/// A workspace with tools.
pub struct Place {
    home: tempfile::TempDir,
    pub workspace: PathBuf,
    pub blobs: Arc<Blobs>,
    pub toolbox: Toolbox,
    pub session: SessionId,
    pub cancel: CancellationToken,
    pub outside: bool,
    journal: Journal,
    events: mpsc::Sender<FactBatch>,
    said: mpsc::Receiver<FactBatch>,
}

impl Place {
    pub fn new() -> Self {
        Self::with(ToolOptions::default())
    }

    pub fn with(options: ToolOptions) -> Self {
        let home = tempfile::tempdir().unwrap();
        let workspace = home.path().canonicalize().unwrap().join("work");
        std::fs::create_dir(&workspace).unwrap();
        let (events, said) = mpsc::channel(4096);
        Self {
            home,
            workspace,
            blobs: Arc::default(),
            toolbox: Toolbox::builtin(options),
            session: SessionId::new("ses_test"),
            cancel: CancellationToken::new(),
            outside: false,
            journal: Journal::discard(),
            events,
            said,
        }
    }

    /// Sets the media that the model of later calls accepts besides text.
    pub fn of_model(&mut self, input: Option<Vec<InputMedium>>) {
        let prices = json!({ "input": 0, "output": 0, "cache_read": 0, "cache_write": 0 });
        let model = json!({ "id": "opal", "provider": "stone", "api": "anthropic", "context_window": 9, "max_output_tokens": 9,
            "prices": prices, "input": input });
        let config = json!({ "kind": "react", "name": "main", "model": model, "params": {}, "system_prompt": "", "instructions": [],
            "workspace": self.workspace, "tools": [], "approval": "ask", "rules": [], "limits": {} });
        let config: AgentConfig = serde_json::from_value(config).unwrap();
        self.journal = Journal::discard_for(Arc::new(CallingAgent {
            config: Some(Arc::new(config)),
            ..CallingAgent::default()
        }));
    }

    pub fn context(&self) -> ToolContext {
        let action = Action {
            action_id: ActionId::following(1, 0),
            agent_state_id: AgentStateId::new("agt_test"),
            run_id: None,
            body: ActionBody::AnswerCall(AnswerCall {
                tool_call_id: ToolCallId::new("call_1"),
                status: ToolStatus::Success,
                content: Vec::new(),
            }),
        };
        let sink = EventSink::for_action(self.events.clone(), &action);
        ToolContext {
            tool_call_id: ToolCallId::new("call_1"),
            session_id: self.session.clone(),
            workspace: self.workspace.clone(),
            outside_workspace: self.outside,
            output: ToolOutputSink::new(sink, ToolCallId::new("call_1")),
            journal: self.journal.clone(),
            blobs: Arc::clone(&self.blobs) as Arc<dyn BlobStore>,
            cancel: self.cancel.clone(),
            values: Default::default(),
            slots: Default::default(),
        }
    }

    /// Calls a tool and waits for its outcome.
    pub async fn call(&self, name: &str, input: Value) -> ToolOutcome {
        let call = self.toolbox.call(name, input, self.context());
        tokio::time::timeout(BOUND, call).await.expect("the call ends")
    }

    /// Calls a tool that has to succeed. Returns the text for the model.
    #[track_caller]
    pub fn ok(&self, name: &str, input: Value) -> impl Future<Output = String> {
        self.says(ToolStatus::Success, name, input)
    }

    /// Calls a tool that has to end with `status`. Returns the text for the model.
    pub async fn says(&self, status: ToolStatus, name: &str, input: Value) -> String {
        let shown = input.to_string();
        let outcome = self.call(name, input).await;
        let said = text(&outcome);
        assert_eq!(outcome.status, status, "{name} {shown}: {said}");
        said
    }

    /// Returns the output events so far.
    pub fn chunks(&mut self) -> Vec<ToolOutputChunk> {
        let mut chunks = Vec::new();
        while let Ok(said) = self.said.try_recv() {
            chunks.extend(said.drafts.into_iter().filter_map(|draft| match draft.event {
                EnvironmentEvent::ToolOutputChunk(chunk) => Some(chunk),
                _ => None,
            }));
        }
        chunks
    }

    /// Waits for the next piece of output.
    pub async fn next_chunk(&mut self) -> String {
        let said = tokio::time::timeout(BOUND, self.said.recv())
            .await
            .expect("output comes")
            .unwrap();
        match &said.drafts[0].event {
            EnvironmentEvent::ToolOutputChunk(chunk) => chunk.text.clone(),
            other => panic!("{other:?}"),
        }
    }

    pub fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.workspace.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    pub fn read(&self, path: &str) -> String {
        String::from_utf8(std::fs::read(self.workspace.join(path)).unwrap()).unwrap()
    }

    /// Creates a directory beside the workspace.
    pub fn beside(&self) -> PathBuf {
        let path = self.workspace.parent().unwrap().join("beside");
        std::fs::create_dir_all(&path).unwrap();
        path
    }
}

/// Returns the text for the model.
pub fn text(outcome: &ToolOutcome) -> String {
    outcome.content.iter().filter_map(ContentPart::as_text).collect()
}

/// Returns whether a process exists and is not a zombie.
pub fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit(')')
        .next()
        .is_some_and(|rest| !rest.is_empty() && !rest.trim_start().starts_with(['Z', 'X']))
}

/// Waits until a process is gone.
pub async fn gone(pid: &str) {
    let dying = async {
        while is_alive(pid) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(BOUND, dying)
        .await
        .expect("the process ends");
}

#[track_caller]
pub fn has(said: &str, words: &[&str]) {
    for word in words {
        assert!(said.contains(word), "{word:?} is not in:\n{said}");
    }
}

impl Place {
    /// Sends events to a queue that nobody reads.
    pub fn fill_queue(&mut self, events: mpsc::Sender<FactBatch>) {
        self.events = events;
    }
}

/// Returns a descendant of this test process with that name.
pub fn find_process(name: &str) -> Option<String> {
    let own = std::process::id().to_string();
    std::fs::read_dir("/proc").ok()?.flatten().find_map(|entry| {
        let pid = entry.file_name().into_string().ok()?;
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (front, rest) = stat.rsplit_once(')')?;
        let parent = rest.split_ascii_whitespace().nth(1)?;
        (front.ends_with(&format!("({name}")) && parent == own).then_some(pid)
    })
}
