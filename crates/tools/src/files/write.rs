//! `write`: a whole file, new or replaced.

use agentx_runtime::{ToolContext, ToolOutcome};
use agentx_types::Access;
use schemars::JsonSchema;
use serde::Deserialize;

use super::change::{EditLock, OriginalFile, PlannedChange};
use crate::blocking_work::blocking;
use crate::failure::ToolFailure;
use crate::options::FileOptions;
use crate::text;
use crate::typed::{ToolAbout, TypedTool};
use crate::workspace::Scope;

/// The arguments of `write`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WriteInput {
    /// File to write: absolute, or relative to the working directory.
    path: String,
    /// All that will be in it.
    content: String,
}

pub(crate) struct WriteTool {
    options: FileOptions,
    edit_lock: EditLock,
}

impl WriteTool {
    pub(crate) fn new(options: FileOptions, edit_lock: EditLock) -> Self {
        Self { options, edit_lock }
    }
}

impl TypedTool for WriteTool {
    type Input = WriteInput;

    fn about(&self) -> ToolAbout {
        let description = "Writes a whole file; makes missing directories, replaces what was there. To change a part of a file, \
                           use edit.";
        ToolAbout::new("write", description, Access::Change).path("path")
    }

    async fn run(&self, input: WriteInput, context: ToolContext) -> Result<ToolOutcome, ToolFailure> {
        let turn = self.edit_lock.lock(&context).await?;
        let (scope, options, path) = (
            Scope::of("write", &context),
            self.options.clone(),
            input.path.clone(),
        );
        let before = blocking(&context.cancel, move || {
            OriginalFile::read(&scope, &path, &options)
        })
        .await?;
        if before.bytes.as_deref() == Some(input.content.as_bytes()) {
            return Ok(ToolOutcome::success(format!(
                "{} has exactly this content already.",
                input.path
            )));
        }
        let verb = if before.bytes.is_some() {
            "Replaced"
        } else {
            "Created"
        };
        let lines = text::count(input.content.lines().count(), "line");
        let said = format!(
            "{verb} {} ({lines}, {}).",
            input.path,
            text::size(input.content.len() as u64)
        );
        let change = PlannedChange::of(before, input.content.into_bytes(), &context).await?;
        let details = change.make(turn, self.options.diff_bytes).await?;
        Ok(ToolOutcome::success(said).with_details(details))
    }
}
