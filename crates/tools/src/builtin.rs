//! The built-in tools as a box, and what their commands leave running beside their calls.

use std::sync::Arc;

use agentx_runtime::{BoxFuture, Tool};
use agentx_types::{LeftRunning, SessionId, ToolCallId};

use crate::bash::{Bash, JobTool, Jobs, any_left_running, end_left_running, left_running};
use crate::files::{Changes, Edit, Read, Write};
use crate::finish::Finish;
use crate::search::{Glob, Grep, Turns};
use crate::todo::Todo;
use crate::{Background, BashOptions, ToolOptions, Toolbox, Typed};

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
        Self::of(tools, Arc::new(Commands(jobs)))
    }
}

/// What `bash` runs that goes on when its call has ended.
struct Commands(Jobs);

impl Background for Commands {
    fn end_left<'a>(
        &'a self,
        session: &'a SessionId,
        open: &'a [ToolCallId],
    ) -> BoxFuture<'a, Vec<LeftRunning>> {
        let BashOptions { grace, records, .. } = self.0.options();
        Box::pin(end_left_running(session, open, (*grace, records.as_ref())))
    }

    fn may_have_left(&self, session: &SessionId) -> bool {
        let records = self.0.options().records.as_ref();
        records.is_some_and(|records| records.may_have(session))
    }

    fn has_left<'a>(&'a self, session: &'a SessionId) -> BoxFuture<'a, bool> {
        Box::pin(any_left_running(session, self.0.options().records.as_ref()))
    }

    fn left<'a>(&'a self, session: &'a SessionId, open: &'a [ToolCallId]) -> BoxFuture<'a, Vec<LeftRunning>> {
        Box::pin(left_running(session, open, self.0.options().records.as_ref()))
    }

    fn stop<'a>(&'a self, session: &'a SessionId, job: &'a str) -> BoxFuture<'a, bool> {
        Box::pin(self.0.stop(session, job))
    }

    fn shutdown<'a>(&'a self, session: &'a SessionId) -> BoxFuture<'a, ()> {
        Box::pin(self.0.shutdown(session))
    }
}
