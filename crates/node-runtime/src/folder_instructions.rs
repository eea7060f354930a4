//! Instructions of subfolders: the first time that an agent reads or changes a file there, the folder's `AGENTS.md` follows the result of the call.
//!
//! The result is a fact of the session, so a later reader sees what the model was told. Scripts that call the same tools get results without it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use agentx_config::Settings;
use agentx_runtime::{BoxFuture, Tool, ToolContext, ToolOutcome};
use agentx_tools::ToolWrapper;
use agentx_types::{ContentPart, Instructions, SessionId, ToolSpec};
use serde_json::Value;

/// How much of a file is told, in bytes; the agent can read the rest.
const MAX_BYTES: usize = 16 << 10;
/// How many folders are remembered over all sessions. Beyond that they are told once more.
const MAX_TOLD: usize = 4_096;

/// Wraps tools with a path so that they tell the instructions which the settings find towards the file of a call.
pub(crate) fn telling_instructions(settings: &Settings) -> ToolWrapper {
    let (settings, told) = (Arc::new(settings.clone()), Arc::new(Mutex::default()));
    Arc::new(move |tool: Arc<dyn Tool>| {
        let Some(path_argument) = tool.spec().path_argument else {
            return tool;
        };
        Arc::new(InstructingTool {
            tool,
            path_argument,
            settings: settings.clone(),
            told: told.clone(),
        })
    })
}

/// A tool whose results are followed by the instructions of the folder that a call was about.
struct InstructingTool {
    tool: Arc<dyn Tool>,
    path_argument: String,
    settings: Arc<Settings>,
    /// The files that each session was told, by their paths.
    told: Arc<Mutex<BTreeSet<(SessionId, String)>>>,
}

impl Tool for InstructingTool {
    fn spec(&self) -> ToolSpec {
        self.tool.spec()
    }

    fn call(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutcome> {
        let named = input.get(&self.path_argument).and_then(Value::as_str);
        let file = named.map(|path| context.workspace.join(path));
        let (session, told, settings) = (
            context.session_id.clone(),
            self.told.clone(),
            self.settings.clone(),
        );
        let called = self.tool.call(input, context);
        Box::pin(async move {
            let mut outcome = called.await;
            if let Some(file) = file.filter(|_| !outcome.is_error()) {
                let found = tokio::task::spawn_blocking(move || towards(&settings, &file)).await;
                let new = found.unwrap_or_default().into_iter();
                let new = new.filter(|file| is_news(&told, &session, &file.path));
                outcome.content.extend(new.map(|file| part(&file)));
            }
            outcome
        })
    }

    fn waits(&self) -> bool {
        self.tool.waits()
    }
}

/// The instructions towards a file; none where it is a folder, or instructions itself.
fn towards(settings: &Settings, file: &Path) -> Vec<Instructions> {
    let real: Option<PathBuf> = std::fs::canonicalize(file).ok();
    let Some(real) = real.filter(|real| real.is_file()) else {
        return Vec::new();
    };
    let mut found = settings.instructions_towards(&real);
    found.retain(|instructions| Path::new(&instructions.path) != real);
    found
}

/// Whether a session was not told this file yet. From now on it was.
fn is_news(told: &Mutex<BTreeSet<(SessionId, String)>>, session: &SessionId, path: &str) -> bool {
    let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
    if told.len() >= MAX_TOLD {
        told.clear();
    }
    told.insert((session.clone(), path.to_owned()))
}

fn part(file: &Instructions) -> ContentPart {
    let text = &file.text[..file.text.floor_char_boundary(MAX_BYTES)];
    let end = if text.len() < file.text.len() {
        "\n… The file is longer; read it for the rest."
    } else {
        ""
    };
    ContentPart::text(format!(
        "\n\nInstructions for this folder, from {}:\n\n{}{end}",
        file.path,
        text.trim_end()
    ))
}
