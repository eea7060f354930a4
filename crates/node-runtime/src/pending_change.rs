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
//! `leads_to` is set if a symbolic link leads elsewhere, so that a person who allows `notes.txt` sees that it
//! is `~/.bashrc`.

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

/// Files beyond this are not shown: a preview is held in memory and sent to a front end.
const MOST_BYTES: u64 = 1 << 20;

/// The files that a preview may show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskPreview {
    /// Every file that the program can read, for the person who runs it.
    All,
    /// Files in the workspace that the agent may read without approval: an approver learns nothing about the
    /// machine from the agent's requests.
    ToTheAgent,
}

impl NodeRuntime {
    /// The present contents of a file that a call waiting for a decision would change.
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
            let held = tokio::task::spawn_blocking(move || background?.sandbox(&workspace, is_unasked)).await;
            return Ok(FileChangePreview {
                sandbox: held.unwrap_or_default(),
                ..FileChangePreview::default()
            });
        }
        let Some(path) = spec.and_then(|spec| changed_path(&spec, &asked)) else {
            return Ok(FileChangePreview::default());
        };
        let reading = match shown {
            DiskPreview::All => None,
            DiskPreview::ToTheAgent => Some(self.spec_of(&state.config, "read")),
        };
        let config = state.config;
        let read = move || {
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
                leads_to: leads_to(&config.workspace, &path, shown),
                path: Some(path),
                text,
                withheld,
                sandbox: None,
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

/// The file that a call changes, if it changes one.
fn changed_path(spec: &ToolSpec, asked: &PendingApproval) -> Option<String> {
    let argument = spec
        .path_argument
        .as_ref()
        .filter(|_| spec.access == Access::Change)?;
    Some(asked.input.get(argument)?.as_str()?.to_owned())
}

/// Returns the real path of a file if it differs from its name because of a link. A remote person does not
/// learn paths outside the workspace.
fn leads_to(workspace: &str, path: &str, shown: DiskPreview) -> Option<String> {
    let root = std::fs::canonicalize(workspace).ok()?;
    let written = PathBuf::from(agentx_agent::pattern::normalize(&root.to_string_lossy(), path));
    // A missing file would be created below the existing part of its path.
    let there = written
        .ancestors()
        .find(|place| place.symlink_metadata().is_ok())?;
    let Ok(real) = std::fs::canonicalize(there) else {
        let target = std::fs::read_link(there).ok()?;
        return (shown == DiskPreview::All).then(|| target.to_string_lossy().into_owned());
    };
    // There is no rest if the path itself exists: joining an empty one would add a slash.
    let real = match written.strip_prefix(there).ok()? {
        rest if rest.as_os_str().is_empty() => real,
        rest => real.join(rest),
    };
    let below = |place: &Path| place.strip_prefix(workspace).map(Path::to_owned);
    if real == written || real.strip_prefix(&root).ok() == below(&written).ok().as_deref() {
        return None;
    }
    match real.strip_prefix(&root) {
        Ok(below) => Some(below.to_string_lossy().into_owned()),
        Err(_) if shown == DiskPreview::All => Some(real.to_string_lossy().into_owned()),
        Err(_) => Some("outside the workspace".to_owned()),
    }
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

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_on_the_way_is_said() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = std::fs::canonicalize(folder.path())
            .expect("it is there")
            .join("ws");
        std::fs::create_dir_all(root.join("src")).expect("it is made");
        std::fs::write(root.join("src/a"), "x").expect("it is written");
        symlink("..", root.join("src/up")).expect("a link");
        symlink("../..", root.join("src/out")).expect("a link");
        symlink("nowhere", root.join("gone")).expect("a link");
        let outside = root.with_file_name("x").to_string_lossy().into_owned();
        let workspace = root.to_string_lossy();
        for (path, all, to_the_agent) in [
            ("src/a", None, None),
            ("src/new/b", None, None),
            ("src/up/evil.sh", Some("evil.sh"), Some("evil.sh")),
            ("src/up/src/a", Some("src/a"), Some("src/a")),
            ("src/out/x", Some(outside.as_str()), Some("outside the workspace")),
            ("gone", Some("nowhere"), None),
        ] {
            assert_eq!(
                leads_to(&workspace, path, DiskPreview::All).as_deref(),
                all,
                "{path}"
            );
            assert_eq!(
                leads_to(&workspace, path, DiskPreview::ToTheAgent).as_deref(),
                to_the_agent,
                "{path}"
            );
        }
        let absolute = root.join("src/a");
        assert_eq!(
            leads_to(&workspace, &absolute.to_string_lossy(), DiskPreview::All),
            None
        );
    }
}
