//! Reads layers: keys, values and variables. Merges them: a later layer wins, but lists of rules and of
//! disabled tools add up.

pub(crate) mod aws_endpoint;
pub(crate) mod choices;
pub(crate) mod duration;
pub(crate) mod environment;
pub(crate) mod former_keys;
pub(crate) mod getter;
pub(crate) mod keys;
pub(crate) mod ollama;
pub(crate) mod owner_variable;
pub(crate) mod personal_keys;
pub(crate) mod profile;
pub(crate) mod read;
pub(crate) mod read_file;
pub(crate) mod scalar;
pub(crate) mod shown_rule;
pub(crate) mod template;
pub(crate) mod trust_variable;
pub(crate) mod value;
pub(crate) mod variable;
pub(crate) mod written_rule;

use std::collections::BTreeMap;

use crate::layers::keys::{KEYS, SettingPath};
use crate::layers::read::SettingsLayer;
use crate::layers::shown_rule::show_rule;
use crate::layers::value::Value;
use crate::layers::written_rule::WrittenRule;
use crate::origin::{SettingOrigin, Sourced};

/// The merged settings of all layers, each value with its origin.
#[derive(Clone, Debug, Default)]
pub struct MergedSettings {
    values: BTreeMap<SettingPath, Sourced<Value>>,
}

/// A line of `config show`.
#[derive(Clone, Debug, PartialEq)]
pub struct SettingRow {
    /// The key, dotted.
    pub key: String,
    /// The value for people, with secrets hidden. `None` if it is not set.
    pub value: Option<String>,
    /// The place where the value was set.
    pub origin: SettingOrigin,
}

impl MergedSettings {
    pub(crate) fn of(layers: impl IntoIterator<Item = SettingsLayer>) -> Self {
        let mut merged = Self::default();
        for layer in layers {
            merged.lay(layer);
        }
        merged
    }

    pub(crate) fn lay(&mut self, layer: SettingsLayer) {
        for (path, sourced) in layer.entries {
            match self.values.get_mut(&path) {
                Some(present) => lay_over(&path, present, sourced),
                None => {
                    self.values.insert(path, sourced);
                }
            }
        }
    }

    pub(crate) fn into_layer(self) -> SettingsLayer {
        SettingsLayer {
            entries: self.values.into_iter().collect(),
        }
    }

    /// The approval rules of all layers, each with its place, in the order of the settings.
    pub fn rules(&self) -> &[WrittenRule] {
        match self.get(&SettingPath::dotted("rules")) {
            Some(Value::Rules(rules)) => rules,
            _ => &[],
        }
    }

    /// Replaces the value at a path.
    pub(crate) fn set(&mut self, path: SettingPath, value: Sourced<Value>) {
        self.values.insert(path, value);
    }

    /// The value at a path.
    pub(crate) fn get(&self, path: &SettingPath) -> Option<&Value> {
        self.values.get(path).map(|sourced| &sourced.value)
    }

    pub(crate) fn sourced(&self, dotted: &str) -> Option<&Sourced<Value>> {
        self.values.get(&SettingPath::dotted(dotted))
    }

    /// The names below a branch such as `providers`, in order.
    pub(crate) fn names_below(&self, branch: &str) -> Vec<String> {
        let mut names: Vec<String> = self
            .values
            .keys()
            .filter(|path| path.0.first().is_some_and(|first| first == branch))
            .filter_map(|path| path.0.get(1).cloned())
            .collect();
        names.dedup();
        names
    }

    /// The names below a branch of any depth, in order.
    pub(crate) fn names_under(&self, branch: &SettingPath) -> Vec<String> {
        let below = |path: &&SettingPath| path.0.starts_with(&branch.0);
        let mut names: Vec<String> = self
            .values
            .keys()
            .filter(below)
            .filter_map(|path| path.0.get(branch.0.len()).cloned())
            .collect();
        names.dedup();
        names
    }

    /// The origin of the value at a path.
    pub(crate) fn origin(&self, path: &SettingPath) -> Option<&SettingOrigin> {
        self.values.get(path).map(|sourced| &sourced.origin)
    }

    /// The origin of an entry such as `providers.x`: the highest layer that sets any of it.
    pub(crate) fn any_below(&self, branch: &str, name: &str) -> SettingOrigin {
        let below = self
            .values
            .iter()
            .filter(|(path, _)| path.0.len() > 1 && path.0[0] == branch && path.0[1] == name);
        let mut origins = below.map(|(_, sourced)| &sourced.origin);
        origins
            .find(|origin| **origin != SettingOrigin::Default)
            .cloned()
            .unwrap_or(SettingOrigin::Default)
    }

    /// Every key with its value and origin, in the order of the table, what belongs to one provider or model
    /// together; keys without a value are at their place.
    pub fn rows(&self) -> Vec<SettingRow> {
        let mut rows = Vec::new();
        let mut branches: Vec<&str> = Vec::new();
        for spec in KEYS {
            let branch = spec.path.split_once(".*").map(|(branch, _)| branch);
            match branch {
                Some(branch) if branches.contains(&branch) => {}
                Some(branch) => {
                    branches.push(branch);
                    let branch = SettingPath::dotted(branch).0;
                    let below = |path: &&SettingPath| path.0.starts_with(&branch);
                    rows.extend(
                        self.values
                            .keys()
                            .filter(below)
                            .flat_map(|path| self.rows_at(path)),
                    );
                }
                None if spec.path == "system_prompt_file" => {}
                None => rows.extend(self.rows_at(&SettingPath::dotted(spec.path))),
            }
        }
        rows
    }

    fn rows_at(&self, path: &SettingPath) -> Vec<SettingRow> {
        match self.values.get(path) {
            Some(sourced) => rows_of(path, sourced),
            None => vec![SettingRow {
                key: path.to_string(),
                value: None,
                origin: SettingOrigin::Default,
            }],
        }
    }
}

fn lay_over(path: &SettingPath, present: &mut Sourced<Value>, over: Sourced<Value>) {
    match (&mut present.value, over.value) {
        (Value::Rules(rules), Value::Rules(more)) => rules.extend(more),
        (Value::Names(names), Value::Names(more)) if path.0 == ["tools", "disabled"] => {
            let new: Vec<String> = more.into_iter().filter(|name| !names.contains(name)).collect();
            names.extend(new);
            present.origin = over.origin;
        }
        (value, over_value) => {
            *value = over_value;
            present.origin = over.origin;
        }
    }
}

fn rows_of(path: &SettingPath, sourced: &Sourced<Value>) -> Vec<SettingRow> {
    let Value::Rules(rules) = &sourced.value else {
        let shown = match path.0.get(2).map(String::as_str) {
            // Prices are kept in nano-dollars a token and written in dollars a million tokens.
            Some("prices") => price_in_dollars(&sourced.value),
            _ => first_line(&sourced.value.to_string()),
        };
        return vec![SettingRow {
            key: path.to_string(),
            value: Some(shown),
            origin: sourced.origin.clone(),
        }];
    };
    let row = |(i, rule): (usize, &WrittenRule)| SettingRow {
        key: format!("{path}[{i}]"),
        value: Some(show_rule(&rule.value)),
        origin: rule.origin.clone(),
    };
    rules.iter().enumerate().map(row).collect()
}

/// A price as the person writes it: dollars per million tokens.
pub(crate) fn price_in_dollars(value: &Value) -> String {
    match value {
        Value::Money(nano) if nano.0 % 10 == 0 => format!("{:.2}", nano.0 as f64 / 1e3),
        Value::Money(nano) => format!("{}", nano.0 as f64 / 1e3),
        other => other.to_string(),
    }
}

fn first_line(text: &str) -> String {
    match text.split_once('\n') {
        Some((line, _)) => format!("{line} …"),
        None => text.to_owned(),
    }
}
