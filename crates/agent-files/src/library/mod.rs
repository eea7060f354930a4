//! All files of a workspace and of the person together: names, references, shadowed definitions, cycles.

mod contexts;
mod cross_checks;
mod cycles;
mod ignored_files;
mod layout;
mod libs;
mod load_steps;
mod loading;
mod named_paths;
mod outline;
mod resolve;
mod schema_files;
mod unreadable;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::definition::{AgentDefinition, AgentUse, Generator, RuleDefinition, ToolDefinition};
use crate::keys::key_tables::RefKind;
use crate::mistake::DefinitionMistake;

pub use layout::RootLayout;

/// A root of files: the folder with `agents/`, `tools/`, `rules/`, `generators/`, `context/` and `libs/`, or
/// with the agents of another program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// The folder, as mistakes name it.
    pub path: PathBuf,
    /// Whether it is the workspace's or the person's.
    pub origin: FileOrigin,
    /// The program whose files these are.
    pub layout: RootLayout,
}

/// The author of a file: the person, or the workspace, whose files were not written by the person who opens
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileOrigin {
    /// The workspace's.
    Workspace,
    /// The person's.
    User,
}

/// Facts that the caller knows and no file contains.
#[derive(Clone, Copy, Default)]
pub struct LibraryOptions<'a> {
    /// Finds mistakes in scripts without running them.
    pub scripts: Option<&'a dyn ScriptCheck>,
    /// Finds what is wrong with a JSON Schema as a whole.
    pub schemas: Option<&'a dyn SchemaCheck>,
    /// Names of tools that the host provides.
    pub tools: &'a [&'a str],
    /// Names of agents that the host provides.
    pub agents: &'a [&'a str],
}

/// Finds the syntax errors of a script.
pub trait ScriptCheck {
    /// # Errors
    /// Returns the first error.
    fn check(&self, name: &str, source: &str) -> Result<(), ScriptFinding>;
}

/// Finds what keeps a JSON Schema from being used: a pattern that is not a regular expression, a reference to
/// nowhere.
pub trait SchemaCheck {
    /// # Errors
    /// Returns the first error.
    fn check(&self, schema: &serde_json::Value) -> Result<(), String>;
}

/// An error in a script, and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptFinding {
    /// The line, from 1.
    pub line: u64,
    /// The column, from 1.
    pub column: u64,
    /// The error message.
    pub message: String,
}

/// A definition and its file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LoadedDefinition<T> {
    /// The contents of the file, with names for references.
    pub definition: T,
    /// The file.
    pub file: PathBuf,
    /// Whether it is the workspace's or the person's.
    pub origin: FileOrigin,
}

/// Definitions of one kind, by name.
pub type ByName<T> = BTreeMap<String, LoadedDefinition<T>>;

/// A definition that is not used, because another one has its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Shadow {
    /// The kind of the reference.
    pub kind: RefKind,
    /// The name of both.
    pub name: String,
    /// The file that is used.
    pub used: PathBuf,
    /// The file that is not.
    pub shadowed: PathBuf,
}

/// A file or a folder that is not read though it looks like a definition.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct IgnoredFile {
    /// The path of the file or folder.
    pub path: PathBuf,
    /// The reason why it is not read.
    pub why: String,
}

/// All files together.
///
/// ```
/// use agentx_agent_files::{Library, MemoryFiles, LibraryOptions, FileOrigin, Root, RootLayout};
/// let files: MemoryFiles = [
///     (".agentx/agents/assistant.yaml", "name: assistant\nmodel: gpt-4o\ntools:\n  - $ref: tool:get_weather\n  - $ref: tool:mssing\n"),
///     (".agentx/tools/get_weather.luau", "--[[\ndescription: 查询天气\nparams:\n  city: {type: string}\n]]\nfunction invoke(ctx, args) return 1 end\n"),
/// ].into_iter().collect();
/// let roots = [Root { path: ".agentx".into(), origin: FileOrigin::Workspace, layout: RootLayout::AgentX }];
/// let library = Library::load(&roots, &files, LibraryOptions::default());
/// let tool = &library.tools()["get_weather"];
/// assert_eq!(tool.definition.input_schema()["required"][0], "city");
/// let mistakes: Vec<String> = library.check().iter().map(ToString::to_string).collect();
/// assert_eq!(mistakes, [".agentx/agents/assistant.yaml:5:11: there is no tool `mssing`"]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Library {
    pub(crate) agents: ByName<AgentDefinition>,
    pub(crate) tools: ByName<ToolDefinition>,
    pub(crate) rules: ByName<RuleDefinition>,
    pub(crate) generators: ByName<Generator>,
    pub(crate) contexts: BTreeMap<String, String>,
    pub(crate) scripts: BTreeMap<String, String>,
    pub(crate) own_scripts: BTreeMap<String, String>,
    pub(crate) shadows: Vec<Shadow>,
    pub(crate) mistakes: Vec<DefinitionMistake>,
    pub(crate) remarks: Vec<DefinitionMistake>,
    pub(crate) read: BTreeSet<PathBuf>,
    pub(crate) passed_over: Vec<IgnoredFile>,
}

impl Library {
    /// Returns all mistakes, by file and place. Empty if all files and references are valid.
    pub fn check(&self) -> &[DefinitionMistake] {
        &self.mistakes
    }

    /// Returns what is left out of files of other programs, by file and place: tools that there are not, keys
    /// without an effect here. The agents can be used all the same.
    pub fn remarks(&self) -> &[DefinitionMistake] {
        &self.remarks
    }

    /// Agents by name.
    pub fn agents(&self) -> &ByName<AgentDefinition> {
        &self.agents
    }

    /// Tools by name.
    pub fn tools(&self) -> &ByName<ToolDefinition> {
        &self.tools
    }

    /// Rules by name.
    pub fn rules(&self) -> &ByName<RuleDefinition> {
        &self.rules
    }

    /// Generators by name.
    pub fn generators(&self) -> &ByName<Generator> {
        &self.generators
    }

    /// Returns the text of a context that a layer refers to.
    pub fn context(&self, name: &str) -> Option<&str> {
        self.contexts.get(name).map(String::as_str)
    }

    /// Returns the scripts that others may `require`: their paths below `libs/`, and their texts.
    pub fn libraries(&self) -> &BTreeMap<String, String> {
        &self.scripts
    }

    /// Returns the person's own libraries, for tools of the person: a folder's library never replaces one.
    pub fn own_libraries(&self) -> &BTreeMap<String, String> {
        &self.own_scripts
    }

    /// Definitions that are not used, because another one has their name.
    pub fn shadows(&self) -> &[Shadow] {
        &self.shadows
    }

    /// Returns the files that were read.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.read.iter().map(PathBuf::as_path)
    }

    /// Returns files that could be definitions and are not read: files in folders below `agents/`, `tools/`,
    /// `rules/` and `generators/` that nothing refers to, files with an ending similar to one that is read,
    /// folders that are named like files; the first 100.
    pub fn passed_over(&self) -> &[IgnoredFile] {
        &self.passed_over
    }

    /// Returns the files that an agent is made of: its own, and those of the agents and tools that it refers
    /// to, however far.
    pub fn files_of(&self, agent: &str) -> BTreeSet<&Path> {
        let (mut files, mut seen) = (BTreeSet::new(), BTreeSet::new());
        let mut open = vec![agent];
        while let Some(name) = open.pop() {
            let Some(loaded) = self.agents.get(name).filter(|_| seen.insert(name)) else {
                continue;
            };
            files.insert(loaded.file.as_path());
            let mut inside = vec![&loaded.definition];
            while let Some(agent) = inside.pop() {
                let tools = agent.tools.iter().filter_map(|used| self.tools.get(used.name()));
                files.extend(tools.map(|tool| tool.file.as_path()));
                let routed = agent.route.iter().map(|route| &route.agent);
                for used in agent.agents.iter().chain(routed).chain(agent.default.as_deref()) {
                    match used {
                        AgentUse::Ref(name) => open.push(name),
                        AgentUse::Inline(agent) => inside.push(agent),
                    }
                }
            }
        }
        files
    }

    /// Returns a generator with its reference followed.
    pub fn generator(&self, generator: &Generator) -> Generator {
        match &generator.reference {
            Some(name) => match self.generators.get(name) {
                Some(base) => generator.merged_over(&base.definition),
                None => generator.clone(),
            },
            None => generator.clone(),
        }
    }
}
