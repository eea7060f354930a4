//! Whatever bytes a file holds, reading it ends soon and without a panic; and a file that was read is read
//! the same again.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop")]

use std::path::Path;
use std::time::{Duration, Instant};

use agentx_agent_files::jq::JqFilter;
use agentx_agent_files::{
    FileOrigin, Library, LibraryOptions, MemoryFiles, Root, RootLayout, parse_agent, parse_rule, parse_tool,
};
use proptest::prelude::*;

/// Words of which files are made, put together in any order.
const WORDS: &[&str] = &[
    "name: a",
    "type: match",
    "type: http",
    "prompt: |",
    "  x",
    "- $ref: ./a.yaml",
    "$ref: agent:a",
    "lua: |",
    "tools:",
    "rules:",
    "route:",
    "  - rules: [a]",
    "patterns: [\"[x]\", [a, b]]",
    "vars: {x: {label: y}}",
    "params: {a: {type: string}}",
    "&a [*a]",
    "*a",
    "steps:",
    "  - id: a",
    "    tool: {$ref: b}",
    "req_body_jq: .a | (",
    "headers: {A: \"${B}\"}",
    "---",
    "\t",
    "? a",
    "!!x y",
    "context_layers: [{$mem: {}}]",
    "{",
    "}",
    "[",
    "]",
    "\"",
    ":",
    "--[[",
    "]]",
    "null",
    "1e999",
    "agents: [a]",
    "default: a",
    "limits: {timeout: 1s}",
    "generator: {model: m}",
    "\\u",
    "9999999999999999999999",
];

fn text() -> impl Strategy<Value = String> {
    let words =
        prop::collection::vec((prop::sample::select(WORDS), prop::bool::ANY), 0..24).prop_map(|words| {
            let ends = words
                .into_iter()
                .map(|(word, new_line)| format!("{word}{}", if new_line { "\n" } else { " " }));
            ends.collect::<String>()
        });
    prop_oneof![3 => words, 1 => any::<String>(), 1 => "[\\x00-\\x7f]{0,200}"]
}

fn check(files: MemoryFiles) {
    let roots = [Root {
        path: "w".into(),
        origin: FileOrigin::Workspace,
        layout: RootLayout::AgentX,
    }];
    let start = Instant::now();
    let library = Library::load(&roots, &files, LibraryOptions::default());
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    for mistake in library.check() {
        assert!(mistake.line > 0 && mistake.column > 0, "{mistake}");
        assert!(!mistake.message.contains("cannot parse it"), "{mistake}");
    }
    for (name, agent) in library.agents() {
        let text = serde_json::to_string(&agent.definition).unwrap();
        let again = parse_agent(Path::new("again.json"), &text)
            .unwrap_or_else(|mistakes| panic!("{name}: {text}: {mistakes:?}"));
        assert_eq!(again, agent.definition);
    }
    for (name, tool) in library.tools() {
        // A tool also names the file of its script; a file may give only one of the two.
        let mut value = serde_json::to_value(&tool.definition).unwrap();
        if value.get("lua").is_some() {
            value.as_object_mut().unwrap().remove("lua_file");
        }
        let again = parse_tool(Path::new("again.json"), &value.to_string());
        assert!(again.is_ok(), "{name}: {value}: {again:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_text_is_a_panic(texts in prop::collection::vec(text(), 6)) {
        let places = ["w/agents/a.yaml", "w/agents/b.json", "w/tools/a.yaml", "w/tools/b.luau", "w/rules/a.yaml", "w/generators/a.yaml"];
        check(places.into_iter().zip(texts).collect());
    }

    #[test]
    fn no_bytes_are_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let places = ["w/agents/a.yaml", "w/agents/b.json", "w/tools/b.luau"];
        check(places.into_iter().map(|place| (place, bytes.clone())).collect());
    }

    #[test]
    fn no_filter_is_a_panic(text in "[a-z.|()\\[\\]{}:,;$@\"\\\\ 0-9+*/-]{0,60}") {
        let _ = JqFilter::compile(&text).map(|filter| filter.text().len());
    }
}

#[test]
fn long_files_are_read_in_time() {
    let start = Instant::now();
    let lines = "  - x\n".repeat(90_000);
    let _ = parse_agent(Path::new("a.yaml"), &format!("name: a\ncontext_layers:\n{lines}"));
    let wrong = "  - [title] [title] [title]\n".repeat(15_000);
    let _ = parse_rule(Path::new("r.yaml"), &format!("name: r\npatterns:\n{wrong}"));
    let keys: String = (0..20_000).map(|n| format!("k{n}: 1\n")).collect();
    let _ = parse_tool(Path::new("t.yaml"), &keys);
    let mut json = "{\"name\": \"a\"".to_owned();
    (0..50_000).for_each(|n| json.push_str(&format!(",\"k{n}\":1")));
    let _ = parse_agent(Path::new("a.json"), &format!("{json}}}"));
    let scripts = "--[[ ".repeat(50_000);
    let _ = parse_tool(Path::new("t.luau"), &scripts);
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}
