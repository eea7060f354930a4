//! The built-in tools as a toolbox, with the background processes of their commands.

use std::path::Path;
use std::sync::Arc;

use agentx_runtime::{BoxFuture, Tool};
use agentx_sandbox::SandboxStep;
use agentx_types::{LeftRunning, SessionId, ToolCallId};

use crate::background::Background;
use crate::bash::{
    BashOptions, BashTool, JobTable, JobTool, LastingShells, ShellInputTool, ShellTool, ShellWaitTool,
    any_left_running, end_left_running, left_running,
};
use crate::files::{EditLock, EditTool, ReadTool, WriteTool};
use crate::finish::FinishTool;
use crate::host_proxy::HostAnswers;
use crate::options::ToolOptions;
use crate::search::{GlobTool, GrepTool, SearchPermits};
use crate::todo::TodoTool;
use crate::toolbox::Toolbox;
use crate::typed::Typed;

impl Toolbox {
    /// Creates the built-in tools: bash, job, read, write, edit, glob, grep, todo, finish; and for agents
    /// that name them: shell, shell_input, shell_wait.
    pub fn builtin(options: ToolOptions) -> Self {
        let jobs = JobTable::new(options.bash.clone());
        let shells = LastingShells::new(options.bash.clone());
        let hosts = HostAnswers::default();
        let edit_lock = EditLock::default();
        let turns = SearchPermits::new(&options.search);
        let bash = BashTool::new(options.bash, jobs.clone(), hosts.clone());
        let tools: [Arc<dyn Tool>; 12] = [
            Arc::new(Typed::new(bash)),
            Arc::new(Typed::new(JobTool::new(jobs.clone()))),
            Arc::new(Typed::new(ReadTool::new(options.files.clone()))),
            Arc::new(Typed::new(WriteTool::new(
                options.files.clone(),
                edit_lock.clone(),
            ))),
            Arc::new(Typed::new(EditTool::new(options.files, edit_lock))),
            Arc::new(Typed::new(GlobTool::new(options.search.clone(), turns.clone()))),
            Arc::new(Typed::new(GrepTool::new(options.search, turns))),
            Arc::new(Typed::new(TodoTool)),
            Arc::new(Typed::new(FinishTool)),
            Arc::new(Typed::new(ShellTool(shells.clone()))),
            Arc::new(Typed::new(ShellInputTool(shells.clone()))),
            Arc::new(Typed::new(ShellWaitTool(shells.clone()))),
        ];
        Self::from_tools(tools, Arc::new(Commands { jobs, shells, hosts }))
    }
}

/// The commands of `bash` that continue after their call, and the shells of `shell`.
struct Commands {
    jobs: JobTable,
    shells: LastingShells,
    /// Answers about the hosts that commands may reach.
    hosts: HostAnswers,
}

impl Background for Commands {
    fn end_left<'a>(
        &'a self,
        session: &'a SessionId,
        open: &'a [ToolCallId],
    ) -> BoxFuture<'a, Vec<LeftRunning>> {
        let BashOptions { grace, records, .. } = self.jobs.options();
        Box::pin(end_left_running(session, open, (*grace, records.as_ref())))
    }

    fn may_have_left(&self, session: &SessionId) -> bool {
        let records = self.jobs.options().records.as_ref();
        records.is_some_and(|records| records.may_have(session))
    }

    fn has_left<'a>(&'a self, session: &'a SessionId) -> BoxFuture<'a, bool> {
        Box::pin(any_left_running(session, self.jobs.options().records.as_ref()))
    }

    fn left<'a>(&'a self, session: &'a SessionId, open: &'a [ToolCallId]) -> BoxFuture<'a, Vec<LeftRunning>> {
        Box::pin(left_running(session, open, self.jobs.options().records.as_ref()))
    }

    fn stop<'a>(&'a self, session: &'a SessionId, job: &'a str) -> BoxFuture<'a, bool> {
        Box::pin(self.jobs.stop(session, job))
    }

    fn sandbox(&self, workspace: &Path, is_unasked: bool) -> Option<String> {
        let options = self.jobs.options();
        let unasked = options.unasked_sandbox.as_ref().filter(|_| is_unasked);
        let launcher = unasked.or(options.sandbox.as_ref())?;
        let step = launcher.step_in(workspace).map(SandboxStep::as_str);
        Some(step.unwrap_or("unavailable").to_owned())
    }

    fn shutdown<'a>(&'a self, session: &'a SessionId) -> BoxFuture<'a, ()> {
        self.hosts.forget(session);
        Box::pin(async move {
            self.shells.shutdown(session).await;
            self.jobs.shutdown(session).await;
        })
    }
}
