//! The set of an agent's tools: a tool effector looks up calls in it.

use std::sync::Arc;

use agentx_runtime::{Tool, ToolContext, ToolOutcome};
use agentx_types::{LeftRunning, SessionId, ToolCallId, ToolSpec, ToolStatus, nearest};
use serde_json::Value;

use crate::background::Background;
use crate::session_resources::SessionResources;
use crate::typed::{Typed, TypedTool};

/// Tools by name, in the order in which models see them.
#[derive(Clone, Default)]
pub struct Toolbox {
    tools: Vec<(ToolSpec, Arc<dyn Tool>)>,
    background: Option<Arc<dyn Background>>,
    resources: Vec<Arc<dyn SessionResources>>,
    wrapper: Option<ToolWrapper>,
}

/// Wraps a tool for the calls that an agent makes itself.
pub type ToolWrapper = Arc<dyn Fn(Arc<dyn Tool>) -> Arc<dyn Tool> + Send + Sync>;

/// The name of the tool is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DuplicateTool {
    /// The name of the tool.
    pub name: String,
}

impl std::fmt::Display for DuplicateTool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "there is a tool named {} already", self.name)
    }
}

impl std::error::Error for DuplicateTool {}

impl Toolbox {
    /// Returns the manager of these tools' background processes; `None` if they start none.
    pub fn background(&self) -> Option<Arc<dyn Background>> {
        self.background.clone()
    }

    /// Creates a toolbox of these tools. `background` manages their background processes.
    pub fn from_tools(
        tools: impl IntoIterator<Item = Arc<dyn Tool>>,
        background: Arc<dyn Background>,
    ) -> Self {
        Self {
            tools: tools.into_iter().map(|tool| (tool.spec(), tool)).collect(),
            background: Some(background),
            resources: Vec::new(),
            wrapper: None,
        }
    }

    /// Adds a tool.
    ///
    /// # Errors
    /// Returns an error if its name is taken.
    pub fn register(&mut self, tool: Arc<dyn Tool>) -> Result<(), DuplicateTool> {
        let spec = tool.spec();
        if self.get(&spec.name).is_some() {
            return Err(DuplicateTool { name: spec.name });
        }
        self.tools.push((spec, tool));
        Ok(())
    }

    /// Adds a tool whose arguments are a type.
    ///
    /// # Errors
    /// Returns an error if its name is taken.
    pub fn add<T: TypedTool>(&mut self, tool: T) -> Result<(), DuplicateTool> {
        self.register(Arc::new(Typed::new(tool)))
    }

    /// Adds what tools keep for a session: it is released when the session ends.
    #[must_use]
    pub fn with_resources(mut self, resources: Arc<dyn SessionResources>) -> Self {
        self.resources.push(resources);
        self
    }

    /// Keeps only the tools whose names `keep` accepts.
    #[must_use]
    pub fn filtered(mut self, keep: impl Fn(&str) -> bool) -> Self {
        self.tools.retain(|(spec, _)| keep(&spec.name));
        self
    }

    /// Gives the tools whose names `wanted` accepts to every agent with all tools, also those that are only
    /// for agents that name them.
    #[must_use]
    pub fn give_to_all_agents(mut self, wanted: impl Fn(&str) -> bool) -> Self {
        for (spec, _) in self.tools.iter_mut().filter(|(spec, _)| wanted(&spec.name)) {
            spec.only_by_name = false;
        }
        self
    }

    /// Has a person asked what became of a call that a crash interrupted, if `wanted` accepts the name of its
    /// tool.
    #[must_use]
    pub fn ask_about_unknown(mut self, wanted: impl Fn(&str) -> bool) -> Self {
        for (spec, _) in self.tools.iter_mut().filter(|(spec, _)| wanted(&spec.name)) {
            spec.asks_unknown = true;
        }
        self
    }

    /// Wraps the tools for calls that an agent makes itself. Calls by other tools, such as scripts, use the
    /// unwrapped tools.
    #[must_use]
    pub fn wrapped(mut self, wrapper: ToolWrapper) -> Self {
        self.wrapper = Some(wrapper);
        self
    }

    /// Returns the specs that models and approval rules see, in order.
    pub fn specs(&self) -> Arc<[ToolSpec]> {
        self.tools.iter().map(|(spec, _)| spec.clone()).collect()
    }

    /// Returns the tool of this name.
    pub fn get(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.tools
            .iter()
            .find(|(spec, _)| spec.name == name)
            .map(|(_, tool)| Arc::clone(tool))
    }

    /// Returns the tool of this name for the calls that an agent makes itself.
    pub fn get_for_agent(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let tool = self.get(name)?;
        Some(match &self.wrapper {
            Some(wrapper) => wrapper(tool),
            None => tool,
        })
    }

    /// Returns the answer to a call of a tool that does not exist.
    pub fn unknown(&self, name: &str) -> ToolOutcome {
        let names: Vec<&str> = self.tools.iter().map(|(spec, _)| spec.name.as_str()).collect();
        let hint = nearest(name, names.iter().copied(), 1)
            .first()
            .map(|near| format!(" Did you mean {near}?"))
            .unwrap_or_default();
        let shown: String = name.chars().take(64).collect();
        let text = format!("There is no tool {shown:?}.{hint} Tools: {}.", names.join(", "));
        ToolOutcome::failed(ToolStatus::Invalid, text)
    }

    /// Calls a tool by name.
    pub async fn call(&self, name: &str, input: Value, context: ToolContext) -> ToolOutcome {
        match self.get(name) {
            Some(tool) => tool.call(input, context).await,
            None => self.unknown(name),
        }
    }

    /// Ends the commands that an earlier process left running for a session that it never closed. `open` has
    /// the calls that were cut off. Returns the ended commands.
    pub async fn end_left_running(&self, session: &SessionId, open: &[ToolCallId]) -> Vec<LeftRunning> {
        match &self.background {
            Some(background) => background.end_left(session, open).await,
            None => Vec::new(),
        }
    }

    /// Returns whether an earlier process may have left something running for a session, by its records
    /// alone. Cheap enough for each start.
    pub fn may_have_left(&self, session: &SessionId) -> bool {
        self.background
            .as_ref()
            .is_some_and(|background| background.may_have_left(session))
    }

    /// Returns the commands that an earlier process left running for a session that it never closed. `open`
    /// returns the calls that were cut off; it is called only if something runs.
    pub async fn left_running<E>(
        &self,
        session: &SessionId,
        open: impl Future<Output = Result<Vec<ToolCallId>, E>>,
    ) -> Result<Vec<LeftRunning>, E> {
        match &self.background {
            Some(background) if background.has_left(session).await => {
                Ok(background.left(session, &open.await?).await)
            }
            _ => Ok(Vec::new()),
        }
    }

    /// Ends one background command of a session on request of a person. It has ended when this returns, and
    /// the session is notified of the outcome. Returns whether it ran.
    pub async fn stop_job(&self, session: &SessionId, job: &str) -> bool {
        match &self.background {
            Some(background) => background.stop(session, job).await,
            None => false,
        }
    }

    /// Ends the background commands of a session, and releases what tools keep for it. All of it is gone when
    /// this returns. Dropping the last clone of a box ends it as well, without waiting.
    pub async fn shutdown(&self, session: &SessionId) {
        for resources in &self.resources {
            resources.release(session).await;
        }
        if let Some(background) = &self.background {
            background.shutdown(session).await;
        }
    }
}

impl std::fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries(self.tools.iter().map(|(spec, _)| &spec.name))
            .finish()
    }
}
