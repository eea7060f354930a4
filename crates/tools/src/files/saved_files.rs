//! Files that tools of other crates save in the workspace: with the checks of `write`, and recorded as its
//! changes are, so that a rewind removes or restores them.

use agentx_runtime::ToolContext;
use serde_json::Value;

use super::change::{EditLock, OriginalFile, PlannedChange};
use crate::blocking_work::blocking;
use crate::failure::ToolFailure;
use crate::options::FileOptions;
use crate::workspace::Scope;

/// Saves files, one at a time.
#[derive(Clone, Default)]
pub struct SavedFiles {
    options: FileOptions,
    edit_lock: EditLock,
}

impl SavedFiles {
    /// Writes a new file for a call of `tool`. Returns the details of the change.
    ///
    /// # Errors
    /// Returns a failure if the call may not write there, if there is a file already, or if it cannot be
    /// written.
    pub async fn save(
        &self,
        tool: &'static str,
        path: &str,
        bytes: Vec<u8>,
        context: &ToolContext,
    ) -> Result<Value, ToolFailure> {
        let turn = self.edit_lock.lock(context).await?;
        let (scope, options, name) = (Scope::of(tool, context), self.options.clone(), path.to_owned());
        let before = blocking(&context.cancel, move || {
            OriginalFile::read(&scope, &name, &options)
        })
        .await?;
        if before.bytes.is_some() {
            return Err(ToolFailure::failed(format!(
                "{path} is there already and was not replaced; choose another name."
            )));
        }
        let change = PlannedChange::of(before, bytes, context).await?;
        change.make(turn, self.options.diff_bytes).await
    }
}
