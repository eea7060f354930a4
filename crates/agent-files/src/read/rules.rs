//! Rules between the keys of a mapping, beyond the shape of each.

use std::collections::BTreeSet;

use agentx_config::is_variable;
use agentx_config::yaml::{Yaml, YamlNode};
use serde_json::{Value, json};

use crate::jq::JqFilter;
use crate::keys::key_tables::{MappingShape, Shape};
use crate::mistake::{START, did_you_mean};
use crate::read::checker::Checker;
use crate::read::entries::{Entries, find, items, text_of};

/// Returns the key and value that need an `output_schema` next to them.
pub(crate) fn schema_needed(table: &MappingShape) -> Option<(&'static str, &'static str)> {
    match table.name {
        "tool_generator" => Some(("mode", "json_output")),
        "tool_text_processor" => Some(("output_mode", "json")),
        _ => None,
    }
}

/// Checks a mapping whose keys are read.
pub(crate) fn of_table(checker: &mut Checker<'_>, table: &'static MappingShape, entries: &Entries) {
    if let Some((key, value)) = schema_needed(table) {
        wants_schema(checker, entries, key, value);
    }
    match table.name {
        "tool_composite" => steps(checker, entries),
        "agent_react" | "agent_match" => agent(checker, entries),
        "rule" => rule(checker, entries),
        "message" => message(checker, entries),
        "variable" => label(checker, entries),
        _ => {}
    }
}

/// Returns whether a mapping is a `$mem` layer, which GenX has and AgentX does not read yet. It is refused,
/// not ignored: the agent would lack a part of its definition.
pub(crate) fn reserved(checker: &mut Checker<'_>, shapes: &[Shape], entries: &Entries) -> bool {
    let is_layer = |shape: &Shape| matches!(shape, Shape::Map(table) if table.marker == Some("$this"));
    let Some((key, _)) = entries.iter().find(|(key, _)| key.name == "$mem") else {
        return false;
    };
    if !shapes.iter().any(is_layer) {
        return false;
    }
    let hint = "remove this layer; the model reads the conversation anyway".to_owned();
    let message = "`$mem` is reserved: memory layers are not supported yet";
    checker.wrong(key.at, message, Some(hint));
    true
}

fn wants_schema(checker: &mut Checker<'_>, entries: &Entries, key: &str, value: &str) {
    let json = text_of(entries, key) == value;
    let Some(mode) = find(entries, key).filter(|_| json && find(entries, "output_schema").is_none()) else {
        return;
    };
    checker.wrong(mode.at, format!("`{key}: {value}` needs `output_schema`"), None);
}

fn steps(checker: &mut Checker<'_>, entries: &Entries) {
    let steps: Vec<(&Entries, String)> = items(entries, "steps")
        .iter()
        .filter_map(|step| match &step.value {
            Yaml::Map(step) => Some((step.as_slice(), text_of(step, "id"))),
            _ => None,
        })
        .collect();
    for (index, (step, name)) in steps.iter().enumerate() {
        let (before, after) = steps.split_at(index);
        let repeated = !name.is_empty() && before.iter().any(|(_, earlier)| earlier == name);
        if let Some(id) = find(step, "id").filter(|_| repeated) {
            checker.wrong(id.at, format!("two steps have the id `{name}`"), None);
        }
        let names = |steps: &[(&Entries, String)]| -> Vec<String> {
            steps.iter().map(|(_, name)| name.clone()).collect()
        };
        note_unknown_paths(checker, step, &names(before), &names(after));
    }
}

/// A step reads `{input, steps}`, where `steps` has the steps before it: any other path is always null.
fn note_unknown_paths(checker: &mut Checker<'_>, step: &Entries, before: &[String], after: &[String]) {
    let Some(node) = find(step, "input_jq") else {
        return;
    };
    let text = text_of(step, "input_jq");
    // The reader of the key has already reported an invalid filter.
    let Ok(filter) = JqFilter::compile(&text) else {
        return;
    };
    for read in filter.reads() {
        let keys: Vec<&str> = read.keys.iter().map(String::as_str).collect();
        let at = checker.source.position_in(node.at, &text, read.offset);
        match keys[..] {
            ["input", ..] | ["steps"] => {}
            ["steps", name, ..] if before.iter().any(|earlier| earlier == name) => {}
            ["steps", name, ..] if after.iter().any(|later| later == name) => {
                let message =
                    format!("`.steps.{name}` is not available yet: a step can only read earlier steps");
                checker.wrong(at, message, None);
            }
            ["steps", name, ..] => {
                let hint = did_you_mean(name, before.iter().map(String::as_str));
                checker.wrong(at, format!("`.steps.{name}`: no step has the id `{name}`"), hint);
            }
            [name, ..] => {
                let message = format!("`.{name}` is always null: a step gets `{{input, steps}}`");
                checker.wrong(at, message, Some(format!("did you mean `.input.{name}`?")));
            }
            [] => {}
        }
    }
}

fn agent(checker: &mut Checker<'_>, entries: &Entries) {
    if let Some(model) = find(entries, "model").filter(|_| find(entries, "generator").is_some()) {
        checker.wrong(
            model.at,
            "`model` is short for `generator: {model: …}`; set only one of them",
            None,
        );
    }
    for layer in items(entries, "context_layers") {
        let Yaml::Map(layer) = &layer.value else { continue };
        let key = text_of(layer, "$this");
        let missing = key.strip_prefix('.').filter(|key| find(entries, key).is_none());
        if let Some(node) = find(layer, "$this").filter(|_| missing.is_some()) {
            checker.wrong(
                node.at,
                format!(
                    "`$this: {key}`: this file has no `{}`",
                    missing.unwrap_or_default()
                ),
                None,
            );
        }
    }
    tools(checker, entries);
    let known = rule_names(entries);
    unique(checker, items(entries, "rules"), "rules");
    for route in items(entries, "route") {
        let Yaml::Map(route) = &route.value else { continue };
        for rule in items(route, "rules") {
            let Yaml::Text(name) = &rule.value else { continue };
            if !known.contains(short(name)) {
                let hint = did_you_mean(short(name), known.iter().map(String::as_str));
                checker.wrong(
                    rule.at,
                    format!("`{name}` is not one of the `rules` of this agent"),
                    hint,
                );
            }
        }
    }
}

fn tools(checker: &mut Checker<'_>, entries: &Entries) {
    unique(checker, items(entries, "tools"), "tools");
    unique(checker, items(entries, "agents"), "agents");
}

/// Returns a name without the kind before its colon.
fn short(name: &str) -> &str {
    name.split_once(':').map_or(name, |(_, name)| name)
}

/// Returns the name by which a list holds an item: that of a reference, or of what is written in place.
fn name_of(node: &YamlNode) -> String {
    match &node.value {
        Yaml::Text(name) => short(name).to_owned(),
        Yaml::Map(entries) => match find(entries, "$ref") {
            Some(_) => short(&text_of(entries, "$ref")).to_owned(),
            None => text_of(entries, "name"),
        },
        _ => String::new(),
    }
}

fn rule_names(entries: &Entries) -> BTreeSet<String> {
    items(entries, "rules").iter().map(name_of).collect()
}

fn unique(checker: &mut Checker<'_>, items: &[YamlNode], key: &str) {
    let mut seen = BTreeSet::new();
    for item in items {
        let name = name_of(item);
        if !name.is_empty() && !seen.insert(name.clone()) {
            checker.wrong(item.at, format!("`{key}` contains `{name}` twice"), None);
        }
    }
}

fn rule(checker: &mut Checker<'_>, entries: &Entries) {
    let vars: BTreeSet<String> = match find(entries, "vars").map(|node| &node.value) {
        Some(Yaml::Map(vars)) => {
            for (name, _) in vars.iter().filter(|(name, _)| !is_variable(&name.name)) {
                let what = format!(
                    "`{}` is not allowed in `[…]`: a variable consists of ASCII letters, digits and `_`",
                    name.name
                );
                checker.wrong(name.at, what, None);
            }
            vars.iter().map(|(name, _)| name.name.clone()).collect()
        }
        _ => BTreeSet::new(),
    };
    for pattern in items(entries, "patterns") {
        let texts: &[YamlNode] = match &pattern.value {
            Yaml::List(texts) => texts,
            _ => std::slice::from_ref(pattern),
        };
        for node in texts {
            let Yaml::Text(text) = &node.value else { continue };
            declared(checker, node, text, &vars);
        }
    }
}

/// Each `[var]` whose text could be the name of a variable is one. Other words in brackets are part of the
/// text: a hint to the model in its own language.
fn declared(checker: &mut Checker<'_>, node: &YamlNode, text: &str, vars: &BTreeSet<String>) {
    let mut offset = 0;
    while !checker.is_full()
        && let Some(start) = text
            .get(offset..)
            .and_then(|rest| rest.find('['))
            .map(|at| offset + at)
    {
        let after = text.get(start + 1..).unwrap_or_default();
        let Some(end) = after.find(']') else {
            let at = checker.source.position_in(node.at, text, start);
            checker.wrong(at, "a `[` without its `]`", None);
            return;
        };
        let name = after.get(..end).unwrap_or_default();
        if is_variable(name) && !vars.contains(name) {
            let at = checker.source.position_in(node.at, text, start);
            let hint = did_you_mean(name, vars.iter().map(String::as_str));
            checker.wrong(at, format!("`[{name}]` is not declared in `vars`"), hint);
        }
        offset = start + end + 2;
    }
}

fn label(checker: &mut Checker<'_>, entries: &Entries) {
    if let Some(node) =
        find(entries, "label").filter(|_| text_of(entries, "label").contains(['[', ']', '\n']))
    {
        checker.wrong(
            node.at,
            "`label` is shown in brackets: it must not contain brackets or line breaks",
            None,
        );
    }
}

/// Returns a pattern, or a pattern and its output.
pub(crate) fn pattern(checker: &mut Checker<'_>, node: &YamlNode) -> Option<Value> {
    let line = |checker: &mut Checker<'_>, node: &YamlNode| match &node.value {
        Yaml::Text(text) if text.trim().is_empty() => {
            checker.wrong(node.at, "`patterns`: a pattern is empty", None);
            None
        }
        Yaml::Text(text) if text.contains(['\n', '\r']) => {
            checker.wrong(node.at, "`patterns`: a pattern must be one line", None);
            None
        }
        Yaml::Text(text) => Some(Value::from(text.as_str())),
        _ => {
            checker.expected("patterns", node, "text, or a list of two texts");
            None
        }
    };
    match &node.value {
        Yaml::List(parts) if parts.len() == 2 => {
            let parts: Vec<Option<Value>> = parts.iter().map(|part| line(checker, part)).collect();
            parts.into_iter().collect::<Option<Vec<_>>>().map(Value::Array)
        }
        Yaml::List(parts) => {
            checker.wrong(
                node.at,
                format!("`patterns`: a pair has two texts, this has {}", parts.len()),
                None,
            );
            None
        }
        _ => line(checker, node),
    }
}

/// Subject, then the input and the lines of the output, if given.
pub(crate) fn example(checker: &mut Checker<'_>, node: &YamlNode) -> Option<Value> {
    let Yaml::List(parts) = &node.value else {
        checker.expected(
            "examples",
            node,
            "a list of one to three texts: subject, input, answer",
        );
        return None;
    };
    if !(1..=3).contains(&parts.len()) {
        checker.wrong(
            node.at,
            format!("`examples`: expected one to three texts, found {}", parts.len()),
            None,
        );
        return None;
    }
    let mut texts = Vec::new();
    for part in parts {
        match &part.value {
            Yaml::Text(text) => texts.push(Value::from(text.as_str())),
            _ => checker.expected("examples", part, "text"),
        }
    }
    (texts.len() == parts.len()).then_some(Value::Array(texts))
}

/// Checks the keys of a message by its role.
fn message(checker: &mut Checker<'_>, entries: &Entries) {
    let role = text_of(entries, "role");
    let allowed: &[&str] = match role.as_str() {
        "user" => &["role", "content"],
        "model" => &[
            "role",
            "content",
            "tool_call_id",
            "tool_call_name",
            "tool_call_args",
        ],
        "tool" => &["role", "content", "tool_result_id"],
        _ => return,
    };
    for (key, _) in entries {
        if !allowed.contains(&key.name.as_str()) {
            checker.wrong(
                key.at,
                format!("a message of `{role}` has no `{}`", key.name),
                None,
            );
        }
    }
    let at = find(entries, "role").map(|node| node.at).unwrap_or(START);
    let needs = |name: &str| find(entries, name).is_none();
    if role == "tool" && needs("tool_result_id") {
        checker.wrong(
            at,
            "a message of `tool` needs `tool_result_id`: the call that it answers",
            None,
        );
    }
    let calls = entries.iter().any(|(key, _)| key.name.starts_with("tool_call_"));
    if role == "model" && calls && (needs("tool_call_id") || needs("tool_call_name")) {
        checker.wrong(at, "a call needs `tool_call_id` and `tool_call_name`", None);
    }
}

/// Converts every way to name a model into one form.
pub(crate) fn one_generator(mut value: Value) -> Option<Value> {
    let map = value.as_object_mut()?;
    let model = map.remove("model");
    let short = match map.get("generator") {
        Some(Value::String(model)) => Some(Value::String(model.clone())),
        _ => model,
    };
    if let Some(model) = short {
        map.insert("generator".into(), json!({"model": model}));
    }
    if let Some(Value::String(mode)) = map.get("approval") {
        let mode = json!({"mode": mode});
        map.insert("approval".into(), mode);
    }
    Some(value)
}
