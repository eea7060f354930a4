//! The tools that files describe: those with files of their own, and those that are written into an agent.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use agentx_agent_files::definition::{AgentDefinition, AgentUse, ToolBody, ToolDefinition, ToolUse};
use agentx_agent_files::{Library, Origin};

/// A tool, and whose file describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct FileTool {
    /// What the file says.
    pub definition: ToolDefinition,
    /// Whose file it is.
    pub origin: Origin,
    /// The file.
    pub file: PathBuf,
}

/// All tools that files describe, by name; those that the host provides are left out. Of two that are called the same, the
/// one with a file of its own counts.
pub fn file_tools(library: &Library) -> BTreeMap<String, FileTool> {
    let mut tools = BTreeMap::new();
    for loaded in library.tools().values() {
        add(&mut tools, &loaded.definition, loaded.origin, &loaded.file);
    }
    for loaded in library.agents().values() {
        inline(&mut tools, &loaded.definition, loaded.origin, &loaded.file);
    }
    tools
}

fn add(tools: &mut BTreeMap<String, FileTool>, definition: &ToolDefinition, origin: Origin, file: &Path) {
    if matches!(definition.body, ToolBody::BuiltIn) {
        return;
    }
    tools.entry(definition.name.clone()).or_insert_with(|| FileTool {
        definition: ToolDefinition {
            of_folder: origin == Origin::Workspace,
            ..definition.clone()
        },
        origin,
        file: file.to_owned(),
    });
}

fn inline(tools: &mut BTreeMap<String, FileTool>, agent: &AgentDefinition, origin: Origin, file: &Path) {
    for used in &agent.tools {
        if let ToolUse::Inline(definition) = used {
            add(tools, definition, origin, file);
        }
    }
    let routed = agent.route.iter().map(|route| &route.agent);
    let others = agent.agents.iter().chain(routed).chain(agent.default.as_deref());
    for used in others {
        if let AgentUse::Inline(definition) = used {
            inline(tools, definition, origin, file);
        }
    }
}
