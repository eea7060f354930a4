//! The tools that files describe: those with separate files, and those inside the file of an agent.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use agentx_agent_files::definition::{AgentDefinition, AgentUse, ToolBody, ToolDefinition, ToolUse};
use agentx_agent_files::{FileOrigin, Library, RefKind};
use agentx_config::{ProviderSettings, SCRIPTED_MODEL, Settings};
use agentx_types::ModelSpec;

/// The number of hexadecimal digits of a hash in a rule: enough that no other file with them can be found.
const HASH_DIGITS: usize = 20;

/// A tool, with the origin of its file.
#[derive(Clone, Debug, PartialEq)]
pub struct FileTool {
    /// The definition in the file.
    pub definition: ToolDefinition,
    /// The origin of its file.
    pub origin: FileOrigin,
    /// The file.
    pub file: PathBuf,
}

/// Returns all tools from files, by name, without those that the host provides. If two have the same name,
/// the one with a separate file is used.
pub fn file_tools(library: &Library) -> BTreeMap<String, FileTool> {
    let mut tools = BTreeMap::new();
    for loaded in library.tools().values() {
        add(&mut tools, &loaded.definition, loaded.origin, &loaded.file);
    }
    for loaded in library.agents().values() {
        inline(&mut tools, &loaded.definition, loaded.origin, &loaded.file);
    }
    let of_tools = library
        .shadows()
        .iter()
        .filter(|shadow| shadow.kind == RefKind::Tool);
    let shadowed: BTreeSet<&Path> = of_tools.map(|shadow| shadow.used.as_path()).collect();
    let hashes: Vec<(String, String)> = tools
        .iter()
        .filter(|(_, tool)| tool.origin == FileOrigin::Workspace)
        .map(|(name, _)| (name.clone(), hash_of(name, &tools, library)))
        .collect();
    for (name, hash) in hashes {
        if let Some(tool) = tools.get_mut(&name) {
            let known = &mut tool.definition.known;
            known.hash = Some(hash);
            known.replaces |= shadowed.contains(tool.file.as_path());
        }
    }
    tools
}

/// Completes the folder's tools from the settings: the servers of the models that they use, if these differ
/// from that of the session's own model (because the text of a conversation goes there), and whether their
/// names belong to an MCP server of the person. `choose` finds the model of a name.
pub(crate) fn with_settings(
    tools: &mut BTreeMap<String, FileTool>,
    settings: &Settings,
    choose: &dyn Fn(&str) -> Option<ModelSpec>,
) {
    let session = choose(&settings.model_or_default().value);
    let session = session.and_then(|model| settings.address_of(&model));
    // A server that the folder itself names was not chosen by the person.
    let is_elsewhere =
        |provider: &&ProviderSettings| provider.of_folder || session != Some(provider.base_url.as_str());
    let at = |name: &str| -> Vec<String> {
        let providers = settings.providers.iter().filter(is_elsewhere);
        let address = |provider: &ProviderSettings| provider.base_url.clone();
        match choose(name) {
            _ if name == SCRIPTED_MODEL => Vec::new(),
            _ if name == "*" => providers
                .filter(|provider| provider.of_folder || provider.is_connected())
                .map(address)
                .collect(),
            Some(spec) => providers
                .filter(|provider| provider.name == spec.provider)
                .map(address)
                .collect(),
            // Settings that are not accepted yet may name its address.
            None => vec!["*".to_owned()],
        }
    };
    for tool in tools
        .values_mut()
        .filter(|tool| tool.origin == FileOrigin::Workspace)
    {
        tool.definition.known.models_at = tool.definition.models().into_iter().flat_map(at).collect();
        tool.definition.known.replaces |= is_named_by_server(&tool.definition.name, settings);
    }
}

/// Returns whether a tool has a name that belongs to a tool of one of the person's own MCP servers: rules
/// that allow it are about that one.
fn is_named_by_server(name: &str, settings: &Settings) -> bool {
    let mut own = settings.mcp.iter().filter(|server| !server.of_folder);
    own.any(|server| {
        let rest = name.strip_prefix(server.name.as_str());
        rest.is_some_and(|rest| rest.starts_with("__"))
    })
}

/// Returns the name of a tool inside a folder's composite that another tool has: calls of the other tool
/// would get this one.
pub(crate) fn name_taken<'t>(
    tool: &'t FileTool,
    tools: &BTreeMap<String, FileTool>,
    built_in: &dyn Fn(&str) -> bool,
) -> Option<&'t str> {
    let is_inside = |other: &FileTool, name: &str| {
        other.file != tool.file
            && inner_tools(&other.definition)
                .iter()
                .any(|inner| inner.name == name)
    };
    let is_taken = |name: &&str| {
        built_in(name) || tools.contains_key(*name) || tools.values().any(|other| is_inside(other, name))
    };
    let inner = inner_tools(&tool.definition).into_iter();
    let mut names = inner.map(|inner| inner.name.as_str());
    match tool.origin {
        FileOrigin::Workspace => names.find(is_taken),
        FileOrigin::User => None,
    }
}

/// Returns the tools that are written inside a tool, however deep.
fn inner_tools(tool: &ToolDefinition) -> Vec<&ToolDefinition> {
    let ToolBody::Composite(row) = &tool.body else {
        return Vec::new();
    };
    row.inline()
        .flat_map(|inner| std::iter::once(inner).chain(inner_tools(inner)))
        .collect()
}

/// Returns the beginning of a hash of everything that makes up a tool: its file, the tools that it calls,
/// directly or not, and the libraries of scripts.
fn hash_of(name: &str, tools: &BTreeMap<String, FileTool>, library: &Library) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut part = |text: &str| {
        hasher.update(&u64::try_from(text.len()).unwrap_or(u64::MAX).to_le_bytes());
        hasher.update(text.as_bytes());
    };
    let (mut seen, mut open) = (BTreeSet::new(), vec![name]);
    while let Some(name) = open.pop() {
        let Some((name, tool)) = tools.get_key_value(name).filter(|(name, _)| seen.insert(*name)) else {
            continue;
        };
        part(name);
        part(&serde_json::to_string(&tool.definition).unwrap_or_default());
        let calls = tool.definition.calls();
        if calls.contains(&"*") {
            open.extend(tools.keys().map(String::as_str))
        } else {
            open.extend(calls)
        }
    }
    for (path, text) in library.libraries() {
        part(path);
        part(text);
    }
    let mut hash = hasher.finalize().to_hex().to_string();
    hash.truncate(HASH_DIGITS);
    hash
}

fn add(tools: &mut BTreeMap<String, FileTool>, definition: &ToolDefinition, origin: FileOrigin, file: &Path) {
    if matches!(definition.body, ToolBody::BuiltIn) {
        return;
    }
    if let Some(used) = tools.get_mut(&definition.name) {
        used.definition.known.replaces |= used.origin == FileOrigin::Workspace && origin == FileOrigin::User;
        return;
    }
    let tool = FileTool {
        definition: ToolDefinition {
            of_folder: origin == FileOrigin::Workspace,
            ..definition.clone()
        },
        origin,
        file: file.to_owned(),
    };
    tools.insert(definition.name.clone(), tool);
}

fn inline(tools: &mut BTreeMap<String, FileTool>, agent: &AgentDefinition, origin: FileOrigin, file: &Path) {
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
