//! A tool whose calls go through other code, which checks the arguments or adds something to the results.

use std::sync::Arc;

use agentx_types::ToolSpec;
use serde_json::Value;

use crate::future::BoxFuture;
use crate::tools::tool::{PromptWriter, Tool, ToolContext, ToolOutcome};

/// Handles the calls of a tool in its place.
pub trait ToolInterceptor: Send + Sync {
    /// The tool, which describes itself as before.
    fn tool(&self) -> &Arc<dyn Tool>;

    /// Performs a call, usually by [`Tool::call`] of [`tool`](Self::tool).
    fn intercept(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutcome>;
}

/// The tool of an interceptor: everything but its calls is the same.
///
/// ```
/// use std::sync::Arc;
///
/// use agentx_runtime::{BoxFuture, InterceptedTool, Tool, ToolContext, ToolInterceptor, ToolOutcome};
/// use serde_json::Value;
///
/// /// Refuses every call.
/// struct Closed(Arc<dyn Tool>);
///
/// impl ToolInterceptor for Closed {
///     fn tool(&self) -> &Arc<dyn Tool> {
///         &self.0
///     }
///
///     fn intercept(&self, _: Value, _: ToolContext) -> BoxFuture<'static, ToolOutcome> {
///         Box::pin(async { ToolOutcome::failed(agentx_types::ToolStatus::Failed, "it is closed") })
///     }
/// }
///
/// fn closed(tool: Arc<dyn Tool>) -> Arc<dyn Tool> {
///     Arc::new(InterceptedTool(Closed(tool)))
/// }
/// ```
pub struct InterceptedTool<I>(pub I);

impl<I: ToolInterceptor> Tool for InterceptedTool<I> {
    fn spec(&self) -> ToolSpec {
        self.0.tool().spec()
    }

    fn call(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutcome> {
        self.0.intercept(input, context)
    }

    fn waits(&self) -> bool {
        self.0.tool().waits()
    }

    fn may_call_models(&self) -> bool {
        self.0.tool().may_call_models()
    }

    fn output_schema(&self) -> Option<Value> {
        self.0.tool().output_schema()
    }

    fn prompt(&self) -> Option<PromptWriter> {
        self.0.tool().prompt()
    }
}
