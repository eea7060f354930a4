//! Limits the settings of a trusted folder for models and limits. It may define models with new names and
//! make limits stricter. Only the person sets the prices of known models and the maximum cost.

use agentx_llm::Catalog;
use agentx_types::SCRIPTED_MODEL;

use crate::layers::keys::SettingPath;
use crate::layers::read::SettingsLayer;
use crate::layers::value::Value;
use crate::layers::{MergedSettings, price_in_dollars};
use crate::origin::{SettingOrigin, Sourced};
use crate::workspace::strictness::is_stricter;

/// Other names of the offline demo.
const DEMO: &str = "demo";

pub(crate) const MODEL: &str =
    "it would change a model that is already known; a folder may only define models with new names";
const PRICES: &str = "only your own settings may set what models of your providers cost";
const LIMIT: &str = "a folder may only make your limits stricter";

/// The models that are known without a folder, and what its settings say of others.
pub(crate) struct FolderModels<'a> {
    /// The catalog with the person's own settings.
    pub(crate) catalog: &'a Catalog,
    /// The settings of the folder.
    pub(crate) layer: &'a SettingsLayer,
}

impl FolderModels<'_> {
    /// Returns whether a name is one of a known model.
    pub(crate) fn is_known(&self, name: &str) -> bool {
        [SCRIPTED_MODEL, DEMO].contains(&name) || self.catalog.resolve(name).is_ok()
    }

    /// Returns why the folder may not set a key of a model; `None` if it may. Another name for a known model
    /// is also refused, because it would remove the model's other names.
    pub(crate) fn why_not(&self, name: &str, key: &str) -> Option<&'static str> {
        let is_other_name = self.setting(name, "id").is_some_and(|id| self.is_known(id));
        if self.is_known(name) || is_other_name {
            return Some(MODEL);
        }
        let provider = self.setting(name, "provider");
        let is_persons = provider.is_none_or(|provider| self.catalog.provider(provider).is_some());
        (key == "prices" && is_persons).then_some(PRICES)
    }

    fn setting(&self, name: &str, key: &str) -> Option<&str> {
        let path = SettingPath::dotted("models").child(name).child(key);
        let entry = self.layer.entries.iter().find(|(at, _)| *at == path);
        match entry.map(|(_, sourced)| &sourced.value) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }
}

/// Returns why a folder may not set this limit; `None` if it is as strict as the person's, or they have none.
/// A default limit may be replaced by another number, but not by `none`.
pub(crate) fn why_no_limit(path: &SettingPath, value: &Value, own: &MergedSettings) -> Option<&'static str> {
    let is_limit = path.0.first().is_some_and(|first| first == "limits");
    let present = own.get(path).filter(|_| is_limit)?;
    if own.origin(path) == Some(&SettingOrigin::Default) && *value != Value::Nothing {
        return None;
    }
    (!is_stricter(path, value, present)).then_some(LIMIT)
}

/// Returns the limits and prices that a folder sets, in sentences.
pub(crate) fn effects_on_the_bill(layer: &SettingsLayer) -> Vec<String> {
    let effect = |(path, sourced): &(SettingPath, Sourced<Value>)| {
        let levels: Vec<&str> = path.0.iter().map(String::as_str).collect();
        match levels.as_slice() {
            ["limits", _] => Some(format!(
                "this limit applies to each run: {path} {}",
                sourced.value
            )),
            ["models", name, "prices", kind] => Some(format!(
                "calls of the model `{name}` count with this price: {kind} {} dollars per million tokens",
                price_in_dollars(&sourced.value)
            )),
            _ => None,
        }
    };
    layer.entries.iter().filter_map(effect).collect()
}
