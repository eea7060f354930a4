//! `test_tool`: fails half of the time, so that people can see how their agents, prompts and front ends
//! handle failures. Only agents that name it get it.

use agentx_runtime::{ToolContext, ToolOutcome};
use agentx_types::Access;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::failure::ToolFailure;
use crate::typed::{ToolAbout, TypedTool};

/// The arguments of `test_tool`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TestToolInput {
    /// Decides the outcome: calls with the same seed all succeed, or all fail. Without it, each has its own.
    seed: Option<u64>,
}

/// The tool `test_tool`.
///
/// The outcome depends only on the seed, or without one on the id of the call: half of all seeds succeed, and
/// a repeated call ends as it did before.
///
/// ```
/// use agentx_runtime::Tool;
/// use agentx_tools::{TestTool, Typed};
///
/// let spec = Typed::new(TestTool).spec();
/// assert!(spec.name == "test_tool" && spec.only_by_name);
/// ```
pub struct TestTool;

impl TypedTool for TestTool {
    type Input = TestToolInput;

    fn about(&self) -> ToolAbout {
        let description = "For tests: succeeds or fails, each half of the time, and does nothing else.";
        ToolAbout::new("test_tool", description, Access::Internal)
            .idempotent()
            .only_by_name()
    }

    async fn run(&self, input: TestToolInput, context: ToolContext) -> Result<ToolOutcome, ToolFailure> {
        let seed = match input.seed {
            Some(seed) => format!("seed {seed}"),
            None => context.tool_call_id.to_string(),
        };
        if !succeeds(&seed) {
            return Err(ToolFailure::failed(format!(
                "test_tool failed, as it does half of the time ({seed})."
            )));
        }
        let text = format!("test_tool succeeded, as it does half of the time ({seed}).");
        Ok(ToolOutcome {
            details: Some(json!({ "seed": seed })),
            ..ToolOutcome::success(text)
        })
    }
}

/// Returns the outcome for a seed: one bit of its hash.
fn succeeds(seed: &str) -> bool {
    blake3::hash(seed.as_bytes()).as_bytes()[0] & 1 == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_seeds_succeed() {
        let count = (0..1000).filter(|seed| succeeds(&format!("seed {seed}"))).count();
        assert!((450..=550).contains(&count), "{count}");
        assert!(succeeds("seed 1") != succeeds("seed 2") || succeeds("seed 1") != succeeds("seed 3"));
    }
}
