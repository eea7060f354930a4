//! Reads the webhooks: prompts that a server runs when another program calls it with a signature.

use std::path::PathBuf;

use crate::api_key_source::ApiKeySource;
use crate::layers::getter::{SettingsGetter, mistake};
use crate::layers::keys::SettingPath;
use crate::mistake::ConfigMistake;

/// Maximum number of characters of the name of a webhook.
const MAX_NAME_CHARS: usize = 40;

/// A prompt that a delivery to `POST /v1/hooks/NAME` runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookSettings {
    /// The name in the address.
    pub name: String,
    /// The secret that signs deliveries.
    pub secret: ApiKeySource,
    /// The prompt.
    pub prompt: String,
    /// The agent of a file, or the default agent.
    pub agent: Option<String>,
    /// The model, if it is not that of the settings.
    pub model: Option<String>,
    /// The directory of a new session, if it is not that of the server.
    pub workspace: Option<PathBuf>,
    /// The session to continue; a new one without it.
    pub session: Option<String>,
}

/// Reads all webhooks. One that has no prompt, no secret or another kind of name is a mistake.
pub(crate) fn webhooks(
    get: &SettingsGetter<'_>,
    lookup: &dyn Fn(&str) -> Option<String>,
    mistakes: &mut Vec<ConfigMistake>,
) -> Vec<WebhookSettings> {
    let all = SettingPath::dotted("webhooks");
    let mut webhooks = Vec::new();
    for name in get.merged.names_under(&all) {
        let path = all.child(&name);
        let text = |key: &str| {
            get.text_at(&path.child(key))
                .filter(|text| !text.trim().is_empty())
        };
        let webhook = WebhookSettings {
            secret: get.key_at(&path.child("secret"), lookup),
            prompt: text("prompt").unwrap_or_default(),
            agent: text("agent"),
            model: text("model"),
            workspace: get.path_at(&path.child("workspace")),
            session: text("session"),
            name,
        };
        match wrong(&webhook) {
            None => webhooks.push(webhook),
            Some(what) => {
                let key = format!("webhooks.{}", webhook.name);
                let origin = get.merged.any_below("webhooks", &webhook.name);
                mistakes.push(mistake(&origin, &key, format!("{key}: {what}"), None));
            }
        }
    }
    webhooks
}

/// Returns why a webhook cannot be used.
fn wrong(webhook: &WebhookSettings) -> Option<&'static str> {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-_".contains(char);
    if webhook.name.len() > MAX_NAME_CHARS || !webhook.name.chars().all(is_plain) {
        return Some("a name has at most 40 letters and digits of ASCII, `-` and `_`");
    }
    if webhook.prompt.is_empty() {
        return Some("it needs a `prompt`");
    }
    if webhook.secret == ApiKeySource::None {
        return Some("it needs a `secret`, as a reference such as `${WEBHOOK_SECRET}`");
    }
    None
}
