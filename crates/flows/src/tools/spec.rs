//! The spec of a tool from a file: its description, its arguments, and the reach that the file grants.

use agentx_agent_files::definition::{ToolDefinition, UnknownOutcome};
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
    let names = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
    // If arguments or variables decide about the host, it may be any host.
    let host_of = |address: &str| host_name(address).unwrap_or_else(|| "*".to_owned());
    let mut hosts: Vec<String> = definition.hosts().into_iter().map(host_of).collect();
    hosts.sort();
    hosts.dedup();
    let reach = ToolReach {
        hosts,
        variables: names(definition.variables()),
        tools: names(definition.calls()),
        file: definition.known.hash.clone(),
        replaces: definition.known.replaces,
        ..ToolReach::default()
    };
    (reach != ToolReach::default()).then_some(reach)
}
