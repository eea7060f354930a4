//! `agentx models refresh` and `agentx models show`: newer figures of models, from a list that a person
//! names.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot start fails")]

use serde_json::{Value, json};

use crate::common::Sandbox;

/// A list in the format of models.dev (made up): a new model, and a known one with another price.
fn list() -> String {
    let model = |id: &str, input: f64| {
        json!({
            "id": id,
            "tool_call": true,
            "modalities": {"input": ["text", "image"], "output": ["text"]},
            "limit": {"context": 1_000_000, "output": 128_000},
            "cost": {"input": input, "output": 9},
        })
    };
    json!({
        "anthropic": {"models": {"claude-opus-5-5": model("claude-opus-5-5", 3.0)}},
        "xai": {"models": {"grok-9": model("grok-9", 1.5), "\u{1b}[2J": {"id": "\u{1b}[2J"}}},
        "elsewhere": {"models": {"a": {}}},
    })
    .to_string()
}

fn shown(sandbox: &Sandbox, name: &str) -> Value {
    let shown = sandbox.run(&["models", "show", name, "--json"]);
    assert_eq!(shown.code, Some(0), "{shown}");
    serde_json::from_str(&shown.stdout).unwrap()
}

/// Sets the window of a model that the list has, and compares from which layer each value comes then.
fn a_value_of_ones_own_stands_over_the_list(sandbox: &Sandbox) {
    sandbox.config("models:\n  claude-opus-5-5:\n    context_window: 123456\n");
    let own = shown(sandbox, "opus");
    assert_eq!(
        (&own["window"], &own["input_price"]),
        (&json!(123_456), &json!(3.0))
    );
    assert!(
        own["comes_from"]
            .as_str()
            .unwrap()
            .starts_with("your configuration, then "),
        "{own}"
    );

    let place = own["window_comes_from"].as_str().unwrap();
    assert!(place.ends_with("config.yaml:3"), "{own}");
    let price = own["input_price_comes_from"].as_str().unwrap();
    assert!(price.starts_with("list.json, read on 20"), "{own}");
    assert!(
        own["checked"].as_str().unwrap().ends_with(", with list.json"),
        "{own}"
    );
}

#[test]
fn a_list_is_read_shown_kept_and_forgotten() {
    let sandbox = Sandbox::new();
    sandbox.write("ws/list.json", list());
    assert_eq!(shown(&sandbox, "opus")["input_price"], json!(4.0));
    let dry = sandbox.run(&["models", "refresh", "list.json", "--dry-run"]);
    assert_eq!(dry.code, Some(0), "{dry}");
    assert!(dry.stdout.contains("1 model would be changed, 1 added"), "{dry}");
    assert_eq!(
        shown(&sandbox, "opus")["input_price"],
        json!(4.0),
        "nothing was kept"
    );

    let read = sandbox.run(&["models", "refresh", "list.json"]);
    assert_eq!(read.code, Some(0), "{read}");
    assert!(read.stdout.contains("~ anthropic/claude-opus-5-5: "), "{read}");
    assert!(read.stdout.contains("input $4 → $3, output $20 → $9"), "{read}");
    assert!(read.stdout.contains("+ xai/grok-9: "), "{read}");
    assert!(!read.to_string().contains('\u{1b}'), "{read}");
    let opus = shown(&sandbox, "opus");
    assert_eq!(opus["input_price"], json!(3.0));
    let from = opus["comes_from"].as_str().unwrap();
    assert!(
        from.starts_with("list.json, read on 20") && from.ends_with("the built-in list"),
        "{from}"
    );
    let listed = sandbox.run(&["models"]);
    assert!(listed.stdout.contains("grok-9"), "{listed}");
    let again = sandbox.run(&["models", "refresh", "list.json"]);
    assert!(again.stdout.contains("0 models changed, 0 added"), "{again}");

    a_value_of_ones_own_stands_over_the_list(&sandbox);

    let forgotten = sandbox.run(&["models", "refresh", "--forget"]);
    assert_eq!(forgotten.code, Some(0), "{forgotten}");
    let own = shown(&sandbox, "opus");
    assert_eq!(
        own["longest_answer_comes_from"],
        json!("the built-in list"),
        "{own}"
    );
    sandbox.config("log: warn\n");
    let built_in = shown(&sandbox, "opus");
    assert_eq!(
        built_in.get("window_comes_from"),
        None,
        "all values come from one layer"
    );
    assert!(
        built_in["checked"].as_str().unwrap().contains(", with litellm"),
        "{built_in}"
    );
    assert_eq!(built_in["input_price"], json!(4.0));
    let unknown = sandbox.run(&["models", "show", "grok-9"]);
    assert_eq!(unknown.code, Some(3), "{unknown}");
}

#[test]
fn an_effort_a_note_and_a_free_price_of_the_catalog_are_shown() {
    let sandbox = Sandbox::new();
    assert_eq!(shown(&sandbox, "gpt-5.4")["default_effort"], json!("none"));
    let note = shown(&sandbox, "gemini-4-argon")["note"].clone();
    assert!(note.as_str().unwrap().contains("2026-12-01"), "{note}");
    let free = shown(&sandbox, "google/gemma-4-31b-it:free");
    assert_eq!(free["price"], json!("free"));
}

#[test]
fn a_list_that_is_none_changes_nothing_and_says_why() {
    let sandbox = Sandbox::new();
    sandbox.write("ws/page.json", "<html>busy</html>");
    sandbox.write("ws/other.json", r#"{"elsewhere": {"models": {"a": {}}}}"#);
    for (from, why) in [
        ("page.json", "expected value"),
        ("other.json", "it has no model of a provider that AgentX knows"),
        ("missing.json", "No such file"),
        (
            "http://models.test/api.json",
            "the address has to begin with https://",
        ),
        ("http://127.0.0.1:9/api.json", "connection refused"),
    ] {
        let refused = sandbox.run(&["models", "refresh", from]);
        assert_eq!(refused.code, Some(2), "{refused}");
        assert!(
            refused.stderr.contains(why) && refused.stderr.contains(from),
            "{refused}"
        );
        assert!(refused.stderr.contains("nothing was changed"), "{refused}");
    }
}

#[test]
fn a_kept_list_that_is_damaged_is_said_and_the_program_starts() {
    let sandbox = Sandbox::new();
    sandbox.write("ws/list.json", list());
    sandbox.run(&["models", "refresh", "list.json"]);
    let kept = sandbox.run(&["config", "path", "--json"]);
    assert_eq!(kept.code, Some(0), "{kept}");
    sandbox.write("home/.local/share/agentx/models.json", "{");
    let ran = sandbox.run(&["run", "--model", "scripted", "--quiet", "hello"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(ran.stderr.contains("models.json"), "{ran}");
    assert!(ran.stderr.contains("the built-in models are used"), "{ran}");
    let again = sandbox.run(&["models", "refresh", "list.json"]);
    assert_eq!(again.code, Some(0), "{again}");
}
