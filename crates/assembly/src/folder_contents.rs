//! The contents of a folder that would take effect if a person trusted it, with the bytes that the person is
//! shown.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use agentx_agent_files::definition::{AgentDefinition, AgentUse, ContextLayer};
use agentx_agent_files::{FileOrigin, Library, RefKind};
use agentx_config::{FileAcceptance, Settings, WORKSPACE_FOLDER, leads_out};

use crate::accepted_files::RecordedFiles;
use crate::definition_roots::{folder_roots, workspace_folder};
use crate::runtime::load_library;
use crate::tools::{FileTool, file_tools, with_settings};

/// The largest settings file that is read.
const MAX_CONFIG_BYTES: u64 = 1 << 20;

/// The contents of a folder that would take effect.
#[derive(Clone, Debug, Default)]
pub struct FolderContents {
    /// Every file, by its path below the folder.
    pub files: Vec<FolderFile>,
    /// The tools that its files describe.
    pub tools: Vec<FileTool>,
    /// The agents by name, with the environment variables that their instructions use.
    pub agents: BTreeMap<String, BTreeSet<String>>,
    /// The models that each of its agents asks, by the agent's name: those of its fallbacks and of agents
    /// that are written inside it, too.
    pub agent_models: BTreeMap<String, BTreeSet<String>>,
    /// The servers of the models that its tools and agents name: `big of vendor at https://api.example`.
    /// Models that the person's settings do not name are missing: its own settings may name them, or a server
    /// may offer them.
    pub models: BTreeMap<String, String>,
    /// Unused definitions, because the person has their own with that name: `agent guide`, `generator fast`.
    pub unused: BTreeSet<String>,
}

/// A file of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderFile {
    /// The path below the folder.
    pub path: PathBuf,
    /// The bytes that were read.
    pub bytes: Vec<u8>,
    /// The purpose of the file.
    pub role: FileRole,
    /// Whether the person accepted it.
    pub standing: FileAcceptance,
}

/// The purpose of a folder's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileRole {
    /// Settings: `.agentx/config.yaml`.
    Settings,
    /// Instructions to the model: `AGENTS.md` or `CLAUDE.md`, commands and skills.
    Instructions,
    /// Agents, tools, rules, texts and scripts.
    Definition,
    /// MCP servers: `.mcp.json`.
    Servers,
    /// A file that the settings name: instructions, answers, a program of the status row.
    Named,
    /// The programs that the repository has Git run: a list, not a file.
    Git,
}

impl FolderContents {
    /// Returns whether the folder brings nothing that a person would have to trust.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Returns the files that were accepted with other bytes, or not at all.
    pub fn not_accepted(&self) -> impl Iterator<Item = &FolderFile> {
        self.files
            .iter()
            .filter(|file| file.standing != FileAcceptance::Accepted)
    }

    /// Returns all files with the bytes to accept.
    pub fn accepted(&self) -> Vec<(PathBuf, Vec<u8>)> {
        self.files
            .iter()
            .map(|file| (file.path.clone(), file.bytes.clone()))
            .collect()
    }

    /// Returns only the instruction files, with the bytes to accept.
    pub fn instructions(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let files = self
            .files
            .iter()
            .filter(|file| file.role == FileRole::Instructions);
        files
            .map(|file| (file.path.clone(), file.bytes.clone()))
            .collect()
    }

    /// Returns the models that its tools and agents ask, each as a person reads it.
    fn described_models(&self, settings: &Settings) -> BTreeMap<String, String> {
        let of_tools = self.tools.iter().flat_map(|tool| tool.definition.models());
        let of_agents = self.agent_models.values().flatten().map(String::as_str);
        let described = of_tools.chain(of_agents).filter_map(|name| {
            let model = settings.choose_model(name, &[]).ok()?;
            Some((name.to_owned(), settings.model_with_address(&model)))
        });
        described.collect()
    }

    /// Returns every environment variable that a tool or an agent of the folder names.
    pub fn variables(&self) -> BTreeSet<&str> {
        let of_tools = self.tools.iter().flat_map(|tool| tool.definition.variables());
        let of_agents = self.agents.values().flatten().map(String::as_str);
        of_tools.chain(of_agents).collect()
    }
}

/// Collects the contents of the folder of these settings.
pub fn folder_contents(settings: &Settings) -> FolderContents {
    let below = folder_roots(settings);
    let recorded = RecordedFiles {
        below: &below,
        read: RefCell::default(),
    };
    let library = load_library(settings, &[], &recorded);
    let mut contents = FolderContents::default();
    let mut add = |path: PathBuf, bytes: Vec<u8>, role| {
        let standing = settings.folder.standing(&path, &bytes);
        contents.files.push(FolderFile {
            path,
            bytes,
            role,
            standing,
        });
    };
    let instructions = settings.instruction_files().into_iter();
    for (path, text) in instructions.chain(settings.folder_prompt_files()) {
        let path = path.strip_prefix(&settings.workspace_root).unwrap_or(&path);
        add(path.to_owned(), text.into_bytes(), FileRole::Instructions);
    }
    if let Some(bytes) = config_of(settings, &workspace_folder(settings)) {
        add(
            Path::new(WORKSPACE_FOLDER).join("config.yaml"),
            bytes,
            FileRole::Settings,
        );
    }
    for file in &settings.named_files {
        let role = if file.is_of_servers() {
            FileRole::Servers
        } else {
            FileRole::Named
        };
        add(file.path.clone(), file.bytes.clone(), role);
    }
    if !settings.git.is_empty() {
        let text = settings.git.text().into_bytes();
        add(settings.git.accepted_as().to_owned(), text, FileRole::Git);
    }
    for (path, bytes) in recorded.read.into_inner() {
        add(path, bytes, FileRole::Definition);
    }
    let mut tools = file_tools(&library);
    with_settings(&mut tools, settings, &|name| {
        settings.choose_model(name, &[]).ok()
    });
    contents.tools = tools
        .into_values()
        .filter(|tool| tool.origin == FileOrigin::Workspace)
        .collect();
    contents.agents = of_agents(&library, &variables_of);
    contents.agent_models = of_agents(&library, &|agent| {
        let mut models = models_of(agent, &library);
        models.extend(foreign_model(agent, settings));
        models
    });
    contents.models = contents.described_models(settings);
    let shadows = library.shadows().iter();
    contents.unused = shadows
        .filter(|shadow| {
            let is_of_folder = |file: &Path| below.roots.iter().any(|root| file.starts_with(root));
            shadow.kind != RefKind::Tool && is_of_folder(&shadow.shadowed) && !is_of_folder(&shadow.used)
        })
        .map(|shadow| format!("{} {}", shadow.kind.word(), shadow.name))
        .collect();
    contents
}

/// Returns the bytes of the folder's own settings, if they are in a separate file.
fn config_of(settings: &Settings, below: &Path) -> Option<Vec<u8>> {
    let file = below.join("config.yaml");
    let found = std::fs::metadata(&file).ok()?;
    let is_ours = settings.user_file != file
        && !leads_out(&settings.workspace_root, &file)
        && !settings.is_guarded(&std::fs::canonicalize(&file).ok()?)
        && found.is_file()
        && found.len() <= MAX_CONFIG_BYTES;
    is_ours.then(|| std::fs::read(&file).ok()).flatten()
}

/// Returns something of each agent of the folder, by its name.
fn of_agents(
    library: &Library,
    of: &dyn Fn(&AgentDefinition) -> BTreeSet<String>,
) -> BTreeMap<String, BTreeSet<String>> {
    let of_folder = library
        .agents()
        .iter()
        .filter(|(_, loaded)| loaded.origin == FileOrigin::Workspace);
    of_folder
        .map(|(name, loaded)| (name.clone(), of(&loaded.definition)))
        .collect()
}

/// Returns the models that an agent names, and those of agents that are written inside it.
fn models_of(agent: &AgentDefinition, library: &Library) -> BTreeSet<String> {
    let generator = agent
        .generator
        .as_ref()
        .map(|generator| library.generator(generator));
    let own = generator.and_then(|generator| generator.model);
    let fallbacks = agent.fallbacks.iter().flatten().cloned();
    let inside = inline_agents(agent).flat_map(|inline| models_of(inline, library));
    own.into_iter()
        .chain(fallbacks)
        .chain(inside.collect::<BTreeSet<_>>())
        .collect()
}

/// Returns the model that an agent of another program names, if it is asked here.
fn foreign_model(agent: &AgentDefinition, settings: &Settings) -> Option<String> {
    let name = agent.foreign.as_ref()?.model.as_ref()?;
    let model = settings.choose_model(name, &[]).ok()?;
    settings.is_connected(&model).then(|| name.clone())
}

/// Returns the agents that are written inside an agent.
fn inline_agents(agent: &AgentDefinition) -> impl Iterator<Item = &AgentDefinition> {
    let routed = agent.route.iter().map(|route| &route.agent);
    let others = agent.agents.iter().chain(routed).chain(agent.default.as_deref());
    others.filter_map(|used| match used {
        AgentUse::Inline(inline) => Some(&**inline),
        AgentUse::Ref(_) => None,
    })
}

/// Returns the environment variables that the instructions of an agent take in, and those of agents that are
/// written inside it.
pub(crate) fn variables_of(agent: &AgentDefinition) -> BTreeSet<String> {
    let own = agent.context_layers.iter().filter_map(|layer| match layer {
        ContextLayer::Env(name) => Some(name.clone()),
        _ => None,
    });
    let inside = inline_agents(agent).flat_map(variables_of);
    own.chain(inside.collect::<BTreeSet<_>>()).collect()
}
