//! Computes what a tool from a file can reach. Its kind and its grants determine that, not the claims of the
//! file.

use std::collections::BTreeSet;

use agentx_types::Access;

use super::{Capabilities, Composite, ContextLayer, GeneratorTool, ToolBody, ToolDefinition, ToolUse};

impl ToolDefinition {
    /// Returns the access of a call: the access in the file, else that of the tool's kind. For a folder's
    /// file, the stricter of both counts. Unknown for a `built-in`.
    pub fn access(&self) -> Option<Access> {
        let reach = self.reach();
        match self.access {
            Some(said) if self.of_folder => Some(reach.map_or(said, |floor| said.max(floor))),
            Some(said) => Some(said),
            None if matches!(self.body, ToolBody::Luau(_)) => Some(reach.unwrap_or(Access::Run)),
            None => reach,
        }
    }

    /// Returns what a tool of its kind can touch with its grants, whatever its file says about that.
    fn reach(&self) -> Option<Access> {
        match &self.body {
            ToolBody::BuiltIn => None,
            ToolBody::Http(_) => Some(Access::Network),
            // The prompts go to another server than that of the session, which the person chose.
            ToolBody::Generator(_) | ToolBody::TextProcessor(_) | ToolBody::Luau(_)
                if !self.known.models_at.is_empty() =>
            {
                Some(Access::Network)
            }
            ToolBody::Generator(generator) if generator.reads_variables() => Some(Access::Network),
            // The arguments go only to the server of the session.
            ToolBody::Generator(_) | ToolBody::TextProcessor(_) => Some(Access::Internal),
            ToolBody::Luau(luau) if !luau.capabilities.http.is_empty() => Some(Access::Network),
            // A script without grants only computes.
            ToolBody::Luau(luau) if !luau.capabilities.acts() => None,
            ToolBody::Luau(_) | ToolBody::Composite(_) => Some(Access::Run),
        }
    }

    /// Returns everything that its file grants, each name once, including the grants of the tools that are
    /// written inside it.
    pub fn grants(&self) -> GrantedNames<'_> {
        let mut grants = match &self.body {
            ToolBody::BuiltIn => GrantedNames::default(),
            ToolBody::Luau(luau) => luau.capabilities.grants(),
            ToolBody::Http(http) => GrantedNames {
                hosts: vec![http.endpoint.as_str()],
                variables: http.variables(),
                ..GrantedNames::default()
            },
            ToolBody::Generator(generator) => GrantedNames {
                variables: generator.variables().collect(),
                models: generator.model.iter().map(String::as_str).collect(),
                ..GrantedNames::default()
            },
            ToolBody::TextProcessor(processor) => GrantedNames {
                models: processor.model.iter().map(String::as_str).collect(),
                ..GrantedNames::default()
            },
            ToolBody::Composite(row) => row.grants(),
        };
        grants
            .hosts
            .extend(self.known.models_at.iter().map(String::as_str));
        grants.each_once()
    }

    /// Names of the environment variables that it can read, each once; those of tools that are written inside
    /// it too.
    pub fn variables(&self) -> Vec<&str> {
        self.grants().variables
    }

    /// Returns the hosts and addresses to which it can send data, as its file names them, including those of
    /// its inline tools.
    pub fn hosts(&self) -> Vec<&str> {
        self.grants().hosts
    }

    /// Names of other tools that it calls without asking, unless a rule says otherwise; `*` for all. Those of
    /// tools that are written inside it too.
    pub fn calls(&self) -> Vec<&str> {
        self.grants().tools
    }

    /// Names of the models that it asks for; `*` for all. Not those of tools that it calls.
    pub fn models(&self) -> Vec<&str> {
        self.grants().models
    }
}

/// Everything that the file of a tool grants. Code that shows grants takes this apart by all of its fields,
/// so that it does not compile if it leaves out a new one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GrantedNames<'a> {
    /// Hosts and addresses to which it can send data, sorted.
    pub hosts: Vec<&'a str>,
    /// Environment variables that it can read, sorted.
    pub variables: Vec<&'a str>,
    /// Tools that it calls without asking, unless a rule says otherwise; `*` for all.
    pub tools: Vec<&'a str>,
    /// Models that it asks for; `*` for all.
    pub models: Vec<&'a str>,
    /// Key spaces in which it keeps values.
    pub key_spaces: Vec<&'a str>,
    /// Agents that it creates; `*` for all.
    pub agents: Vec<&'a str>,
}

impl<'a> GrantedNames<'a> {
    /// Returns whether the file grants nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn add(&mut self, mut other: Self) {
        for (names, more) in self.lists().into_iter().zip(other.lists()) {
            names.append(more);
        }
    }

    fn each_once(mut self) -> Self {
        self.hosts.sort_unstable();
        self.variables.sort_unstable();
        for names in self.lists() {
            let mut seen: BTreeSet<&'a str> = BTreeSet::new();
            names.retain(|name| seen.insert(*name));
        }
        self
    }

    /// All lists.
    fn lists(&mut self) -> [&mut Vec<&'a str>; 6] {
        let Self {
            hosts,
            variables,
            tools,
            models,
            key_spaces,
            agents,
        } = self;
        [hosts, variables, tools, models, key_spaces, agents]
    }
}

impl Capabilities {
    fn grants(&self) -> GrantedNames<'_> {
        let Self {
            http,
            env,
            models,
            tools,
            kv,
            agents,
        } = self;
        GrantedNames {
            hosts: names(http),
            variables: names(env),
            tools: names(tools),
            models: names(models),
            key_spaces: names(kv),
            agents: names(agents),
        }
    }

    /// Returns whether it reads the environment, or makes tools and agents do something. Requests, prompts
    /// and values that it keeps for itself do neither.
    fn acts(&self) -> bool {
        let Self {
            env,
            tools,
            agents,
            http: _,
            models: _,
            kv: _,
        } = self;
        !(env.is_empty() && tools.is_empty() && agents.is_empty())
    }
}

fn names(granted: &[String]) -> Vec<&str> {
    granted.iter().map(String::as_str).collect()
}

impl GeneratorTool {
    fn variables(&self) -> impl Iterator<Item = &str> {
        self.context_layers.iter().filter_map(|layer| match layer {
            ContextLayer::Env(name) => Some(name.as_str()),
            _ => None,
        })
    }

    fn reads_variables(&self) -> bool {
        self.variables().next().is_some()
    }
}

impl Composite {
    fn grants(&self) -> GrantedNames<'_> {
        let mut all = GrantedNames::default();
        for step in &self.steps {
            all.tools.push(step.tool.name());
        }
        for tool in self.inline() {
            all.add(tool.grants());
        }
        all
    }

    /// Returns the tools that are written inside it.
    pub fn inline(&self) -> impl Iterator<Item = &ToolDefinition> {
        self.steps.iter().filter_map(|step| match &step.tool {
            ToolUse::Inline(tool) => Some(&**tool),
            ToolUse::Ref { .. } => None,
        })
    }
}
