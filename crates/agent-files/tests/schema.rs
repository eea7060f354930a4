//! The schemas accept everything that the reader accepts, and refuse as much as they can of what it refuses.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_macros,
    clippy::panic,
    reason = "a test may stop, and prints what it leaves out"
)]

use std::path::{Path, PathBuf};

use agentx_agent_files::{Scaffold, SchemaOf, parse_agent, parse_rule, parse_tool, scaffold, schema};
use jsonschema::Validator;
use serde_json::{Value, json};

fn validator(of: SchemaOf) -> Validator {
    jsonschema::draft202012::new(&schema(of)).unwrap()
}

/// JSON files of a folder of the data; none if it is missing. Panics in CI in that case.
fn files(folder: &str) -> Vec<(PathBuf, Value)> {
    let root = std::env::var_os("AGENTX_TEST_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let path = root.join(folder);
    if !path.is_dir() {
        assert!(
            std::env::var_os("CI").is_none(),
            "CI needs the data: set AGENTX_TEST_DATA"
        );
        println!("not run: no data at {}", path.display());
        return Vec::new();
    }
    let paths = std::fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
        .map(|path| {
            (
                path.clone(),
                serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap(),
            )
        })
        .collect()
}

#[test]
fn the_schemas_accept_the_data() {
    for (of, folder) in [
        (SchemaOf::Agent, "genx-agentcfg/agent"),
        (SchemaOf::Tool, "genx-agentcfg/tool"),
        (SchemaOf::Rule, "genx-match/rules"),
    ] {
        let validator = validator(of);
        for (path, value) in files(folder) {
            let errors: Vec<String> = validator
                .iter_errors(&value)
                .map(|error| error.to_string())
                .collect();
            assert!(errors.is_empty(), "{}: {errors:?}", path.display());
        }
    }
}

#[test]
fn the_schema_refuses_the_errors_of_tools() {
    let validator = validator(SchemaOf::Tool);
    for (path, value) in files("genx-agentcfg/error") {
        let is_tool = path.file_stem().unwrap().to_string_lossy().starts_with("tool_");
        if is_tool {
            assert!(!validator.is_valid(&value), "{}", path.display());
        }
    }
}

#[test]
fn schema_and_reader_agree_on_agents() {
    let agents = [
        (json!({"name": "a"}), true),
        (
            json!({"name": "a", "model": "m", "limits": {"timeout": "90s", "max_cost": 0.5}}),
            true,
        ),
        (
            json!({"name": "a", "generator": {"$ref": "generator:x", "temperature": 1}}),
            true,
        ),
        (
            json!({"name": "a", "context_layers": ["x", {"$env": "X"}, {"$this": ".name"}]}),
            true,
        ),
        (
            json!({"name": "a", "context_layers": ["x", {"$mem": {"recent": 3}}]}),
            false,
        ),
        (json!({"name": "a", "approval": "auto", "prompt": null}), true),
        (
            json!({"name": "a", "tools": [{"name": "t", "lua": "x"}, {"$ref": "t2", "quit": true}]}),
            true,
        ),
        (
            json!({"type": "match", "name": "a", "rules": ["r"], "route": [{"rules": ["r"], "agent": "b"}], "default": {"$ref": "c"}}),
            true,
        ),
        (json!({}), false),
        (json!({"name": "a", "prmpt": "x"}), false),
        (json!({"name": "a b"}), false),
        (json!({"type": "realtime", "name": "a"}), false),
        (json!({"type": "match", "name": "a"}), false),
        (
            json!({"name": "a", "context_layers": [{"$env": "X", "$this": ".prompt"}]}),
            false,
        ),
        (json!({"name": "a", "context_layers": [{}]}), false),
        (json!({"name": "a", "limits": {"timeout": 90}}), false),
        (
            json!({"name": "a", "tools": [{"name": "t", "endpoint": "https://h"}]}),
            false,
        ),
    ];
    let validator_of_agents = validator(SchemaOf::Agent);
    for (value, right) in agents {
        let read = parse_agent(Path::new("a.json"), &value.to_string());
        assert_eq!(read.is_ok(), right, "{value}: {read:?}");
        assert_eq!(validator_of_agents.is_valid(&value), right, "{value}");
    }
}

#[test]
fn schema_and_reader_agree_on_tools_and_rules() {
    let http = json!({"type": "http", "name": "t", "method": "GET", "endpoint": "https://h"});
    let with = |key: &str, value: Value| {
        let mut tool = http.clone();
        tool[key] = value;
        tool
    };
    let tools = [
        (http.clone(), true),
        (with("auth", json!({"type": "bearer", "token": "${T}"})), true),
        (with("timeout", json!("3s")), true),
        (
            json!({"name": "t", "lua": "x", "params": {"a": "string", "b": {"type": "integer", "optional": true}}, "limits": {"memory": "64 MiB"}}),
            true,
        ),
        (
            json!({"name": "t", "params": {"type": "object", "properties": {}}}),
            true,
        ),
        (
            json!({"name": "t", "params": {"type": "array", "items": {"anyOf": [{"type": "string"}]}}}),
            true,
        ),
        (
            json!({"name": "t", "params": {"type": "string", "maxLength": 9}}),
            true,
        ),
        (json!({"name": "t", "params": {"type": "array"}}), true),
        (
            json!({"name": "t", "params": {"type": "strng", "maxLength": 9}}),
            false,
        ),
        (with("auth", json!({"type": "bearer", "token": "sk-x"})), false),
        (with("method", json!("get")), false),
        (with("endpoint", json!("https://me:x@h")), false),
        (with("lua", json!("x")), false),
        (json!({"type": "luau", "name": "t"}), false),
        (json!({"name": "t", "lua": "x", "lua_file": "y"}), false),
        (json!({"name": "天气"}), false),
        (json!({"name": "t", "params": {"a": {"type": "strng"}}}), false),
        (
            json!({"type": "generator", "name": "t", "prompt": "p", "mode": "json_output"}),
            false,
        ),
        (json!({"type": "composite", "name": "t", "steps": []}), false),
    ];
    let validator_of_tools = validator(SchemaOf::Tool);
    for (value, right) in tools {
        let read = parse_tool(Path::new("t.json"), &value.to_string());
        assert_eq!(read.is_ok(), right, "{value}: {read:?}");
        assert_eq!(validator_of_tools.is_valid(&value), right, "{value}");
    }
    let rule = json!({"name": "r", "patterns": ["a", ["b", "r"]], "examples": [["s", "u"]]});
    assert!(
        parse_rule(Path::new("r.json"), &rule.to_string()).is_ok()
            && validator(SchemaOf::Rule).is_valid(&rule)
    );
}

#[test]
fn what_is_made_brings_its_schemas_along() {
    let files = scaffold(Scaffold::Agent, "made").unwrap();
    for of in SchemaOf::ALL {
        let path = PathBuf::from("schemas").join(of.file_name());
        let (_, text) = files.iter().find(|(made, _)| *made == path).unwrap();
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), schema(of));
    }
}
