//! Checks what docs/PROTOCOL.md says about connections: the frames of clients with their optional fields, the
//! signed text with a sample, every code of a problem.

use std::collections::{BTreeMap, BTreeSet};

use agentx_identity::{PublicKey, SecretKey, Signature, challenge_text, owner_of};
use agentx_tests::workspace_root;
use serde_json::Value;

use crate::markdown::{blocks, quoted, read, rows, section};
use crate::none;
use crate::protocol::{Fields, PAGE, differences, documented};

/// The sources with codes of problems.
const SPEAKERS: &[&str] = &["crates/server/src", "crates/runtime/src/api/problem.rs"];
/// The text before a code of a problem.
const BEFORE: &[&str] = &[
    "problem(\"",
    "Failure::new(\"",
    "Failure::new(\n            \"",
    "Failure::new(\n                \"",
    "remote(\"",
    "remote(\n            \"",
    "code: \"",
    "=> (\"",
];

/// Every type of a client's frame with its fields, as the schema has them: here what may be left out is not
/// what our own clients leave out.
fn of_schema() -> BTreeMap<String, Fields> {
    let schema: Value = serde_json::from_str(&read("docs/protocol/agentx.v1.schema.json")).unwrap();
    let types = schema["$defs"]["ClientFrame"]["oneOf"].as_array().unwrap();
    let mut frames = BTreeMap::new();
    for kind in types {
        let parts = &kind["properties"];
        let Some(name) = parts["type"]["const"].as_str() else {
            continue;
        };
        let payload = parts["payload"]["$ref"].as_str().unwrap();
        let payload = &schema["$defs"][payload.trim_start_matches("#/$defs/")];
        let required = payload["required"].as_array().cloned().unwrap_or_default();
        let none = serde_json::Map::new();
        let fields = payload["properties"].as_object().unwrap_or(&none).keys();
        let fields = fields.map(|field| (field.clone(), !required.contains(&field.as_str().into())));
        frames.insert(name.to_owned(), fields.collect());
    }
    frames
}

#[test]
fn the_page_has_every_frame_of_a_client() {
    let page = read(PAGE);
    let section = section(&page, "## Client frames");
    // The commands have a table of their own.
    let frames = format!("\n## Client frames\n{}", section.split("\n### ").next().unwrap());
    let wrong = differences(&documented(&frames, "## Client frames"), &of_schema());
    none(&wrong, "frames of clients in docs/PROTOCOL.md");
}

#[test]
fn the_page_shows_what_is_signed() {
    let page = read(PAGE);
    let blocks = blocks(&page);
    let find = |begin: &str| {
        let texts = blocks.iter().flat_map(|block| block.text.lines());
        let line = texts.into_iter().find(|line| line.starts_with(begin));
        let line = line.unwrap_or_else(|| panic!("no sample begins with {begin}"));
        serde_json::from_str::<Value>(line).unwrap()["payload"].clone()
    };
    let hello = find("{\"event\":\"hello\"");
    let text = challenge_text(
        hello["origin"].as_str().unwrap(),
        hello["nonce"].as_str().unwrap(),
        hello["expires_at_ms"].as_u64().unwrap(),
    );
    assert!(
        blocks.iter().any(|block| block.text == text),
        "no block is\n{text}"
    );
    let said = find("{\"type\":\"authenticate\"");
    let key: PublicKey = said["public_key"].as_str().unwrap().parse().unwrap();
    let signature: Signature = said["signature"].as_str().unwrap().parse().unwrap();
    assert!(key.verify(text.as_bytes(), &signature));
    let seed: Vec<u8> = (0..32).collect();
    let secret = SecretKey::from_seed(&seed.try_into().unwrap()).unwrap();
    assert_eq!(secret.public_key(), &key, "the key is that of the seed");
    let person = find("{\"event\":\"accepted\",\"payload\":{\"id\":\"1\"");
    assert_eq!(person["result"]["person"], owner_of(&key).as_str());
}

/// Every code in the sources with which a problem is created. Tests may use others.
fn said_by(source: &str) -> BTreeSet<String> {
    let code = source.split("#[cfg(test)]\nmod tests {").next().unwrap();
    let mut codes = BTreeSet::new();
    for before in BEFORE {
        for rest in code.split(before).skip(1) {
            let word = rest.split('"').next().unwrap();
            if !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c == '_') {
                codes.insert(word.to_owned());
            }
        }
    }
    codes
}

fn sources(path: &std::path::Path, texts: &mut Vec<String>) {
    if path.is_dir() {
        for entry in std::fs::read_dir(path).unwrap() {
            sources(&entry.unwrap().path(), texts);
        }
    } else if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("tests.rs") {
        texts.push(std::fs::read_to_string(path).unwrap());
    }
}

#[test]
fn the_page_has_every_code_of_a_problem() {
    let page = read(PAGE);
    let documented: BTreeSet<String> = rows(section(&page, "### Problems"))
        .iter()
        .flat_map(|row| quoted(&row[0]))
        .collect();
    let mut texts = Vec::new();
    for place in SPEAKERS {
        sources(&workspace_root().join(place), &mut texts);
    }
    let said: BTreeSet<String> = texts.iter().flat_map(|text| said_by(text)).collect();
    assert!(
        said.contains("no_session") && said.contains("stale_epoch"),
        "{said:?}"
    );
    let wrong: Vec<String> = said.difference(&documented).cloned().collect();
    none(&wrong, "codes of problems that docs/PROTOCOL.md does not name");
}

/// Every request that the server has a route for: `GET /v1/health`.
fn routes() -> BTreeSet<String> {
    let lists = ["mod.rs", "route_lists.rs", "session_routes.rs"];
    let table = lists
        .map(|file| read(&format!("crates/server/src/http/{file}")))
        .concat();
    let mut routes = BTreeSet::new();
    for method in ["get", "post", "put", "patch", "delete"] {
        for row in table.split(&format!("Route::{method}(")).skip(1) {
            let path = row.split('"').nth(1).unwrap();
            routes.insert(format!("{} {path}", method.to_uppercase()));
        }
    }
    let socket = read("crates/server/src/ws/mod.rs");
    for row in socket.split(".route(\"").skip(1) {
        routes.insert(format!("GET {}", row.split('"').next().unwrap()));
    }
    routes
}

#[test]
fn the_page_has_every_request() {
    let page = read(PAGE);
    let table = section(&page, "## HTTP").split("\n### ").next().unwrap();
    let documented: BTreeSet<String> = rows(table).iter().flat_map(|row| quoted(&row[0])).collect();
    assert_eq!(documented, routes());
}
