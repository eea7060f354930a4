//! Commands in the background. They end with the program, so the chat shows them in its status row, reports
//! when one ends, and warns before it leaves. It knows the agent's commands from events, and those that the
//! person's own commands left running from their process group.

use agentx::tools::RemainingProcess;
use agentx::types::{JobFinished, RuntimeEvent, Timestamp, ToolCallId};
use serde_json::Value;

use crate::render::clean::visible;
use crate::render::table::{cut, table};
use crate::render::units;

/// Maximum number of columns of a command to show.
const SHOWN: usize = 60;
/// Maximum number of commands to name at once.
const NAMED: usize = 3;

/// The jobs of a session, as far as they began while the chat looked on.
#[derive(Debug, Default)]
pub struct JobList {
    /// The commands of calls that run.
    called: Vec<(ToolCallId, String)>,
    /// The jobs in the background.
    running: Vec<ShownJob>,
    /// The number of jobs that the person's own commands have left running so far.
    own: usize,
    /// The command that the person was warned about, because it ends them; the same command again means it.
    warned: Option<String>,
}

/// A command in the background.
#[derive(Debug)]
struct ShownJob {
    id: String,
    command: String,
    since: Timestamp,
    /// The processes, if a command of the user left them running.
    left: Option<RemainingProcess>,
}

impl JobList {
    /// A command of the user left this running. Returns its name.
    pub(crate) fn left_running(&mut self, command: &str, left: RemainingProcess, since: Timestamp) -> String {
        self.own += 1;
        self.warned = None;
        let id = format!("own_{}", self.own);
        self.running.push(ShownJob {
            id: id.clone(),
            command: command.to_owned(),
            since,
            left: Some(left),
        });
        id
    }

    /// Returns whether a command of the user is among them.
    pub(crate) fn has_own(&self) -> bool {
        self.running.iter().any(|job| job.left.is_some())
    }

    /// Forgets the jobs of the user that have ended, and returns their names.
    pub(crate) fn take_ended_names(&mut self) -> Vec<String> {
        let is_over = |job: &mut ShownJob| job.left.as_ref().is_some_and(|left| !left.still_runs());
        self.running
            .extract_if(.., is_over)
            .map(|job| format!("{} has ended ({})", job.id, short(&job.command)))
            .collect()
    }

    /// Ends a job of the user; returns whether it is one.
    pub(crate) fn stop_own(&mut self, name: &str) -> bool {
        let before = self.running.len();
        self.running.retain(|job| job.id != name || job.left.is_none());
        self.running.len() < before
    }

    /// Handles an event that happened at this time; returns a notice about it.
    pub fn event(&mut self, event: &RuntimeEvent, at: Timestamp) -> Option<String> {
        match event {
            RuntimeEvent::ToolExecuting(call) => {
                let command = call.input.get("command").and_then(Value::as_str);
                let command = command.map(|command| (call.tool_call_id.clone(), command.to_owned()));
                self.called.extend(command);
                None
            }
            RuntimeEvent::ToolCompleted(call) => {
                self.answered(&call.tool_call_id, call.details.as_ref(), at);
                None
            }
            RuntimeEvent::ToolFailed(call) => {
                self.answered(&call.tool_call_id, call.details.as_ref(), at);
                None
            }
            RuntimeEvent::JobFinished(ended) => Some(self.ended(ended)),
            RuntimeEvent::SessionResumed(_) => self.ended_with_their_program(),
            _ => None,
        }
    }

    /// Notes that a call has its result. A job that it started may still run, or one that it asked about has
    /// ended.
    fn answered(&mut self, call: &ToolCallId, details: Option<&Value>, since: Timestamp) {
        let at = self.called.iter().position(|(id, _)| id == call);
        let command = at.map(|at| self.called.remove(at).1);
        let Some(details) = details else { return };
        let Some(job) = details.get("job").and_then(Value::as_str) else {
            return;
        };
        if details.get("running").and_then(Value::as_bool) == Some(false) {
            self.running.retain(|running| running.id != job);
        } else if let Some(command) = command.filter(|_| !self.runs(job)) {
            self.warned = None;
            let id = job.to_owned();
            self.running.push(ShownJob {
                id,
                command,
                since,
                left: None,
            });
        }
    }

    /// Returns the names of all running jobs.
    pub(crate) fn names(&self) -> Vec<String> {
        self.running.iter().map(|job| job.id.clone()).collect()
    }

    /// Returns whether a job of this name runs.
    pub(crate) fn runs(&self, job: &str) -> bool {
        self.running.iter().any(|running| running.id == job)
    }

    /// The name of the job that a person means: `job_1`, or `1`.
    pub(crate) fn named(&self, wanted: &str) -> Option<String> {
        let names = match wanted.parse::<u64>() {
            Ok(number) => vec![format!("job_{number}"), format!("own_{number}")],
            Err(_) => vec![wanted.to_owned()],
        };
        names.into_iter().find(|name| self.runs(name))
    }

    /// Lists all running jobs, a row each: name, start, command.
    pub(crate) fn list(&self, now: Timestamp, width: usize) -> String {
        if self.running.is_empty() {
            return "nothing runs in the background".to_owned();
        }
        let rows: Vec<Vec<String>> = self
            .running
            .iter()
            .map(|job| {
                let seconds = now.millis_since(job.since) / 1000;
                let time = units::duration(seconds.max(1) * 1000).replace(".0s", "s");
                vec![visible(&job.id), time, short(&job.command)]
            })
            .collect();
        table(&rows, width) + "/jobs stop NAME ends one, /jobs stop all ends all"
    }

    fn ended(&mut self, ended: &JobFinished) -> String {
        self.running.retain(|running| running.id != ended.job);
        format!(
            "{} has ended: {} ({})",
            visible(&ended.job),
            visible(&ended.how),
            short(&ended.command)
        )
    }

    /// Notes that another process has taken the session over, such as a server that was started again,
    /// or that the chat has left it. The agent's commands in the background ended with it; those of the user
    /// continue.
    pub(crate) fn ended_with_their_program(&mut self) -> Option<String> {
        self.called.clear();
        let (own, agents) = std::mem::take(&mut self.running)
            .into_iter()
            .partition(|job| job.left.is_some());
        self.running = own;
        ended_jobs_notice(&agents)
    }

    /// The text about jobs that continue without this program, in the session at a server.
    pub fn left_at_server(&self) -> Option<String> {
        jobs_at_server(&self.commands())
    }

    /// Returns the commands of all running jobs.
    pub(crate) fn commands(&self) -> Vec<String> {
        self.running.iter().map(|job| job.command.clone()).collect()
    }

    /// Returns the number of jobs for the status row, or an empty text.
    pub(crate) fn row(&self) -> String {
        match self.running.len() {
            0 => String::new(),
            count => format!(" · {}", units::counted(count, "job")),
        }
    }

    /// Returns a warning, once, before a `command` that ends jobs of which the person may not know. Jobs of a
    /// server continue there.
    pub(crate) fn warning(&mut self, command: &str, is_here: bool) -> Option<String> {
        let ends: Vec<&ShownJob> = self.ending_with_chat(is_here).collect();
        let warning = self.warning_about(command, &ends)?;
        self.warned = Some(command.to_owned());
        Some(warning)
    }

    /// Returns the same warning before a `command` that leaves the session but not the chat: the person's own
    /// jobs continue.
    pub(crate) fn warning_of_session(&mut self, command: &str, is_here: bool) -> Option<String> {
        let of_agent = self.running.iter().filter(|job| is_here && job.left.is_none());
        let ends: Vec<&ShownJob> = of_agent.collect();
        let warning = self.warning_about(command, &ends)?;
        self.warned = Some(command.to_owned());
        Some(warning)
    }

    fn warning_about(&self, command: &str, ends: &[&ShownJob]) -> Option<String> {
        if ends.is_empty() || self.warned.as_deref() == Some(command) {
            return None;
        }
        let (are, them) = if ends.len() == 1 {
            ("is", "it")
        } else {
            ("are", "them")
        };
        let (count, names) = (units::counted(ends.len(), "job"), names(ends.iter().copied()));
        Some(format!(
            "{count} {are} still running: {names}; {command} again to end {them}"
        ))
    }

    /// Warns again before the `command`, because the person did something else after the first warning.
    pub(crate) fn warn_again(&mut self, command: Option<&str>) {
        self.warned.take_if(|warned| command != Some(warned));
    }

    /// Returns the text about jobs that ended together with the chat.
    pub(crate) fn ended_with_the_chat(&self, is_here: bool) -> Option<String> {
        ended_jobs_notice(self.ending_with_chat(is_here)).map(|told| told + "\n")
    }

    /// Returns the jobs that end with the chat.
    fn ending_with_chat(&self, is_here: bool) -> impl Iterator<Item = &ShownJob> {
        self.running
            .iter()
            .filter(move |job| is_here || job.left.is_some())
    }
}

fn ended_jobs_notice<'a>(jobs: impl IntoIterator<Item = &'a ShownJob>) -> Option<String> {
    let jobs: Vec<&ShownJob> = jobs.into_iter().collect();
    let were = if jobs.len() == 1 { "was" } else { "were" };
    let names = names(jobs.iter().copied());
    (!jobs.is_empty()).then(|| format!("{} {were} ended: {names}", units::counted(jobs.len(), "job")))
}

/// Returns the text about commands that continue on a server, or `None` if there are none.
pub(crate) fn jobs_at_server(commands: &[String]) -> Option<String> {
    let are = if commands.len() == 1 { "is" } else { "are" };
    let names = listed(commands.iter().map(String::as_str));
    (!commands.is_empty()).then(|| {
        format!(
            "{} {are} still running on the server: {names}",
            units::counted(commands.len(), "job")
        )
    })
}

/// Returns the text about commands that end with this program, or `None` if there are none.
pub(crate) fn ended_jobs_text(commands: &[String]) -> Option<String> {
    let end = if commands.len() == 1 { "ends" } else { "end" };
    let names = listed(commands.iter().map(String::as_str));
    (!commands.is_empty()).then(|| {
        format!(
            "{} {end} with this run: {names}",
            units::counted(commands.len(), "job")
        )
    })
}

fn names<'a>(jobs: impl IntoIterator<Item = &'a ShownJob>) -> String {
    listed(jobs.into_iter().map(|job| job.command.as_str()))
}

/// The first commands, and how many more there are.
fn listed<'a>(commands: impl Iterator<Item = &'a str>) -> String {
    let all: Vec<String> = commands.map(short).collect();
    let more = all.len().saturating_sub(NAMED);
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    all[..all.len().min(NAMED)].join(", ") + &more
}

fn short(command: &str) -> String {
    cut(&visible(command.lines().next().unwrap_or_default()), SHOWN)
}

#[cfg(test)]
mod tests {
    use agentx::types::{SessionResumed, ToolCompleted, ToolExecuting};
    use serde_json::json;

    use super::*;

    const BEGAN: Timestamp = Timestamp(1_000_000);

    fn began(jobs: &mut JobList, call: &str, command: &str, job: &str) {
        let executing = ToolExecuting {
            tool_call_id: call.into(),
            name: "bash".into(),
            input: json!({ "command": command }),
        };
        assert_eq!(jobs.event(&executing.into(), BEGAN), None);
        assert_eq!(
            jobs.event(&done(call, json!({ "job": job, "running": true })), BEGAN),
            None
        );
    }

    fn done(call: &str, details: Value) -> RuntimeEvent {
        ToolCompleted {
            tool_call_id: call.into(),
            name: "bash".into(),
            duration_ms: 5,
            details: Some(details),
        }
        .into()
    }

    #[test]
    fn jobs_are_counted_told_when_they_end_and_named_before_leaving() {
        let mut jobs = JobList::default();
        assert_eq!((jobs.row(), jobs.warning("leave", true)), (String::new(), None));
        began(&mut jobs, "c1", "npm run dev\n# more", "job_1");
        began(&mut jobs, "c2", "cargo watch", "job_2");
        assert_eq!(
            jobs.event(&done("c3", json!({ "exit_code": 0, "job": null })), BEGAN),
            None
        );
        assert_eq!(jobs.row(), " · 2 jobs");
        let now = Timestamp(BEGAN.0 + 12_000_000);
        assert_eq!(
            jobs.list(now, 80),
            "job_1  12s  npm run dev\njob_2  12s  cargo watch\n/jobs stop NAME ends one, /jobs stop all ends all"
        );
        assert_eq!(jobs.named("2").as_deref(), Some("job_2"));
        assert_eq!(
            (jobs.named("job_1").as_deref(), jobs.named("3")),
            (Some("job_1"), None)
        );
        assert_eq!(
            jobs.warning("leave", true).unwrap(),
            "2 jobs are still running: npm run dev, cargo watch; leave again to end them"
        );
        assert_eq!(jobs.warning("leave", true), None, "the second time it leaves");
        jobs.warn_again(None);
        assert!(
            jobs.warning("leave", true).is_some() && jobs.warning("leave", true).is_none(),
            "another message came between"
        );
        assert_eq!(
            jobs.warning_of_session("/new", true).unwrap(),
            "2 jobs are still running: npm run dev, cargo watch; /new again to end them"
        );
        jobs.warn_again(Some("/new"));
        assert_eq!(
            jobs.warning_of_session("/new", true),
            None,
            "the same command again"
        );
        assert!(jobs.warning_of_session("/resume ses_1", true).is_some());
        jobs.warn_again(Some("/resume ses_2"));
        assert!(jobs.warning_of_session("/resume ses_1", true).is_some());
        assert_eq!(
            jobs.warning_of_session("/fork", false),
            None,
            "they go on at a server"
        );
        let ended = JobFinished {
            job: "job_1".into(),
            command: "npm run dev".into(),
            how: "exit 1, 3.20 s".into(),
        };
        assert_eq!(
            jobs.event(&ended.into(), BEGAN).unwrap(),
            "job_1 has ended: exit 1, 3.20 s (npm run dev)"
        );
        assert_eq!(
            jobs.ended_with_the_chat(true).unwrap(),
            "1 job was ended: cargo watch\n"
        );
        assert_eq!(
            jobs.left_at_server().unwrap(),
            "1 job is still running on the server: cargo watch"
        );
        jobs.event(&done("c4", json!({ "job": "job_2", "running": false })), BEGAN);
        assert_eq!(
            (jobs.row(), jobs.ended_with_the_chat(true)),
            (String::new(), None)
        );
    }

    #[test]
    fn a_process_that_takes_the_session_over_has_none_of_the_jobs_of_the_one_before() {
        let mut jobs = JobList::default();
        began(&mut jobs, "c1", "npm run dev", "job_1");
        let resumed = SessionResumed {
            epoch: 2,
            ended: Vec::new(),
        };
        let told = jobs.event(&resumed.clone().into(), BEGAN);
        assert_eq!(told.unwrap(), "1 job was ended: npm run dev");
        assert_eq!(
            (jobs.row(), jobs.event(&resumed.into(), BEGAN)),
            (String::new(), None)
        );
    }
}
