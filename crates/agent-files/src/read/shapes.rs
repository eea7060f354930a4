//! Checks a tree against its shape: all mistakes are collected with their places, and valid parts become
//! plain JSON in one form, from which the definitions are made.

use agentx_config::yaml::{TextPosition, Yaml, YamlKey, YamlNode};
use serde_json::{Map, Value, json};

use crate::keys::key_tables::{MappingShape, Shape};
use crate::keys::tables::{self, AGENTS, MESSAGE, TOOLS};
use crate::mistake::{START, did_you_mean};
use crate::read::checker::Checker;
use crate::read::entries::{Entries, text_of};
use crate::read::findings::LocatedText;
use crate::read::rules;
use crate::read::scalar;

/// Reads what a file holds; `None` if it is wrong, and then the mistakes are recorded.
pub(crate) fn read(checker: &mut Checker<'_>, shape: Shape, node: &YamlNode) -> Option<Value> {
    checker.value("file", shape, node)
}

impl Checker<'_> {
    /// Reads a value; `None` if it is wrong, and then the mistake is recorded.
    fn value(&mut self, key: &str, shape: Shape, node: &YamlNode) -> Option<Value> {
        if self.is_full() {
            return None;
        }
        if self.depth > 48 {
            self.wrong(node.at, "nested too deep", None);
            return None;
        }
        self.depth += 1;
        let value = self.of_shape(key, shape, node);
        self.depth -= 1;
        value
    }

    fn of_shape(&mut self, key: &str, shape: Shape, node: &YamlNode) -> Option<Value> {
        match shape {
            Shape::Map(table) => self.table(key, table, node),
            Shape::MapOf(shape) => self.map_of(key, *shape, node),
            Shape::List(shape) => self.list(key, *shape, node),
            Shape::Some(shape) => self.some(key, *shape, node),
            Shape::Either(shapes) => self.either(key, shapes, node),
            Shape::Tool => self.tool(key, node),
            Shape::Agent => self.agent(key, node),
            Shape::State => self.state(key, node),
            Shape::Message => self.table(key, &MESSAGE, node),
            Shape::Any => Some(node.to_json()),
            _ => scalar::read(self, key, shape, node),
        }
    }

    fn entries<'n>(&mut self, key: &str, node: &'n YamlNode) -> Option<&'n Entries> {
        let Yaml::Map(entries) = &node.value else {
            self.expected(key, node, "keys and values");
            return None;
        };
        Some(entries)
    }

    /// Returns a mapping with known keys.
    fn table(&mut self, key: &str, table: &'static MappingShape, node: &YamlNode) -> Option<Value> {
        let entries = self.entries(key, node)?;
        let before = self.findings.mistakes.len();
        let mut map = Map::new();
        for (name, value) in entries {
            match table.key(&name.name) {
                // A key without a value counts as missing, unless it is required.
                Some(spec) if matches!(value.value, Yaml::Null) && !spec.required => {}
                Some(spec) => {
                    if let Some(value) = self.value(&name.name, spec.shape, value) {
                        map.insert(name.name.clone(), value);
                    }
                }
                None => self.unknown(table, name),
            }
        }
        self.missing(table, node.at, entries);
        rules::of_table(self, table, entries);
        (self.findings.mistakes.len() == before).then_some(Value::Object(map))
    }

    fn unknown(&mut self, table: &'static MappingShape, key: &YamlKey) {
        if self.is_full() {
            return;
        }
        let near = did_you_mean(&key.name, table.keys.iter().map(|key| key.name));
        if table.open && near.is_none() {
            return;
        }
        let elsewhere = || {
            let kinds = TOOLS.iter().chain(AGENTS);
            let mut kinds =
                kinds.filter(|(_, other)| other.name.split('_').next() == table.name.split('_').next());
            let (kind, _) = kinds.find(|(_, other)| other.key(&key.name).is_some())?;
            Some(format!("`{}` belongs to `type: {kind}`", key.name))
        };
        let hint = elsewhere().or(near);
        self.wrong(key.at, format!("unknown key `{}`", key.name), hint);
    }

    fn missing(&mut self, table: &'static MappingShape, at: TextPosition, entries: &Entries) {
        let has = |name: &str| entries.iter().any(|(key, _)| key.name == name);
        for spec in table.keys.iter().filter(|spec| spec.required && !has(spec.name)) {
            self.wrong(at, format!("`{}` is missing: {}", spec.name, spec.about), None);
        }
        let given = table.one_of.iter().filter(|name| has(name)).count();
        if !table.one_of.is_empty() && given != 1 {
            let names: Vec<String> = table.one_of.iter().map(|name| format!("`{name}`")).collect();
            let names = names.join(" and ");
            let what = if given == 0 {
                "one of them is needed"
            } else {
                "only one of them may be set"
            };
            self.wrong(at, format!("{names}: {what}"), None);
        }
    }

    fn map_of(&mut self, key: &str, shape: Shape, node: &YamlNode) -> Option<Value> {
        let entries = self.entries(key, node)?;
        let mut map = Map::new();
        let mut right = true;
        for (name, value) in entries {
            if matches!(shape, Shape::Template) && !scalar::is_header(&name.name) {
                let what = format!("`{key}`: {:?} is not a header name", name.name);
                let hint = "use letters, digits, `-` and `_`".to_owned();
                self.wrong(name.at, what, Some(hint));
                right = false;
            }
            let shape = scalar::of_header(&name.name, shape);
            match self.value(&format!("{key}.{}", name.name), shape, value) {
                Some(value) => {
                    map.insert(name.name.clone(), value);
                }
                None => right = false,
            }
        }
        right.then_some(Value::Object(map))
    }

    fn list(&mut self, key: &str, shape: Shape, node: &YamlNode) -> Option<Value> {
        let Yaml::List(items) = &node.value else {
            self.expected(key, node, "a list");
            return None;
        };
        let items: Vec<Option<Value>> = items.iter().map(|item| self.value(key, shape, item)).collect();
        items.into_iter().collect::<Option<Vec<_>>>().map(Value::Array)
    }

    fn some(&mut self, key: &str, shape: Shape, node: &YamlNode) -> Option<Value> {
        if matches!(&node.value, Yaml::List(items) if items.is_empty()) {
            self.wrong(
                node.at,
                format!("`{key}` is empty; it needs at least one item"),
                None,
            );
            return None;
        }
        self.list(key, shape, node)
    }

    fn either(&mut self, key: &str, shapes: &[Shape], node: &YamlNode) -> Option<Value> {
        let marked = |table: &MappingShape, entries: &Entries| {
            table
                .marker
                .is_some_and(|marker| entries.iter().any(|(key, _)| key.name == marker))
        };
        if let Yaml::Map(entries) = &node.value {
            let markers: Vec<&'static MappingShape> = shapes
                .iter()
                .filter_map(|shape| match shape {
                    Shape::Map(table) if marked(table, entries) => Some(*table),
                    _ => None,
                })
                .collect();
            if let [first, second, ..] = markers.as_slice() {
                let names = [first, second].map(|table| table.marker.unwrap_or_default());
                let what = format!(
                    "`{}` and `{}` exclude each other: give exactly one",
                    names[0], names[1]
                );
                self.wrong(node.at, what, None);
                return None;
            }
            if let Some(table) = markers.first() {
                return self.table(key, table, node);
            }
            if rules::reserved(self, shapes, entries) {
                return None;
            }
        }
        let fits = |shape: &&Shape| match (&node.value, shape) {
            (Yaml::Map(_), Shape::Map(table)) => table.marker.is_none(),
            (Yaml::Map(_), Shape::Tool | Shape::Agent) => true,
            (Yaml::Map(_) | Yaml::List(_) | Yaml::Null, _) => false,
            (_, Shape::Map(_) | Shape::Tool | Shape::Agent) => false,
            (_, _) => true,
        };
        match shapes.iter().find(fits) {
            Some(Shape::Ref(kind)) => {
                let name = self.value(key, Shape::Ref(*kind), node)?;
                Some(json!({"$ref": name}))
            }
            Some(shape) => self.value(key, *shape, node),
            None => {
                self.expected(key, node, &forms(shapes));
                None
            }
        }
    }

    fn tool(&mut self, key: &str, node: &YamlNode) -> Option<Value> {
        let entries = self.entries(key, node)?;
        let has = |name: &str| entries.iter().any(|(key, _)| key.name == name);
        let usual = if has("lua") || has("lua_file") {
            "luau"
        } else {
            "built-in"
        };
        let (kind, table) = self.kind("type", usual, TOOLS, entries)?;
        let owner = std::mem::replace(&mut self.owner, text_of(entries, "name"));
        self.findings.tools.push(self.owner.clone());
        if kind == "built-in" {
            let (at, text) = (node.at, self.owner.clone());
            let owner = owner.clone();
            self.findings.built_in.push(LocatedText { at, text, owner });
        }
        let value = self.table(key, table, node);
        self.owner = owner;
        with_type(value, kind)
    }

    fn agent(&mut self, key: &str, node: &YamlNode) -> Option<Value> {
        let entries = self.entries(key, node)?;
        if let Some((_, node)) = entries.iter().find(|(key, _)| key.name == "type")
            && matches!(&node.value, Yaml::Text(kind) if kind == "realtime")
        {
            let hint = "use `react` or `match`".to_owned();
            self.wrong(
                node.at,
                "`type: realtime` is reserved and not supported yet",
                Some(hint),
            );
            return None;
        }
        let (kind, table) = self.kind("type", "react", AGENTS, entries)?;
        self.findings.agents = self.findings.agents.max(self.agents);
        self.agents += 1;
        let value = self.table(key, table, node);
        self.agents -= 1;
        let value = value?;
        with_type(rules::one_generator(value), kind)
    }

    fn state(&mut self, key: &str, node: &YamlNode) -> Option<Value> {
        let entries = self.entries(key, node)?;
        let kinds: &[(&str, &'static MappingShape)] =
            &[("react", &tables::REACT_STATE), ("match", &tables::MATCH_STATE)];
        let (_, table) = self.kind("state_type", "react", kinds, entries)?;
        self.table(key, table, node)
    }

    /// Returns the table that a key such as `type` chooses.
    fn kind<'t>(
        &mut self,
        name: &str,
        usual: &str,
        kinds: &'t [(&'t str, &'static MappingShape)],
        entries: &Entries,
    ) -> Option<(&'t str, &'static MappingShape)> {
        let given = entries
            .iter()
            .find(|(key, _)| key.name == name)
            .map(|(_, node)| node);
        let kind = match given.map(|node| &node.value) {
            None | Some(Yaml::Null) => usual,
            Some(Yaml::Text(kind)) => kind,
            Some(_) => {
                if let Some(node) = given {
                    self.expected(name, node, "text");
                }
                return None;
            }
        };
        let found = kinds.iter().find(|(known, _)| *known == kind);
        if found.is_none() {
            let known: Vec<&str> = kinds.iter().map(|(known, _)| *known).collect();
            let at = given.map_or(START, |node| node.at);
            let hint = did_you_mean(kind, known.iter().copied());
            self.wrong(
                at,
                format!("`{name}`: expected one of {}, found {kind:?}", known.join(", ")),
                hint,
            );
        }
        found.copied()
    }
}

fn with_type(value: Option<Value>, kind: &str) -> Option<Value> {
    let mut value = value?;
    value.as_object_mut()?.insert("type".into(), kind.into());
    Some(value)
}

fn forms(shapes: &[Shape]) -> String {
    let forms: Vec<String> = shapes
        .iter()
        .map(|shape| match shape {
            Shape::Map(table) => match table.marker {
                Some(marker) => format!("`{{{marker}: …}}`"),
                None => "keys and values".into(),
            },
            Shape::Tool => "a tool".into(),
            Shape::Agent => "an agent".into(),
            _ => "text".into(),
        })
        .collect();
    forms.join(" or ")
}
