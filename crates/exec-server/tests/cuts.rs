//! Tools of a session that run at a server, over connections that are cut.
#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use agentx_exec_server::{ExecKey, ExecServerAddress, RemoteTools, RemoteToolsError};
use agentx_runtime::{
    BlobStore, BoxFuture, Journal, LogError, Tool, ToolContext, ToolOutcome, ToolOutputSink, blob_id,
};
use agentx_tools::{CommandRewind, ToolOptions, Toolbox};
use agentx_types::{BlobId, ContentPart, SessionId, ToolCallId, ToolStatus};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::support::{BOUND, KEY, Running};

/// Blobs that are only named.
struct NoBlobs;

impl BlobStore for NoBlobs {
    fn put_blob(&self, bytes: Vec<u8>) -> BoxFuture<'_, Result<BlobId, LogError>> {
        Box::pin(async move { Ok(blob_id(&bytes)) })
    }

    fn get_blob(&self, id: &BlobId, _: std::ops::Range<u64>) -> BoxFuture<'_, Result<Vec<u8>, LogError>> {
        let id = id.clone();
        Box::pin(async move { Err(LogError::NoBlob(id)) })
    }

    fn blob_size(&self, id: &BlobId) -> BoxFuture<'_, Result<u64, LogError>> {
        let id = id.clone();
        Box::pin(async move { Err(LogError::NoBlob(id)) })
    }
}

fn context(cancel: &CancellationToken) -> ToolContext {
    ToolContext {
        tool_call_id: ToolCallId::new("call_1"),
        session_id: SessionId::new("ses_test"),
        workspace: "/made/up/workspace".into(),
        outside_workspace: false,
        output: ToolOutputSink::discard(),
        journal: Journal::discard(),
        blobs: Arc::new(NoBlobs),
        cancel: cancel.clone(),
        values: Default::default(),
        slots: Default::default(),
    }
}

async fn tools_at(address: SocketAddr) -> RemoteTools {
    let key = ExecKey::new(KEY).unwrap();
    let address = ExecServerAddress::parse(&format!("http://{address}"), key).unwrap();
    let local = Toolbox::builtin(ToolOptions::default());
    RemoteTools::of(address, &local).await.unwrap()
}

async fn call(tools: &RemoteTools, name: &str, input: Value) -> ToolOutcome {
    call_until(tools, name, input, &CancellationToken::new()).await
}

async fn call_until(
    tools: &RemoteTools,
    name: &str,
    input: Value,
    cancel: &CancellationToken,
) -> ToolOutcome {
    let tool: &Arc<dyn Tool> = tools
        .tools()
        .iter()
        .find(|tool| tool.spec().name == name)
        .unwrap();
    let called = tool.call(input, context(cancel));
    tokio::time::timeout(BOUND, called).await.unwrap()
}

fn text(outcome: &ToolOutcome) -> String {
    outcome.content.iter().filter_map(ContentPart::as_text).collect()
}

#[tokio::test]
async fn tools_run_in_the_directory_of_the_server() {
    let server = Running::start().await;
    let tools = tools_at(server.address).await;
    let written = call(
        &tools,
        "write",
        json!({"path": "/made/up/workspace/a.txt", "content": "one\n"}),
    )
    .await;
    assert_eq!(written.status, ToolStatus::Success, "{}", text(&written));
    let details = written.details.unwrap();
    assert!(
        details["exec_server"]
            .as_str()
            .unwrap()
            .starts_with("http://127.")
    );
    assert!(
        details.get("post_image").is_none(),
        "nothing goes back there: {details}"
    );
    assert!(text(&call(&tools, "read", json!({"path": "a.txt"})).await).contains("one"));
    assert!(text(&call(&tools, "grep", json!({"pattern": "on."})).await).contains("a.txt"));
    let ran = call(&tools, "bash", json!({"command": "pwd; exit 4"})).await;
    let place = server.directory().display().to_string();
    assert!(
        ran.status == ToolStatus::Failed && text(&ran).starts_with(&place),
        "{}",
        text(&ran)
    );
    let outside = call(&tools, "read", json!({"path": "/etc/hostname"})).await;
    assert_eq!(outside.status, ToolStatus::Denied, "{}", text(&outside));
}

/// A rewind would restore files of this machine that have the names of the server's.
#[tokio::test]
async fn changes_that_a_server_names_are_no_changes_of_files_here() {
    let kept = tempfile::tempdir().unwrap();
    let rewind = CommandRewind::new(kept.path().to_owned());
    let server = Running::with(|mut options| {
        options.tools.bash.rewind = Some(rewind);
        options
    })
    .await;
    let tools = tools_at(server.address).await;
    let ran = call(&tools, "bash", json!({"command": "echo one > a.txt"})).await;
    assert_eq!(ran.status, ToolStatus::Success, "{}", text(&ran));
    let details = ran.details.unwrap();
    assert!(
        details.get("exec_server").is_some() && details.get("changes").is_none(),
        "{details}"
    );
    assert!(
        kept.path().read_dir().unwrap().next().is_some(),
        "the server looked at its files"
    );
}

/// The target of a relay, and the connections that it cuts off.
struct RelayPlan {
    to: Mutex<SocketAddr>,
    /// The place to pass on to after the next cut.
    next: Mutex<Option<SocketAddr>>,
    /// Requests of actions that are still to be cut off before their answers.
    cuts: AtomicUsize,
}

/// Passes connections on to a server.
struct Relay {
    address: SocketAddr,
    plan: Arc<RelayPlan>,
    task: JoinHandle<()>,
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Relay {
    async fn start(to: SocketAddr) -> Self {
        let plan = Arc::new(RelayPlan {
            to: Mutex::new(to),
            next: Mutex::new(None),
            cuts: AtomicUsize::new(0),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let planned = Arc::clone(&plan);
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((from, _)) = listener.accept().await {
                connections.spawn(pass(from, Arc::clone(&planned)));
            }
        });
        Self { address, plan, task }
    }
}

/// Passes requests on, until a request of an action has to be cut off.
async fn pass(mut from: TcpStream, plan: Arc<RelayPlan>) {
    let to = *plan.to.lock().unwrap();
    let mut server = TcpStream::connect(to).await.unwrap();
    let (mut up, mut down) = (vec![0; 64 << 10], vec![0; 64 << 10]);
    let mut is_action = false;
    loop {
        tokio::select! {
            read = from.read(&mut up) => {
                let Ok(bytes @ 1..) = read else { return };
                is_action |= up[..bytes].starts_with(b"POST /v1/actions ");
                server.write_all(&up[..bytes]).await.unwrap();
            }
            read = server.read(&mut down) => {
                let Ok(bytes @ 1..) = read else { return };
                let one_less = |left: usize| left.checked_sub(1);
                let is_cut = is_action
                    && plan.cuts.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less).is_ok();
                if is_cut {
                    let next = plan.next.lock().unwrap().take();
                    if let Some(next) = next {
                        *plan.to.lock().unwrap() = next;
                    }
                    return;
                }
                if from.write_all(&down[..bytes]).await.is_err() {
                    return;
                }
            }
        }
    }
}

#[tokio::test]
async fn a_call_that_is_cut_off_is_performed_once() {
    let server = Running::start().await;
    let relay = Relay::start(server.address).await;
    let tools = tools_at(relay.address).await;
    for (round, many) in [0, 1, 3].into_iter().enumerate() {
        relay.plan.cuts.store(many, Ordering::SeqCst);
        let line = format!("echo {round} >> rounds; cat rounds | wc -l");
        let outcome = call(&tools, "bash", json!({ "command": line })).await;
        assert_eq!(outcome.status, ToolStatus::Success, "{}", text(&outcome));
        assert!(text(&outcome).trim_start().starts_with(&(round + 1).to_string()));
        assert_eq!(relay.plan.cuts.load(Ordering::SeqCst), 0, "it was cut");
    }
    let rounds = std::fs::read_to_string(server.directory().join("rounds")).unwrap();
    assert_eq!(rounds, "0\n1\n2\n");
}

#[tokio::test]
async fn another_process_of_the_server_repeats_nothing_and_performs_later_calls() {
    let (first, second) = (Running::start().await, Running::start().await);
    let relay = Relay::start(first.address).await;
    let tools = tools_at(relay.address).await;
    relay.plan.cuts.store(1, Ordering::SeqCst);
    *relay.plan.next.lock().unwrap() = Some(second.address);
    let touch = || call(&tools, "bash", json!({"command": "touch made"}));
    let outcome = touch().await;
    assert_eq!(outcome.status, ToolStatus::Unknown, "{}", text(&outcome));
    assert!(
        text(&outcome).contains("It was not repeated"),
        "{}",
        text(&outcome)
    );
    let made = |server: &Running| server.directory().join("made").exists();
    assert!(made(&first) && !made(&second));
    assert_eq!(touch().await.status, ToolStatus::Success);
    assert!(made(&second));
}

#[tokio::test]
async fn paused_deleted_and_unreachable_are_three_answers() {
    let server = Running::start().await;
    let tools = tools_at(server.address).await;
    let touch = || call(&tools, "bash", json!({"command": "touch made"}));
    let set = |phase: &str| server.answer(server.post("/v1/phase", &json!({ "phase": phase })));
    let error_of = |outcome: &ToolOutcome| outcome.details.as_ref().unwrap()["exec_server_error"].clone();
    set("paused").await;
    let paused = touch().await;
    assert_eq!(
        (paused.status, error_of(&paused)),
        (ToolStatus::Failed, json!("paused"))
    );
    set("deleted").await;
    let deleted = touch().await;
    assert_eq!(
        (deleted.status, error_of(&deleted)),
        (ToolStatus::Failed, json!("deleted"))
    );
    // A port at which nobody listens any more.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let nobody = listener.local_addr().unwrap();
    drop(listener);
    let away = call(&tools_at(nobody).await, "bash", json!({"command": "true"})).await;
    assert_eq!(
        (away.status, error_of(&away)),
        (ToolStatus::Failed, json!("unreachable"))
    );
    assert!(!server.directory().join("made").exists());
}

#[tokio::test]
async fn a_cancelled_call_ends_at_the_server() {
    let server = Running::start().await;
    let tools = tools_at(server.address).await;
    let cancel = CancellationToken::new();
    let fifo = server.directory().join("begun");
    make_fifo(&fifo);
    let line = "echo $$ > begun; exec sleep 1000";
    let (outcome, pid) = tokio::join!(
        call_until(&tools, "bash", json!({ "command": line }), &cancel),
        async {
            let pid = tokio::fs::read_to_string(&fifo).await.unwrap();
            cancel.cancel();
            pid
        }
    );
    assert_eq!(outcome.status, ToolStatus::Interrupted, "{}", text(&outcome));
    assert!(!std::path::Path::new("/proc").join(pid.trim()).exists());
}

fn make_fifo(path: &std::path::Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
}

#[tokio::test]
async fn a_key_is_not_sent_in_plain_text_to_another_machine() {
    let key = ExecKey::new(KEY).unwrap();
    let address = ExecServerAddress::parse("http://box.example:7411", key).unwrap();
    let local = Toolbox::builtin(ToolOptions::default());
    let refused = RemoteTools::of(address.clone(), &local).await.err().unwrap();
    assert!(matches!(refused, RemoteToolsError::PlainText { .. }), "{refused}");
    let allowed = ExecServerAddress {
        insecure: true,
        ..address
    };
    assert!(RemoteTools::of(allowed, &local).await.is_ok());
}
