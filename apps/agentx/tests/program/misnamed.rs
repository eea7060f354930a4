//! Rules and lists that name a tool that does not exist: a rule that decides about nothing is never silent.
#![allow(clippy::unwrap_used, reason = "a test that cannot start fails")]

use crate::common::Sandbox;

fn with_rule(rule: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.config(&format!("rules:\n  - {rule}\n"));
    sandbox.write("ws/x1", "kept");
    sandbox
}

#[test]
fn a_rule_that_denies_or_asks_with_a_wrong_name_stops_everything_that_would_run_calls() {
    for (rule, said) in [
        (
            "{effect: deny, tool: Bash, argument: 'rm *'}",
            "did you mean `bash`?",
        ),
        (
            "{effect: deny, tool: bsh, argument: 'rm *'}",
            "did you mean `bash`?",
        ),
        ("{effect: ask, tool: BASH}", "did you mean `bash`?"),
        ("{effect: deny, tool: 'Bash(rm *)'}", "did you mean `bash`?"),
        ("{effect: deny, tool: 'Ba*'}", "`, so this rule has"),
        ("{effect: deny, tool: Teleport}", "`agentx tools` lists them"),
    ] {
        let sandbox = with_rule(rule);
        let ran = sandbox.run(&["run", "--yes", "run rm x1"]);
        assert_eq!(ran.code, Some(3), "{rule}: {ran}");
        assert!(
            ran.stderr.contains(said) && ran.stderr.contains("config.yaml:2:5"),
            "{ran}"
        );
        assert!(sandbox.path("ws/x1").exists(), "{rule}: {ran}");
        let chat = sandbox.run_with_input(&["--yes"], "run rm x1\n");
        assert_eq!(chat.code, Some(3), "{rule}: {chat}");
        assert!(sandbox.path("ws/x1").exists(), "{rule}: {chat}");
        for command in [
            &["config", "check"][..],
            &["serve", "--listen", "127.0.0.1:0"],
            &["doctor", "--offline"],
        ] {
            let checked = sandbox.run(command);
            assert_eq!(checked.code, Some(3), "{rule}: {checked}");
            assert!(checked.to_string().contains(said), "{rule}: {checked}");
        }
        assert_eq!(
            sandbox.run(&["approvals", "remove", "1"]).code,
            Some(0),
            "it can be mended"
        );
        assert_eq!(sandbox.run(&["config", "check"]).code, Some(0));
    }
}

#[test]
fn a_name_that_may_be_right_elsewhere_or_makes_nothing_freer_is_a_warning() {
    for rule in [
        "{effect: allow, tool: Bash}",
        "{effect: deny, tool: mcp__github__delete_repository}",
        "{effect: deny, tool: 'mcp__*'}",
        "{effect: deny, tool: 'deploy*'}",
    ] {
        let sandbox = with_rule(rule);
        let ran = sandbox.run(&["run", "hello"]);
        assert_eq!(ran.code, Some(0), "{rule}: {ran}");
        assert!(
            ran.stderr.contains("warning: ") && ran.stderr.contains("no tool is called"),
            "{ran}"
        );
        let checked = sandbox.run(&["config", "check"]);
        assert_eq!(checked.code, Some(0), "{rule}: {checked}");
        assert!(checked.stderr.contains("no tool is called"), "{checked}");
    }
    for (config, code) in [
        ("disabled: [Bash]", 3),
        ("disabled: [deploy]", 0),
        ("enabled: [read, Bash]", 0),
    ] {
        let sandbox = Sandbox::new();
        sandbox.config(&format!("tools:\n  {config}\n"));
        let ran = sandbox.run(&["run", "hello"]);
        assert_eq!(ran.code, Some(code), "{config}: {ran}");
        assert!(ran.stderr.contains("no tool is called"), "{config}: {ran}");
    }
}

#[test]
fn a_wrong_name_is_said_when_it_is_set() {
    let sandbox = Sandbox::new();
    sandbox.config("mcp: {github: {command: made-up}}\n");
    for (name, said) in [
        ("nosuchtool", "no tool is called `nosuchtool`"),
        ("bsh", "did you mean `bash`?"),
        ("Bash", "did you mean `bash`?"),
        ("mcp__x__y", "no tool is called `mcp__x__y`"),
    ] {
        let set = sandbox.run(&["config", "set", "tools.disabled", name]);
        assert_eq!(set.code, Some(0), "{name}: {set}");
        assert!(
            set.stderr.contains("warning: ") && set.stderr.contains(said),
            "{name}: {set}"
        );
        let other = sandbox.run(&["config", "set", "log", "warn"]);
        assert!(!other.stderr.contains("no tool is called"), "{name}: {other}");
    }
    for name in ["glob", "recall", "wait", "github__create_issue"] {
        let set = sandbox.run(&["config", "set", "tools.disabled", name]);
        assert_eq!((set.code, set.stderr.as_str()), (Some(0), ""), "{name}: {set}");
    }
}

#[test]
fn names_of_tools_that_there_are_need_no_word() {
    let sandbox = Sandbox::new().of_a_stranger();
    let tool = "type: http\nname: tide\ndescription: Says when the tide is high.\nmethod: GET\n\
                endpoint: https://tides.example/today\n";
    sandbox.write("ws/.agentx/tools/tide.yaml", tool);
    sandbox.write("home/.config/agentx/tools/broken.yaml", "type: nonsense\n");
    sandbox.config(
        "tools: {disabled: [glob]}\nrules:\n  - {effect: deny, tool: glob}\n  - {effect: deny, tool: tide}\n  \
         - {effect: deny, tool: recall}\n  - {effect: ask, tool: delegate}\n  - {effect: deny, tool: broken}\n  \
         - {effect: deny, tool: '*', path: '/etc/**'}\n  - {effect: deny, tool: Elsewhere, workspace: /elsewhere}\n",
    );
    let checked = sandbox.run(&["config", "check"]);
    assert_eq!(
        (checked.code, checked.stderr.as_str()),
        (Some(0), ""),
        "{checked}"
    );
}

#[test]
fn a_folder_that_is_not_trusted_locks_nobody_out_with_its_mistakes() {
    for config in [
        "rules:\n  - {effect: deny, tool: Bash, argument: 'rm *'}\n",
        "rules:\n  - {effect: ask, tool: Teleport}\n",
        "tools: {disabled: [Bash]}\n",
    ] {
        let sandbox = Sandbox::new().of_a_stranger();
        sandbox.write("ws/.agentx/config.yaml", config);
        for command in [
            &["run", "hello"][..],
            &["config", "check"],
            &["doctor", "--offline"],
        ] {
            let ran = sandbox.run(command);
            assert_ne!(ran.code, Some(3), "{config}: {ran}");
            assert!(ran.to_string().contains("no tool is called"), "{config}: {ran}");
        }
        let trusted = Sandbox::new();
        trusted.write("ws/.agentx/config.yaml", config);
        let ran = trusted.run(&["run", "hello"]);
        assert_eq!(
            ran.code,
            Some(3),
            "a trusted folder's file counts like one's own: {config}: {ran}"
        );
    }
}

#[test]
fn a_rule_that_can_never_match_is_a_warning() {
    for (rule, why) in [
        (
            "{effect: deny, tool: todo, path: 'x/**'}",
            Some("it takes no path"),
        ),
        (
            "{effect: deny, tool: read, argument: 'x/**'}",
            Some("start with `{`"),
        ),
        (
            "{effect: allow, tool: bash, path: 'x/**'}",
            Some("by `argument` alone"),
        ),
        ("{effect: deny, tool: bash, path: 'x/**'}", None),
        (
            "{effect: deny, tool: read, argument: '**/.env'}",
            Some("`path` is the pattern of a file"),
        ),
        ("{effect: deny, tool: todo, argument: '*x'}", Some("end with `}`")),
        ("{effect: deny, tool: read, argument: '*secret*'}", None),
        ("{effect: deny, tool: '*', argument: 'x/**'}", None),
        ("{effect: deny, tool: 'gr*', argument: 'x/**'}", Some("`grep`")),
    ] {
        let sandbox = with_rule(rule);
        let checked = sandbox.run(&["config", "check"]);
        assert_eq!(checked.code, Some(0), "{rule}: {checked}");
        match why {
            Some(why) => {
                let said = checked
                    .stderr
                    .lines()
                    .find(|line| line.contains("can never match"));
                let is_told = |line: &str| line.starts_with("warning: ") && line.contains(why);
                assert!(said.is_some_and(is_told), "{rule}: {checked}");
            }
            None => assert_eq!(checked.stderr, "", "{rule}"),
        }
    }
}

/// `{"path":"secret.txt"}` has no slash before the name, so the rule would let this file be read.
#[test]
fn a_rule_whose_argument_looks_like_the_pattern_of_a_file_is_a_warning() {
    for (rule, is_told) in [
        ("{effect: deny, tool: read, argument: '**/secret*'}", true),
        ("{effect: ask, tool: write, argument: '*/.ssh/**'}", true),
        ("{effect: deny, tool: 'gr*', argument: '**/secret*'}", true),
        ("{effect: deny, tool: read, path: '**/secret*'}", false),
        ("{effect: deny, tool: bash, argument: '**/secret*'}", false),
        ("{effect: deny, tool: '*', argument: '**/secret*'}", false),
        (
            "{effect: deny, tool: read, argument: '*\"path\":\"secret*'}",
            false,
        ),
    ] {
        let sandbox = with_rule(rule);
        let checked = sandbox.run(&["config", "check"]);
        let said =
            checked.stderr.contains("only by chance") && checked.stderr.contains("`path` is the pattern");
        assert_eq!((checked.code, said), (Some(0), is_told), "{rule}: {checked}");
        if is_told {
            let doctor = sandbox.run(&["doctor", "--offline"]);
            assert!(doctor.stdout.contains("only by chance"), "{rule}: {doctor}");
        }
    }
}

#[test]
fn a_rule_that_would_not_match_is_not_added_and_a_test_of_a_call_names_it() {
    let sandbox = Sandbox::new();
    for pattern in ["**/secret*", "secret*", "**/.env"] {
        let refused = sandbox.run(&["approvals", "add", "deny", "read", "--argument", pattern]);
        assert_eq!(refused.code, Some(2), "{pattern}: {refused}");
        assert!(
            refused.stderr.contains(&format!("--path '{pattern}'")),
            "{pattern}: {refused}"
        );
    }
    for line in [
        ["--argument", "*\"path\":\"x*"],
        ["--argument", "*secret*"],
        ["--path", "**/secret*"],
    ] {
        let added = sandbox.run(&[&["approvals", "add", "deny", "read"], &line[..]].concat());
        assert_eq!(added.code, Some(0), "{added}");
    }
    let sandbox = with_rule("{effect: deny, tool: read, argument: '**/x*'}");
    let tested = sandbox.run(&["approvals", "test", "read: x1"]);
    assert!(
        tested.stdout.starts_with("allow") && tested.stdout.contains("`deny read \"**/x*\"` may not"),
        "{tested}"
    );
    let as_json = sandbox.run(&["approvals", "test", "read: x1", "--json"]);
    assert!(as_json.stdout.contains("\"mismatched\""), "{as_json}");
    let other = sandbox.run(&["approvals", "test", "bash: ls"]);
    assert!(!other.stdout.contains("**/x*"), "{other}");
}
