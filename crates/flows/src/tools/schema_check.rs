//! Checks arguments against a tool's schema first: a script need not check that its arguments exist, and the
//! model reads which arguments to pass instead of an error in the script.

use std::sync::Arc;

use agentx_agent_files::SchemaCheck;
use agentx_runtime::{BoxFuture, PromptWriter, SchemaValidator, Tool, ToolContext, ToolOutcome};
use agentx_types::{ToolSpec, ToolStatus};
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
    Ok(Arc::new(CheckedTool { tool, arguments }))
}

impl Tool for CheckedTool {
    fn spec(&self) -> ToolSpec {
        self.tool.spec()
    }

    fn waits(&self) -> bool {
        self.tool.waits()
    }

    fn may_call_models(&self) -> bool {
        self.tool.may_call_models()
    }

    fn output_schema(&self) -> Option<Value> {
        self.tool.output_schema()
    }

    fn prompt(&self) -> Option<PromptWriter> {
        self.tool.prompt()
    }

    fn call(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutcome> {
        let mistakes = self.arguments.mistakes(&input);
        if mistakes.is_empty() {
            return self.tool.call(input, context);
        }
        let name = self.tool.spec().name;
        let told = format!("{name}: the arguments do not fit: {}", mistakes.join("; "));
        Box::pin(async move { ToolOutcome::failed(ToolStatus::Invalid, told) })
    }
}
