//! The current state of the file that a waiting call would change. A chat shows the change before anybody
//! decides; for a remote chat, its server reads the file.
//!
//! This module changes no file and waits for nobody. A preview is one read of the disk, made on a thread for
//! blocking work, and may be out of date when it is shown: the tool checks again when the call runs.
//!
//! | at the path | `text` | `withheld` |
//! | --- | --- | --- |
//! | a text file of up to 1 MiB | its text | |
//! | nothing | | |
//! | a directory, a device, a pipe | | "it is not a regular file" |
//! | a larger file | | "it has more than 1024 KiB" |
//! | bytes that are not UTF-8 | | "it is not text" |
//! | a file that the agent may not read ([`DiskPreview::ToTheAgent`]) | | the rule that forbids it |
//!
//! The links in a call are followed, too (`preview_links`).

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentx_agent::approval::is_unasked;
use agentx_runtime::{
    FileChangePreview, PendingApproval, Ruling, RulingKind, RuntimeError, Session, refused_by_the_tool,
};
use agentx_types::{Access, AgentConfig, SessionId, ToolCallId, ToolSpec};
use serde_json::json;

use crate::NodeRuntime;
use crate::preview_links::{DiskPreview, line_links, path_links};

/// Files beyond this are not shown: a preview is held in memory and sent to a front end.
const MOST_BYTES: u64 = 1 << 20;

impl NodeRuntime {
    /// The present contents of a file that a call waiting for a decision would change, and the links in the
    /// call.
    ///
    /// # Errors
    /// Returns an error if no decision is awaited for this call.
    pub async fn file_now(
        &self,
        session: &SessionId,
        open: Option<Arc<dyn Session>>,
        call: &ToolCallId,
        shown: DiskPreview,
    ) -> Result<FileChangePreview, RuntimeError> {
        let state = match open {
            Some(open) if open.id() == session => open.state().await?,
            _ => self.state(session).await?,
        };
        let mut asked = state.pending_approvals.into_iter();
        let Some(asked) = asked.find(|asked| asked.tool_call_id == *call) else {
            return Err(RuntimeError::Refused(format!(
                "{call} is not waiting for a decision"
            )));
        };
        let spec = self.spec_of(&state.config, &asked.name);
        // The toolbox's own commands are those that the sandbox holds.
        if asked.name == "bash" {
            let background = self.toolbox().background();
            // The first look at the machine starts a process.
            let workspace = PathBuf::from(&state.config.workspace);
            // It runs if somebody approves it.
            let is_unasked = is_unasked(&state.config, &asked.name, &asked.input, true);
            let look = move || FileChangePreview {
                sandbox: background.and_then(|background| background.sandbox(&workspace, is_unasked)),
                ..spec.map_or_else(FileChangePreview::default, |spec| {
                    line_links(&state.config, &spec, &asked.input, shown)
                })
            };
            return Ok(tokio::task::spawn_blocking(look).await.unwrap_or_default());
        }
        let Some(spec) = spec else {
            return Ok(FileChangePreview::default());
        };
        let Some(path) = named_path(&spec, &asked) else {
            return Ok(FileChangePreview::default());
        };
        let reading = match shown {
            DiskPreview::All => None,
            DiskPreview::ToTheAgent => Some(self.spec_of(&state.config, "read")),
        };
        let config = state.config;
        let read = move || {
            let links = path_links(&config, &spec, &asked.input, &path, shown);
            if spec.access != Access::Change {
                return links;
            }
            let place = match reading {
                None => Ok(Some(Path::new(&config.workspace).join(&path))),
                Some(reading) => may_read(&config, reading.as_ref(), &path),
            };
            let found = place.and_then(|place| place.map_or(Ok(None), |place| text_at(&place)));
            let (text, withheld) = match found {
                Ok(text) => (text, None),
                Err(why) => (None, Some(why)),
            };
            FileChangePreview {
                path: Some(path),
                text,
                withheld,
                ..links
            }
        };
        let done = tokio::task::spawn_blocking(read).await;
        done.map_err(|error| RuntimeError::Refused(format!("cannot read the file: {error}")))
    }

    fn spec_of(&self, config: &AgentConfig, name: &str) -> Option<ToolSpec> {
        let offered = self.toolbox().specs();
        let mut known = config.tools.iter().chain(offered.iter());
        known.find(|spec| spec.name == name).cloned()
    }
}

/// The file that a call names, if it names one.
fn named_path(spec: &ToolSpec, asked: &PendingApproval) -> Option<String> {
    let argument = spec.path_argument.as_ref()?;
    Some(asked.input.get(argument)?.as_str()?.to_owned())
}

/// Returns the real path if the agent may read it without approval and it is inside of its workspace after
/// links are resolved; `None` otherwise. The caller then reads that path, even if the links change meanwhile.
fn may_read(config: &AgentConfig, reading: Option<&ToolSpec>, path: &str) -> Result<Option<PathBuf>, String> {
    let reading = reading.ok_or("this agent reads no files")?;
    let argument = reading.path_argument.as_deref().unwrap_or("path");
    let input = json!({ argument: path });
    let ruling = Ruling::of(config, reading, &input);
    if ruling.decision != RulingKind::Allow {
        return Err(format!("the agent needs approval to read it: {}", ruling.because));
    }
    let Ok(root) = std::fs::canonicalize(&config.workspace) else {
        return Err("the workspace cannot be read".into());
    };
    let Ok(real) = std::fs::canonicalize(root.join(path)) else {
        return Ok(None);
    };
    if !real.starts_with(&root) {
        return Err("it is outside the workspace".into());
    }
    match refused_by_the_tool(config, reading, &input, &root, &real) {
        Some(why) => Err(format!("the agent may not simply read it: {why}")),
        None => Ok(Some(real)),
    }
}

/// The text of a file; `None` if there is none.
fn text_at(path: &Path) -> Result<Option<String>, String> {
    let Ok(metadata) = std::fs::metadata(path) else {
        return Ok(None);
    };
    if !metadata.is_file() {
        return Err("it is not a regular file".into());
    }
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(MOST_BYTES + 1).read_to_string(&mut text));
    match read {
        _ if metadata.len() > MOST_BYTES || text.len() as u64 > MOST_BYTES => {
            Err(format!("it has more than {} KiB", MOST_BYTES >> 10))
        }
        Ok(_) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::InvalidData => Err("it is not text".into()),
        Err(error) => Err(format!("it cannot be read: {error}")),
    }
}
