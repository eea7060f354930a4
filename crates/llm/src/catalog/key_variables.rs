//! The environment variables from which providers read keys: one list for all that keeps them from others.

use std::collections::BTreeSet;

use super::{Catalog, ProviderEntry};

impl Catalog {
    /// Returns the environment variables from which providers read keys and tokens, in order, each once.
    ///
    /// ```
    /// let catalog = agentx_llm::Catalog::builtin();
    /// let variables = catalog.key_variables();
    /// assert!(variables.contains("ANTHROPIC_API_KEY") && variables.contains("ANTHROPIC_AUTH_TOKEN"));
    /// ```
    pub fn key_variables(&self) -> BTreeSet<&str> {
        self.providers
            .iter()
            .flat_map(ProviderEntry::key_variables)
            .collect()
    }
}

impl ProviderEntry {
    /// Returns the variables from which this provider reads a key or a token.
    pub fn key_variables(&self) -> impl Iterator<Item = &str> {
        let of_aws = [
            &self.access_key_env,
            &self.secret_key_env,
            &self.session_token_env,
        ];
        [&self.key_env, &self.other_key_env, &self.token_env]
            .into_iter()
            .chain(of_aws)
            .flatten()
            .map(String::as_str)
    }
}
