//! The golden facts as a newer version may write them: each with one word, tag or variant that this version
//! does not know.
#![allow(dead_code, reason = "each program of tests uses a part of it")]

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::Value;

/// The placeholder of something new.
pub(crate) const NEW: &str = "zzz";

/// A golden line in which one thing is new.
pub(crate) struct Newer {
    /// The line of the file, from 0.
    pub(crate) line: usize,
    /// The event with its payload.
    pub(crate) event: Value,
    /// The position in the line.
    pub(crate) place: String,
    /// The text at this position.
    pub(crate) was: String,
    /// Whether it is a single word; else it is the tag of a part, or the name of a variant with fields.
    pub(crate) is_word: bool,
}

/// The lines of a golden file.
pub(crate) fn golden(file: &str) -> Vec<Value> {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let mut above = here
        .ancestors()
        .map(|folder| folder.join("crates/types/tests/golden"));
    let path = above.find(|folder| folder.is_dir()).unwrap().join(file);
    let text = std::fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// All words of the small closed sets.
fn words() -> BTreeSet<String> {
    let sets = golden("words.jsonl");
    let lists = sets.iter().flat_map(|set| set.as_object().unwrap().values());
    let words = lists.flat_map(|list| list.as_array().unwrap());
    words.map(|word| word.as_str().unwrap().to_owned()).collect()
}

/// Every line of a golden file, once for each thing in it that may be new.
pub(crate) fn newer(file: &str) -> Vec<Newer> {
    let words = words();
    let mut all = Vec::new();
    for (line, event) in golden(file).into_iter().enumerate() {
        let mut places = Vec::new();
        walk(&event["payload"], "/payload", "", &mut |place, was, is_word| {
            if !is_word || words.contains(was) || place.ends_with("/refused") {
                places.push((place.to_owned(), was.to_owned(), is_word));
            }
        });
        for (place, was, is_word) in places {
            let mut event = event.clone();
            put(&mut event, &place, is_word);
            all.push(Newer {
                line,
                event,
                place,
                was,
                is_word,
            });
        }
    }
    all
}

/// Returns each string, each name of a variant and each tag of a part, with its position.
fn walk(value: &Value, place: &str, key: &str, found: &mut impl FnMut(&str, &str, bool)) {
    const VARIANTS: &[&str] = &["change", "source", "outcome"];
    // Fields with the own words of tools and models.
    const FREE: &[&str] = &["input", "input_schema", "data", "args", "details", "done"];
    match value {
        Value::String(word) => found(place, word, key != "type"),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                walk(item, &format!("{place}/{index}"), "", found);
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                if VARIANTS.contains(&key) {
                    found(&format!("{place}/{name}"), name, false);
                }
                if !(FREE.contains(&name.as_str()) && (name != "input" || value.is_object())) {
                    walk(value, &format!("{place}/{name}"), name, found);
                }
            }
        }
        _ => {}
    }
}

/// Puts the new thing at this position: it replaces a string, or the name of a field.
fn put(event: &mut Value, place: &str, is_word: bool) {
    if is_word || place.ends_with("/type") {
        *event.pointer_mut(place).unwrap() = NEW.into();
        return;
    }
    let (parent, name) = place.rsplit_once('/').unwrap();
    let fields = event.pointer_mut(parent).unwrap().as_object_mut().unwrap();
    let value = fields.remove(name).unwrap();
    fields.insert(NEW.into(), value);
}
