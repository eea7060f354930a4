//! Checks arguments against a tool's schema first: a script need not check whether its arguments are there,
//! and the model reads what to pass instead of where the script failed.

use std::sync::Arc;

use agentx_agent_files::SchemaCheck;
use agentx_runtime::{BoxFuture, Tool, ToolContext, ToolOutcome, schema_mistakes};
use agentx_types::{ToolSpec, ToolStatus};
use jsonschema::Validator;
use serde_json::Value;

struct CheckedTool {
    tool: Arc<dyn Tool>,
    arguments: Validator,
}

/// Looks at the schemas of files as they will be used.
#[derive(Clone, Copy, Debug)]
pub struct Schemas;

impl SchemaCheck for Schemas {
    fn check(&self, schema: &Value) -> Result<(), String> {
        agentx_runtime::check_answer_schema(schema)
    }
}

/// Wraps a tool so that it only gets arguments that match its schema.
pub(super) fn checked(tool: Arc<dyn Tool>) -> Result<Arc<dyn Tool>, String> {
    let arguments = jsonschema::validator_for(&tool.spec().input_schema)
        .map_err(|error| format!("`params` are no schema: {error}"))?;
    Ok(Arc::new(CheckedTool { tool, arguments }))
}

impl Tool for CheckedTool {
    fn spec(&self) -> ToolSpec {
        self.tool.spec()
    }

    fn waits(&self) -> bool {
        self.tool.waits()
    }

    fn call(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutcome> {
        let mistakes = schema_mistakes(&self.arguments, &input);
        if mistakes.is_empty() {
            return self.tool.call(input, context);
        }
        let name = self.tool.spec().name;
        let told = format!("{name}: the arguments do not fit: {}", mistakes.join("; "));
        Box::pin(async move { ToolOutcome::failed(ToolStatus::Invalid, told) })
    }
}
