//! The set of tools that an agent is given: where a tool effector looks up what a call names.

use std::sync::Arc;

use agentx_runtime::{Tool, ToolContext, ToolOutcome};
use agentx_types::{LeftRunning, SessionId, ToolCallId, ToolSpec, ToolStatus};
use serde_json::Value;

use crate::bash::{Bash, JobTool, Jobs, any_left_running, end_left_running, left_running};
use crate::files::{Changes, Edit, Read, Write};
use crate::finish::Finish;
use crate::search::{Glob, Grep, Turns};
use crate::todo::Todo;
use crate::{BashOptions, ToolOptions, Typed, TypedTool, nearest};

/// Tools by name, in the order in which models see them.
#[derive(Clone, Default)]
pub struct Toolbox {
    tools: Vec<(ToolSpec, Arc<dyn Tool>)>,
    jobs: Option<Jobs>,
}

/// A tool of this name is there already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DuplicateTool {
    /// The name.
    pub name: String,
}

impl std::fmt::Display for DuplicateTool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "there is a tool named {} already", self.name)
    }
}

impl std::error::Error for DuplicateTool {}

impl Toolbox {
    /// The built-in tools: bash, job, read, write, edit, glob, grep, todo, finish.
    pub fn builtin(options: ToolOptions) -> Self {
        let jobs = Jobs::new(options.bash.clone());
        let changes = Changes::default();
        let turns = Turns::new(&options.search);
        let tools: [Arc<dyn Tool>; 9] = [
            Arc::new(Typed::new(Bash::new(options.bash, jobs.clone()))),
            Arc::new(Typed::new(JobTool::new(jobs.clone()))),
            Arc::new(Typed::new(Read::new(options.files.clone()))),
            Arc::new(Typed::new(Write::new(options.files.clone(), changes.clone()))),
            Arc::new(Typed::new(Edit::new(options.files, changes))),
            Arc::new(Typed::new(Glob::new(options.search.clone(), turns.clone()))),
            Arc::new(Typed::new(Grep::new(options.search, turns))),
            Arc::new(Typed::new(Todo)),
            Arc::new(Typed::new(Finish)),
        ];
        Self {
            tools: tools.into_iter().map(|tool| (tool.spec(), tool)).collect(),
            jobs: Some(jobs),
        }
    }

    /// Adds a tool.
    ///
    /// # Errors
    /// Where its name is taken.
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
    /// Where its name is taken.
    pub fn add<T: TypedTool>(&mut self, tool: T) -> Result<(), DuplicateTool> {
        self.register(Arc::new(Typed::new(tool)))
    }

    /// The same box with only the tools whose names `keep` accepts.
    #[must_use]
    pub fn filtered(mut self, keep: impl Fn(&str) -> bool) -> Self {
        self.tools.retain(|(spec, _)| keep(&spec.name));
        self
    }

    /// What models and approval rules see, in order.
    pub fn specs(&self) -> Arc<[ToolSpec]> {
        self.tools.iter().map(|(spec, _)| spec.clone()).collect()
    }

    /// The tool of this name.
    pub fn get(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.tools
            .iter()
            .find(|(spec, _)| spec.name == name)
            .map(|(_, tool)| Arc::clone(tool))
    }

    /// The answer to a call of a tool that does not exist.
    pub fn unknown(&self, name: &str) -> ToolOutcome {
        let names: Vec<&str> = self.tools.iter().map(|(spec, _)| spec.name.as_str()).collect();
        let hint = nearest(name, names.iter().copied())
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

    /// Ends what an earlier process left running for a session that it never closed. `open` are the calls that were cut off.
    /// Returns what was ended.
    pub async fn end_left_running(&self, session: &SessionId, open: &[ToolCallId]) -> Vec<LeftRunning> {
        match &self.jobs {
            Some(jobs) => {
                let BashOptions { grace, records, .. } = jobs.options();
                end_left_running(session, open, (*grace, records.as_ref())).await
            }
            None => Vec::new(),
        }
    }

    /// Whether an earlier process may have left something running for a session, by its records alone. Cheap enough for each start.
    pub fn may_have_left(&self, session: &SessionId) -> bool {
        let records = self
            .jobs
            .as_ref()
            .and_then(|jobs| jobs.options().records.as_ref());
        records.is_some_and(|records| records.may_have(session))
    }

    /// What an earlier process left running for a session that it never closed. `open` tells the calls that were cut off; it is asked
    /// only where something runs.
    pub async fn left_running<E>(
        &self,
        session: &SessionId,
        open: impl Future<Output = Result<Vec<ToolCallId>, E>>,
    ) -> Result<Vec<LeftRunning>, E> {
        let Some(jobs) = &self.jobs else {
            return Ok(Vec::new());
        };
        let records = jobs.options().records.as_ref();
        if !any_left_running(session, records).await {
            return Ok(Vec::new());
        }
        Ok(left_running(session, &open.await?, records).await)
    }

    /// Ends one command in the background of a session because a person wants it. It is gone when this returns, and the session is told
    /// how it ended. Returns whether it ran.
    pub async fn stop_job(&self, session: &SessionId, job: &str) -> bool {
        match &self.jobs {
            Some(jobs) => jobs.stop(session, job).await,
            None => false,
        }
    }

    /// Ends what runs in the background of a session. Its jobs are gone when this returns. Dropping the last clone of a box
    /// kills them as well, without waiting.
    pub async fn shutdown(&self, session: &SessionId) {
        if let Some(jobs) = &self.jobs {
            jobs.shutdown(session).await;
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
