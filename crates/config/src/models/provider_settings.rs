//! The settings of one provider: its address, its key, its headers and the model to ask by default.

use agentx_llm::Secret;

use crate::api_key_source::ApiKeySource;
use crate::models::cloud::CloudSettings;

/// The settings of a provider of models.
#[derive(Clone, Debug, PartialEq)]
pub struct ProviderSettings {
    /// The provider's name in references of models; the catalog of the settings has its other properties.
    pub name: String,
    /// The base URL.
    pub base_url: String,
    /// Whether it can only be asked with a key.
    pub needs_key: bool,
    /// The model to ask if none is named, by a name that
    /// [`Settings::choose_model`](crate::Settings::choose_model) knows.
    pub default_model: Option<String>,
    /// Whether a person (and not the program) set the default model.
    pub default_model_given: bool,
    /// Whether a person (and not the program) set the address.
    pub base_url_given: bool,
    /// Whether the workspace's own settings set the address.
    pub of_folder: bool,
    /// The API key.
    pub key: ApiKeySource,
    /// The cloud credentials to use; `None` if `key` is set, or the provider is not a cloud.
    pub cloud: Option<CloudSettings>,
    /// Headers that are sent along.
    pub headers: Vec<HeaderSetting>,
}

/// An additional header for a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderSetting {
    /// The header's name.
    pub name: String,
    /// The header's value. The header is sent only if it has one.
    pub value: ApiKeySource,
}

impl ProviderSettings {
    /// The key, if there is one.
    pub fn key(&self) -> Option<&Secret> {
        self.key.value()
    }

    /// The variable whose value is missing; `None` if the provider can be asked. A server on this machine
    /// needs a key too, if its provider does.
    pub fn missing_variable(&self) -> Option<&str> {
        match &self.key {
            _ if self.cloud.as_ref().is_some_and(CloudSettings::is_usable) => None,
            ApiKeySource::Env { name, value: None } if self.needs_key => Some(name),
            _ => None,
        }
    }

    /// The reason why the credentials of a cloud that were found cannot be used; `None` if they can, or there
    /// are none.
    pub fn cloud_problem(&self) -> Option<&str> {
        let cloud = self.cloud.as_ref()?;
        cloud.credentials.as_ref().err().map(String::as_str)
    }

    /// Returns whether the provider is connected: it has a key, or it is a server that a person named.
    pub fn is_connected(&self) -> bool {
        let has_cloud = self.cloud.as_ref().is_some_and(CloudSettings::is_usable);
        self.key().is_some() || has_cloud || (self.base_url_given && self.missing_variable().is_none())
    }
}
