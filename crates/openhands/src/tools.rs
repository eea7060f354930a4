//! The tools and agents that a session needs so that its calls can be recorded: those that the log calls, as
//! far as it describes them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use agentx_types::{Access, AgentConfig, ToolSpec};
use serde_json::{Value, json};

use crate::item::{LogItem, LogSetting, LogStep, LoggedCall};

/// The tool that delegates to another agent.
const DELEGATE: &str = "delegate";
/// Tools that the machine itself answers. A call in the log with such a name gets another name.
const OWN: [&str; 5] = [DELEGATE, "agents", "recall", "ask_user", "find_tools"];

/// Returns the name of a call's tool in the session.
pub(crate) fn name_here(call: &LoggedCall) -> String {
    match &call.delegate {
        Some(_) => DELEGATE.to_owned(),
        None => name_of(&call.name),
    }
}

/// Returns a tool's name, changed if it is one of the machine's own.
fn name_of(name: &str) -> String {
    match name {
        "" => "unnamed".to_owned(),
        name if OWN.contains(&name) => format!("openhands_{name}"),
        name => name.to_owned(),
    }
}

/// Returns all tools of a log: those that it describes and those that it calls.
pub(crate) fn of_log(setting: &LogSetting, items: &[LogItem]) -> Vec<ToolSpec> {
    let mut described: BTreeMap<String, (String, Value)> = BTreeMap::new();
    for (name, description, schema) in &setting.tools {
        described.insert(name_of(name), (description.clone(), schema.clone()));
    }
    let mut ends = BTreeSet::new();
    let (mut called, mut answered) = (BTreeSet::new(), BTreeSet::new());
    for item in items {
        match &item.step {
            LogStep::Answer(answer) => {
                for call in &answer.calls {
                    called.insert(call.id.as_str());
                    let name = name_here(call);
                    if call.ends.is_some() {
                        ends.insert(name.clone());
                    }
                    described.entry(name).or_default();
                }
            }
            // A call that the log lacks is made from its outcome, and so is one with a second outcome.
            LogStep::Outcome(outcome)
                if !called.contains(outcome.call.as_str()) || !answered.insert(outcome.call.as_str()) =>
            {
                described.entry(name_of(&outcome.name)).or_default();
            }
            _ => {}
        }
    }
    let spec = |(name, (description, schema)): (String, (String, Value))| {
        let schema = if schema.is_object() {
            schema
        } else {
            json!({ "type": "object" })
        };
        let quits = ends.contains(&name);
        ToolSpec::new(name, description, schema, Access::Internal).with_quit(quits)
    };
    described.into_iter().map(spec).collect()
}

/// Returns the agents to which the log delegates, each with the tools of the log. They may delegate to each
/// other once more.
pub(crate) fn agents_of_log(config: &AgentConfig, items: &[LogItem]) -> Vec<AgentConfig> {
    let mut names = BTreeSet::new();
    for item in items {
        if let LogStep::Answer(answer) = &item.step {
            names.extend(
                answer
                    .calls
                    .iter()
                    .filter_map(|call| Some(call.delegate.as_ref()?.0.clone())),
            );
        }
    }
    let of = |agents: &[AgentConfig]| -> Vec<AgentConfig> {
        let agent = |name: &String| AgentConfig {
            name: name.clone(),
            system_prompt: Arc::default(),
            agents: agents.to_vec(),
            ..config.clone()
        };
        names.iter().map(agent).collect()
    };
    of(&of(&[]))
}
