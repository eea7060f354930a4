//! The grants of a tool, by name. Anything else is refused with an error that names the missing grant.

use agentx_luau_tools::EffectError;

/// The grants of a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Grants {
    pub(crate) http: Vec<String>,
    pub(crate) env: Vec<String>,
    pub(crate) models: Vec<String>,
    pub(crate) tools: Vec<String>,
    pub(crate) kv: Vec<String>,
    pub(crate) agents: Vec<String>,
    /// Whether a folder's file describes the tool; else one of the person's.
    pub(crate) of_folder: bool,
}

impl Grants {
    pub(crate) fn model(&self, name: &str) -> Result<(), EffectError> {
        allowed(&self.models, "model", "models", name)
    }

    pub(crate) fn tool(&self, name: &str) -> Result<(), EffectError> {
        allowed(&self.tools, "tool", "tools", name)
    }

    /// Returns whether the tool is granted by its name, not only by `*`.
    pub(crate) fn names_tool(&self, name: &str) -> bool {
        self.tools.iter().any(|granted| granted == name)
    }

    pub(crate) fn agent(&self, name: &str) -> Result<(), EffectError> {
        allowed(&self.agents, "agent", "agents", name)
    }

    pub(crate) fn variable(&self, name: &str) -> Result<(), EffectError> {
        if self.env.iter().any(|granted| granted == name) {
            return Ok(());
        }
        Err(denied("environment variable", "env", name))
    }

    /// Returns the key space of `key`, and its name there: `space/name` or `space:name` if that space is
    /// granted, otherwise the name in the first granted space.
    pub(crate) fn space<'a>(&'a self, key: &'a str) -> Result<(&'a str, &'a str), EffectError> {
        if let Some((space, name)) = key.split_once(['/', ':'])
            && self.kv.iter().any(|granted| granted == space)
        {
            return Ok((space, name));
        }
        match self.kv.first() {
            Some(space) => Ok((space, key)),
            None => Err(denied("key", "kv", key)),
        }
    }
}

fn allowed(granted: &[String], what: &str, key: &str, name: &str) -> Result<(), EffectError> {
    if granted.iter().any(|granted| granted == "*" || granted == name) {
        return Ok(());
    }
    Err(denied(what, key, name))
}

pub(crate) fn denied(what: &str, key: &str, name: &str) -> EffectError {
    let shown: String = name.chars().take(100).collect();
    EffectError::new(
        "denied",
        format!(
            "the {what} {shown:?} is not granted; the tool's file has to name it under `capabilities: {key}`"
        ),
    )
}
