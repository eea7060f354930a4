//! The files of GenX: they load unmodified except for memory layers, YAML and JSON twins are equal, and
//! invalid files are refused for the right reason.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_macros,
    clippy::panic,
    reason = "a test may stop, and prints what it leaves out"
)]

use std::fmt::Debug;
use std::path::{Path, PathBuf};

use agentx_agent_files::definition::{ContextLayer, ToolBody, ToolUse};
use agentx_agent_files::{
    DefinitionMistake, parse_agent, parse_layer, parse_message, parse_rule, parse_state, parse_tool,
};
use serde::Serialize;

/// A folder of the data; `None` if it is missing. Panics in CI in that case.
fn data(folder: &str) -> Option<PathBuf> {
    let root = std::env::var_os("AGENTX_TEST_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let path = root.join(folder);
    if path.is_dir() {
        return Some(path);
    }
    assert!(
        std::env::var_os("CI").is_none(),
        "CI needs the data: set AGENTX_TEST_DATA"
    );
    println!("not run: no data at {}", path.display());
    None
}

/// The files of a folder with their texts.
fn files(folder: &str) -> Vec<(PathBuf, String)> {
    let Some(folder) = data(folder) else {
        return Vec::new();
    };
    let mut files: Vec<(PathBuf, String)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.clone(), std::fs::read_to_string(path).unwrap()))
        .collect();
    files.sort();
    assert!(!files.is_empty());
    files
}

type Parse<T> = fn(&Path, &str) -> Result<T, Vec<DefinitionMistake>>;

fn show(mistakes: Vec<DefinitionMistake>) -> String {
    mistakes
        .iter()
        .map(DefinitionMistake::to_string)
        .collect::<Vec<_>>()
        .join("\n")
}

/// Reads all of them; twins are equal; what is written again reads the same.
fn all<T: Debug + PartialEq + Serialize>(folder: &str, parse: Parse<T>, takes: fn(&str) -> bool) -> Vec<T> {
    let mut read: Vec<(PathBuf, T)> = Vec::new();
    for (path, text) in files(folder) {
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        if !takes(&stem) {
            continue;
        }
        let value = parse(&path, &text).unwrap_or_else(|mistakes| panic!("{}", show(mistakes)));
        let again = serde_json::to_string(&value).unwrap();
        let again = parse(Path::new("again.json"), &again)
            .unwrap_or_else(|mistakes| panic!("{again}\n{}", show(mistakes)));
        assert_eq!(again, value, "{}", path.display());
        if let Some((twin, other)) = read.last()
            && twin.file_stem() == path.file_stem()
        {
            assert_eq!(&value, other, "{} and {}", twin.display(), path.display());
        }
        read.push((path, value));
    }
    read.into_iter().map(|(_, value)| value).collect()
}

#[test]
fn agents_load_and_twins_are_equal() {
    let agents = all("genx-agentcfg/agent", parse_agent, |_| true);
    for agent in &agents {
        match agent.name.as_str() {
            "router" => {
                assert_eq!((agent.rules.len(), agent.route.len()), (2, 2));
                assert!(agent.default.is_some());
            }
            "music_player" => assert_eq!(
                agent.tools[1],
                ToolUse::Ref {
                    name: "stop_music".into(),
                    quit: true
                }
            ),
            "full_agent" => {
                assert_eq!(
                    agent.context_layers[1],
                    ContextLayer::Ref("personality:friendly".into())
                );
                assert_eq!(agent.tools[2].name(), "inline_tool");
            }
            other => panic!("{other}"),
        }
    }
}

#[test]
fn tools_load_and_twins_are_equal() {
    for tool in all("genx-agentcfg/tool", parse_tool, |_| true) {
        match (&tool.body, tool.name.as_str()) {
            (ToolBody::Http(http), "get_weather") => assert_eq!(http.variables(), ["WEATHER_API_KEY"]),
            (ToolBody::Http(http), "secure_api") => assert_eq!(http.variables(), ["API_TOKEN"]),
            (ToolBody::Composite(composite), _) => assert!(composite.steps[1].input_jq.is_some()),
            (ToolBody::Generator(generator), "extract_keywords") => {
                assert!(generator.output_schema.is_some())
            }
            (ToolBody::BuiltIn, "echo") => assert_eq!(tool.input_schema()["required"][0], "text"),
            (ToolBody::Generator(_), "summarizer") => {}
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn context_layers_load_and_twins_are_equal() {
    let layers = all("genx-agentcfg/context", parse_layer, |stem| stem != "mem");
    assert!(layers.is_empty() || layers.len() == 6);
}

#[test]
fn layers_of_memory_are_refused_with_their_place() {
    for (path, text) in files("genx-agentcfg/context") {
        if path.file_stem().is_some_and(|stem| stem == "mem") {
            let place = if path.extension().is_some_and(|end| end == "json") {
                ":2:5: "
            } else {
                ":1:1: "
            };
            let shown = show(parse_layer(&path, &text).unwrap_err());
            assert!(shown.contains(&format!("{place}`$mem` is reserved")), "{shown}");
        }
    }
}

#[test]
fn states_load_and_twins_are_equal() {
    let states = all("genx-agentcfg/state", parse_state, |stem| {
        !stem.starts_with("message")
    });
    assert!(states.is_empty() || states.iter().any(|state| state.calling_state.is_some()));
    all("genx-agentcfg/state", parse_message, |stem| {
        stem.starts_with("message")
    });
}

#[test]
fn rules_load() {
    for rule in all("genx-match/rules", parse_rule, |_| true) {
        assert!(
            !rule.patterns.is_empty() && !rule.tests.is_empty(),
            "{}",
            rule.name
        );
    }
}

#[test]
fn rules_of_upstream_load_as_they_are() {
    let text = r#"
name: sing
vars:
  title: {type: string, description: a song, required: true}
  artist: {}
patterns: ["sing [title]"]
examples:
  - [a request of any kind]
  - [short, sing, sing]
"#;
    let rule = parse_rule(Path::new("sing.yaml"), text).unwrap();
    assert_eq!(rule.vars["title"].label, "");
    let said: Vec<Option<&str>> = rule
        .examples
        .iter()
        .map(|example| example.user.as_deref())
        .collect();
    assert_eq!(said, [None, Some("sing")]);
    // A rule is written as it was read.
    let written = serde_json::to_value(&rule).unwrap();
    assert_eq!(
        written["examples"][0],
        serde_json::json!(["a request of any kind"])
    );
}

#[test]
fn what_is_wrong_is_refused_for_its_reason() {
    for (path, text) in files("genx-agentcfg/error") {
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        let (mistakes, reason, line) = match stem.as_str() {
            "tool_unknown_type" => (
                parse_tool(&path, &text).unwrap_err(),
                "expected one of built-in, luau, http",
                2,
            ),
            "tool_composite_no_steps" => (parse_tool(&path, &text).unwrap_err(), "`steps` is missing", 1),
            "tool_text_processor_no_prompt" => {
                (parse_tool(&path, &text).unwrap_err(), "`prompt` is missing", 1)
            }
            "message_invalid_role" => (
                parse_message(&path, &text).unwrap_err(),
                "expected one of user, model, tool",
                2,
            ),
            "message_user_with_tool_call" => (
                parse_message(&path, &text).unwrap_err(),
                "a message of `user` has no `tool_call_id`",
                4,
            ),
            other => panic!("{other}"),
        };
        assert_eq!(mistakes.len(), 1, "{}", show(mistakes));
        assert!(mistakes[0].message.contains(reason), "{}", mistakes[0]);
        assert_eq!(mistakes[0].line, line, "{}", mistakes[0]);
    }
}
