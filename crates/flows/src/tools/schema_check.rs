//! Checks arguments against a tool's schema first: a script need not check that its arguments exist, and the
//! model reads which arguments to pass instead of an error in the script.

use std::sync::Arc;

use agentx_agent_files::SchemaCheck;
use agentx_runtime::{
    BoxFuture, InterceptedTool, SchemaValidator, Tool, ToolContext, ToolInterceptor, ToolOutcome,
};
use agentx_types::ToolStatus;
use serde_json::Value;

struct CheckedTool {
    tool: Arc<dyn Tool>,
    arguments: SchemaValidator,
}

/// Checks that the schemas of files can be used.
#[derive(Clone, Copy, Debug)]
pub struct Schemas;

impl SchemaCheck for Schemas {
    fn check(&self, schema: &Value) -> Result<(), String> {
        agentx_runtime::check_json_schema(schema)
    }
}

/// Wraps a tool so that it only gets arguments that match its schema.
pub(super) fn checked(tool: Arc<dyn Tool>) -> Result<Arc<dyn Tool>, String> {
    let arguments = SchemaValidator::new(&tool.spec().input_schema)
        .map_err(|what| format!("invalid schema in `params`: {what}"))?;
    Ok(Arc::new(InterceptedTool(CheckedTool { tool, arguments })))
}

impl ToolInterceptor for CheckedTool {
    fn tool(&self) -> &Arc<dyn Tool> {
        &self.tool
    }

    fn intercept(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutcome> {
        let mistakes = self.arguments.mistakes(&input);
        if mistakes.is_empty() {
            return self.tool.call(input, context);
        }
        let name = self.tool.spec().name;
        let told = format!("{name}: the arguments do not fit: {}", mistakes.join("; "));
        Box::pin(async move { ToolOutcome::failed(ToolStatus::Invalid, told) })
    }
}
