//! The commands of a session, each with what the log proves about its reach: hosts that it asked a proxy for,
//! a path that a sandbox refused, files that it changed, and paths that its line names. With them a policy
//! can be tried on old sessions. A log does not show what else a program opened, so a command without such
//! evidence is one about which nothing is known.

use std::collections::BTreeMap;

use agentx_agent::Agent;
use agentx_agent::command_analysis::read;
use agentx_runtime::{Delivery, Runtime, RuntimeError, View};
use agentx_session::SessionFold;
use agentx_types::{
    AgentConfig, Envelope, EnvironmentEvent, SessionId, ToolCall, ToolCallId, ToolResult, ToolStatus,
};
use serde::Serialize;
use serde_json::Value;

/// The most commands of a session that are kept; the others are counted.
const MOST_TRACES: usize = 10_000;
/// The most paths of one command.
const MOST_PATHS: usize = 200;

/// A call that ran a command line, as far as the log shows its reach.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CommandTrace {
    /// The `seq` of the event of the call.
    pub seq: u64,
    /// The id of the call.
    pub tool_call_id: ToolCallId,
    /// The name of the tool.
    pub name: String,
    /// The arguments, as JSON.
    pub input: Value,
    /// The folder in which it ran.
    pub workspace: String,
    /// Its fate, as far as the log has an outcome.
    pub fate: CommandFate,
    /// The hosts that it asked a proxy for.
    pub hosts: Vec<TracedHost>,
    /// The path that the sandbox of its time refused.
    pub refused: Option<TracedPath>,
    /// The absolute paths of files that it changed.
    pub changed: Vec<String>,
    /// The words of its line that may be paths. Whether it opened them is not in the log.
    pub named: Vec<String>,
}

/// The fate of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandFate {
    /// The command was started.
    Ran,
    /// It was not started: a rule, a person or a limit refused it, or its arguments made no sense.
    NotRun,
    /// It ran at an exec server, where no sandbox of this machine holds it.
    Elsewhere,
    /// The log has no outcome, or one that is unknown.
    Unknown,
}

/// A host that a command asked a proxy for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TracedHost {
    /// The host with its port.
    pub host: String,
    /// The decision of its time, as the details of the call have it.
    pub decision: String,
}

/// A path that a command was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TracedPath {
    /// The absolute path.
    pub path: String,
    /// The way to reach it: `read` or `write`.
    pub access: String,
}

/// The commands of one session.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CommandTraces {
    /// The id of the session.
    pub session_id: SessionId,
    /// The first commands, in the order of their calls.
    pub commands: Vec<CommandTrace>,
    /// The number of further ones.
    pub not_kept: u64,
}

/// Collects the commands of a session.
pub struct CommandTracing {
    fold: SessionFold,
    /// The places of commands in the list, by their calls.
    places: BTreeMap<ToolCallId, usize>,
    /// The same by the names of the background commands that they started.
    jobs: BTreeMap<String, usize>,
    traces: CommandTraces,
}

impl CommandTracing {
    /// A collection that has seen no facts yet.
    pub fn new(session_id: SessionId) -> Self {
        Self {
            fold: SessionFold::new(session_id.clone()),
            places: BTreeMap::new(),
            jobs: BTreeMap::new(),
            traces: CommandTraces {
                session_id,
                commands: Vec::new(),
                not_kept: 0,
            },
        }
    }

    /// Applies the next fact.
    pub fn take(&mut self, fact: &Envelope<EnvironmentEvent>) {
        match &fact.event {
            EnvironmentEvent::ToolCall(call) => {
                let agent = fact.agent_state_id.as_ref().and_then(|id| self.fold.agent(id));
                let trace = agent
                    .map(Agent::config)
                    .and_then(|config| started(fact.seq, call, config));
                if let Some(trace) = trace {
                    self.add(trace);
                }
            }
            EnvironmentEvent::ToolResult(result) => self.end(result),
            _ => {}
        }
        self.fold.advance(fact);
    }

    fn add(&mut self, trace: CommandTrace) {
        let commands = &mut self.traces.commands;
        if commands.len() >= MOST_TRACES {
            self.traces.not_kept += 1;
            return;
        }
        self.places.insert(trace.tool_call_id.clone(), commands.len());
        commands.push(trace);
    }

    fn end(&mut self, result: &ToolResult) {
        let none = Value::Null;
        let details = result.details.as_ref().unwrap_or(&none);
        let job = details["job"].as_str();
        let Some(place) = self.places.remove(&result.tool_call_id) else {
            self.look_at_job(job, details);
            return;
        };
        if let Some(job) = job {
            self.jobs.insert(job.to_owned(), place);
        }
        if let Some(trace) = self.traces.commands.get_mut(place) {
            trace.fate = fate_of(result.status, details);
            trace.hosts = hosts_of(details);
            trace.refused = refused_of(details);
            trace.changed = changed_of(details);
        }
    }

    /// Notes the hosts of a background command as a later call found them.
    fn look_at_job(&mut self, job: Option<&str>, details: &Value) {
        let place = job.and_then(|job| self.jobs.get(job));
        let hosts = hosts_of(details);
        if let Some(trace) = place.and_then(|place| self.traces.commands.get_mut(*place))
            && !hosts.is_empty()
        {
            trace.hosts = hosts;
        }
    }

    /// Returns the commands so far.
    pub fn traces(self) -> CommandTraces {
        self.traces
    }
}

/// Returns the command that a call is about to run; `None` if its tool runs no command lines.
fn started(seq: u64, call: &ToolCall, config: &AgentConfig) -> Option<CommandTrace> {
    let tool = config.tools.iter().find(|tool| tool.name == call.name)?;
    let line = call.input.get(tool.command_argument.as_ref()?)?.as_str()?;
    let mut named = read(line).paths;
    named.sort();
    named.dedup();
    named.truncate(MOST_PATHS);
    Some(CommandTrace {
        seq,
        tool_call_id: call.tool_call_id.clone(),
        name: call.name.clone(),
        input: call.input.clone(),
        workspace: config.workspace.clone(),
        fate: CommandFate::Unknown,
        hosts: Vec::new(),
        refused: None,
        changed: Vec::new(),
        named,
    })
}

fn fate_of(status: ToolStatus, details: &Value) -> CommandFate {
    if details["exec_server"].is_string() {
        return CommandFate::Elsewhere;
    }
    match status {
        ToolStatus::Success | ToolStatus::Failed | ToolStatus::TimedOut | ToolStatus::Interrupted => {
            CommandFate::Ran
        }
        ToolStatus::Invalid | ToolStatus::Denied | ToolStatus::Refused => CommandFate::NotRun,
        ToolStatus::Unknown => CommandFate::Unknown,
    }
}

fn hosts_of(details: &Value) -> Vec<TracedHost> {
    let hosts = details["sandbox"]["hosts"].as_array().into_iter().flatten();
    let traced = |entry: &Value| {
        Some(TracedHost {
            host: entry["host"].as_str()?.to_owned(),
            decision: entry["decision"].as_str()?.to_owned(),
        })
    };
    hosts.filter_map(traced).take(MOST_PATHS).collect()
}

fn refused_of(details: &Value) -> Option<TracedPath> {
    let sandbox = &details["sandbox"];
    Some(TracedPath {
        path: sandbox["refused_path"].as_str()?.to_owned(),
        access: sandbox["refused_access"].as_str()?.to_owned(),
    })
}

fn changed_of(details: &Value) -> Vec<String> {
    let changes = details["changes"].as_array().into_iter().flatten();
    let paths = changes.filter_map(|change| Some(change["path"].as_str()?.to_owned()));
    paths.take(MOST_PATHS).collect()
}

/// Collects the commands of one session of a runtime.
///
/// # Errors
/// Returns an error if the session cannot be read.
pub async fn command_traces(
    runtime: &dyn Runtime,
    session: &SessionId,
) -> Result<CommandTraces, RuntimeError> {
    let mut tracing = CommandTracing::new(session.clone());
    let mut events = runtime.watch(session, 0, View::Environment, false).await?;
    while let Some(delivery) = events.next().await {
        match delivery {
            Delivery::Environment(fact) => tracing.take(&fact),
            Delivery::CaughtUp(_) => break,
            Delivery::CutOff(why) => return Err(RuntimeError::unreadable(session, why)),
            Delivery::Runtime(_) => {}
        }
    }
    Ok(tracing.traces())
}

#[cfg(test)]
mod tests {
    use agentx_agent::fixtures;
    use agentx_types::{
        Access, AgentStateId, ContentPart, EventDraft, OwnerId, SessionOpened, Source, Timestamp, ToolSpec,
    };
    use serde_json::json;

    use super::*;

    /// The facts of a made-up session whose agent calls `bash` and `job`.
    struct MadeUp {
        tracing: CommandTracing,
        seq: u64,
    }

    impl MadeUp {
        fn new() -> Self {
            let schema = json!({"type": "object"});
            let bash =
                ToolSpec::new("bash", "", schema.clone(), Access::Run).with_command_argument("command");
            let job = ToolSpec::new("job", "", schema, Access::Internal);
            let config = AgentConfig {
                tools: [bash, job].into(),
                ..fixtures::config()
            };
            let mut made = Self {
                tracing: CommandTracing::new("ses_1".into()),
                seq: 0,
            };
            let opened = SessionOpened {
                owner: OwnerId::new("usr_1"),
                config: Box::new(config),
                program: "made up".into(),
            };
            made.take(opened.into());
            made
        }

        fn take(&mut self, event: EnvironmentEvent) {
            self.seq += 1;
            let draft = EventDraft::new(Source::Environment, Some(AgentStateId::new("agt_1")), event);
            let fact = draft.into_envelope("ses_1".into(), self.seq, Timestamp(0));
            self.tracing.take(&fact);
        }

        fn call(&mut self, id: &str, tool: &str, input: Value, result: Option<(ToolStatus, Value)>) {
            let call = ToolCall {
                tool_call_id: id.into(),
                name: tool.into(),
                input,
                invalid: None,
            };
            self.take(call.into());
            if let Some((status, details)) = result {
                let result = ToolResult {
                    tool_call_id: id.into(),
                    result: vec![ContentPart::text("")],
                    is_error: false,
                    status,
                    details: Some(details),
                };
                self.take(result.into());
            }
        }
    }

    #[test]
    fn a_command_is_told_with_what_its_log_proves() {
        let mut made = MadeUp::new();
        let line = |line: &str| json!({ "command": line });
        let details = json!({
            "sandbox": {
                "step": "namespace", "refused_path": "/home/ada/.ssh/key", "refused_access": "read",
                "hosts": [{"host": "a.example:443", "decision": "named", "connections": 2}, {"others": 3}],
            },
            "changes": [{"path": "/ws/made"}],
        });
        made.call(
            "c1",
            "bash",
            line("cat ~/.ssh/key"),
            Some((ToolStatus::Failed, details)),
        );
        made.call("c2", "bash", line("ls"), Some((ToolStatus::Denied, Value::Null)));
        made.call(
            "c3",
            "bash",
            line("ls"),
            Some((ToolStatus::Success, json!({"exec_server": "box"}))),
        );
        made.call("c4", "bash", line("ls"), None);
        made.call("c5", "job", json!({}), Some((ToolStatus::Success, json!({}))));
        let traces = made.tracing.traces();
        let fates: Vec<CommandFate> = traces.commands.iter().map(|trace| trace.fate).collect();
        use CommandFate::{Elsewhere, NotRun, Ran, Unknown};
        assert_eq!(fates, [Ran, NotRun, Elsewhere, Unknown], "`job` runs no line");
        let first = &traces.commands[0];
        assert_eq!(first.changed, ["/ws/made"]);
        assert_eq!(
            first.hosts,
            [TracedHost {
                host: "a.example:443".into(),
                decision: "named".into()
            }]
        );
        let refused = first.refused.as_ref().unwrap();
        assert_eq!((&*refused.path, &*refused.access), ("/home/ada/.ssh/key", "read"));
        assert!(
            first.named.iter().any(|word| word == "~/.ssh/key"),
            "{:?}",
            first.named
        );
    }

    #[test]
    fn hosts_of_a_background_command_are_those_of_the_latest_look() {
        let mut made = MadeUp::new();
        let with = |hosts: Value| json!({"job": "job_1", "running": true, "sandbox": {"hosts": hosts}});
        let started = Some((ToolStatus::Success, with(json!([]))));
        made.call("c1", "bash", json!({"command": "npm ci"}), started);
        let found = with(json!([{"host": "b.example:443", "decision": "refused", "connections": 1}]));
        made.call(
            "c2",
            "job",
            json!({"id": "job_1"}),
            Some((ToolStatus::Success, found)),
        );
        let traces = made.tracing.traces();
        assert_eq!(traces.commands.len(), 1);
        assert_eq!(traces.commands[0].hosts[0].host, "b.example:443");
    }
}
