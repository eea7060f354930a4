//! The reason in a question: the rule nearest to the call, and the part that it does not cover.
#![allow(clippy::unwrap_used, reason = "a test whose tool is missing fails")]

use agentx_agent::approval::{describe, explain_decision, not_covered_reason};
use agentx_types::{AgentConfig, ApprovalMode, RULES_VERSION};
use serde_json::json;

use crate::rules::{config, rule};

/// An agent that asks, with these rules, in the current version.
fn asking(rules: &[&str]) -> AgentConfig {
    AgentConfig {
        rules_version: RULES_VERSION,
        ..config(ApprovalMode::Ask, rules)
    }
}

fn reason(rules: &[&str], command: &str) -> String {
    let config = asking(rules);
    let bash = config.tools.iter().find(|tool| tool.name == "bash").unwrap();
    explain_decision(&config, bash, &json!({ "command": command })).reason
}

#[test]
fn a_question_says_what_the_nearest_rule_does_not_cover() {
    let git = "the rule \"allow bash: git *\" does not cover this: ";
    for (command, why) in [
        ("git push", format!("{git}`git push` reaches the network")),
        (
            "git push --force",
            format!("{git}`git push --force` deletes or overwrites"),
        ),
        (
            "git -c core.pager=x log",
            format!("{git}`git -c` has to be named, because it can run programs or lose work"),
        ),
        (
            "git status -v",
            format!("{git}`git status -v` has to be named, because it shows what is in files"),
        ),
        (
            "git log $WHERE",
            format!("{git}nobody has seen the value of the variable in it"),
        ),
        (
            "git log && make x",
            "no rule allows `make x`, which is part of this line".into(),
        ),
        (
            "git log > x",
            "a line with $(…), `…`, a redirection or a bracket needs a rule that quotes the whole line"
                .into(),
        ),
        ("make x", "running a program needs your approval".into()),
    ] {
        assert_eq!(reason(&["allow bash: git *"], command), why, "{command}");
    }
    assert_eq!(
        reason(&["allow bash: rm build/*"], "rm build/a src"),
        "the rule \"allow bash: rm build/*\" does not cover this: it names a place outside of that folder"
    );
    assert_eq!(
        reason(
            &["allow bash: git *", "allow bash: git push *"],
            "git log; git push"
        ),
        "the rules \"allow bash: git *\" and \"allow bash: git push *\" allow it"
    );
}

#[test]
fn a_question_names_the_option_of_a_build_tool_that_no_star_stands_for() {
    let rule = "the rule \"allow bash: cargo test *\" does not cover this: ";
    for (command, word) in [
        ("cargo test --config x", "cargo --config"),
        ("cargo test -q -C /x", "cargo -C"),
        ("timeout 60 cargo test --target-dir=/etc", "cargo --target-dir"),
        ("cargo test -- --logfile x", "cargo test --"),
        ("cargo test ../x", "cargo ../x"),
    ] {
        let why = format!("{rule}`{word}` has to be named, because it is not known to be harmless");
        assert_eq!(reason(&["allow bash: cargo test *"], command), why, "{command}");
    }
    for (rule, command, word) in [
        ("npm *", "npm team create x", "npm team"),
        ("make *", "make test deploy", "make deploy"),
        ("npx *", "npx playwright test", "npx playwright"),
        ("yarn *", "yarn workspace a dlx x", "yarn dlx"),
    ] {
        let why = reason(&[&format!("allow bash: {rule}")], command);
        let said = format!("`{word}` has to be named, because it is not known to be harmless");
        assert!(why.ends_with(&said), "{command}: {why}");
    }
    let git = reason(&["allow bash: git *"], "git --no-pager diff sub /root");
    assert!(git.contains("`git diff --no-index` has to be named"), "{git}");
    let why = reason(&["allow bash: mypy *"], "mypy *.py");
    let said = "`mypy *.py` may become an option by the name of a file; with `./` in front it does not";
    assert!(why.ends_with(said), "{why}");
}

#[test]
fn a_question_names_what_stands_in_front_of_a_command_that_a_rule_allows() {
    let rules = ["allow bash: cargo test *"];
    for (command, front) in [
        ("CI=1 cargo test", "CI=1"),
        ("FOO=bar RUST_LOG=debug cargo test", "FOO=bar RUST_LOG=debug"),
        ("env -i cargo test", "env -i"),
        ("sudo -u me cargo test", "sudo -u me"),
        ("time CI=1 cargo test", "time CI=1"),
    ] {
        let why = format!("no rule allows `{front}` in front of `cargo test`");
        assert_eq!(reason(&rules, command), why, "{command}");
    }
    for (command, part) in [
        ("cd sub && cargo test", "cd sub"),
        ("cd sub && RUST_LOG=debug cargo test 2>&1 | tail -5", "cd sub"),
        ("make x; cargo test", "make x"),
    ] {
        let why = format!("no rule allows `{part}`, which is part of this line");
        assert_eq!(reason(&rules, command), why, "{command}");
    }
    for command in ["CI=1 make", "cd sub && make x", "env -i make", "x cargo test"] {
        assert_eq!(
            reason(&rules, command),
            "running a program needs your approval",
            "{command}"
        );
    }
}

#[test]
fn a_session_of_older_rules_gives_the_reason_that_it_gave() {
    let mut config = asking(&["allow bash: git *"]);
    config.rules_version = 6;
    let bash = config.tools.iter().find(|tool| tool.name == "bash").unwrap();
    let judged = explain_decision(&config, bash, &json!({ "command": "git push" }));
    assert_eq!(judged.reason, "running a program needs your yes");
}

#[test]
fn a_pattern_that_a_person_chose_and_that_does_not_fit_says_why() {
    let config = asking(&[]);
    let bash = config.tools.iter().find(|tool| tool.name == "bash").unwrap();
    let push = json!({ "command": "git push" });
    for (chosen, why) in [
        ("allow bash: npm *", "`npm *` does not cover `git push`"),
        (
            "allow bash: git *",
            "the rule \"allow bash: git *\" does not cover this: `git push` reaches the network",
        ),
    ] {
        let rule = rule(chosen);
        let said = not_covered_reason(&rule, &config, bash, &push);
        assert_eq!(said.as_deref(), Some(why), "{}", describe(&rule));
    }
}
