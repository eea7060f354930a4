//! `job`: looks after commands that run in the background.

use std::time::Duration;

use agentx_runtime::{ToolContext, ToolOutcome};
use agentx_types::Access;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::background_job::BackgroundJob;
use super::capture::Capture;
use super::command_report::{CommandReport, LeftProcesses, exit_details, seconds, shown};
use super::jobs::JobTable;
use crate::failure::ToolFailure;
use crate::text;
use crate::typed::{ToolAbout, TypedTool};

/// The arguments of `job`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct JobInput {
    /// The id of the job; lists all if left out.
    id: Option<String>,
    /// End it.
    kill: Option<bool>,
    /// Milliseconds to wait for new output or its end.
    wait_ms: Option<u64>,
}

pub(crate) struct JobTool {
    jobs: JobTable,
}

impl JobTool {
    pub(crate) fn new(jobs: JobTable) -> Self {
        Self { jobs }
    }

    fn list(&self, context: &ToolContext) -> ToolOutcome {
        let jobs = self.jobs.list(&context.session_id);
        let lines: Vec<String> = jobs
            .iter()
            .map(|job| {
                format!(
                    "{} {}: {}",
                    job.id(),
                    state(job),
                    text::cut_line(job.command(), 200)
                )
            })
            .collect();
        ToolOutcome::success(if lines.is_empty() {
            "There are no jobs.".into()
        } else {
            lines.join("\n")
        })
    }
}

impl TypedTool for JobTool {
    type Input = JobInput;

    fn about(&self) -> ToolAbout {
        let description =
            "Shows new output and the state of a command that bash runs in the background, or ends it.";
        ToolAbout::new("job", description, Access::Internal)
    }

    async fn run(&self, input: JobInput, context: ToolContext) -> Result<ToolOutcome, ToolFailure> {
        let Some(id) = input.id else {
            return match input.kill {
                Some(true) => Err(ToolFailure::invalid("Name the job to kill by its id.")),
                _ => Ok(self.list(&context)),
            };
        };
        let job = self.jobs.find(&context.session_id, &id).ok_or_else(|| {
            ToolFailure::failed(format!(
                "There is no job {id:?}.\n{}",
                first_text(&self.list(&context))
            ))
        })?;
        if input.kill == Some(true) {
            job.kill().await;
        } else if let Some(wait) = input.wait_ms {
            let wait = Duration::from_millis(wait).min(self.jobs.options().max_wait);
            tokio::select! {
                biased;
                () = context.cancel.cancelled() => return Err(ToolFailure::interrupted()),
                // Time that passes without news is an answer, too.
                _ = tokio::time::timeout(wait, job.news()) => {}
            }
        }
        Ok(self.describe(&job, &context).await)
    }
}

impl JobTool {
    async fn describe(&self, job: &BackgroundJob, context: &ToolContext) -> ToolOutcome {
        // First the state: output that came before the end is then never shown after it.
        let (state, end) = (state(job), job.end());
        let (output, lost) = job.take();
        let mut capture = Capture::new(self.jobs.options());
        capture.push(&output);
        let (shown, blob) = shown(capture, &context.blobs).await;
        let before = if lost > 0 {
            format!("[{} before this are lost]\n", text::size(lost))
        } else {
            String::new()
        };
        let border = if shown.is_empty() || shown.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        let mut details = end.map_or_else(|| json!({}), |(end, _)| exit_details(end));
        details["job"] = json!(job.id());
        details["running"] = json!(end.is_none());
        details["blob"] = blob;
        if let Some(sandbox) = job.sandbox() {
            details["sandbox"] = sandbox.details(None);
        }
        ToolOutcome::success(format!("{before}{shown}{border}[{} {state}]", job.id())).with_details(details)
    }
}

fn state(job: &BackgroundJob) -> String {
    match job.end() {
        None => format!("runs, {}", seconds(job.age())),
        Some((end, duration)) => CommandReport {
            end,
            duration,
            limit: None,
            rest: LeftProcesses::None,
            sandbox: None,
        }
        .sentence(0),
    }
}

fn first_text(outcome: &ToolOutcome) -> &str {
    outcome
        .content
        .first()
        .and_then(|part| part.as_text())
        .unwrap_or_default()
}
