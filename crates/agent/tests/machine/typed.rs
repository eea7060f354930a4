//! Text that is typed into a program of a shell that stays: rules and guards read it as a command line too,
//! because the program may be a shell, and answers of everyday programs stay as free as before. All texts are
//! made up.

use std::sync::Arc;

use agentx_agent::approval::{Verdict, decide};
use agentx_types::{Access, AgentConfig, ApprovalMode, Guard, RULES_VERSION, ToolSpec};
use serde_json::json;

use crate::rules::config;
use crate::secrets::word;

/// A configuration with `shell_input` and these rules.
fn with_rules(mode: ApprovalMode, rules: &[&str]) -> AgentConfig {
    let mut config = config(mode, rules);
    let input = ToolSpec::new("shell_input", "types", json!({"type": "object"}), Access::Run)
        .with_command_argument("text");
    config.tools = config.tools.iter().cloned().chain([input]).collect();
    config.rules_version = RULES_VERSION;
    config
}

fn typed(config: &AgentConfig, text: &str) -> &'static str {
    word(config, "shell_input", json!({ "text": text }))
}

#[test]
fn rules_that_deny_or_ask_about_command_lines_hold_for_typed_text() {
    let rules = [
        "deny bash: rm *",
        "ask shell: make *",
        "deny read in private/**",
        r#"deny shell_input: {"text":"drop *"#,
    ];
    for mode in [ApprovalMode::Auto, ApprovalMode::Ask] {
        let config = with_rules(mode, &rules);
        for (text, expected) in [
            ("rm x", "deny"),
            ("true; rm x", "deny"),
            ("sh -c 'rm x'", "deny"),
            ("y\nrm x", "deny"),
            ("y\rrm x", "deny"),
            ("r\\\nm x", "deny"),
            ("cat private/a", "deny"),
            ("private/my notes", "deny"),
            ("drop table a", "deny"),
            ("make all", "ask"),
            ("x=rm; $x y", "ask"),
            ("x\u{7f}rm y", "ask"),
            ("echo !r", "ask"),
            ("!!", "ask"),
            ("^echo^rm", "ask"),
        ] {
            assert_eq!(typed(&config, text), expected, "{mode:?} {text:?}");
        }
    }
}

#[test]
fn answers_and_lines_of_interpreters_are_never_refused_by_how_they_read() {
    let rules = ["deny bash: rm *"];
    let (auto, ask) = (
        with_rules(ApprovalMode::Auto, &rules),
        with_rules(ApprovalMode::Ask, &rules),
    );
    for answer in [
        "y", "n", "42", "yes", "", "1 + 2", "hunter2", "main", "Hello!", "1 != 2",
    ] {
        assert_eq!(typed(&auto, answer), "allow", "{answer}");
        assert_eq!(typed(&ask, answer), "ask", "{answer}");
    }
    for line in [
        "print(x)",
        "for i in range(3):",
        "it's",
        "x = {",
        "select * from t;",
        "\u{1b}[A",
    ] {
        assert_ne!(typed(&auto, line), "deny", "{line}");
        assert_eq!(typed(&ask, line), "ask", "{line}");
    }
    let code = "import os; os.system(\"rm x\")";
    assert_ne!(typed(&auto, code), "allow", "it has the words of the rule");
}

#[test]
fn only_rules_about_the_tool_allow_typed_text_as_it_stands() {
    let rules = [
        "allow bash",
        "allow shell: *",
        "allow shell_input: git status*",
        "allow shell_input: y",
        r#"allow shell_input: {"text":"n"}"#,
    ];
    let config = with_rules(ApprovalMode::Ask, &rules);
    for (text, expected) in [
        ("y", "allow"),
        ("y\r", "allow"),
        ("n", "allow"),
        ("git status -s", "allow"),
        ("git status; rm x", "ask"),
        ("echo hi; y", "ask"),
        ("ls", "ask"),
    ] {
        assert_eq!(typed(&config, text), expected, "{text:?}");
    }
    let tool = config.tools.iter().find(|tool| tool.name == "shell_input");
    let input = json!({"text": "ls src"});
    let Verdict::Ask(question) = decide(&config, tool.unwrap(), &input) else {
        panic!("it is asked about");
    };
    assert_eq!(question.suggested.argument.as_deref(), Some("ls src"));
    let mut kept = config.clone();
    kept.rules.push(question.suggested);
    assert_eq!((typed(&kept, "ls src"), typed(&kept, "ls /")), ("allow", "ask"));
}

#[test]
fn what_no_rule_allows_is_refused_for_typed_text_too() {
    let all = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
    let mut config = with_rules(ApprovalMode::Auto, &["allow shell_input"]);
    config.workspace = "/home/me/src".into();
    config.guard = Some(Arc::new(Guard {
        secrets: all(&["/**/.env"]),
        own: all(&["/home/me/.config/agentx/**", "~/.config/agentx/**"]),
        ..Guard::default()
    }));
    for (text, expected) in [
        ("cat ~/.config/agentx/config.yaml", "deny"),
        ("open('/home/me/.config/agentx/config.yaml')", "deny"),
        ("/home/me/.config/agentx/my file", "deny"),
        ("rm -rf /", "deny"),
        ("agentx config trust", "deny"),
        ("cat .env", "ask"),
        (".env", "ask"),
        ("y", "allow"),
    ] {
        assert_eq!(typed(&config, text), expected, "{text}");
    }
}
