//! From settings to the resolved configuration of an agent: the model chosen, the tools narrowed, AGENTS.md read.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentx_types::{AgentConfig, AgentKind, Api, Instructions, ModelSpec, Prices, ToolSpec};

use crate::{Origin, Settings, Sourced, nearest};

/// The name of the model that is no model: the offline demo.
pub const SCRIPTED_MODEL: &str = "scripted";

/// What an agent is told where nobody says otherwise.
pub const DEFAULT_SYSTEM_PROMPT: &str = include_str!("system_prompt.md");

/// The model that is asked where nobody named one, by the provider that is connected; the first that fits counts.
const DEFAULT_MODELS: &[(&str, &str)] = &[("anthropic", "claude-sonnet-4-5"), ("openai", "gpt-5")];

const INSTRUCTIONS_FILE: &str = "AGENTS.md";
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
        let connected = |provider: &str| self.provider(provider).is_some_and(|known| known.is_connected());
        let model = DEFAULT_MODELS
            .iter()
            .find(|(provider, _)| connected(provider))
            .map_or(SCRIPTED_MODEL, |(_, id)| id);
        Sourced::new(model.to_owned(), Origin::Default)
    }

    /// The model of this name: an id, an alias, `provider/id` of an offer, or `provider/anything` of a known provider.
    ///
    /// # Errors
    /// Where there is none; with the nearest names.
    pub fn choose_model(&self, name: &str, offers: &[ModelOffer<'_>]) -> Result<ModelSpec, UnknownModel> {
        let by_name = |offer: &&ModelOffer<'_>| {
            offer.spec.id == name || offer.aliases.iter().any(|alias| alias == name)
        };
        if let Some(offer) = offers.iter().find(by_name) {
            return Ok(offer.spec.clone());
        }
        if let Some((provider, id)) = name.split_once('/') {
            let of_provider = |offer: &&ModelOffer<'_>| {
                offer.spec.provider == provider
                    && (offer.spec.id == id || offer.aliases.iter().any(|alias| alias == id))
            };
            if let Some(offer) = offers.iter().find(of_provider) {
                return Ok(offer.spec.clone());
            }
            if let Some(known) = self.provider(provider).filter(|_| !id.is_empty()) {
                return Ok(unlisted(id, provider, known.api));
            }
        }
        let names = offers.iter().flat_map(|offer| {
            std::iter::once(offer.spec.id.as_str()).chain(offer.aliases.iter().map(String::as_str))
        });
        let nearest = nearest(name, names, 3).into_iter().map(str::to_owned).collect();
        Err(UnknownModel {
            name: name.to_owned(),
            nearest,
        })
    }

    /// The resolved agent: this model, those of `tools` that are on offer, instructions as they are on disk now.
    pub fn agent(&self, model: ModelSpec, tools: Vec<ToolSpec>) -> AgentConfig {
        let tools: Vec<ToolSpec> = tools
            .into_iter()
            .filter(|tool| self.tools.offers(&tool.name))
            .collect();
        AgentConfig {
            kind: AgentKind::React,
            name: "agentx".into(),
            model,
            params: self.params.clone(),
            system_prompt: self
                .system_prompt
                .clone()
                .unwrap_or_else(|| Arc::from(DEFAULT_SYSTEM_PROMPT.trim_end())),
            instructions: read_instructions(&self.workspace_root, &self.workspace),
            workspace: self.workspace.to_string_lossy().into_owned(),
            tools: Arc::from(tools),
            approval: self.approval,
            rules: self.rules.clone(),
            limits: self.limits,
        }
    }
}

/// A model that no catalog lists, with cautious figures and no prices.
fn unlisted(id: &str, provider: &str, api: Api) -> ModelSpec {
    ModelSpec {
        id: id.to_owned(),
        provider: provider.to_owned(),
        api,
        context_window: 128_000,
        max_output_tokens: 8_192,
        prices: Prices::default(),
    }
}

/// AGENTS.md of the project root and of every directory from there to the working directory, in this order. A file
/// that leads out of the project by a symbolic link is not read.
fn read_instructions(root: &Path, workspace: &Path) -> Vec<Instructions> {
    let mut directories: Vec<&Path> = workspace
        .ancestors()
        .take_while(|dir| dir.starts_with(root))
        .collect();
    directories.reverse();
    let files = directories.into_iter().map(|dir| dir.join(INSTRUCTIONS_FILE));
    files.filter_map(|path| read_bounded(root, path)).collect()
}

fn read_bounded(root: &Path, path: PathBuf) -> Option<Instructions> {
    let real = std::fs::canonicalize(&path).ok()?;
    let size = std::fs::metadata(&real)
        .ok()
        .filter(|found| found.is_file())?
        .len();
    if !real.starts_with(root) || size > MAX_INSTRUCTIONS_BYTES {
        return None;
    }
    let text = String::from_utf8_lossy(&std::fs::read(&real).ok()?).into_owned();
    (!text.trim().is_empty()).then(|| Instructions {
        path: path.to_string_lossy().into_owned(),
        text: Arc::from(text),
    })
}
