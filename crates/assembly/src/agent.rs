//! Assembles one agent: its file over the settings.

use std::collections::BTreeSet;
use std::sync::Arc;

use agentx_agent::ask_user::ASK_USER;
use agentx_agent::remind_me::REMIND_ME;
use agentx_agent::wait::WAIT;
use agentx_agent_files::definition::{
    AgentDefinition, AgentUse, Generator, MachineKind as FileKind, RuleUse, ToolUse,
};
use agentx_agent_files::{DefinitionMistake, FileOrigin, Library};
use agentx_config::{SCRIPTED_MODEL, choose_condensers};
use agentx_types::{
    Access, AgentConfig, AgentKind, AnswerSchema, MAX_AGENT_DEPTH, ModelSpec, Route, Routing, ToolReach,
    ToolSpec, host_name,
};

use crate::intent_rules::intent_rule;
use crate::{file_limits, layers};

/// Everything that an agent is made of.
pub struct Assembly<'a> {
    /// The files.
    pub library: &'a Library,
    /// The defaults for fields that its file leaves out: those of the settings, with all tools.
    pub base: &'a AgentConfig,
    /// The model of this name, or the nearest names.
    pub model: &'a dyn Fn(&str) -> Result<ModelSpec, Vec<String>>,
    /// The address of the server of a model, if it is known.
    pub address: &'a dyn Fn(&ModelSpec) -> Option<String>,
    /// Whether the settings have what the server of a model needs, such as a key.
    pub is_connected: &'a dyn Fn(&ModelSpec) -> bool,
    /// Returns the value of an environment variable, if it is set.
    pub lookup: &'a dyn Fn(&str) -> Option<String>,
}

/// The reason why an agent cannot be assembled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AssemblyError {
    /// No file and nothing built in has this name.
    #[error("there is no agent {name:?}")]
    NoAgent {
        /// The requested name.
        name: String,
        /// The names of all agents.
        known: Vec<String>,
    },
    /// The files of the agent have errors.
    #[error("the files of agent {name:?} have mistakes:\n{}", mistakes.join("\n"))]
    Mistakes {
        /// The agent.
        name: String,
        /// Each with its place.
        mistakes: Vec<String>,
    },
    /// The agent refers to something that does not exist.
    #[error("agent {agent:?}: {what}")]
    Missing {
        /// The agent.
        agent: String,
        /// The cause.
        what: String,
    },
}

impl Assembly<'_> {
    /// Returns the agent of this name.
    ///
    /// # Errors
    /// Returns an error if there is none, its files have errors, or a model, tool or variable that it names
    /// does not exist.
    pub fn agent(&self, name: &str) -> Result<AgentConfig, AssemblyError> {
        if let Some(loaded) = self.library.agents().get(name) {
            return self.resolve(&loaded.definition, loaded.origin, 0);
        }
        let mistakes = mistakes_of(self.library.check(), name);
        let name = name.to_owned();
        if mistakes.is_empty() {
            let known = self.library.agents().keys().cloned().collect();
            return Err(AssemblyError::NoAgent { name, known });
        }
        Err(AssemblyError::Mistakes { name, mistakes })
    }

    fn resolve(
        &self,
        agent: &AgentDefinition,
        origin: FileOrigin,
        depth: u32,
    ) -> Result<AgentConfig, AssemblyError> {
        let missing = |what: String| AssemblyError::Missing {
            agent: agent.name.clone(),
            what,
        };
        if depth > MAX_AGENT_DEPTH {
            return Err(missing(format!(
                "agents are nested more than {MAX_AGENT_DEPTH} levels deep"
            )));
        }
        let text_of = |name: &str| self.library.context(name).map(str::to_owned);
        let instructions = layers::instructions(agent, &text_of, self.lookup).map_err(missing)?;
        let mut config = AgentConfig {
            name: agent.name.clone(),
            agents: self.children(&agent.agents, origin, depth)?,
            instructions: Vec::new(),
            built_in_agents: Vec::new(),
            learning: self.base.learning.filter(|_| depth == 0),
            ..self.base.clone()
        };
        match instructions {
            Some(text) => config.system_prompt = Arc::from(text.trim_end()),
            // An agent that sorts inputs has its own prompt.
            None if agent.kind == FileKind::Match => config.system_prompt = Arc::from(""),
            None => {}
        }
        if let Some(generator) = &agent.generator {
            let generator = self.generator(generator).map_err(missing)?;
            self.generate_with(&mut config, &generator).map_err(missing)?;
        }
        if let Some(names) = &agent.fallbacks {
            let models = names.iter().map(|name| self.named_model(name));
            config.fallbacks = models.collect::<Result<_, _>>().map_err(missing)?;
        }
        condense_as_written(&mut config, agent).map_err(missing)?;
        if let Some(limits) = &agent.limits {
            config.limits = file_limits::tighten_limits(config.limits, limits);
        }
        if let Some(approval) = &agent.approval {
            file_limits::tighten_approval(&mut config, approval);
        }
        let mut tools = match &agent.foreign {
            Some(choices) => self.apply_choices(&mut config, choices, depth),
            None => {
                let asks = agent.tools.iter().any(|used| used.name() == ASK_USER);
                config.ask_user = config.ask_user.filter(|_| asks && depth == 0);
                config.wait = depth == 0 && self.has_own_wait(&agent.tools);
                let reminds = depth == 0 && self.has_own_reminders(&agent.tools);
                config.reminders = config.reminders.take().filter(|_| reminds);
                self.tools(&agent.tools).map_err(missing)?
            }
        };
        tools.extend(self.delegation_tools(&agent.agents, origin, &config, &|_| None));
        config.tools = Arc::from(tools);
        config.all_tools = false;
        config.answer_schema = agent
            .output
            .clone()
            .map(|schema| Arc::new(AnswerSchema::new(schema)));
        if agent.kind == FileKind::Match {
            config.kind = AgentKind::Match;
            config.routing = Some(Box::new(self.routing(agent, origin, depth)?));
        }
        Ok(config)
    }

    /// Returns a generator with its reference resolved. If that cannot be read, no other model replaces it.
    fn generator(&self, generator: &Generator) -> Result<Generator, String> {
        match &generator.reference {
            Some(name) if !self.library.generators().contains_key(name) => Err(self.lacks("generator", name)),
            _ => Ok(self.library.generator(generator)),
        }
    }

    fn named_model(&self, name: &str) -> Result<ModelSpec, String> {
        (self.model)(name).map_err(|nearest| match nearest.first() {
            Some(near) => format!("there is no model {name:?}; did you mean {near:?}?"),
            None => format!("there is no model {name:?}"),
        })
    }

    fn generate_with(&self, config: &mut AgentConfig, generator: &Generator) -> Result<(), String> {
        if let Some(name) = &generator.model {
            config.model = self.named_model(name)?;
        }
        let params = generator.params();
        let own = &mut config.params;
        own.max_output_tokens = params.max_output_tokens.or(own.max_output_tokens);
        own.temperature = params.temperature.or(own.temperature);
        own.thinking_tokens = params.thinking_tokens.or(own.thinking_tokens);
        Ok(())
    }

    fn tools(&self, uses: &[ToolUse]) -> Result<Vec<ToolSpec>, String> {
        let spec = |used: &ToolUse| {
            let name = used.name();
            let found = self.base.tools.iter().find(|tool| tool.name == name);
            let mut spec = found.cloned().ok_or_else(|| self.lacks("tool", name))?;
            spec.quit |= matches!(used, ToolUse::Ref { quit: true, .. });
            Ok(spec)
        };
        let (waits, reminds) = (self.has_own_wait(uses), self.has_own_reminders(uses));
        let is_own =
            |name: &str| name == ASK_USER || (waits && name == WAIT) || (reminds && name == REMIND_ME);
        let others = uses.iter().filter(|used| !is_own(used.name()));
        others.map(spec).collect()
    }

    /// Returns whether these tools name the machine's own `wait`: the settings turn it on, and no file
    /// describes a tool of this name.
    fn has_own_wait(&self, uses: &[ToolUse]) -> bool {
        let is_own = !self.base.tools.iter().any(|tool| tool.name == WAIT);
        is_own && self.base.wait && uses.iter().any(|used| used.name() == WAIT)
    }

    /// Returns whether these tools name the machine's own `remind_me`, under the same conditions.
    fn has_own_reminders(&self, uses: &[ToolUse]) -> bool {
        let is_own = !self.base.tools.iter().any(|tool| tool.name == REMIND_ME);
        is_own && self.base.reminders.is_some() && uses.iter().any(|used| used.name() == REMIND_ME)
    }

    /// Explains why no usable definition has this name.
    fn lacks(&self, what: &str, name: &str) -> String {
        if what == "tool" && [REMIND_ME, WAIT].contains(&name) {
            return format!(
                "the tool {name:?} is off; `tools.optional: [{name}]` in your configuration turns it on"
            );
        }
        let mistakes = mistakes_of(self.library.check(), name);
        if mistakes.is_empty() {
            format!("there is no {what} {name:?}")
        } else {
            format!(
                "the file of its {what} {name:?} has mistakes:\n{}",
                mistakes.join("\n")
            )
        }
    }

    /// The tools with which the agent delegates work; `about` describes agents in place of the first line of
    /// their instructions. If one of a folder's agents uses a model at another server than this conversation,
    /// delegating to it sends data there.
    pub(crate) fn delegation_tools(
        &self,
        uses: &[AgentUse],
        origin: FileOrigin,
        config: &AgentConfig,
        about: &dyn Fn(&str) -> Option<String>,
    ) -> Vec<ToolSpec> {
        let mut tools = agentx_agent::delegation_tools_of(config, about);
        let mut hosts = BTreeSet::new();
        for (used, child) in uses.iter().zip(&config.agents) {
            if self.origin_of(used, origin) == FileOrigin::Workspace {
                hosts.extend(self.hosts_elsewhere(child, config));
            }
        }
        let delegate = tools.iter_mut().find(|tool| tool.name == agentx_agent::DELEGATE);
        if let Some(delegate) = delegate.filter(|_| !hosts.is_empty()) {
            delegate.access = Access::Network;
            delegate.reach = Some(Box::new(ToolReach {
                hosts: hosts.into_iter().collect(),
                ..ToolReach::default()
            }));
        }
        tools
    }

    /// The hosts of models that an agent of `config` and those below it may use, beyond those of this
    /// conversation; `*` for one that is not known.
    pub(crate) fn hosts_elsewhere(&self, child: &AgentConfig, config: &AgentConfig) -> BTreeSet<String> {
        let here = [&config.model, &self.base.model].map(|model| (self.address)(model));
        let addresses = models_below(child).into_iter().map(|model| (self.address)(model));
        let elsewhere = addresses.filter(|address| here.iter().any(|here| here != address));
        let hosts = elsewhere.map(|address| {
            let host = address.and_then(|address| host_name(&address));
            host.unwrap_or_else(|| "*".to_owned())
        });
        hosts.collect()
    }

    /// The origin of the file of an agent that another one of this origin uses.
    pub(crate) fn origin_of(&self, used: &AgentUse, origin: FileOrigin) -> FileOrigin {
        match used {
            AgentUse::Inline(_) => origin,
            AgentUse::Ref(name) => self
                .library
                .agents()
                .get(name)
                .map_or(origin, |loaded| loaded.origin),
        }
    }

    fn children(
        &self,
        uses: &[AgentUse],
        origin: FileOrigin,
        depth: u32,
    ) -> Result<Vec<AgentConfig>, AssemblyError> {
        uses.iter().map(|used| self.child(used, origin, depth)).collect()
    }

    pub(crate) fn child(
        &self,
        used: &AgentUse,
        origin: FileOrigin,
        depth: u32,
    ) -> Result<AgentConfig, AssemblyError> {
        let definition = match used {
            AgentUse::Inline(definition) => definition,
            AgentUse::Ref(name) => match self.library.agents().get(name) {
                Some(loaded) => &loaded.definition,
                None => return self.agent(name),
            },
        };
        self.resolve(definition, self.origin_of(used, origin), depth + 1)
    }

    fn routing(
        &self,
        agent: &AgentDefinition,
        origin: FileOrigin,
        depth: u32,
    ) -> Result<Routing, AssemblyError> {
        let rules = agent.rules.iter().map(|used| match used {
            RuleUse::Inline(rule) => Ok(intent_rule(rule)),
            RuleUse::Ref(name) => {
                let found = self.library.rules().get(name);
                let missing = || AssemblyError::Missing {
                    agent: agent.name.clone(),
                    what: self.lacks("rule", name),
                };
                Ok(intent_rule(&found.ok_or_else(missing)?.definition))
            }
        });
        let routes = agent.route.iter().map(|route| {
            Ok(Route {
                rules: route.rules.clone(),
                agent: self.child(&route.agent, origin, depth)?,
            })
        });
        let default = agent.default.as_ref();
        Ok(Routing {
            rules: rules.collect::<Result<_, AssemblyError>>()?,
            routes: routes.collect::<Result<_, AssemblyError>>()?,
            default: default
                .map(|used| self.child(used, origin, depth).map(Box::new))
                .transpose()?,
        })
    }
}

/// Sets the condensers that the agent's file names, if it names any.
fn condense_as_written(config: &mut AgentConfig, agent: &AgentDefinition) -> Result<(), String> {
    if agent.condensers.is_empty() {
        return Ok(());
    }
    let condensing = config.condensing.get_or_insert_with(Box::default);
    choose_condensers(condensing, &agent.condensers).map_err(|what| format!("condensers: {what}"))
}

/// The models that an agent and those below it may use, without the offline demo, which sends nothing.
fn models_below(agent: &AgentConfig) -> Vec<&ModelSpec> {
    let own = std::iter::once(&agent.model).chain(&agent.fallbacks);
    let routed = agent.routing.iter().flat_map(|routing| {
        let routes = routing.routes.iter().map(|route| &route.agent);
        routes.chain(routing.default.as_deref())
    });
    let below = agent.agents.iter().chain(routed).flat_map(models_below);
    own.chain(below)
        .filter(|model| model.id != SCRIPTED_MODEL)
        .collect()
}

/// Returns the errors in the files with this name, each with its place.
pub fn mistakes_of(mistakes: &[DefinitionMistake], name: &str) -> Vec<String> {
    let of_it = mistakes
        .iter()
        .filter(|mistake| mistake.file.file_stem().is_some_and(|stem| stem == name));
    of_it.map(ToString::to_string).collect()
}
