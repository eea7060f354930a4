//! The folder for which the hint of exit 7 adds a rule: that of the session, which may not be the current
//! one.

use std::path::Path;

use agentx::types::shell_word;

use crate::error::ChatError;
use crate::run_result::RunResult;
use crate::terminal::console::Console;

/// Adds `--cwd` to the command that allows a refused call, if the session of this machine works in another
/// directory than this program.
pub(super) fn name_folder(result: &mut RunResult, workspace: &str, console: &Console) {
    let Some(ChatError::NobodyAsked { allow, .. }) = &mut result.error else {
        return;
    };
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    let here = std::env::current_dir().ok().and_then(|here| real(&here));
    let there = real(Path::new(workspace));
    if console.server.is_none() && there.is_some() && here != there {
        allow.push_str(&format!(" --cwd {}", shell_word(workspace)));
    }
}
