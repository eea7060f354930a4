//! Computes what a tool from a file can reach. Its kind and its grants determine that, not the claims of the
//! file.

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

    /// Names of the environment variables that it can read, each once; those of tools that are written inside
    /// it too.
    pub fn variables(&self) -> Vec<&str> {
        let mut names = match &self.body {
            ToolBody::Http(http) => http.variables(),
            ToolBody::Luau(luau) => luau.capabilities.env.iter().map(String::as_str).collect(),
            ToolBody::Generator(generator) => generator.variables().collect(),
            ToolBody::Composite(row) => row.inline().flat_map(Self::variables).collect(),
            ToolBody::TextProcessor(_) | ToolBody::BuiltIn => Vec::new(),
        };
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Returns the hosts and addresses to which it can send data, as its file names them, including those of
    /// its inline tools.
    pub fn hosts(&self) -> Vec<&str> {
        let mut hosts = match &self.body {
            ToolBody::Http(http) => vec![http.endpoint.as_str()],
            ToolBody::Luau(luau) => luau.capabilities.http.iter().map(String::as_str).collect(),
            ToolBody::Composite(row) => row.inline().flat_map(Self::hosts).collect(),
            ToolBody::Generator(_) | ToolBody::TextProcessor(_) | ToolBody::BuiltIn => Vec::new(),
        };
        hosts.extend(self.known.models_at.iter().map(String::as_str));
        hosts.sort_unstable();
        hosts.dedup();
        hosts
    }

    /// Names of other tools that it calls without asking, unless a rule says otherwise; `*` for all.
    pub fn calls(&self) -> Vec<&str> {
        match &self.body {
            ToolBody::Luau(luau) => luau.capabilities.tools.iter().map(String::as_str).collect(),
            ToolBody::Composite(row) => row.steps.iter().map(|step| step.tool.name()).collect(),
            _ => Vec::new(),
        }
    }
}

impl Capabilities {
    /// Returns whether it reads the environment, or makes tools and agents do something.
    fn acts(&self) -> bool {
        !(self.env.is_empty() && self.tools.is_empty() && self.agents.is_empty())
    }
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
    /// Returns the tools that are written inside it.
    pub fn inline(&self) -> impl Iterator<Item = &ToolDefinition> {
        self.steps.iter().filter_map(|step| match &step.tool {
            ToolUse::Inline(tool) => Some(&**tool),
            ToolUse::Ref { .. } => None,
        })
    }
}
