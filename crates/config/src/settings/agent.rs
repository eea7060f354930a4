//! Makes the resolved configuration of an agent from settings: chooses the model, narrows the tools, and
//! reads AGENTS.md and the list of skills.

use std::path::Path;
use std::sync::Arc;

use agentx_agent::ask_user::ASK_USER;
use agentx_agent::remind_me::REMIND_ME;
use agentx_agent::wait::WAIT;
use agentx_agent::{BUILT_IN_AGENTS, DELEGATE};
use agentx_types::{
    Access, AgentConfig, ModelSpec, ReminderSettings, Rule, RuleEffect, SCRIPTED_MODEL, ToolSpec, nearest,
};

use crate::folders::folder::FolderTrust;
use crate::models::provider_settings::ProviderSettings;
use crate::origin::{SettingOrigin, Sourced};
use crate::paths::WORKSPACE_FOLDER;
use crate::settings::Settings;
use crate::settings::context::ContextSettings;

/// The name of the agent that the settings define without a file.
pub const DEFAULT_AGENT_NAME: &str = "agentx";

/// The default system prompt.
pub const DEFAULT_SYSTEM_PROMPT: &str = include_str!("system_prompt.md");

/// A model that a runtime offers.
#[derive(Clone, Copy, Debug)]
pub struct ModelOffer<'a> {
    /// The model's spec.
    pub spec: &'a ModelSpec,
    /// Shorter names for it.
    pub aliases: &'a [String],
}

/// The error for an unknown model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown model {name:?}")]
pub struct UnknownModel {
    /// The name that was requested.
    pub name: String,
    /// Similar model names, nearest first; may be empty.
    pub nearest: Vec<String>,
}

impl Settings {
    /// Returns the provider whose default model is asked if none is named: the first connected one whose
    /// default a person set, otherwise the first connected one that has a default.
    pub fn default_provider(&self) -> Option<&ProviderSettings> {
        let connected = || self.providers.iter().filter(|provider| provider.is_connected());
        let given = connected().find(|provider| provider.default_model_given);
        given.or_else(|| connected().find(|provider| provider.default_model.is_some()))
    }

    /// Returns the named model, otherwise the default model of [`Settings::default_provider`], otherwise the
    /// offline demo.
    pub fn model_or_default(&self) -> Sourced<String> {
        if let Some(model) = &self.model {
            return model.clone();
        }
        let provider = self.default_provider();
        let model = provider.and_then(|provider| provider.default_model.clone());
        Sourced::new(
            model.unwrap_or_else(|| SCRIPTED_MODEL.to_owned()),
            SettingOrigin::Default,
        )
    }

    /// Returns the model of this name: one of the configuration, otherwise an id, an alias or `provider/id`
    /// among `offers`, otherwise one that the catalog derives (`provider/anything` of a known provider).
    ///
    /// # Errors
    /// Returns an error if there is none; with the nearest names.
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
        let is_named =
            |offer: &&ModelOffer<'_>| offer.spec.id != name || self.catalog.is_called_by_id(offer.spec);
        let called = || offers.iter().filter(|offer| is_called(offer, name));
        let offered = called()
            .find(is_named)
            .or_else(|| called().next())
            .or_else(|| offers.iter().find(|o| of_provider(o) && o.spec.name.is_none()))
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

    /// Returns the address of the model's server; `None` for the offline demo and for an unknown provider.
    pub fn address_of(&self, model: &ModelSpec) -> Option<&str> {
        let mut providers = self.providers.iter();
        let provider = providers.find(|provider| provider.name == model.provider)?;
        Some(&provider.base_url)
    }

    /// Returns whether the provider of a model has what it needs to be asked: the offline demo always.
    pub fn is_connected(&self, model: &ModelSpec) -> bool {
        let mut providers = self.providers.iter();
        model.id == SCRIPTED_MODEL
            || providers.any(|provider| provider.name == model.provider && provider.is_connected())
    }

    /// Describes a model for a person who is about to trust a folder: `big of vendor at https://api.example`.
    pub fn model_with_address(&self, model: &ModelSpec) -> String {
        let at = self.address_of(model).map(|address| format!(" at {address}"));
        format!("{} of {}{}", model.id, model.provider, at.unwrap_or_default())
    }

    /// Returns the rules for agents that have these tools: the configured ones, and those of a read-only
    /// folder.
    pub fn rules_for(&self, tools: &[ToolSpec]) -> Vec<Rule> {
        let holds = |rule: &&Rule| rule.effect != RuleEffect::Allow || self.applies_here(rule);
        let mut rules: Vec<Rule> = self.rules.iter().filter(holds).cloned().collect();
        if self.folder.trust == FolderTrust::ReadOnly {
            rules.extend(only_reading(tools));
        }
        rules
    }

    /// Returns whether a rule that allows was meant for this project. A rule that was kept in a folder does
    /// not apply to a repository, or another folder with its own settings, inside that folder.
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

    /// Returns the resolved agent: this model, the offered ones of `tools`, and the instructions from the
    /// disk.
    pub fn agent(&self, model: ModelSpec, tools: Vec<ToolSpec>) -> AgentConfig {
        let tools: Vec<ToolSpec> = tools
            .into_iter()
            .filter(|tool| self.tools.offers(&tool.name) && !tool.only_by_name)
            .collect();
        let mut rules = self.rules_for(&tools);
        rules.extend(self.search.as_ref().map(|_| allowed_search()));
        AgentConfig {
            name: DEFAULT_AGENT_NAME.into(),
            fallbacks: self.fallbacks.clone(),
            params: self.params.clone(),
            system_prompt: self
                .system_prompt
                .clone()
                .unwrap_or_else(|| default_prompt(&self.context)),
            instructions: self.instructions_at(&self.workspace, model.context_window),
            workspace: self.workspace.to_string_lossy().into_owned(),
            tools: Arc::from(tools),
            approval: self.approval,
            rules,
            limits: self.limits,
            asks_at_limits: self.asks_at_limits,
            condensing: Some(Box::new(self.condensing.clone())),
            guard: Some(self.guard()),
            all_tools: true,
            tool_search: self.tool_search,
            stuck: Some(self.stuck),
            security: self.security.clone().map(Box::new),
            plan_mode: None,
            context_sources: [self.context.sources(), self.memory.context_sources()].concat(),
            learning: self.memory.learning(),
            history_messages: self.context.history_context_size,
            ask_user: self.ask_user.filter(|_| self.tools.offers(ASK_USER)),
            built_in_agents: self.built_in_agents(),
            wait: self.tools.asks_for(WAIT) && self.tools.offers(WAIT),
            reminders: self.reminders(),
            ..AgentConfig::with_defaults(model)
        }
    }
}

impl Settings {
    /// The setting of `remind_me`, with the person's time zone; `None` while the tool is off.
    fn reminders(&self) -> Option<Box<ReminderSettings>> {
        let is_on = self.tools.asks_for(REMIND_ME) && self.tools.offers(REMIND_ME);
        let system = || jiff::tz::TimeZone::system().iana_name().map(str::to_owned);
        let zone = self.context.time_zone.clone();
        is_on.then(|| {
            Box::new(ReminderSettings {
                time_zone: zone.or_else(system).unwrap_or_default(),
            })
        })
    }

    /// The names of the built-in agents to which the agent may delegate work; none if `delegate` is off.
    fn built_in_agents(&self) -> Vec<String> {
        let offered = BUILT_IN_AGENTS.iter().filter(|_| self.tools.offers(DELEGATE));
        offered.map(|name| (*name).to_owned()).collect()
    }
}

/// The system prompt of an agent whose settings have none; nothing if a service says who the agent is.
fn default_prompt(context: &ContextSettings) -> Arc<str> {
    if context.has_persona() {
        Arc::default()
    } else {
        Arc::from(DEFAULT_SYSTEM_PROMPT.trim_end())
    }
}

/// The rules of a read-only folder: they refuse every tool that does more than read.
fn only_reading(tools: &[ToolSpec]) -> impl Iterator<Item = Rule> {
    let acting = tools.iter().filter(|tool| tool.access > Access::Read);
    acting.map(|tool| Rule {
        workspace: None,
        effect: RuleEffect::Deny,
        tool: tool.name.clone(),
        argument: None,
        path: None,
        origin: None,
    })
}

/// The rule that allows searches: a person who configured a search engine wants to use it. Rules that deny or
/// ask still count.
fn allowed_search() -> Rule {
    Rule {
        effect: RuleEffect::Allow,
        tool: "web_search".into(),
        argument: None,
        path: None,
        workspace: None,
        origin: None,
    }
}
