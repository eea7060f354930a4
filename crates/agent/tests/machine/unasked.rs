//! Calls that run without a question: command lines that only read a trusted folder, and edits in the mode
//! `accept-edits`. Rules, guarded files and everything else keep their question.
#![allow(clippy::unwrap_used, reason = "a test whose tool is missing fails")]

use std::sync::Arc;

use agentx_agent::approval::{
    ExplainedVerdict, Verdict, covered_together, explain_decision, is_unasked, not_covered_reason,
    unasked_reading,
};
use agentx_types::{
    Access, AgentConfig, ApprovalMode, Guard, RULES_VERSION, ServerRules, ToolReach, ToolSpec,
};
use serde_json::{Value, json};

use crate::rules::{config, judged};

/// An agent in a trusted folder, with the tool `edit`.
fn trusting(mode: ApprovalMode, rules: &[&str]) -> AgentConfig {
    let mut config = config(mode, rules);
    let edit =
        ToolSpec::new("edit", "", json!({"type": "object"}), Access::Change).with_path_argument("path");
    config.tools = config.tools.iter().cloned().chain([edit]).collect();
    config.rules_version = RULES_VERSION;
    config.guard = Some(Arc::new(Guard {
        secrets: vec!["/**/.env".into(), "/**/*.pem".into()],
        own: vec!["/data/**".into()],
        reading_commands: true,
        ..Guard::default()
    }));
    config
}

fn with_guard(config: &AgentConfig, change: impl FnOnce(&mut Guard)) -> AgentConfig {
    let mut config = config.clone();
    change(Arc::make_mut(config.guard.as_mut().unwrap()));
    config
}

fn edited(config: &AgentConfig, input: &Value) -> ExplainedVerdict {
    let edit = config.tools.iter().find(|tool| tool.name == "edit").unwrap();
    explain_decision(config, edit, input)
}

fn is_allowed(config: &AgentConfig, path: &str) -> bool {
    let verdict = edited(config, &json!({ "path": path })).verdict;
    matches!(
        verdict,
        Verdict::Allow {
            outside_workspace: false
        }
    )
}

#[test]
fn a_line_that_only_reads_is_not_asked_about_in_a_trusted_folder() {
    for mode in [ApprovalMode::Ask, ApprovalMode::AcceptEdits, ApprovalMode::Deny] {
        let config = trusting(mode, &[]);
        let otherwise = if mode == ApprovalMode::Deny { "deny" } else { "ask" };
        for line in [
            "ls -la",
            "git status",
            "git diff HEAD~1",
            "cat a.rs | head -5",
            "rg word",
        ] {
            let (word, reason) = judged(&config, line);
            assert_eq!(word, "allow", "{mode:?} {line}: {reason}");
            assert!(reason.contains("tools.reading_commands"), "{reason}");
            let off = with_guard(&config, |guard| guard.reading_commands = false);
            assert_eq!(judged(&off, line).0, otherwise, "{mode:?} {line}");
        }
        for line in [
            "rm a",
            "ls; rm a",
            "cat .env",
            "cat *",
            "cat /etc/hosts",
            "grep x .env",
            "git show HEAD:.env",
        ] {
            assert_eq!(judged(&config, line).0, otherwise, "{mode:?} {line}");
        }
        assert_eq!(judged(&config, "cat /data/sessions.db").0, "deny", "{mode:?}");
    }
}

#[test]
fn rules_that_deny_or_ask_come_before_a_reading() {
    for (rule, word) in [
        ("deny bash: ls *", "deny"),
        ("ask bash: ls *", "ask"),
        ("deny bash", "deny"),
        ("ask bash", "ask"),
    ] {
        assert_eq!(
            judged(&trusting(ApprovalMode::Ask, &[rule]), "ls src").0,
            word,
            "{rule}"
        );
    }
    let read = trusting(ApprovalMode::Ask, &["deny read in private/**"]);
    assert_eq!(judged(&read, "cat private/a").0, "deny");
    assert_eq!(judged(&read, "cat a").0, "allow");
    assert_ne!(judged(&read, "rg word").0, "allow", "it reads that folder, too");
}

#[test]
fn a_repository_that_runs_programs_keeps_its_questions() {
    let plain = trusting(ApprovalMode::Ask, &[]);
    let runs = with_guard(&plain, |guard| guard.git = vec!["diff.external".into()]);
    assert_eq!(judged(&runs, "git diff").0, "ask");
    assert_eq!(judged(&runs, "ls && git status").0, "ask");
    assert_eq!(judged(&runs, "ls").0, "allow");
}

#[test]
fn neither_a_member_nor_another_tool_nor_plan_mode_gets_it() {
    let plain = trusting(ApprovalMode::Ask, &[]);
    let of_member = AgentConfig {
        server_rules: Some(Arc::new(ServerRules {
            rules: Vec::new(),
            member_directory: Some(plain.workspace.clone()),
        })),
        ..plain.clone()
    };
    assert_eq!(judged(&of_member, "ls").0, "ask");
    let planning = AgentConfig {
        plan_mode: Some(true),
        ..plain.clone()
    };
    assert_eq!(judged(&planning, "ls").0, "deny");
    let other =
        ToolSpec::new("sh", "", json!({"type": "object"}), Access::Run).with_command_argument("command");
    let mut of_file = other.clone();
    of_file.name = "bash".into();
    of_file.reach = Some(Box::new(ToolReach::default()));
    for tool in [other, of_file] {
        let judged = explain_decision(&plain, &tool, &json!({"command": "ls"}));
        assert!(matches!(judged.verdict, Verdict::Ask(_)), "{}", tool.name);
    }
}

#[test]
fn the_tool_is_told_only_about_lines_that_nothing_else_allows() {
    let reading = |config: &AgentConfig, line: &str| {
        let bash = config.tools.iter().find(|tool| tool.name == "bash").unwrap();
        unasked_reading(config, bash, &json!({ "command": line }))
    };
    let plain = trusting(ApprovalMode::Ask, &[]);
    assert!(reading(&plain, "rg word").is_some_and(|reading| reading.searched.len() == 1));
    assert!(reading(&plain, "make").is_none());
    assert!(reading(&trusting(ApprovalMode::Ask, &["allow bash: rg *"]), "rg word").is_none());
    assert!(reading(&trusting(ApprovalMode::Auto, &[]), "rg word").is_none());
}

/// A program may change what such a line reads after it was looked at, so it is held like any other command
/// about which nobody is asked.
#[test]
fn nobody_is_asked_about_a_line_that_only_reads() {
    for mode in [ApprovalMode::Ask, ApprovalMode::AcceptEdits, ApprovalMode::Deny] {
        let plain = trusting(mode, &[]);
        let unasked = |tool: &str, input: Value, approved: bool| is_unasked(&plain, tool, &input, approved);
        for line in ["cat notes.txt", "git status", "rg word | head"] {
            assert!(
                unasked("bash", json!({ "command": line }), false),
                "{mode:?} {line}"
            );
            assert!(
                !unasked("bash", json!({ "command": line }), true),
                "{mode:?} {line}"
            );
        }
        assert!(
            !unasked("bash", json!({"command": "make"}), false),
            "somebody is asked"
        );
        assert!(
            !unasked("read", json!({"path": "notes.txt"}), false),
            "it is no command"
        );
    }
    let by_rule = trusting(ApprovalMode::Ask, &["allow bash: cat *"]);
    let input = json!({"command": "cat notes.txt"});
    assert!(
        !is_unasked(&by_rule, "bash", &input, false),
        "a person wrote the rule"
    );
    let asked = with_guard(&trusting(ApprovalMode::Ask, &[]), |guard| {
        guard.reading_commands = false
    });
    assert!(!is_unasked(&asked, "bash", &input, true));
}

#[test]
fn a_part_that_only_reads_needs_no_rule_beside_one_that_a_rule_allows() {
    for mode in [ApprovalMode::Ask, ApprovalMode::AcceptEdits, ApprovalMode::Deny] {
        let config = trusting(mode, &["allow bash: npm test"]);
        let otherwise = if mode == ApprovalMode::Deny { "deny" } else { "ask" };
        for line in [
            "npm test && ls src",
            "npm test && git diff --stat",
            "npm test; git status --short 2>&1 | head -5",
            "git status && npm test; echo $?",
            "ls; npm test | tail -5; git log --oneline -3",
        ] {
            let (word, reason) = judged(&config, line);
            assert_eq!(word, "allow", "{mode:?} {line}: {reason}");
            assert!(reason.contains("npm test"), "the rule allows it: {reason}");
            let off = with_guard(&config, |guard| guard.reading_commands = false);
            assert_eq!(judged(&off, line).0, otherwise, "{mode:?} {line}");
            let old = AgentConfig {
                rules_version: 8,
                ..config.clone()
            };
            assert_eq!(judged(&old, line).0, otherwise, "{mode:?} {line}");
        }
    }
}

#[test]
fn a_part_needs_a_rule_where_other_words_change_what_it_does() {
    let rules = [
        "npm test", "cd *", "export *", "source *", "make", "PATH=*", "set *",
    ];
    let rules: Vec<String> = rules.iter().map(|rule| format!("allow bash: {rule}")).collect();
    let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
    let config = trusting(ApprovalMode::Ask, &rules);
    for line in [
        "cd src && ls",
        "npm test; cd src && ls",
        "export A=b; ls",
        "source x; ls",
        "set -f; npm test; ls",
        "npm test && ls > x",
        "npm test && ls $X",
        "npm test && ls $(make)",
        "npm test && ls *.rs",
        "npm test && ls ..",
        "npm test && cat .env",
        "npm test && rm a",
        // Content of files is shown only in the sandbox of a line that reads and does nothing else.
        "cat a && npm test",
        "npm test && cat a",
        "npm test && rg word",
        "npm test && git diff",
        "npm test && git blame a",
        "ls | npm test",
        "npm test | cat a",
    ] {
        let (word, reason) = judged(&config, line);
        assert_eq!(word, "ask", "{line}: {reason}");
    }
}

#[test]
fn the_tool_is_told_what_is_read_beside_a_rule() {
    let config = trusting(ApprovalMode::Ask, &["allow bash: npm test"]);
    let bash = config.tools.iter().find(|tool| tool.name == "bash").unwrap();
    let reading = |line: &str| unasked_reading(&config, bash, &json!({ "command": line }));
    let both = reading("git status; npm test && ls | head -3").unwrap();
    assert_eq!(both.programs, ["git", "ls", "head"]);
    assert!(both.searched.is_empty() && both.listings.is_empty());
    let unasked = |line: &str| is_unasked(&config, "bash", &json!({ "command": line }), false);
    assert!(!unasked("npm test && ls"), "a person wrote the rule");
    assert!(reading("npm test; echo ok").is_none(), "nothing is read");
    let running = with_guard(&config, |guard| guard.git = vec!["diff.external".into()]);
    assert_eq!(judged(&running, "npm test && git status").0, "ask");
}

#[test]
fn a_question_names_the_part_that_needs_a_rule() {
    let config = trusting(ApprovalMode::Ask, &["allow bash: npm test"]);
    let (word, reason) = judged(&config, "npm test && ls src && rm a");
    assert_eq!(word, "ask");
    assert!(reason.contains("no rule allows `rm a`"), "{reason}");
}

#[test]
fn a_chosen_pattern_may_leave_out_the_parts_that_only_read() {
    let config = trusting(ApprovalMode::Ask, &[]);
    let bash = config.tools.iter().find(|tool| tool.name == "bash").unwrap();
    let rules = [crate::rules::rule("allow bash: touch *")];
    let covered = |line: &str| covered_together(&rules, &config, bash, &json!({ "command": line }));
    assert_eq!(covered("touch a && git status --short"), Some(vec![0]));
    assert_eq!(covered("touch a && rm b"), None);
    let why = |line: &str| not_covered_reason(&rules[0], &config, bash, &json!({ "command": line }));
    let said = why("touch a && git status --short && rm b").unwrap();
    assert_eq!(said, "`touch *` does not cover `rm b`");
    let off = with_guard(&config, |guard| guard.reading_commands = false);
    let line = json!({"command": "touch a && git status --short"});
    assert_eq!(covered_together(&rules, &off, bash, &line), None);
}

#[test]
fn edits_of_ordinary_files_are_made_without_a_question_in_accept_edits() {
    let accepting = trusting(ApprovalMode::AcceptEdits, &[]);
    for path in [
        "src/a.rs",
        "a.md",
        "Makefile",
        "src/deep/new.rs",
        "src/config/mod.rs",
        "src/objects/x",
    ] {
        assert!(is_allowed(&accepting, path), "{path}");
        assert!(!is_allowed(&trusting(ApprovalMode::Ask, &[]), path), "{path}");
    }
    for path in [
        ".git/config",
        ".git/hooks/pre-commit",
        ".agentx/config.yaml",
        ".husky/pre-commit",
        ".bashrc",
        ".envrc",
        ".github/workflows/ci.yml",
        "AGENTS.md",
        "pkg/HEAD",
        "pkg/config",
        "pkg/hooks/post-checkout",
        "lib/sitecustomize.py",
        ".yarn/releases/yarn.cjs",
        "CONVENTIONS.md",
        ".env",
        "key.pem",
        "../x",
        "/etc/hosts",
        "~/x",
        "src/../../x",
    ] {
        let verdict = edited(&accepting, &json!({ "path": path })).verdict;
        assert!(matches!(verdict, Verdict::Ask(_)), "{path}: {verdict:?}");
    }
    assert_eq!(judged(&accepting, "make").0, "ask", "commands are asked about");
    assert_eq!(judged(&accepting, "touch src/a.rs").0, "ask");
}

#[test]
fn rules_and_members_are_stricter_than_accept_edits() {
    let denying = trusting(
        ApprovalMode::AcceptEdits,
        &["deny edit in src/**", "ask edit in docs/**"],
    );
    let word = |path: &str| match edited(&denying, &json!({ "path": path })).verdict {
        Verdict::Allow { .. } => "allow",
        Verdict::Ask(_) => "ask",
        Verdict::Deny { .. } => "deny",
    };
    assert_eq!(
        [word("src/a"), word("docs/a"), word("a")],
        ["deny", "ask", "allow"]
    );
    let plain = trusting(ApprovalMode::AcceptEdits, &[]);
    let of_member = AgentConfig {
        server_rules: Some(Arc::new(ServerRules {
            rules: Vec::new(),
            member_directory: Some(plain.workspace.clone()),
        })),
        ..plain.clone()
    };
    assert!(!is_allowed(&of_member, "a.rs"));
    // A tool of a folder that is named like one of the program's is another one.
    let mut of_file = plain
        .tools
        .iter()
        .find(|tool| tool.name == "edit")
        .unwrap()
        .clone();
    of_file.reach = Some(Box::new(ToolReach::default()));
    let verdict = explain_decision(&plain, &of_file, &json!({"path": "a.rs"})).verdict;
    assert!(matches!(verdict, Verdict::Ask(_)));
}
