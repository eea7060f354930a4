//! `finish`: the model reports that it is done. A call ends the run, and a headless caller gets a summary.

use agentx_runtime::{ToolContext, ToolOutcome};
use agentx_types::Access;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::failure::ToolFailure;
use crate::typed::{ToolAbout, TypedTool};

/// The arguments of `finish`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FinishInput {
    /// A summary of the finished and the remaining work, for the user.
    summary: String,
}

pub(crate) struct FinishTool;

impl TypedTool for FinishTool {
    type Input = FinishInput;

    fn about(&self) -> ToolAbout {
        let description = "Ends the run. Call it alone, when the task is done or cannot be done.";
        ToolAbout::new("finish", description, Access::Internal)
            .idempotent()
            .quit()
    }

    async fn run(&self, input: FinishInput, _context: ToolContext) -> Result<ToolOutcome, ToolFailure> {
        Ok(ToolOutcome::success(input.summary))
    }
}
