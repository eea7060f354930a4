//! docs/PROTOCOL.md has every tag, field and word of the golden files, and no others.

use std::collections::{BTreeMap, BTreeSet};

use agentx::types::wire::{ClientFrame, ClientRequest, ServerNotice};
use agentx::types::{Envelope, RuntimeEvent};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::markdown::{blocks, quoted, read, rows, section};
use crate::none;

pub(crate) const PAGE: &str = "docs/PROTOCOL.md";
/// Values that are whatever a tool or a provider makes them.
const FREE: &[&str] = &["input", "details", "data", "args", "input_schema", "form", "done"];

/// Fields, and whether they may be left out.
pub(crate) type Fields = BTreeMap<String, bool>;

pub(crate) fn golden(file: &str) -> Vec<Value> {
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

/// A field in the form of the page: with `?` if it may be left out.
pub(crate) fn field(written: &str) -> (String, bool) {
    match written.strip_suffix('?') {
        Some(name) => (name.to_owned(), true),
        None => (written.to_owned(), false),
    }
}

/// Every tag with its fields, as the page has them: each line of a payload begins with the field.
pub(crate) fn documented(page: &str, heading: &str) -> BTreeMap<String, Fields> {
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

/// Returns the differences between the page and the golden file.
pub(crate) fn differences(page: &BTreeMap<String, Fields>, frozen: &BTreeMap<String, Fields>) -> Vec<String> {
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
    let mut wrong = Vec::new();
    for (heading, file) in [
        ("## EnvironmentEvents", "environment"),
        ("## RuntimeEvents", "runtime"),
        ("## UiEvents", "ui"),
        ("## Notices", "notice"),
    ] {
        wrong.extend(differences(&documented(&page, heading), &frozen(file)));
    }
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
    for file in ["environment", "runtime", "ui", "client", "notice"] {
        // What comes of a command is whatever the command makes it.
        let lines = golden(file)
            .into_iter()
            .filter(|line| line["event"] != "accepted");
        lines.for_each(|line| keys(&line["payload"], &mut found));
    }
    golden("person").iter().for_each(|line| keys(line, &mut found));
    let wrong: Vec<String> = found.into_iter().filter(|key| !page.contains(key)).collect();
    none(&wrong, "fields that docs/PROTOCOL.md does not name");
}

/// The lines of the page's blocks of JSON.
fn samples() -> Vec<String> {
    let blocks = blocks(&read(PAGE)).into_iter();
    let json = blocks.filter(|block| block.language == "json");
    json.flat_map(|block| block.text.lines().map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

/// The name of the type that a line is read as, and the line written again.
fn read_again(line: &str, value: &Value) -> (&'static str, String) {
    fn again<T: DeserializeOwned + Serialize>(line: &str) -> String {
        let read: T = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        serde_json::to_string(&read).unwrap()
    }
    if value.get("seq").is_some() {
        let event: Envelope<RuntimeEvent> = serde_json::from_str(line).unwrap();
        assert!(!matches!(event.event, RuntimeEvent::Unknown(_)), "{line}");
        ("event", serde_json::to_string(&event).unwrap())
    } else if value.get("event").is_some() {
        let notice: ServerNotice = serde_json::from_str(line).unwrap();
        assert!(!matches!(notice, ServerNotice::Unknown(_)), "{line}");
        ("notice", again::<ServerNotice>(line))
    } else if value["type"] == "result" {
        ("result", line.to_owned())
    } else if value.get("type").is_some() {
        let frame: ClientFrame = serde_json::from_str(line).unwrap();
        assert!(!matches!(frame.request, ClientRequest::Unknown(_)), "{line}");
        ("client", line.to_owned())
    } else {
        ("body", line.to_owned())
    }
}

#[test]
fn the_samples_of_the_page_can_be_read() {
    let mut kinds = BTreeSet::new();
    for line in samples() {
        let value: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let (kind, again) = read_again(&line, &value);
        assert_eq!(again, line, "{kind}");
        kinds.insert(kind);
    }
    assert_eq!(
        kinds,
        BTreeSet::from(["body", "client", "event", "notice", "result"])
    );
}

#[test]
fn the_page_has_every_field_of_a_result() {
    let result = samples()
        .into_iter()
        .find(|line| line.contains("\"type\":\"result\""));
    let result: Value = serde_json::from_str(&result.unwrap()).unwrap();
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
