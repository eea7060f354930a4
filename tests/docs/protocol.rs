//! docs/PROTOCOL.md has every tag, field and word of the golden files, and none that is not there.

use std::collections::{BTreeMap, BTreeSet};

use agentx::types::{Envelope, RuntimeEvent};
use serde_json::Value;

use crate::markdown::{blocks, quoted, read, rows, section};
use crate::none;

const PAGE: &str = "docs/PROTOCOL.md";
/// Values that are whatever a tool or a provider makes them.
const FREE: &[&str] = &["input", "details", "data", "args", "input_schema"];

/// Fields, and whether they may be left out.
type Fields = BTreeMap<String, bool>;

fn golden(file: &str) -> Vec<Value> {
    let text = read(&format!("crates/types/tests/golden/{file}.jsonl"));
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The fields of objects that stand for one thing: a field may be left out if one of them does without it.
fn fields(objects: &[&Value]) -> Fields {
    let keys: BTreeSet<&String> = objects
        .iter()
        .flat_map(|object| object.as_object().unwrap().keys())
        .collect();
    keys.into_iter()
        .map(|key| {
            (
                key.clone(),
                objects.iter().any(|object| object.get(key).is_none()),
            )
        })
        .collect()
}

/// Every tag of a vocabulary with the fields of its payload, as the golden file has them.
fn frozen(file: &str) -> BTreeMap<String, Fields> {
    let lines = golden(file);
    let mut payloads: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
    for line in &lines {
        let tag = line["event"].as_str().unwrap().to_owned();
        payloads.entry(tag).or_default().push(&line["payload"]);
    }
    payloads
        .into_iter()
        .map(|(tag, payloads)| (tag, fields(&payloads)))
        .collect()
}

/// A field as it is written: with `?` where it may be left out.
fn field(written: &str) -> (String, bool) {
    match written.strip_suffix('?') {
        Some(name) => (name.to_owned(), true),
        None => (written.to_owned(), false),
    }
}

/// Every tag with its fields, as the page has them: each line of a payload begins with the field.
fn documented(page: &str, heading: &str) -> BTreeMap<String, Fields> {
    rows(section(page, heading))
        .into_iter()
        .map(|row| {
            let begins = row[2].split("<br>").filter(|line| line.starts_with('`'));
            let fields = begins.map(|line| field(&quoted(line)[0])).collect();
            (quoted(&row[0])[0].clone(), fields)
        })
        .collect()
}

fn shown(fields: &Fields) -> String {
    let names: Vec<String> = fields
        .iter()
        .map(|(name, optional)| format!("{name}{}", if *optional { "?" } else { "" }))
        .collect();
    names.join(" ")
}

/// What differs between the page and the golden file.
fn differences(page: &BTreeMap<String, Fields>, frozen: &BTreeMap<String, Fields>) -> Vec<String> {
    let tags: BTreeSet<&String> = page.keys().chain(frozen.keys()).collect();
    tags.into_iter()
        .filter(|tag| page.get(*tag) != frozen.get(*tag))
        .map(|tag| {
            let of = |side: &BTreeMap<String, Fields>| side.get(tag).map_or("nothing".to_owned(), shown);
            format!("{tag}: the page has {}, the golden file {}", of(page), of(frozen))
        })
        .collect()
}

#[test]
fn the_page_has_every_tag_and_field() {
    let page = read(PAGE);
    let mut wrong = differences(&documented(&page, "## EnvironmentEvents"), &frozen("environment"));
    wrong.extend(differences(
        &documented(&page, "## RuntimeEvents"),
        &frozen("runtime"),
    ));
    none(&wrong, "docs/PROTOCOL.md and the vocabularies");
}

#[test]
fn the_page_has_every_field_of_the_frame() {
    let lines: Vec<Value> = ["envelope", "derived_envelope"]
        .into_iter()
        .flat_map(golden)
        .collect();
    let mut frozen = fields(&lines.iter().collect::<Vec<_>>());
    // Facts have none, and the golden lines show one all the same.
    frozen.insert("index".to_owned(), true);
    let page: Fields = rows(section(&read(PAGE), "## The frame"))
        .iter()
        .map(|row| field(&quoted(&row[0])[0]))
        .collect();
    assert_eq!(shown(&page), shown(&frozen));
}

#[test]
fn the_page_has_every_word() {
    let page = read(PAGE);
    let documented: BTreeMap<String, Vec<String>> = rows(section(&page, "### Words"))
        .into_iter()
        .map(|row| (row[0].clone(), quoted(&row[2])))
        .collect();
    let mut frozen = BTreeMap::new();
    for line in golden("words") {
        for (set, words) in line.as_object().unwrap() {
            let words = words.as_array().unwrap().iter();
            let words: Vec<String> = words.map(|word| word.as_str().unwrap().to_owned()).collect();
            frozen.insert(set.clone(), words);
        }
    }
    assert_eq!(documented, frozen);
}

/// Every key of every object in a value, except in values that are free.
fn keys(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                found.insert(key.clone());
                if !FREE.contains(&key.as_str()) {
                    keys(value, found);
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| keys(value, found)),
        _ => {}
    }
}

#[test]
fn the_page_has_every_field_of_a_value() {
    let page: BTreeSet<String> = quoted(&crate::markdown::prose(&read(PAGE)))
        .into_iter()
        .map(|word| field(&word).0)
        .collect();
    let mut found = BTreeSet::new();
    for line in golden("environment").iter().chain(&golden("runtime")) {
        keys(&line["payload"], &mut found);
    }
    let wrong: Vec<String> = found.into_iter().filter(|key| !page.contains(key)).collect();
    none(&wrong, "fields that docs/PROTOCOL.md does not name");
}

#[test]
fn the_samples_of_the_page_can_be_read() {
    let blocks = blocks(&read(PAGE));
    let samples: Vec<&str> = blocks
        .iter()
        .filter(|block| block.language == "json")
        .map(|block| block.text.as_str())
        .collect();
    let frame: Envelope<RuntimeEvent> = serde_json::from_str(samples[0]).unwrap();
    assert!(matches!(frame.event, RuntimeEvent::TextDelta(_)), "{frame:?}");
    assert_eq!(serde_json::to_string(&frame).unwrap(), samples[0].trim());
    let result: Value = serde_json::from_str(samples[1]).unwrap();
    let names: BTreeSet<String> = rows(section(&read(PAGE), "## The result of a headless run"))
        .iter()
        .flat_map(|row| quoted(&row[0]))
        .map(|name| field(&name).0)
        .collect();
    let missing: Vec<&String> = result
        .as_object()
        .unwrap()
        .keys()
        .filter(|key| !names.contains(*key))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
