//! Finds the layer that each value of a model comes from: a setting may change the price of a model whose
//! window a refreshed list has changed, and whose longest answer is built in.

use agentx::config::{Loaded, RefreshedModels, SettingPath, SettingRow};
use agentx::llm::catalog::ModelConfig;
use agentx::types::ModelSpec;

/// The words for the catalog of the program.
pub(super) const BUILT_IN: &str = "the built-in list";
/// The words for values that nobody has said anything about.
pub(super) const USUAL: &str = "nothing but what its provider's models usually have";

/// The label of the layer of a value, and the value's key below `models.NAME` in the settings.
const VALUES: [(&str, &str); 7] = [
    ("window comes from", "context_window"),
    ("longest answer comes from", "max_output_tokens"),
    ("input comes from", "images"),
    ("input price comes from", "prices.input"),
    ("output price comes from", "prices.output"),
    ("cache read price comes from", "prices.cache_read"),
    ("cache write price comes from", "prices.cache_write"),
];

/// The layers that may say something about a model.
pub(super) struct ModelLayers<'a> {
    pub(super) spec: &'a ModelSpec,
    /// The list that a person has read, if it has the model.
    pub(super) refreshed: Option<(&'a RefreshedModels, &'a ModelConfig)>,
    /// Whether the program's own list has the model.
    pub(super) is_built_in: bool,
}

impl ModelLayers<'_> {
    /// Returns the layer of each value, or nothing if all values come from the same one.
    pub(super) fn of_values(&self, loaded: &Loaded) -> Vec<(&'static str, String)> {
        let rows = loaded.merged.rows();
        let has_prices = !self.spec.prices.is_unknown();
        let shown = VALUES
            .iter()
            .filter(|(_, key)| has_prices || !key.starts_with("prices."));
        let layers: Vec<(&str, String)> = shown.map(|(words, key)| (*words, self.of(key, &rows))).collect();
        let is_same = layers.windows(2).all(|pair| pair[0].1 == pair[1].1);
        if is_same { Vec::new() } else { layers }
    }

    /// Returns the layer of one value: the place of a setting, the refreshed list or the built-in one.
    fn of(&self, key: &str, rows: &[SettingRow]) -> String {
        let set = |key: &str| {
            let levels = ["models", self.spec.called()].into_iter().chain(key.split('.'));
            let key = SettingPath(levels.map(str::to_owned).collect()).to_string();
            let row = rows.iter().find(|row| row.key == key && row.value.is_some());
            row.map(|row| row.origin.to_string())
        };
        let prices = &self.spec.prices;
        // A price of the cache that nobody has set is that of the input.
        let follows_input = match key {
            "prices.cache_read" => prices.cache_read == prices.input,
            "prices.cache_write" => prices.cache_write == prices.input,
            _ => false,
        };
        let by_input = || set("prices.input").filter(|_| follows_input);
        if let Some(place) = set(key).or_else(by_input) {
            return place;
        }
        match self.refreshed {
            Some((list, model)) if names(model, key) => read_on(list),
            _ if self.is_built_in => BUILT_IN.to_owned(),
            _ => USUAL.to_owned(),
        }
    }
}

/// Returns whether a refreshed list names this value of a model.
fn names(model: &ModelConfig, key: &str) -> bool {
    match key {
        "context_window" => model.context_window.is_some(),
        "max_output_tokens" => model.max_output_tokens.is_some(),
        "images" => model.input.is_some(),
        _ => model.prices.is_some(),
    }
}

/// The words for a list that a person has read.
pub(super) fn read_on(list: &RefreshedModels) -> String {
    format!("{}, read on {}", list.source, list.day)
}
