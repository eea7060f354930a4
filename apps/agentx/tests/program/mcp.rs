//! MCP servers as their users have them: added, known without being started, called by a model after a person or
//! a rule allowed it. The server is `crates/mcp/tests/server.sh`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot start fails")]

use crate::common::{Ran, Sandbox};

const SERVER: &str = include_str!("../../../../crates/mcp/tests/server.sh");

/// A sandbox with the server, which behaves so.
fn sandbox(how: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    configure(&sandbox, how, "");
    sandbox.write(
        "home/answers.yaml",
        "- nth: 1\n  call: {tool: made-up__echo, input: {text: hello}}\n- result: '*'\n  say: done\n",
    );
    sandbox
}

/// The settings, with these lines beside the server.
fn configure(sandbox: &Sandbox, how: &str, more: &str) {
    sandbox.write("home/server.sh", SERVER);
    let path = |name: &str| sandbox.path(name).display().to_string();
    sandbox.config(&format!(
        "model: demo\nscripted_answers: {}\nmcp:\n  made-up:\n    command: sh\n    args: [{:?}, {how:?}, {:?}]\n{more}",
        path("home/answers.yaml"),
        path("home/server.sh"),
        path("home/ledger"),
    ));
}

/// What the server wrote down.
fn ledger(sandbox: &Sandbox) -> String {
    std::fs::read_to_string(sandbox.path("home/ledger")).unwrap_or_default()
}

fn ask(sandbox: &Sandbox, flags: &[&str]) -> Ran {
    sandbox.run(&[&["run", "hello"][..], flags].concat())
}

#[test]
fn a_server_is_started_by_its_first_call_alone() {
    let sandbox = sandbox("plain");
    sandbox.write("home/answers.yaml", "- say: done\n");
    let tried = sandbox.run(&["mcp", "try", "made-up"]);
    assert_eq!(tried.code, Some(0), "{tried}");
    assert!(tried.stdout.contains("made-up__echo  Says it again."), "{tried}");
    assert_eq!(ledger(&sandbox).matches("started").count(), 1);
    let ran = ask(&sandbox, &["--yes"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    for command in [
        &["tools"][..],
        &["reactors"],
        &["mcp"],
        &["mcp", "show", "made-up"],
        &["sessions", "list"],
    ] {
        let shown = sandbox.run(command);
        assert_eq!(shown.code, Some(0), "{shown}");
        let is_about_tools = command != ["sessions", "list"] && command != ["mcp"];
        assert!(
            !is_about_tools || shown.stdout.contains("made-up__echo"),
            "{shown}"
        );
    }
    assert_eq!(ledger(&sandbox).matches("started").count(), 1, "nobody called it");
}

#[test]
fn a_call_needs_a_persons_word_or_a_rule() {
    let sandbox = sandbox("plain");
    assert_eq!(sandbox.run(&["mcp", "try", "made-up"]).code, Some(0));
    let refused = ask(&sandbox, &[]);
    assert!(refused.stderr.contains("MCP server made-up"), "{refused}");
    assert!(!ledger(&sandbox).contains("called"), "{refused}");
    let allowed = ask(&sandbox, &["--yes"]);
    assert_eq!(
        (allowed.code, allowed.stdout.as_str()),
        (Some(0), "done\n"),
        "{allowed}"
    );
    assert_eq!(ledger(&sandbox).matches("called").count(), 1);
    for (rule, runs) in [
        ("{effect: allow, tool: mcp, argument: 'made-up/*'}", true),
        ("{effect: allow, tool: mcp, argument: 'other/*'}", false),
        ("{effect: allow, tool: made-up__echo}", true),
        (
            "{effect: allow, tool: mcp}]\ntools: {disabled: [made-up__echo]}\nx: [",
            false,
        ),
    ] {
        let rule = rule.replace("\nx: [", "").replace("}]", "}");
        let before = ledger(&sandbox).matches("called").count();
        let (rule, more) = rule.split_once('\n').unwrap_or((&rule, ""));
        configure(&sandbox, "plain", &format!("rules: [{rule}]\n{more}\n"));
        let ran = ask(&sandbox, &[]);
        let calls = ledger(&sandbox).matches("called").count() - before;
        assert_eq!(calls, usize::from(runs), "{rule}: {ran}");
    }
    configure(
        &sandbox,
        "plain",
        "rules: [{effect: deny, tool: mcp, argument: '*/echo'}]\n",
    );
    let before = ledger(&sandbox).matches("called").count();
    let denied = ask(&sandbox, &["--yes"]);
    assert_eq!(ledger(&sandbox).matches("called").count(), before, "{denied}");
    let tested = sandbox.run(&["approvals", "test", r#"made-up__echo: {"text": "x"}"#]);
    assert!(tested.stdout.contains("deny mcp"), "{tested}");
}

#[test]
fn the_result_is_on_record_with_what_the_server_said_meanwhile() {
    let sandbox = sandbox("plain");
    sandbox.write(
        "home/answers.yaml",
        "- nth: 1\n  call: {tool: made-up__echo, input: {text: slow}}\n- result: '*slow is done*'\n  say: done\n",
    );
    assert_eq!(sandbox.run(&["mcp", "try", "made-up"]).code, Some(0));
    let ran = ask(
        &sandbox,
        &["--yes", "--output-format", "stream-json", "--view", "environment"],
    );
    assert_eq!(ran.code, Some(0), "{ran}");
    for said in ["1 of 2: half", "logged", "slow is done"] {
        assert!(ran.stdout.contains(said), "{said}: {ran}");
    }
}
