//! Creates as many sessions as people have after a year.

use std::path::Path;

use agentx::sqlite_log::SqliteLog;
use agentx::types::{AgentConfig, SessionId};

use crate::built::Build;
use crate::words::Words;

/// Bytes of an input, of an answer, and of the pieces that it comes in.
const INPUT: usize = 3_000;
const ANSWER: usize = 2_000;
const PIECE: usize = 100;

/// The amount of data to create.
#[derive(Clone, Copy)]
pub(crate) struct Size {
    pub(crate) sessions: usize,
    pub(crate) bytes: usize,
}

/// Makes them; one in twenty works in `workspace`.
pub(crate) async fn make(log: &SqliteLog, workspace: &Path, size: Size, words: &mut Words) {
    let each = size.bytes / size.sessions / (INPUT + ANSWER);
    for number in 0..size.sessions {
        let mut config = agentx::agent::fixtures::config();
        config.workspace = match number % 20 {
            0 => workspace.to_string_lossy().into_owned(),
            other => format!("/home/somebody/project-{other}"),
        };
        session(log, number, config, each.max(1), words).await;
    }
}

async fn session(log: &SqliteLog, number: usize, config: AgentConfig, exchanges: usize, words: &mut Words) {
    let id = SessionId::new(format!("ses_{number:012}"));
    let began = 1_700_000_000_000_000 + i64::try_from(number).unwrap_or(0) * 60_000_000;
    let mut build = Build::begin(log, id, config, began).await;
    for _ in 0..exchanges {
        let input = words.text(INPUT);
        build.exchange(input, (0..ANSWER / PIECE).map(|_| words.text(PIECE)));
        build.append(log).await;
    }
}
