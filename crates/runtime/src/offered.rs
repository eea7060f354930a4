//! An agent's tools as a program has them: what a log or a client says about a tool is not believed, but which of them an agent
//! has, in which order, and which of them ends its runs, is the agent's own.

use agentx_types::ToolSpec;

/// Those of `wanted` that are among `offered`, as they are offered.
///
/// ```
/// # use agentx_types::{Access, ToolSpec};
/// # let tool = |name: &str, quit| ToolSpec {
/// #     name: name.into(), description: String::new(), input_schema: serde_json::json!({}), access: Access::Read,
/// #     path_argument: None, command_argument: None, idempotent: false, quit, checked: false,
/// # };
/// let offered = [tool("look", false), tool("report", false)];
/// let tools = agentx_runtime::as_offered(&[tool("report", true), tool("gone", false)], &offered);
/// assert_eq!(tools, [tool("report", true)]);
/// ```
pub fn as_offered(wanted: &[ToolSpec], offered: &[ToolSpec]) -> Vec<ToolSpec> {
    let own = |wanted: &ToolSpec| {
        let tool = offered.iter().find(|tool| tool.name == wanted.name)?;
        Some(ToolSpec {
            quit: tool.quit || wanted.quit,
            ..tool.clone()
        })
    };
    wanted.iter().filter_map(own).collect()
}
