//! Searching the tools of servers: whether the right one is found, and the contents of requests.
//!
//! The 200 tools (`tools.txt`: server, name, description, parameters) and the 50 sentences (`sentences.txt`:
//! the right tool, and how a person might ask for it) are made up. No sentence copies a description.
#![allow(clippy::unwrap_used, reason = "a test that cannot start fails")]

use std::collections::BTreeMap;

use agentx_agent::tool_search::{MOST_FOUND, rank};
use agentx_types::{Access, ToolReach, ToolSpec};
use serde_json::{Map, Value, json};

const TOOLS: &str = include_str!("tools.txt");
const SENTENCES: &str = include_str!("sentences.txt");

fn tools() -> Vec<ToolSpec> {
    let tool = |line: &str| {
        let parts: Vec<&str> = line.split('|').collect();
        let (server, name) = (parts[0], parts[1]);
        let parameters = parts[3].split_whitespace();
        let parameters: Map<String, Value> = parameters
            .map(|name| (name.to_owned(), json!({"type": "string"})))
            .collect();
        let schema = json!({"type": "object", "properties": parameters});
        let reach = ToolReach {
            mcp: Some(format!("{server}/{name}")),
            ..ToolReach::default()
        };
        ToolSpec::new(format!("{server}__{name}"), parts[2], schema, Access::Run).with_reach(reach)
    };
    TOOLS.lines().map(tool).collect()
}

#[test]
fn the_right_tool_is_among_the_first_five_for_nine_of_ten_sentences() {
    let tools = tools();
    let mut missed = Vec::new();
    let mut places: BTreeMap<usize, usize> = BTreeMap::new();
    for line in SENTENCES.lines() {
        let (right, sentence) = line.split_once('|').unwrap();
        assert!(tools.iter().any(|tool| tool.name == right), "{right}");
        let found = rank(&tools, sentence);
        let place = found.iter().position(|tool| tool.name == right);
        match place.filter(|place| *place < MOST_FOUND) {
            Some(place) => *places.entry(place).or_default() += 1,
            None => missed.push((sentence, place, found.first().map(|tool| &tool.name))),
        }
    }
    assert_eq!((tools.len(), SENTENCES.lines().count()), (200, 50));
    assert!(
        missed.len() <= 5,
        "places: {places:?}; not among the first {MOST_FOUND}: {missed:#?}"
    );
}
