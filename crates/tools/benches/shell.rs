//! The cost of a call of `bash` above the bare process: 50 times `echo hi`, in turn with the standard library
//! running the same, and with tokio doing so; and in a sandbox, from a template and by a helper for each
//! call.
//!
//! `cargo bench -p agentx-tools --bench shell`
#![allow(
    clippy::expect_used,
    reason = "a bench that cannot start a process has nothing to measure"
)]

use std::ops::Range;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use agentx_runtime::{BlobStore, BoxFuture, Journal, LogError, ToolContext, ToolOutputSink};
use agentx_sandbox::{SandboxLauncher, SandboxMode, SandboxNetwork, SandboxProfile};
use agentx_tools::{BashOptions, ToolOptions, Toolbox};
use agentx_types::{BlobId, SessionId, ToolCallId, ToolStatus};
use serde_json::json;
use tokio_util::sync::CancellationToken;

const CALLS: u32 = 50;
const ROUNDS: usize = 9;

/// Keeps nothing: `echo hi` needs no blob.
struct NoBlobs;

impl BlobStore for NoBlobs {
    fn put_blob(&self, _bytes: Vec<u8>) -> BoxFuture<'_, Result<BlobId, LogError>> {
        Box::pin(async { Ok(BlobId::new("b3_none")) })
    }

    fn get_blob(&self, id: &BlobId, _range: Range<u64>) -> BoxFuture<'_, Result<Vec<u8>, LogError>> {
        let id = id.clone();
        Box::pin(async { Err(LogError::NoBlob(id)) })
    }

    fn blob_size(&self, id: &BlobId) -> BoxFuture<'_, Result<u64, LogError>> {
        let id = id.clone();
        Box::pin(async { Err(LogError::NoBlob(id)) })
    }
}

fn main() -> ExitCode {
    if let Some(ended) = agentx_sandbox::act_as_helper() {
        return ended;
    }
    let place = tempfile::tempdir().expect("a directory");
    for name in ["home", "work"] {
        std::fs::create_dir(place.path().join(name)).expect("a directory");
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let toolbox = Toolbox::builtin(ToolOptions::default());
    let (from_template, by_helper) = (sandboxed(place.path(), false), sandboxed(place.path(), true));
    let (mut ours, mut bare, mut tokio) = (Duration::MAX, Duration::MAX, Duration::MAX);
    let (mut template, mut helper) = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        ours = ours.min(time(|| runtime.block_on(call(&toolbox, place.path()))));
        template = template.min(time(|| runtime.block_on(call(&from_template, place.path()))));
        helper = helper.min(time(|| runtime.block_on(call(&by_helper, place.path()))));
        bare = bare.min(time(|| {
            assert!(command().output().expect("a process").status.success())
        }));
        tokio = tokio.min(time(|| {
            let done = runtime.block_on(async { tokio::process::Command::from(command()).output().await });
            assert!(done.expect("a process").status.success());
        }));
    }
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    println!("one `echo hi`, best of {ROUNDS} times the mean of {CALLS}, microseconds");
    println!("bash tool {:>8.0}", micros(ours));
    println!(
        "std       {:>8.0}   ours is {:+.0}",
        micros(bare),
        micros(ours) - micros(bare)
    );
    println!(
        "tokio     {:>8.0}   ours is {:+.0}",
        micros(tokio),
        micros(ours) - micros(tokio)
    );
    let (template, helper) = (micros(template) - micros(ours), micros(helper) - micros(ours));
    println!("a sandbox adds {template:.0} from a template, {helper:.0} by a helper");
    ExitCode::SUCCESS
}

/// The tools with commands in the sandbox `everyday`. Best effort takes a helper for each command.
fn sandboxed(home: &Path, best_effort: bool) -> Toolbox {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let profile = SandboxProfile {
        home: Some(home.join("home")),
        program_directories: std::env::split_paths(&path).collect(),
        network: SandboxNetwork::On,
        best_effort,
        ..SandboxProfile::default()
    };
    let bash = BashOptions {
        sandbox: Some(SandboxLauncher::of_this_program(SandboxMode::Everyday, profile)),
        ..BashOptions::default()
    };
    Toolbox::builtin(ToolOptions {
        bash,
        ..ToolOptions::default()
    })
}

fn command() -> Command {
    let mut command = Command::new("/bin/bash");
    command.args(["-c", "echo hi"]).stdin(Stdio::null());
    command
}

/// The mean time of a call.
fn time(mut work: impl FnMut()) -> Duration {
    let start = Instant::now();
    for _ in 0..CALLS {
        work();
    }
    start.elapsed() / CALLS
}

async fn call(toolbox: &Toolbox, place: &Path) {
    let context = ToolContext {
        tool_call_id: ToolCallId::new("call_1"),
        session_id: SessionId::new("ses_1"),
        workspace: place.join("work"),
        outside_workspace: false,
        output: ToolOutputSink::discard(),
        journal: Journal::discard(),
        blobs: Arc::new(NoBlobs),
        cancel: CancellationToken::new(),
        values: Default::default(),
        slots: Default::default(),
    };
    let outcome = toolbox.call("bash", json!({"command": "echo hi"}), context).await;
    assert_eq!(outcome.status, ToolStatus::Success);
}
