//! The source of a provider's key.

use agentx_llm::Secret;

/// The key of a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApiKeySource {
    /// The provider needs no key.
    None,
    /// In an environment variable.
    Env {
        /// The variable's name.
        name: String,
        /// The variable's value, if it is set.
        value: Option<Secret>,
    },
    /// Written down in a file.
    Literal(Secret),
}

impl ApiKeySource {
    /// Returns the key, if it is known.
    pub fn value(&self) -> Option<&Secret> {
        match self {
            Self::None => None,
            Self::Env { value, .. } => value.as_ref(),
            Self::Literal(secret) => Some(secret),
        }
    }
}
