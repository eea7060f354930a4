//! Opening a session of 100,000 events, 90,000 of them deltas, to the prompt of a chat.

use agentx::types::{AgentConfig, SessionId};

use crate::process::{Scratch, median, run};
use crate::{built, filled};

const EVENTS: u64 = 100_000;
const RUNS: usize = 15;

pub(crate) fn measure() {
    let scratch = Scratch::new("open");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let id = runtime.block_on(fill(&scratch));
    let open = |args: &[&str]| run(&scratch, "http://127.0.0.1:9", args);
    open(&["resume", id.as_str()]);
    let costs: Vec<_> = (0..RUNS).map(|_| open(&["resume", id.as_str()])).collect();
    println!(
        "{EVENTS} events to the prompt  {:.1} ms   peak {:.1} MiB (median of {RUNS}, whole process)",
        median(costs.iter().map(|cost| cost.wall_s * 1e3)),
        median(costs.iter().map(|cost| cost.peak_mib)),
    );
    let version = median((0..RUNS).map(|_| open(&["fork", id.as_str(), "--at", "50000"]).wall_s * 1e3));
    println!("fork of it                     {version:.1} ms (whole process)");
}

async fn fill(scratch: &Scratch) -> SessionId {
    let log = built::log_in(&scratch.0.join(".local/share/agentx"));
    let id = SessionId::new("ses_bench0000000");
    let config = AgentConfig {
        workspace: scratch.0.join("ws").to_string_lossy().into_owned(),
        ..agentx::agent::fixtures::config()
    };
    filled::fill(&log, id.clone(), config, EVENTS).await;
    id
}
