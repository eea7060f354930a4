//! The spec of a tool from a file: its description, its arguments, and the reach that the file grants.

use agentx_agent_files::definition::{GrantedNames, ToolDefinition, UnknownOutcome};
use agentx_types::{Access, ToolReach, ToolSpec, host_name};

/// Returns the spec that models and approval rules see.
pub(super) fn spec(definition: &ToolDefinition) -> ToolSpec {
    let description = definition.description.clone().unwrap_or_default();
    let access = definition.access().unwrap_or(Access::Run);
    let mut spec = ToolSpec::new(&*definition.name, description, definition.input_schema(), access)
        // Its journal makes it idempotent: a call that is run again repeats no recorded step.
        .with_idempotent(true)
        .with_quit(definition.quit)
        .with_checked(true);
    spec.asks_unknown = definition.unknown == UnknownOutcome::Ask;
    match reach(definition) {
        Some(reach) => spec.with_reach(reach),
        None => spec,
    }
}

/// Returns the reach that its file grants; `None` if it grants nothing.
fn reach(definition: &ToolDefinition) -> Option<ToolReach> {
    let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
    // If arguments or variables decide about the host, it may be any host.
    let host_of = |address: &str| host_name(address).unwrap_or_else(|| "*".to_owned());
    let GrantedNames {
        hosts,
        variables,
        tools,
        models,
        key_spaces,
        agents,
    } = definition.grants();
    let mut hosts: Vec<String> = hosts.into_iter().map(host_of).collect();
    hosts.sort();
    hosts.dedup();
    let reach = ToolReach {
        hosts,
        variables: owned(variables),
        tools: owned(tools),
        models: owned(models),
        key_spaces: owned(key_spaces),
        agents: owned(agents),
        file: definition.known.hash.clone(),
        replaces: definition.known.replaces,
        ..ToolReach::default()
    };
    (reach != ToolReach::default()).then_some(reach)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use agentx_agent_files::definition::Capabilities;
    use serde_json::json;

    use super::*;

    #[test]
    fn every_grant_of_a_script_is_part_of_its_reach() {
        let names = |name: &str| vec![name.to_owned()];
        // Each field is set, so that a new one has to be added here.
        let capabilities = Capabilities {
            http: names("api.example"),
            env: names("TOKEN"),
            models: names("big"),
            tools: names("read"),
            kv: names("notes"),
            agents: names("helper"),
        };
        let script =
            json!({"name": "made_up", "type": "luau", "lua": "return 1", "capabilities": capabilities});
        let row = json!({"name": "row", "type": "composite", "steps": [{"id": "one", "tool": script}]});
        let reach = |file: &serde_json::Value| {
            let definition: ToolDefinition = serde_json::from_value(file.clone()).unwrap();
            *spec(&definition).reach.unwrap()
        };
        let granted = ToolReach {
            hosts: names("api.example"),
            variables: names("TOKEN"),
            tools: names("read"),
            models: names("big"),
            key_spaces: names("notes"),
            agents: names("helper"),
            ..ToolReach::default()
        };
        assert_eq!(reach(&script), granted);
        // A tool that is written inside another one brings its grants along.
        let tools = vec!["made_up".to_owned(), "read".to_owned()];
        assert_eq!(reach(&row), ToolReach { tools, ..granted });
    }
}
