//! `agentx approvals`: rules listed, tested, added, removed, and tried on past sessions.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot start fails")]

use crate::common::{Sandbox, squeezed};

const CONFIG: &str = "# mine\nrules:\n  # builds\n  - {effect: allow, tool: bash, argument: 'cargo *'} # all of it\n  - effect: deny\n    tool: bash\n    argument: rm -rf *\n    examples: {matches: [rm -rf x], not: [ls]}\n# end\n";

fn all(sandbox: &Sandbox, lines: &[&[&str]]) -> String {
    let ran: Vec<String> = lines.iter().map(|args| squeezed(sandbox.run(args))).collect();
    ran.join("\n\n")
}

#[test]
fn rules_about_mcp_servers_are_added_as_the_documents_say() {
    let sandbox = Sandbox::new();
    for line in [
        &["approvals", "add", "allow", "mcp", "db/*"][..],
        &["approvals", "add", "deny", "mcp", "--argument", "db/drop"],
        &["approvals", "add", "ask", "mcp"],
    ] {
        let added = sandbox.run(line);
        assert_eq!(added.code, Some(0), "{added}");
    }
    let config = std::fs::read_to_string(sandbox.path("home/.config/agentx/config.yaml")).unwrap();
    for said in ["db/*", "db/drop"] {
        assert!(config.contains(said), "{config}");
    }
    assert_eq!(sandbox.run(&["config", "check"]).code, Some(0));
}

#[test]
fn rules_are_listed_and_tested() {
    let sandbox = Sandbox::new().of_a_stranger();
    sandbox.config(CONFIG);
    sandbox.write(
        "ws/.agentx/config.yaml",
        "rules:\n  - {effect: ask, tool: read, path: '**/.env'}\n  - {effect: allow, tool: '*'}\n",
    );
    let lines: &[&[&str]] = &[
        &["approvals", "list"],
        &["approvals", "test", "bash: rm -rf build"],
        &["approvals", "test", "bash: cd x && sudo rm -rf y"],
        &["approvals", "test", "bash: cargo test"],
        &["approvals", "test", "bash: git status -s"],
        &["approvals", "test", "write: ../x"],
        &["approvals", "test", "read: src/a"],
        &["approvals", "test", "read: {\"path\": \"a/.env\"}"],
        &["approvals", "test", "--json", "bash: ls"],
        &["approvals", "test", "bahs: ls"],
        &["approvals", "test", "bash: {oops"],
    ];
    insta::assert_snapshot!("approvals_test", all(&sandbox, lines));
}

#[test]
fn a_tested_call_of_agentx_itself_offers_no_rule() {
    let ran = Sandbox::new().run(&["approvals", "test", "bash: agentx config set log warn"]);
    assert!(ran.stdout.starts_with("ask:"), "{ran}");
    assert!(!ran.stdout.contains("always would save"), "{ran}");
}

#[cfg(unix)]
/// The home directory of these tests is not below `/home`.
#[test]
fn a_rule_below_the_home_is_about_its_whole_path_too() {
    let sandbox = Sandbox::new();
    sandbox.config("rules:\n  - {effect: deny, tool: '*', path: '~/secret/**'}\n");
    let home = sandbox.path("home");
    for call in ["read: ~/secret/x", "bash: cat ~/secret/x"] {
        let whole = call.replace('~', &home.display().to_string());
        for call in [call, &whole] {
            let ran = sandbox.run(&["approvals", "test", call]);
            assert!(ran.stdout.starts_with("deny:"), "{call}: {ran}");
        }
    }
}

#[test]
fn a_rule_added_for_a_guarded_file_below_the_home_allows_it_and_the_offered_one_holds() {
    let sandbox = Sandbox::new();
    let whole = format!("read: {}", sandbox.path("home/.ssh/config").display());
    let calls = ["read: ~/.ssh/config", &whole];
    for call in calls {
        let ran = sandbox.run(&["approvals", "test", call]);
        assert!(ran.stdout.starts_with("ask:"), "{ran}");
        assert!(ran.stdout.contains("always would save"), "{ran}");
        assert!(!ran.stdout.contains("would still be asked"), "{ran}");
    }
    let added = sandbox.run(&[
        "approvals",
        "add",
        "allow",
        "read",
        "--path",
        "~/.ssh/config",
        "--here",
    ]);
    assert_eq!(added.code, Some(0), "{added}");
    for call in calls {
        let ran = sandbox.run(&["approvals", "test", call]);
        assert!(ran.stdout.starts_with("allow:"), "{ran}");
    }
    let other = sandbox.run(&["approvals", "test", "read: ~/.ssh/id_rsa"]);
    assert!(other.stdout.starts_with("ask:"), "{other}");
}

#[test]
fn a_tested_command_line_is_refused_where_its_links_lead() {
    let sandbox = Sandbox::new();
    sandbox.write("ws/.env", "X=made-up").write("ws/plain", "words");
    for (link, target) in [("lnk", ".env"), ("fine", "plain")] {
        std::os::unix::fs::symlink(target, sandbox.path("ws").join(link)).unwrap();
    }
    let ran = sandbox.run(&["approvals", "test", "bash: cat lnk"]);
    assert!(ran.stdout.contains("but the tool refuses it:"), "{ran}");
    for line in ["bash: cat fine", "bash: cat plain"] {
        let ran = sandbox.run(&["approvals", "test", line]);
        assert!(!ran.stdout.contains("refuses it"), "{ran}");
    }
}

#[test]
fn rules_are_added_and_removed_and_what_was_written_stays() {
    let sandbox = Sandbox::new();
    sandbox.config(CONFIG);
    let lines: &[&[&str]] = &[
        &["approvals", "add", "deny", "bash", "--argument", "dd *"],
        &["approvals", "add", "deny", "bash", "--argument", "dd *"],
        &["approvals", "add", "dney", "bash"],
        &["approvals", "add", "deny", "bahs"],
        &["approvals", "remove", "3"],
        &["approvals", "remove", "9"],
        &["approvals", "list"],
    ];
    let text = all(&sandbox, lines);
    let file = std::fs::read_to_string(sandbox.path("home/.config/agentx/config.yaml")).unwrap();
    insta::assert_snapshot!("approvals_change", format!("{text}\n\n{file}"));
}

#[test]
fn a_rule_of_a_session_is_listed_with_it_alone() {
    let sandbox = Sandbox::new();
    sandbox.run_with_input(&["chat"], "run echo one\ns echo o*\n");
    sandbox.config(CONFIG);
    let sessions = sandbox.command(&["sessions", "list", "--json"]).output().unwrap();
    let sessions: serde_json::Value = serde_json::from_slice(&sessions.stdout).unwrap();
    let id = sessions[0]["session_id"].as_str().unwrap();
    let listed = squeezed(sandbox.run(&["approvals", "list", "--session", id]));
    assert!(
        listed.contains("– allow bash \"echo o*\" (only in /ws) the session"),
        "{listed}"
    );
    assert!(!squeezed(sandbox.run(&["approvals", "list"])).contains("echo"));
    let tested = sandbox.run(&["approvals", "test", "--session", id, "bash: echo on"]);
    assert!(tested.stdout.starts_with("allow: "), "{tested}");
}

#[test]
fn a_wrong_example_is_said_with_its_place() {
    let sandbox = Sandbox::new();
    sandbox.config(&CONFIG.replace("not: [ls]", "not: ['cd x; rm -rf y']"));
    let ran = sandbox.run(&["config", "check"]);
    assert_eq!(ran.code, Some(3), "{ran}");
    assert!(
        ran.stderr
            .contains("config.yaml:8:43: `rules.examples`: the example `cd x; rm -rf y` matches the rule"),
        "{ran}"
    );
}

#[test]
fn a_rule_is_tried_on_past_sessions() {
    let sandbox = Sandbox::new();
    sandbox.run_with_input(&["chat"], "run echo one\ny\nrun uname -s\nn\nread a.txt\n");
    let lines: &[&[&str]] = &[
        &["approvals", "replay", "--rule", "deny bash: echo *"],
        &["approvals", "replay", "--rule", "allow bash"],
        &["approvals", "replay", "--rule", "ask read", "--limit", "0"],
        &["approvals", "replay", "--rule", "deny web: x"],
        &["approvals", "replay", "--rule", "dney bash"],
    ];
    insta::assert_snapshot!("approvals_replay", all(&sandbox, lines));
    sandbox.run(&["run", "hello"]);
    let note = "checked the latest 1 of 2 sessions; `--sessions all` checks all of them";
    let ran = sandbox.run(&["approvals", "replay", "--rule", "allow bash", "--last", "1"]);
    assert!(ran.stderr.contains(note), "{ran}");
    let ran = sandbox.run(&["approvals", "replay", "--rule", "allow bash", "--last", "all"]);
    assert!(
        ran.stderr.is_empty() && ran.stdout.contains("in 2 sessions"),
        "{ran}"
    );
    let id = crate::rewind::id_of(&sandbox, 1);
    let ran = sandbox.run(&[
        "approvals",
        "replay",
        "--rule",
        "allow bash",
        "--json",
        "--session",
        &id,
    ]);
    let report: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let changes = &report["sessions"][0]["changes"];
    assert_eq!(changes[1]["answered"], "deny", "{ran}");
    assert_eq!(changes[0]["input"]["command"], "echo one", "{ran}");
}

#[test]
#[cfg(unix)]
fn links_out_of_the_workspace_are_seen_for_what_they_are() {
    use std::os::unix::fs::symlink;
    let sandbox = Sandbox::new();
    sandbox
        .config("rules:\n  - {effect: deny, tool: read, path: \"secret/**\"}\n  - {effect: allow, tool: write, path: \"**\"}\n")
        .write("elsewhere/key", "words")
        .write("ws/secret/key", "words")
        .write("ws/plain", "words");
    symlink(sandbox.path("elsewhere"), sandbox.path("ws/out")).unwrap();
    symlink("../elsewhere/new", sandbox.path("ws/dangling")).unwrap();
    symlink("secret/key", sandbox.path("ws/inner")).unwrap();
    symlink("plain", sandbox.path("ws/same")).unwrap();
    let refused = |call: &str| {
        let ran = sandbox.run(&["approvals", "test", call]);
        assert_eq!(ran.code, Some(0), "{ran}");
        let line = ran
            .stdout
            .lines()
            .find(|line| line.starts_with("but the tool refuses it"));
        line.map(str::to_owned)
    };
    for call in ["read: out/key", "write: out/new", "write: dangling"] {
        let line = refused(call).unwrap_or_default();
        assert!(line.contains("outside the workspace"), "{call}: {line}");
    }
    let line = refused("read: inner").unwrap_or_default();
    assert!(line.contains("deny read"), "a rule about where it leads: {line}");
    for call in [
        "read: plain",
        "read: same",
        "read: secret/key",
        "read: /etc/passwd",
        "write: new/file",
    ] {
        assert_eq!(refused(call), None, "{call}");
    }
    let ran = sandbox.run(&["run", "--quiet", "read out/key"]);
    assert!(
        ran.stdout.contains("is outside the workspace"),
        "the tool says the same: {ran}"
    );
}

#[test]
fn a_rule_that_asks_holds_in_the_mode_auto_and_yes_answers_it() {
    let sandbox = Sandbox::new();
    sandbox
        .config("approval: auto\nrules:\n  - {effect: ask, tool: bash, argument: 'touch *'}\n")
        .write("ws/.env", "KEY=made-up\n");
    for prompt in ["run touch one", "read .env"] {
        let refused = sandbox.run(&["run", "--quiet", prompt]);
        assert_eq!(refused.code, Some(7), "{refused}");
        assert!(!refused.stdout.contains("made-up"), "{refused}");
    }
    assert!(!sandbox.path("ws/one").exists());
    let unasked = sandbox.run(&["run", "--quiet", "run echo unasked"]);
    assert_eq!(unasked.code, Some(0), "{unasked}");
    let ran = sandbox.run(&["run", "--yes", "--quiet", "run touch two"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    let chat = sandbox.run_with_input(&["chat", "--yes"], "run touch three\n");
    assert!(!chat.stdout.contains("wants to"), "nothing is asked: {chat}");
    assert!(
        sandbox.path("ws/two").exists() && sandbox.path("ws/three").exists(),
        "{chat}"
    );
}

/// Outside of a session nobody waits for an answer to what a script's call asks.
#[test]
fn a_tool_that_is_tried_does_not_wait_for_an_answer_that_nobody_gives() {
    let sandbox = Sandbox::new();
    sandbox.config("rules:\n  - {effect: ask, tool: bash}\n").write(
        "home/.config/agentx/tools/asks.yaml",
        "name: asks\ntype: luau\ncapabilities: {tools: [bash]}\n\
             lua: 'return function(ctx) return ctx.invoke(\"bash\", {command = \"touch made\"}) end'\n",
    );
    let tried = sandbox.run(&["tools", "run", "asks", "{}"]);
    assert_eq!(tried.code, Some(1), "{tried}");
    assert!(
        tried.to_string().contains(
            "nobody can be asked outside of a session; with `--yes`, `agentx tools run` allows such calls"
        ),
        "{tried}"
    );
    assert!(!sandbox.path("ws/made").exists());
    let allowed = sandbox.run(&["tools", "run", "--yes", "asks", "{}"]);
    assert_eq!(allowed.code, Some(0), "{allowed}");
    assert!(sandbox.path("ws/made").exists());

    sandbox.config("rules:\n  - {effect: deny, tool: bash}\n");
    std::fs::remove_file(sandbox.path("ws/made")).unwrap();
    let denied = sandbox.run(&["tools", "run", "--yes", "asks", "{}"]);
    assert_eq!(denied.code, Some(1), "{denied}");
    assert!(
        !sandbox.path("ws/made").exists(),
        "a yes is none to what a rule denies"
    );
    // The rules hold for the tool itself too.
    let made = "{\"command\": \"touch made\"}";
    let denied = sandbox.run(&["tools", "run", "--yes", "bash", made]);
    assert_eq!(denied.code, Some(1), "{denied}");
    assert!(
        denied.to_string().contains("the rule \"deny bash\" denies it"),
        "{denied}"
    );
    sandbox.config("rules:\n  - {effect: ask, tool: bash}\n");
    let asked = sandbox.run(&["tools", "run", "bash", made]);
    assert_eq!(asked.code, Some(7), "{asked}");
    assert!(
        asked
            .to_string()
            .contains("with `--yes`, `agentx tools run` allows"),
        "{asked}"
    );
    let as_json = sandbox.run(&["tools", "run", "bash", made, "--json"]);
    assert_eq!(as_json.code, Some(7), "{as_json}");
    assert!(as_json.stdout.contains("\"needs_approval\": true"), "{as_json}");
    assert!(!sandbox.path("ws/made").exists());
    let allowed = sandbox.run(&["tools", "run", "--yes", "bash", made]);
    assert_eq!(allowed.code, Some(0), "{allowed}");
    assert!(sandbox.path("ws/made").exists());
}

/// The settings, keys and sessions are not reached by way of a folder around them either, whatever rules
/// allow.
#[test]
fn no_everyday_rule_reaches_the_programs_own_files_by_a_folder_around_them() {
    let sandbox = Sandbox::new();
    let rules = ["cp *", "mv *", "ln *", "rsync *", "chmod *"]
        .map(|line| format!("  - {{effect: allow, tool: bash, argument: '{line}'}}\n"));
    sandbox.config(&format!("rules:\n{}", rules.concat()));
    let verdict = |line: &str| {
        let ran = sandbox.command(&["approvals", "test", "--json", &format!("bash: {line}")]);
        let output = { ran }.output().unwrap();
        let judged: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        judged["decision"].as_str().unwrap_or_default().to_owned()
    };
    for line in [
        "cp config.yaml ~/.config/agentx",
        "cp x ~/.config/agentx/",
        "cp x ~/.config/agentx/tools/evil.luau",
        "mv x ~/.config/agentx/AGENTS.md",
        "cp ~/.config/agentx/config.yaml x",
    ] {
        assert_eq!(verdict(line), "deny", "{line}");
    }
    for line in [
        "cp -r evil/agentx ~/.config/",
        "cp -r evil/. ~/.config/",
        "mv evil/agentx ~/.config/agentx/..",
        "cp -r ~/.local/share/. here",
        "ln -s ~/.local/share l",
        "rsync -a ~ x",
        "cp x .git/hooks/pre-commit",
        "chmod +x .husky/pre-push",
    ] {
        assert_eq!(verdict(line), "ask", "{line}");
    }
    for line in ["cp -r src build", "cp x ~/notes/", "mv a b", "chmod +x run.sh"] {
        assert_eq!(verdict(line), "allow", "{line}");
    }
}
