//! Instructions of subfolders: the first time that an agent reads or changes a file in a subfolder, the
//! folder's `AGENTS.md` follows the result of the call.
//!
//! The result is a fact of the session, so a later reader sees the same text as the model. Scripts that call
//! the same tools get results without it.
//!
//! The process, not the log, remembers for each agent which files it has shown. So it does not show a file
//! again after a rewind removed the result with it, or after a summary replaced that result; the agent can
//! read the file. A process that continues the session remembers nothing and shows each file once more. A
//! folder is checked only once: the next process shows instructions that are written there later.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use agentx_config::Settings;
use agentx_runtime::{BoxFuture, InterceptedTool, Tool, ToolContext, ToolInterceptor, ToolOutcome};
use agentx_tools::ToolWrapper;
use agentx_types::{AgentStateId, ContentPart, Instructions, SessionId};
use serde_json::{Map, Value};

/// The maximum size of the instructions after one result, in bytes, for all files together; the agent can
/// read the rest.
const MAX_BYTES: usize = 16 << 10;
/// The number of remembered files and folders over all agents of all sessions. Beyond that all are forgotten,
/// and given to the models again.
const MAX_REMEMBERED: usize = 4_096;

/// Wraps tools with a path so that they tell the instructions which the settings find towards the file of a
/// call.
pub(crate) fn telling_instructions(settings: &Settings) -> ToolWrapper {
    let (settings, told) = (Arc::new(settings.clone()), Arc::<ShownInstructions>::default());
    Arc::new(move |tool: Arc<dyn Tool>| {
        let Some(path_argument) = tool.spec().path_argument else {
            return tool;
        };
        Arc::new(InterceptedTool(InstructingTool {
            tool,
            path_argument,
            settings: settings.clone(),
            told: told.clone(),
        }))
    })
}

/// A tool that adds the instructions of a call's folder to its results.
struct InstructingTool {
    tool: Arc<dyn Tool>,
    /// The argument of the tool that names a file.
    path_argument: String,
    /// The folders that may instruct the agent, by the person's decision at the start of the runtime.
    settings: Arc<Settings>,
    told: Arc<ShownInstructions>,
}

impl ToolInterceptor for InstructingTool {
    fn tool(&self) -> &Arc<dyn Tool> {
        &self.tool
    }

    fn intercept(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutcome> {
        let named = input.get(&self.path_argument).and_then(Value::as_str);
        let file = named.map(|path| context.workspace.join(path));
        let agent = InstructedAgent {
            session: context.session_id.clone(),
            agent: context.journal.agent_state_id().cloned(),
        };
        let (told, settings) = (self.told.clone(), self.settings.clone());
        let called = self.tool.call(input, context);
        Box::pin(async move {
            let mut outcome = called.await;
            if let Some(file) = file.filter(|_| !outcome.is_error()) {
                let found = instructions(&told, settings, &agent, file).await;
                if !found.is_empty() {
                    outcome.content.push(in_one_part(&found));
                    name_for_people(&mut outcome.details, &found);
                }
            }
            outcome
        })
    }
}

/// Adds the paths of instructions to the details of a result, as `instructions`, so that a person sees which
/// files their agent follows from now on.
fn name_for_people(details: &mut Option<Value>, found: &[Instructions]) {
    let fields = details.get_or_insert_with(|| Value::Object(Map::new()));
    if let Some(fields) = fields.as_object_mut() {
        let paths = found.iter().map(|file| Value::from(file.path.clone()));
        fields.insert("instructions".to_owned(), paths.collect());
    }
}

/// Returns the instructions towards `file`, of a call of `agent`, that the agent has not received yet.
async fn instructions(
    told: &ShownInstructions,
    settings: Arc<Settings>,
    agent: &InstructedAgent,
    file: PathBuf,
) -> Vec<Instructions> {
    let Some(folder) = file.parent().map(Path::to_owned) else {
        return Vec::new();
    };
    if told.has(agent, &folder) {
        return Vec::new();
    }
    let found = tokio::task::spawn_blocking(move || instructions_above(&settings, &file)).await;
    let Ok(Some(mut found)) = found else {
        return Vec::new();
    };
    told.is_news(agent, &folder);
    found.retain(|file| told.is_news(agent, Path::new(&file.path)));
    found
}

/// The instructions towards a file, without the file itself; `None` if it is a folder or cannot be found.
fn instructions_above(settings: &Settings, file: &Path) -> Option<Vec<Instructions>> {
    let real: PathBuf = std::fs::canonicalize(file).ok()?;
    if !real.is_file() {
        return None;
    }
    let mut found = settings.instructions_towards(&real);
    found.retain(|instructions| Path::new(&instructions.path) != real);
    Some(found)
}

/// An agent of a session. A session may have several, each of which has read other files.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct InstructedAgent {
    session: SessionId,
    /// `None` outside of a session.
    agent: Option<AgentStateId>,
}

/// The files that agents were shown, and the folders that were checked for them, as calls named these.
#[derive(Default)]
struct ShownInstructions(Mutex<BTreeSet<(InstructedAgent, PathBuf)>>);

impl ShownInstructions {
    fn has(&self, agent: &InstructedAgent, path: &Path) -> bool {
        let told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        told.contains(&(agent.clone(), path.to_owned()))
    }

    /// Returns whether the path is new to the agent. From now on it is not.
    fn is_news(&self, agent: &InstructedAgent, path: &Path) -> bool {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() >= MAX_REMEMBERED {
            told.clear();
        }
        told.insert((agent.clone(), path.to_owned()))
    }
}

/// All of the files in one part, the outermost folder first, within [`MAX_BYTES`].
fn in_one_part(files: &[Instructions]) -> ContentPart {
    let mut text =
        "\n\n[Instructions of the folders of this file. Follow them for work in these folders.]".to_owned();
    let mut left = MAX_BYTES;
    for file in files {
        let shown = &file.text[..file.text.floor_char_boundary(left)];
        left -= shown.len();
        text.push_str(&format!("\n\nFrom {}:\n\n{}", file.path, shown.trim_end()));
        if shown.len() < file.text.len() {
            text.push_str("\n… The file is longer; read it for the rest.");
        }
    }
    text.push_str("\n\n[End of the instructions of folders.]");
    ContentPart::text(text)
}
