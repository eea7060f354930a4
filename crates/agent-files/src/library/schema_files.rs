//! JSON Schemas in separate files, which agents name by a path (`output: answer.schema.json`). Their contents
//! take the place of the path, so that nothing later needs the file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;

use crate::keys::tables::MAX_SCRIPT_BYTES;
use crate::library::loading::Loading;
use crate::library::named_paths::script_places;
use crate::read::findings::{LocatedText, SCHEMA_FILE};

/// Reads the schemas that an entry names: next to its file, else below the root.
pub(crate) fn read(loading: &mut Loading<'_>, index: usize) {
    let Some(entry) = loading.entries.get(index) else {
        return;
    };
    let mut schemas = BTreeMap::new();
    for LocatedText { at, text, .. } in entry.read.findings.schema_files.clone() {
        match schema_of(loading, index, &text) {
            Ok(schema) => {
                if let Some(entry) = loading.entries.get_mut(index) {
                    let placed = (at, "output".to_owned(), schema.clone());
                    entry.read.findings.schemas.push(placed);
                }
                schemas.insert(text, schema);
            }
            Err(why) => loading.wrong_at(index, at, format!("`output`: `{text}`: {why}"), None),
        }
    }
    let value = loading
        .entries
        .get_mut(index)
        .and_then(|entry| entry.read.value.as_mut());
    if let Some(value) = value.filter(|_| !schemas.is_empty()) {
        fill(value, &schemas);
    }
}

fn schema_of(loading: &mut Loading<'_>, index: usize, named: &str) -> Result<Value, String> {
    let entry = loading.entries.get(index).ok_or("there is no such file")?;
    let root = entry.root;
    let places: Vec<PathBuf> = script_places(&entry.path, named).collect();
    if places.is_empty() {
        return Err("it is outside the folder of this file".to_owned());
    }
    let mut why = String::new();
    for path in places {
        match loading.text(root, &path, MAX_SCRIPT_BYTES) {
            Ok(text) => return schema(&text),
            Err(unread) if why.is_empty() => why = unread.to_string(),
            Err(_) => {}
        }
    }
    Err(why)
}

fn schema(text: &str) -> Result<Value, String> {
    match serde_json::from_str(text) {
        Ok(schema @ (Value::Object(_) | Value::Bool(_))) => Ok(schema),
        Ok(_) => Err("a JSON Schema is an object, `true` or `false`".to_owned()),
        Err(error) => Err(format!("this is not JSON: {error}")),
    }
}

/// Puts the schemas in place of their paths.
fn fill(value: &mut Value, schemas: &BTreeMap<String, Value>) {
    let path = value
        .as_object()
        .filter(|map| map.len() == 1)
        .and_then(|map| map.get(SCHEMA_FILE)?.as_str());
    if let Some(schema) = path.and_then(|path| schemas.get(path)).cloned() {
        *value = schema;
        return;
    }
    match value {
        Value::Object(map) => map.values_mut().for_each(|value| fill(value, schemas)),
        Value::Array(items) => items.iter_mut().for_each(|value| fill(value, schemas)),
        _ => {}
    }
}
