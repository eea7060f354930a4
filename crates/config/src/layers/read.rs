//! Reads a layer: a YAML file, variables, or flags. It collects all mistakes of a layer.

use std::path::Path;
use std::sync::Arc;

use agentx_llm::Catalog;
use agentx_types::nearest;

use crate::layers::keys::{KEYS, SettingPath, VARIABLES};
use crate::layers::scalar::scalar;
use crate::layers::value::{KeyReference, Value, ValueKind, from_words};
use crate::layers::{aws_endpoint, ollama};
use crate::mistake::{ConfigMistake, MistakeLocation};
use crate::origin::{FileLayer, SettingOrigin, SourceLocation, Sourced};
use crate::yaml::{TextPosition, Yaml, YamlKey, YamlNode, parse};

/// The mistake of a server without a program and without an address.
pub(crate) const NEEDS_TARGET: &str = "it needs `command` (a program) or `url` (an address)";

/// The settings of one layer.
#[derive(Clone, Debug, Default)]
pub(crate) struct SettingsLayer {
    pub(crate) entries: Vec<(SettingPath, Sourced<Value>)>,
}

/// A setting that is given on a command line.
#[derive(Clone, Debug)]
pub struct CommandLineSetting {
    /// The flag, for example `--model`.
    pub name: String,
    /// The dotted key that it sets.
    pub key: &'static str,
    /// The value, as it was written.
    pub value: String,
}

/// The layer below all others.
pub(crate) fn defaults(catalog: &Catalog) -> SettingsLayer {
    let mut layer = SettingsLayer::default();
    let mut set = |path: SettingPath, kind: ValueKind, words: &str| {
        if let Ok(value) = from_words(kind, words) {
            layer
                .entries
                .push((path, Sourced::new(value, SettingOrigin::Default)));
        }
    };
    for spec in KEYS {
        if let Some(words) = spec.default {
            set(SettingPath::dotted(spec.path), spec.kind, words);
        }
    }
    for provider in catalog.providers() {
        let path = |key: &str| SettingPath::dotted("providers").child(&provider.name).child(key);
        set(path("api"), ValueKind::Text, provider.api.as_str());
        set(path("base_url"), ValueKind::Url, &provider.base_url);
        if let Some(variable) = &provider.key_env {
            set(path("api_key"), ValueKind::KeyVariable, variable);
        }
    }
    layer
}

/// The layer of the environment. A bearer token (`ANTHROPIC_AUTH_TOKEN`) counts more than a key, as in Claude
/// Code (<https://code.claude.com/docs/en/llm-gateway-connect>).
pub(crate) fn environment(
    catalog: &Catalog,
    lookup: &dyn Fn(&str) -> Option<String>,
    mistakes: &mut Vec<ConfigMistake>,
) -> SettingsLayer {
    let fixed = VARIABLES
        .iter()
        .map(|(name, key)| ((*name).to_owned(), SettingPath::dotted(key)));
    let is_set = |name: &str| lookup(name).is_some_and(|words| !words.trim().is_empty());
    let addresses = catalog.providers().iter().filter_map(|provider| {
        let path = SettingPath::dotted("providers")
            .child(&provider.name)
            .child("base_url");
        let first = provider.base_url_env.clone()?;
        let other = provider.other_base_url_env().filter(|other| is_set(other));
        Some((other.filter(|_| !is_set(&first)).unwrap_or(first), path))
    });
    let mut layer = SettingsLayer::default();
    take_other_keys(catalog, &is_set, &mut layer, mistakes);
    for (name, path) in fixed.chain(addresses) {
        let Some(words) = lookup(&name).filter(|words| !words.is_empty()) else {
            continue;
        };
        layer.take(
            path,
            &words,
            SettingOrigin::Env(name.clone()),
            MistakeLocation::Env(name),
            mistakes,
        );
    }
    let of_ollama = ollama::own_address(catalog, lookup).map(|url| (ollama::HOST, "ollama", url));
    let of_aws = aws_endpoint::own_address(lookup).map(|url| (aws_endpoint::AWS_ENDPOINT, "bedrock", url));
    for (name, provider, url) in of_ollama.into_iter().chain(of_aws) {
        let path = SettingPath::dotted("providers").child(provider).child("base_url");
        layer.take(
            path,
            &url,
            SettingOrigin::Env(name.to_owned()),
            MistakeLocation::Env(name.to_owned()),
            mistakes,
        );
    }
    for provider in catalog.providers() {
        let Some(name) = &provider.token_env else { continue };
        if lookup(name).is_none_or(|token| token.trim().is_empty()) {
            continue;
        }
        let path = |key: &str| SettingPath::dotted("providers").child(&provider.name).child(key);
        let mut take = |key: &str, words: &str| {
            let (origin, at) = (
                SettingOrigin::Env(name.clone()),
                MistakeLocation::Env(name.clone()),
            );
            layer.take(path(key), words, origin, at, mistakes);
        };
        take("api_key", &format!("${{{name}}}"));
        take("auth", "bearer");
    }
    layer
}

/// Takes the keys of other variables, for providers whose first variable is not set.
fn take_other_keys(
    catalog: &Catalog,
    is_set: &dyn Fn(&str) -> bool,
    layer: &mut SettingsLayer,
    mistakes: &mut Vec<ConfigMistake>,
) {
    for provider in catalog.providers() {
        let (Some(first), Some(other)) = (&provider.key_env, &provider.other_key_env) else {
            continue;
        };
        if !is_set(first) && is_set(other) {
            let path = SettingPath::dotted("providers").child(&provider.name);
            let (origin, at) = (other.clone(), MistakeLocation::Env(other.clone()));
            let (path, origin) = (path.child("api_key"), SettingOrigin::Env(origin));
            layer.take(path, &format!("${{{other}}}"), origin, at, mistakes);
        }
    }
}

pub(crate) fn flags(flags: &[CommandLineSetting], mistakes: &mut Vec<ConfigMistake>) -> SettingsLayer {
    let mut layer = SettingsLayer::default();
    for flag in flags {
        let (origin, at) = (
            SettingOrigin::Flag(flag.name.clone()),
            MistakeLocation::Flag(flag.name.clone()),
        );
        layer.take(SettingPath::dotted(flag.key), &flag.value, origin, at, mistakes);
    }
    layer
}

impl SettingsLayer {
    fn take(
        &mut self,
        path: SettingPath,
        words: &str,
        origin: SettingOrigin,
        at: MistakeLocation,
        mistakes: &mut Vec<ConfigMistake>,
    ) {
        let Some(spec) = path.spec() else { return };
        match from_words(spec.kind, words) {
            Ok(value) => {
                let (path, value) = canonical(path, value);
                self.entries.push((path, Sourced::new(value, origin)));
            }
            Err((what, nearest)) => mistakes.push(ConfigMistake {
                at,
                key: String::new(),
                what,
                nearest,
            }),
        }
    }
}

/// Reads the layer of a file. Returns the valid settings, the mistakes and the warnings.
pub(crate) fn file(layer: &FileLayer, text: &str) -> (SettingsLayer, Vec<ConfigMistake>, Vec<ConfigMistake>) {
    let mut reader = SettingsReader {
        layer,
        file: Arc::from(layer.path()),
        entries: Vec::new(),
        mistakes: Vec::new(),
        warnings: Vec::new(),
    };
    match parse(text) {
        Ok(YamlNode {
            value: Yaml::Map(map),
            ..
        }) => reader.mapping(&SettingPath(Vec::new()), &map),
        Ok(node) => reader.wrong(
            node.at,
            "",
            format!("expected keys and values, found {}", node.value.kind()),
            None,
        ),
        Err(broken) => reader.wrong(broken.at, "", broken.what, None),
    }
    (
        SettingsLayer {
            entries: reader.entries,
        },
        reader.mistakes,
        reader.warnings,
    )
}

pub(crate) struct SettingsReader<'a> {
    pub(crate) layer: &'a FileLayer,
    file: Arc<Path>,
    entries: Vec<(SettingPath, Sourced<Value>)>,
    pub(crate) mistakes: Vec<ConfigMistake>,
    warnings: Vec<ConfigMistake>,
}

impl SettingsReader<'_> {
    fn mapping(&mut self, prefix: &SettingPath, map: &[(YamlKey, YamlNode)]) {
        for (key, node) in map {
            let path = prefix.child(&key.name);
            if let Some(spec) = path.spec() {
                self.leaf(path, spec.kind, node);
            } else if path.is_branch() {
                let earlier = self.mistakes.len();
                self.branch(&path, node);
                if self.mistakes.len() == earlier {
                    self.check_target(&path, key);
                }
            } else {
                self.unknown(prefix, key);
            }
        }
    }

    fn branch(&mut self, path: &SettingPath, node: &YamlNode) {
        match &node.value {
            Yaml::Map(map) => self.mapping(path, map),
            Yaml::Null => {}
            other => {
                let what = format!("expected keys such as {}, found {}", examples(path), other.kind());
                self.wrong(node.at, &path.to_string(), what, None);
            }
        }
    }

    /// Reports an MCP server of which nothing is set: the merged settings would not have it at all.
    fn check_target(&mut self, path: &SettingPath, key: &YamlKey) {
        let is_server = matches!(&path.0[..], [branch, _] if branch == "mcp");
        let is_set = |entry: &(SettingPath, Sourced<Value>)| entry.0.0.starts_with(&path.0);
        if is_server && !self.entries.iter().any(is_set) {
            self.wrong(key.at, &path.to_string(), NEEDS_TARGET.to_owned(), None);
        }
    }

    fn unknown(&mut self, prefix: &SettingPath, key: &YamlKey) {
        let names = prefix.next_names();
        let near = nearest(&key.name, names.iter().copied(), 1)
            .first()
            .map(|name| prefix.child(name).to_string());
        let elsewhere = || {
            KEYS.iter()
                .map(|spec| spec.path)
                .find(|path| path.split('.').next_back() == Some(&key.name))
        };
        let near = near.or_else(|| elsewhere().map(str::to_owned));
        self.wrong(
            key.at,
            "",
            format!("unknown key `{}`", prefix.child(&key.name)),
            near,
        );
    }

    fn leaf(&mut self, path: SettingPath, kind: ValueKind, node: &YamlNode) {
        let shown = path.to_string();
        let value = match kind {
            ValueKind::Rules => self.rules(node),
            ValueKind::Names(_) => self.names(&shown, kind, node),
            _ => match scalar(kind, &node.value) {
                Ok(value) => Some(value),
                Err((what, near)) => {
                    self.wrong(node.at, &shown, what, near);
                    None
                }
            },
        };
        let Some(value) = value else { return };
        if let Value::Key(KeyReference::Literal(_)) = &value {
            let what = "an API key is written here in plain text; put it into an environment variable and refer to it as `${NAME}`";
            let at = self.at(node.at);
            self.warnings.push(ConfigMistake {
                at,
                key: shown.clone(),
                what: what.into(),
                nearest: None,
            });
        }
        let (path, value) = canonical(path, value);
        if self.entries.iter().any(|(present, _)| *present == path) {
            self.wrong(
                node.at,
                &shown,
                format!("this file sets `{path}` twice, in two forms"),
                None,
            );
            return;
        }
        let origin = self.layer.origin(self.place(node.at));
        self.entries.push((path, Sourced::new(value, origin)));
    }

    fn names(&mut self, key: &str, kind: ValueKind, node: &YamlNode) -> Option<Value> {
        let Yaml::List(items) = &node.value else {
            let what = format!("expected {}, found {}", kind.expects(), node.value.kind());
            self.wrong(node.at, key, what, None);
            return None;
        };
        let mut names = Vec::new();
        for item in items {
            match &item.value {
                Yaml::Text(name) => names.push(name.clone()),
                other => self.wrong(
                    item.at,
                    key,
                    format!("expected a name, found {}", other.kind()),
                    None,
                ),
            }
        }
        Some(Value::Names(names))
    }

    pub(crate) fn wrong(&mut self, at: TextPosition, key: &str, what: String, nearest: Option<String>) {
        let at = self.at(at);
        self.mistakes.push(ConfigMistake {
            at,
            key: key.to_owned(),
            what,
            nearest,
        });
    }

    fn at(&self, at: TextPosition) -> MistakeLocation {
        MistakeLocation::File(self.place(at))
    }

    pub(crate) fn place(&self, at: TextPosition) -> SourceLocation {
        SourceLocation {
            file: self.file.clone(),
            line: at.line,
            column: at.column,
        }
    }
}

/// Settings that can be written in two ways have one place: `api_key_env: NAME` is `api_key: ${NAME}`, a file
/// of a prompt is the prompt, and a former name of a key is the key.
fn canonical(path: SettingPath, value: Value) -> (SettingPath, Value) {
    if let Some(current) = path.current() {
        return (current, value);
    }
    let parent = |levels: &[String]| SettingPath(levels[..levels.len() - 1].to_vec());
    match (path.0.last().map(String::as_str), value) {
        (Some("api_key_env"), value) => (parent(&path.0).child("api_key"), value),
        (Some("system_prompt_file"), Value::Text(file)) => {
            (SettingPath::dotted("system_prompt"), Value::File(file))
        }
        (_, value) => (path, value),
    }
}

fn examples(path: &SettingPath) -> String {
    let names = path.next_names();
    let named: Vec<String> = names.iter().take(3).map(|name| format!("`{name}`")).collect();
    if named.is_empty() {
        "a name".into()
    } else {
        named.join(", ")
    }
}
