//! Conversions into tools, and the values of an ask for its tools.

use std::collections::BTreeMap;
use std::sync::Arc;

use agentx_runtime::{
    BoxFuture, InterceptedTool, RequestValues, RuntimeError, Session, Tool, ToolContext, ToolInterceptor,
    ToolOutcome,
};
use agentx_tools::{Typed, TypedTool};
use agentx_types::{RunId, SessionId};
use serde_json::Value;
use tokio::sync::RwLock;

/// The argument of [`AgentBuilder::tool`](crate::AgentBuilder::tool): the name of a function with
/// `#[agentx::tool]`, a [`TypedTool`], or anything that is a [`Tool`] already. `Form` only distinguishes
/// these; it is inferred.
pub trait IntoTool<Form> {
    /// Converts the value into a tool.
    fn into_tool(self) -> Arc<dyn Tool>;
}

/// The form of a function that makes a tool.
#[derive(Debug)]
pub struct OfFunction;

/// The form of a [`TypedTool`].
#[derive(Debug)]
pub struct OfType;

/// The form of a [`Tool`].
#[derive(Debug)]
pub struct OfTool;

/// The form of a tool that is shared already.
#[derive(Debug)]
pub struct OfShared;

impl<F, T> IntoTool<OfFunction> for F
where
    F: FnOnce() -> Typed<T>,
    T: TypedTool,
{
    fn into_tool(self) -> Arc<dyn Tool> {
        Arc::new(self())
    }
}

impl<T: TypedTool> IntoTool<OfType> for T {
    fn into_tool(self) -> Arc<dyn Tool> {
        Arc::new(Typed::new(self))
    }
}

impl<T: Tool + 'static> IntoTool<OfTool> for T {
    fn into_tool(self) -> Arc<dyn Tool> {
        Arc::new(self)
    }
}

impl IntoTool<OfShared> for Arc<dyn Tool> {
    fn into_tool(self) -> Arc<dyn Tool> {
        self
    }
}

/// The values that asks gave to the tools of their runs.
#[derive(Default)]
pub(crate) struct AskValues {
    values: RwLock<BTreeMap<(SessionId, RunId), RequestValues>>,
}

impl AskValues {
    /// Runs `begin`, which starts a run, and keeps `values` for the run. No tool can look for values in
    /// between, so no tool misses them.
    pub(crate) async fn begin(
        &self,
        session: &dyn Session,
        values: RequestValues,
        begin: BoxFuture<'_, Result<u64, RuntimeError>>,
    ) -> Result<u64, RuntimeError> {
        if values.is_empty() {
            return begin.await;
        }
        let mut all = self.values.write().await;
        let seq = begin.await?;
        all.insert((session.id().clone(), RunId::of_input(seq)), values);
        Ok(seq)
    }

    /// Keeps `values` for a run that is there already.
    pub(crate) async fn keep(&self, session: &SessionId, run: &RunId, values: RequestValues) {
        if !values.is_empty() {
            let mut all = self.values.write().await;
            all.insert((session.clone(), run.clone()), values);
        }
    }

    /// The run is over.
    pub(crate) async fn forget(&self, session: &SessionId, run: &RunId) {
        self.values.write().await.remove(&(session.clone(), run.clone()));
    }

    async fn of(&self, context: &ToolContext) -> RequestValues {
        let Some(run) = context.journal.run() else {
            return RequestValues::default();
        };
        let key = (context.session_id.clone(), run.clone());
        self.values.read().await.get(&key).cloned().unwrap_or_default()
    }
}

/// A tool that gets the values of the ask to which its call belongs.
pub(crate) struct ToolWithValues {
    tool: Arc<dyn Tool>,
    asks: Arc<AskValues>,
}

impl ToolWithValues {
    pub(crate) fn wrap(tool: Arc<dyn Tool>, asks: Arc<AskValues>) -> Arc<dyn Tool> {
        Arc::new(InterceptedTool(Self { tool, asks }))
    }
}

impl ToolInterceptor for ToolWithValues {
    fn tool(&self) -> &Arc<dyn Tool> {
        &self.tool
    }

    fn intercept(&self, input: Value, mut context: ToolContext) -> BoxFuture<'static, ToolOutcome> {
        let (tool, asks) = (self.tool.clone(), self.asks.clone());
        Box::pin(async move {
            context.values = asks.of(&context).await;
            tool.call(input, context).await
        })
    }
}
