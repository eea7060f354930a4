//! From settings to the resolved configuration of an agent: the model chosen, the tools narrowed, AGENTS.md read.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentx_types::{
    Access, AgentConfig, AgentKind, Instructions, ModelSpec, RULES_VERSION, Rule, RuleEffect, ToolSpec,
};

use crate::{FolderTrust, SCRIPTED_MODEL, SettingOrigin, Settings, Sourced, WORKSPACE_FOLDER, nearest};
use agentx_agent::guarded_files::is_instructions;

/// What the agent of the settings is called, which no file describes.
pub const DEFAULT_AGENT_NAME: &str = "agentx";

/// What an agent is told where nobody says otherwise.
pub const DEFAULT_SYSTEM_PROMPT: &str = include_str!("system_prompt.md");

/// Files of instructions, in the order in which they are looked for: of each directory the first one counts. Claude Code reads `CLAUDE.md`
/// (<https://docs.anthropic.com/en/docs/claude-code/memory>).
const INSTRUCTIONS_FILES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];
/// How files end to which a link of that name may lead.
const TEXT_ENDINGS: [&str; 3] = [".md", ".mdc", ".mdx"];
/// The largest file of instructions that is read.
const MAX_INSTRUCTIONS_BYTES: u64 = 256 << 10;

/// A model that a runtime offers.
#[derive(Clone, Copy, Debug)]
pub struct ModelOffer<'a> {
    /// What it is.
    pub spec: &'a ModelSpec,
    /// Shorter names for it.
    pub aliases: &'a [String],
}

/// A model that nobody knows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown model {name:?}")]
pub struct UnknownModel {
    /// What was asked for.
    pub name: String,
    /// The nearest names.
    pub nearest: Vec<String>,
}

impl Settings {
    /// The model that was named, else the one of the first provider that is connected, else the offline demo.
    pub fn model_or_default(&self) -> Sourced<String> {
        if let Some(model) = &self.model {
            return model.clone();
        }
        let mut connected = self.providers.iter().filter(|provider| provider.is_connected());
        let model = connected.find_map(|provider| provider.default_model.clone());
        Sourced::new(
            model.unwrap_or_else(|| SCRIPTED_MODEL.to_owned()),
            SettingOrigin::Default,
        )
    }

    /// The model of this name: one of the configuration's own, else an id, an alias or `provider/id` of what the runtime
    /// offers, else what the catalog makes of it (`provider/anything` of a known provider).
    ///
    /// # Errors
    /// Where there is none; with the nearest names.
    pub fn choose_model(&self, name: &str, offers: &[ModelOffer<'_>]) -> Result<ModelSpec, UnknownModel> {
        if let Some(own) = self.catalog.own(name) {
            return Ok(own);
        }
        let is_called = |offer: &ModelOffer<'_>, name: &str| {
            offer.spec.id == name || offer.aliases.iter().any(|alias| alias == name)
        };
        let of_provider = |offer: &ModelOffer<'_>| {
            name.split_once('/')
                .is_some_and(|(provider, id)| offer.spec.provider == provider && is_called(offer, id))
        };
        let offered = offers
            .iter()
            .find(|offer| is_called(offer, name))
            .or_else(|| offers.iter().find(|o| of_provider(o)));
        if let Some(offer) = offered {
            return Ok(offer.spec.clone());
        }
        self.catalog.resolve(name).map_err(|error| {
            let offered = offers.iter().map(|offer| offer.spec.id.as_str());
            let near = nearest(name, error.nearest().iter().map(String::as_str).chain(offered), 3);
            UnknownModel {
                name: name.to_owned(),
                nearest: near.into_iter().map(str::to_owned).collect(),
            }
        })
    }

    /// The rules for agents that have these tools: those that are configured, and those that keep a folder as it is which is only to
    /// be read.
    pub fn rules_for(&self, tools: &[ToolSpec]) -> Vec<Rule> {
        let holds = |rule: &&Rule| rule.effect != RuleEffect::Allow || self.applies_here(rule);
        let mut rules: Vec<Rule> = self.rules.iter().filter(holds).cloned().collect();
        if self.folder.trust == FolderTrust::ReadOnly {
            rules.extend(only_reading(tools));
        }
        rules
    }

    /// Whether a rule that allows was meant for this project: one that was kept in a folder says nothing about a repository, or another
    /// folder with settings of its own, that came to lie in it.
    fn applies_here(&self, rule: &Rule) -> bool {
        let Some(place) = &rule.workspace else {
            return true;
        };
        let is_project = |folder: &Path| {
            folder.join(WORKSPACE_FOLDER).exists() || folder.join(".git").symlink_metadata().is_ok()
        };
        let mut nearer = self
            .workspace
            .ancestors()
            .take_while(|folder| folder.starts_with(place) && *folder != Path::new(place));
        !nearer.any(is_project)
    }

    /// The resolved agent: this model, those of `tools` that are on offer, instructions as they are on disk now.
    pub fn agent(&self, model: ModelSpec, tools: Vec<ToolSpec>) -> AgentConfig {
        let tools: Vec<ToolSpec> = tools
            .into_iter()
            .filter(|tool| self.tools.offers(&tool.name))
            .collect();
        let rules = self.rules_for(&tools);
        AgentConfig {
            kind: AgentKind::React,
            name: DEFAULT_AGENT_NAME.into(),
            model,
            params: self.params.clone(),
            system_prompt: self
                .system_prompt
                .clone()
                .unwrap_or_else(|| Arc::from(DEFAULT_SYSTEM_PROMPT.trim_end())),
            instructions: self.instructions(),
            workspace: self.workspace.to_string_lossy().into_owned(),
            tools: Arc::from(tools),
            approval: self.approval,
            rules,
            limits: self.limits,
            agents: Vec::new(),
            routing: None,
            condensing: Some(Box::new(self.condensing.clone())),
            rules_version: RULES_VERSION,
            guard: Some(self.guard()),
            server_rules: None,
            all_tools: true,
        }
    }
}

impl Settings {
    /// AGENTS.md, else CLAUDE.md, of the project root and of every directory from there to the working directory, in this order, as far as the
    /// person lets this folder instruct the model.
    fn instructions(&self) -> Vec<Instructions> {
        let files = self.instruction_files().into_iter();
        let admitted = files.filter(|(path, text)| {
            let path = path.strip_prefix(&self.workspace_root).unwrap_or(path);
            self.folder.admits_instructions(path, text.as_bytes())
        });
        admitted
            .map(|(path, text)| Instructions {
                path: path.to_string_lossy().into_owned(),
                text: Arc::from(text),
            })
            .collect()
    }

    /// The files of instructions that the folder has, whether they count or not: absolute paths and texts. A file that is too large is
    /// not read, nor is a link that leads out of its directory or to anything but instructions: what it leads to, such as a `.env`, would
    /// be sent to the model.
    pub fn instruction_files(&self) -> Vec<(PathBuf, String)> {
        let root = &self.workspace_root;
        let mut directories: Vec<&Path> = self
            .workspace
            .ancestors()
            .take_while(|dir| dir.starts_with(root))
            .collect();
        directories.reverse();
        let read = |path: PathBuf| Some((self.read_instructions(&path)?, path));
        let first = |dir: &Path| INSTRUCTIONS_FILES.iter().find_map(|name| read(dir.join(name)));
        let files = directories.into_iter().filter_map(first);
        files.map(|(text, path)| (path, text)).collect()
    }

    fn read_instructions(&self, path: &Path) -> Option<String> {
        let real = std::fs::canonicalize(path).ok()?;
        let directory = std::fs::canonicalize(path.parent()?).ok()?;
        let name = real.file_name()?.to_string_lossy().to_lowercase();
        let is_text = is_instructions(&name) || TEXT_ENDINGS.iter().any(|ending| name.ends_with(ending));
        if !real.starts_with(&directory)
            || !real.starts_with(&self.workspace_root)
            || !is_text
            || self.is_guarded(&real)
        {
            return None;
        }
        let found = std::fs::metadata(&real).ok()?;
        if !found.is_file() || found.len() > MAX_INSTRUCTIONS_BYTES {
            return None;
        }
        let text = String::from_utf8_lossy(&std::fs::read(&real).ok()?).into_owned();
        (!text.trim().is_empty()).then_some(text)
    }
}

/// What a folder that is only to be read refuses: every tool that does more.
fn only_reading(tools: &[ToolSpec]) -> impl Iterator<Item = Rule> {
    let acting = tools.iter().filter(|tool| tool.access > Access::Read);
    acting.map(|tool| Rule {
        workspace: None,
        effect: RuleEffect::Deny,
        tool: tool.name.clone(),
        argument: None,
        path: None,
    })
}
