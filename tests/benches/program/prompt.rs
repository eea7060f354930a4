//! From `agentx` alone to the echo of a key that was pressed at once: how long a person waits to write, in a
//! home without sessions and in one with 10,000.

use std::time::{Duration, Instant};

use agentx::types::{AgentConfig, SessionId};

use crate::keys::Chat;
use crate::process::{Scratch, median};
use crate::{built, filled};

const SESSIONS: usize = 10_000;
const RUNS: usize = 20;
/// No letter that the program says itself.
const KEY: &str = "ж";

pub(crate) fn measure() {
    let scratch = Scratch::new("prompt");
    print("no sessions", &scratch);
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
        .block_on(fill(&scratch));
    print("10,000 sessions", &scratch);
}

fn print(what: &str, scratch: &Scratch) {
    // The first start makes what is missing.
    until_echo(scratch);
    let times: Vec<f64> = (0..RUNS).map(|_| until_echo(scratch)).collect();
    println!(
        "{what:<16} from the start to the echo of a key  {:.1} ms, worst {:.1} ms (median of {RUNS})",
        median(times.iter().copied()),
        times.iter().copied().fold(0.0, f64::max),
    );
}

/// Milliseconds. The terminal itself echoes nothing, so the letter comes from the line of the chat.
fn until_echo(scratch: &Scratch) -> f64 {
    let began = Instant::now();
    let mut chat = Chat::start(scratch, "http://127.0.0.1:9", &[]);
    chat.press(KEY);
    let seen = chat
        .wait_for(KEY, Duration::from_secs(10))
        .expect("the key is echoed");
    // The line is emptied, then there are no more.
    chat.press("\u{15}\u{4}");
    chat.child.wait().expect("its end");
    (seen - began).as_secs_f64() * 1e3
}

async fn fill(scratch: &Scratch) {
    let log = built::log_in(&scratch.0.join(".local/share/agentx"));
    for number in 0..SESSIONS {
        let config = AgentConfig {
            workspace: scratch.0.join("ws").to_string_lossy().into_owned(),
            ..agentx::agent::fixtures::config()
        };
        let id = SessionId::new(format!("ses_{number:012}"));
        filled::fill(&log, id, config, 1).await;
    }
}
