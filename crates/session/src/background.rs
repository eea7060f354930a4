//! The background commands of a session. Jobs end with their program, whether it exits, is killed or loses
//! power, and the next program that opens the session has to know which ones did.

use agentx_types::{AgentConfig, EnvironmentEvent, LeftRunning, RequestedCall};
use serde_json::Value;

/// The most letters of a command line that are reported.
const SHOWN: usize = 60;
/// The maximum number of remembered jobs; a toolbox allows fewer at once.
const MOST: usize = 64;

/// The running jobs, according to the log.
///
/// A tool that runs command lines (its spec has `command_argument`) names the job in `details.job` of its
/// result if the command continues in the background. `running: false` beside the name in a result of any
/// tool, or `job_ended`, marks its end. At most [`MOST`] are remembered.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct BackgroundJobs {
    running: Vec<RunningJob>,
}

/// A job that runs, as the session remembers it.
#[derive(Clone, Debug, PartialEq)]
struct RunningJob {
    /// The name in the session, such as `job_1`.
    job: String,
    /// The beginning of the first line of its command, 60 letters at most.
    command: String,
}

impl BackgroundJobs {
    /// Applies the next fact, with the calls in progress, each with the configuration of its agent. It is
    /// called before the agents take the fact, so that the call that the fact answers is still among them.
    pub(crate) fn apply<'a>(
        &mut self,
        fact: &EnvironmentEvent,
        mut calls: impl Iterator<Item = (&'a AgentConfig, &'a RequestedCall)>,
    ) {
        match fact {
            EnvironmentEvent::ToolResult(result) => {
                let details = result.details.as_ref();
                let Some(job) = details.and_then(|details| details.get("job")?.as_str()) else {
                    return;
                };
                if details.and_then(|details| details.get("running")) == Some(&Value::Bool(false)) {
                    return self.ended(job);
                }
                let call = calls.find(|(_, call)| call.tool_call_id == result.tool_call_id);
                if let Some(command) = call.and_then(|(config, call)| command_line(config, call)) {
                    self.began(job, command);
                }
            }
            EnvironmentEvent::JobEnded(ended) => self.ended(&ended.job),
            // A new writer has no running jobs, and a copy does not inherit those of the original.
            EnvironmentEvent::WriterAttached(_)
            | EnvironmentEvent::SessionForked(_)
            | EnvironmentEvent::SessionImported(_) => self.running.clear(),
            _ => {}
        }
    }

    /// Remembers a job, unless it is known or too many are.
    fn began(&mut self, job: &str, command: &str) {
        if self.running.len() < MOST && !self.running.iter().any(|running| running.job == job) {
            let line = command.lines().next().unwrap_or_default();
            self.running.push(RunningJob {
                job: job.to_owned(),
                command: line.chars().take(SHOWN).collect(),
            });
        }
    }

    /// Forgets a job.
    fn ended(&mut self, job: &str) {
        self.running.retain(|running| running.job != job);
    }

    /// The running jobs, in the form that records their end with the program.
    pub(crate) fn running(&self) -> impl Iterator<Item = LeftRunning> {
        self.running.iter().map(|running| LeftRunning {
            tool_call_id: None,
            program: running.command.clone(),
            processes: 0,
        })
    }
}

/// The command line of a call; `None` if its tool runs none.
fn command_line<'a>(config: &AgentConfig, call: &'a RequestedCall) -> Option<&'a str> {
    let tool = config.tools.iter().find(|tool| tool.name == call.name)?;
    call.input.get(tool.command_argument.as_deref()?)?.as_str()
}

#[cfg(test)]
mod tests {
    use agentx_agent::fixtures;
    use agentx_types::{Access, JobEnded, ToolResult, ToolSpec, ToolStatus, WriterAttached};
    use serde_json::json;

    use super::*;

    /// An agent with two tools that run command lines, and one that does not.
    fn config() -> AgentConfig {
        let tool = |name: &str| ToolSpec::new(name, "", json!({}), Access::Run);
        AgentConfig {
            tools: [
                tool("bash").with_command_argument("command"),
                tool("remote_shell").with_command_argument("line"),
                tool("mine"),
            ]
            .into(),
            ..fixtures::config()
        }
    }

    fn call(name: &str, argument: &str, command: &str) -> RequestedCall {
        RequestedCall {
            tool_call_id: "c1".into(),
            name: name.into(),
            input: json!({ argument: command }),
            invalid: None,
        }
    }

    fn result(details: Value) -> EnvironmentEvent {
        ToolResult {
            tool_call_id: "c1".into(),
            result: Vec::new(),
            is_error: false,
            status: ToolStatus::Success,
            details: Some(details),
        }
        .into()
    }

    #[test]
    fn what_ran_in_the_background_is_known_until_it_ends_or_somebody_else_writes() {
        let mut jobs = BackgroundJobs::default();
        let named =
            |jobs: &BackgroundJobs| -> Vec<String> { jobs.running().map(|left| left.program).collect() };
        let config = config();
        let note = |jobs: &mut BackgroundJobs, call: &RequestedCall, details: Value| {
            jobs.apply(&result(details), [(&config, call)].into_iter());
        };
        let bash = call("bash", "command", "npm run dev\n# more");
        note(&mut jobs, &bash, json!({ "job": "job_1", "running": true }));
        let other = call("remote_shell", "line", "make");
        note(&mut jobs, &other, json!({ "job": "job_2" }));
        // A tool that runs no command lines is not believed.
        let mine = call("mine", "command", "rm -rf /");
        note(&mut jobs, &mine, json!({ "job": "job_9", "running": true }));
        assert_eq!(named(&jobs), ["npm run dev", "make"]);
        let ended = JobEnded {
            job: "job_1".into(),
            command: "npm run dev".into(),
            how: "exit 0".into(),
        };
        jobs.apply(&ended.into(), std::iter::empty());
        assert_eq!(named(&jobs), ["make"]);
        let looked = call("job", "id", "job_2");
        note(&mut jobs, &looked, json!({ "job": "job_2", "running": false }));
        assert!(named(&jobs).is_empty());
        note(&mut jobs, &bash, json!({ "job": "job_3" }));
        let attached = WriterAttached {
            epoch: 2,
            program: "test".into(),
            process: 1,
            ended: Vec::new(),
            serves: false,
            cut_off: Vec::new(),
        };
        jobs.apply(&attached.into(), std::iter::empty());
        assert!(named(&jobs).is_empty());
    }
}
