//! Commands in the background that a session had when its program ended. Jobs end with the program, whether it is left, killed or loses
//! power, and whoever continues with the session has to know.

use agentx_types::{EnvironmentEvent, LeftRunning, RequestedCall};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The tool whose commands go on in the background.
const BASH: &str = "bash";
/// The most letters of a command line that are told.
const SHOWN: usize = 60;
/// The most jobs that are remembered; a toolbox lets fewer run.
const MOST: usize = 64;

/// The jobs that run, by what is on record.
///
/// `details` of a result of `bash` says `job` where the command went on in the background; `running: false` in a result of any tool, or
/// `job_ended`, says that it ended. More than [`MOST`] are not remembered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct BackgroundJobs {
    running: Vec<Running>,
}

/// A job that runs, as the session remembers it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Running {
    /// Its name in the session, such as `job_1`.
    job: String,
    /// The beginning of the first line of its command, 60 letters at most.
    command: String,
}

impl BackgroundJobs {
    /// Takes the next fact, with the calls that are under way.
    /// Asked before the agents take the fact: a call whose result it is must still be among them.
    pub(crate) fn note<'a>(
        &mut self,
        fact: &EnvironmentEvent,
        mut calls: impl Iterator<Item = &'a RequestedCall>,
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
                let began = calls
                    .find(|call| call.tool_call_id == result.tool_call_id)
                    .filter(|call| call.name == BASH);
                if let Some(command) = began.and_then(|call| call.input.get("command")?.as_str()) {
                    self.began(job, command);
                }
            }
            EnvironmentEvent::JobEnded(ended) => self.ended(&ended.job),
            // Whoever writes from now on has none of them, and a copy of a session has not those of the original.
            EnvironmentEvent::WriterAttached(_) | EnvironmentEvent::SessionForked(_) => self.running.clear(),
            _ => {}
        }
    }

    /// Remembers a job, unless it is known or too many are.
    fn began(&mut self, job: &str, command: &str) {
        if self.running.len() < MOST && !self.running.iter().any(|running| running.job == job) {
            let line = command.lines().next().unwrap_or_default();
            self.running.push(Running {
                job: job.to_owned(),
                command: line.chars().take(SHOWN).collect(),
            });
        }
    }

    /// Forgets a job.
    fn ended(&mut self, job: &str) {
        self.running.retain(|running| running.job != job);
    }

    /// The jobs that run, as they are named where they ended with their program.
    pub(crate) fn running(&self) -> impl Iterator<Item = LeftRunning> {
        self.running.iter().map(|running| LeftRunning {
            tool_call_id: None,
            program: running.command.clone(),
            processes: 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use agentx_types::{JobEnded, ToolResult, ToolStatus, WriterAttached};
    use serde_json::json;

    use super::*;

    fn call(name: &str, command: &str) -> RequestedCall {
        RequestedCall {
            tool_call_id: "c1".into(),
            name: name.into(),
            input: json!({ "command": command }),
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
        let bash = call("bash", "npm run dev\n# more");
        jobs.note(
            &result(json!({ "job": "job_1", "running": true })),
            [&bash].into_iter(),
        );
        jobs.note(
            &result(json!({ "job": "job_2" })),
            [&call("bash", "make")].into_iter(),
        );
        // What another tool says of jobs is not believed.
        let other = call("mine", "rm -rf /");
        jobs.note(
            &result(json!({ "job": "job_9", "running": true })),
            [&other].into_iter(),
        );
        assert_eq!(named(&jobs), ["npm run dev", "make"]);
        let ended = JobEnded {
            job: "job_1".into(),
            command: "npm run dev".into(),
            how: "exit 0".into(),
        };
        jobs.note(&ended.into(), std::iter::empty());
        assert_eq!(named(&jobs), ["make"]);
        let looked = call("job", "");
        jobs.note(
            &result(json!({ "job": "job_2", "running": false })),
            [&looked].into_iter(),
        );
        assert!(named(&jobs).is_empty());
        jobs.note(&result(json!({ "job": "job_3" })), [&bash].into_iter());
        let attached = WriterAttached {
            epoch: 2,
            program: "test".into(),
            process: 1,
            ended: Vec::new(),
            serves: false,
        };
        jobs.note(&attached.into(), std::iter::empty());
        assert!(named(&jobs).is_empty());
    }
}
