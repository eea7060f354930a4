//! MCP servers as their users have them: added, known without being started, called by a model after a person
//! or a rule allowed it. The server is `crates/mcp/tests/servers/server.sh`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot start fails")]

use serde_json::Value;

use crate::common::{Ran, Sandbox};
use crate::pty::Pty;

const SERVER: &str = include_str!("../../../../crates/mcp/tests/servers/server.sh");

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

/// Returns the server's record.
fn ledger(sandbox: &Sandbox) -> String {
    std::fs::read_to_string(sandbox.path("home/ledger")).unwrap_or_default()
}

fn ask(sandbox: &Sandbox, flags: &[&str]) -> Ran {
    sandbox.run(&[&["run", "hello"][..], flags].concat())
}

#[test]
fn tools_that_take_too_much_room_are_found_without_starting_their_server() {
    let sandbox = sandbox("plain");
    sandbox.run(&["mcp", "try", "made-up"]);
    configure(&sandbox, "plain", "tools:\n  find_tools_at: 0\n");
    sandbox.write(
        "home/answers.yaml",
        "- nth: 1\n  call: {tool: find_tools, input: {query: repeat what I say again}}\n- result: '*'\n  say: done\n",
    );
    let ran = ask(&sandbox, &["--yes"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    let list = sandbox.command(&["sessions", "list", "--json"]).output().unwrap();
    let list: Value = serde_json::from_slice(&list.stdout).unwrap();
    let shown = sandbox.run(&["show", list[0]["session_id"].as_str().unwrap()]);
    assert!(shown.stdout.contains("These tools can be called now:"), "{shown}");
    assert_eq!(
        ledger(&sandbox).matches("started").count(),
        1,
        "`try` alone started it"
    );
    let listed = sandbox.run(&["mcp"]);
    assert!(listed.stdout.contains("made-up  known"), "{listed}");
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
        &["mcp", "list"],
        &["mcp", "show", "made-up"],
        &["sessions", "list"],
    ] {
        let shown = sandbox.run(command);
        assert_eq!(shown.code, Some(0), "{shown}");
        let is_about_tools = command != ["sessions", "list"] && command != ["mcp", "list"];
        assert!(
            !is_about_tools || shown.stdout.contains("made-up__echo"),
            "{shown}"
        );
    }
    assert_eq!(ledger(&sandbox).matches("started").count(), 1, "nobody called it");
}

#[test]
fn ten_servers_that_nobody_uses_start_nothing_and_the_list_says_how_they_stand() {
    let sandbox = sandbox("plain");
    sandbox.write("home/answers.yaml", "- say: done\n");
    let path = |name: &str| sandbox.path(name).display().to_string();
    let (script, ledger_file) = (path("home/server.sh"), path("home/ledger"));
    let server = |name: &str, how: &str| {
        format!("  {name}:\n    command: sh\n    args: [{script:?}, {how}, {ledger_file:?}, {name}]\n")
    };
    let mut settings: String = (0..8)
        .map(|number| server(&format!("idle-{number}"), "plain"))
        .collect();
    settings.push_str(&server("broken", "dies"));
    settings.push_str(&server("new", "plain"));
    configure(&sandbox, "plain", &settings);
    for number in 0..8 {
        assert_eq!(
            sandbox.run(&["mcp", "try", &format!("idle-{number}")]).code,
            Some(0)
        );
    }
    assert_eq!(sandbox.run(&["mcp", "try", "broken"]).code, Some(1));
    let before = ledger(&sandbox);
    assert_eq!(before.matches("started").count(), 9);
    let ran = ask(&sandbox, &["--yes"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "done\n"), "{ran}");
    assert_eq!(ledger(&sandbox), before, "none was started");
    let state = |name: &str| {
        let listed = sandbox.run(&["mcp", "list"]);
        let row = listed
            .stdout
            .lines()
            .find(|row| row.split(' ').next() == Some(name));
        row.unwrap().split_whitespace().nth(1).unwrap().to_owned()
    };
    let states = ["idle-0", "broken", "new"].map(state);
    assert_eq!(states, ["known", "failed", "configured"]);
    assert_eq!(ledger(&sandbox), before, "nor to be listed");
    // A session of another process uses one of them.
    sandbox.write(
        "home/answers.yaml",
        "- nth: 1\n  call: {tool: idle-3__echo, input: {text: hang}}\n",
    );
    let mut running = sandbox.command(&["run", "--yes", "hello"]).spawn().unwrap();
    while !ledger(&sandbox).contains("called") {
        std::thread::yield_now();
    }
    assert_eq!(["idle-3", "idle-4"].map(state), ["running", "known"]);
    running.kill().unwrap();
    running.wait().unwrap();
    assert_eq!(state("idle-3"), "known", "the mark of a killed process is gone");
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

#[test]
fn a_server_asks_the_person_and_nobody_where_there_is_none() {
    let sandbox = sandbox("plain");
    sandbox.write(
        "home/answers.yaml",
        "- nth: 1\n  call: {tool: made-up__echo, input: {text: ask}}\n- result: '*asked*'\n  say: done\n",
    );
    configure(&sandbox, "plain", "rules: [{effect: allow, tool: mcp}]\n");
    assert_eq!(sandbox.run(&["mcp", "try", "made-up"]).code, Some(0));
    for (number, flags) in [&[][..], &["--yes"]].into_iter().enumerate() {
        let ran = ask(&sandbox, flags);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "done\n"), "{ran}");
        let declined = r#""result":{"action":"decline"}"#;
        assert_eq!(ledger(&sandbox).matches(declined).count(), number + 1, "{ran}");
    }
    let mut chat = Pty::start(&sandbox, &["chat", "hello"], 120, 40);
    chat.wait_for("MCP server made-up asks you");
    chat.wait_for("name (text; required)");
    chat.wait_for("answer? y ANSWER");
    chat.keys("y A\r");
    chat.wait_for("at least 2");
    chat.keys("y Ada\r");
    chat.wait_for("done");
    chat.keys("\u{4}");
    chat.end();
    let accepted = r#""result":{"action":"accept","content":{"name":"Ada"}}"#;
    assert!(ledger(&sandbox).contains(accepted), "{}", ledger(&sandbox));
}

/// A server of version 2026-07-28 gives the call back with its question, so it is answered in whichever
/// program.
#[test]
fn a_question_that_a_server_gave_back_outlives_the_program_that_asked_it() {
    for is_killed in [true, false] {
        let sandbox = sandbox("modern");
        sandbox.write(
            "home/answers.yaml",
            "- nth: 1\n  call: {tool: made-up__echo, input: {text: need}}\n- result: '*thank you*'\n  say: done\n",
        );
        configure(&sandbox, "modern", "rules: [{effect: allow, tool: mcp}]\n");
        assert_eq!(sandbox.run(&["mcp", "try", "made-up"]).code, Some(0));
        let mut chat = Pty::start(&sandbox, &["chat", "hello"], 120, 40);
        chat.wait_for("MCP server made-up asks you");
        if is_killed {
            chat.kill_program();
        } else {
            chat.keys("\u{4}");
            chat.wait_for("the question stays open; press Ctrl-D again to leave");
            chat.keys("\u{4}");
            assert_eq!(chat.end(), Some(0));
        }
        assert!(
            !ledger(&sandbox).contains("inputResponses"),
            "{}",
            ledger(&sandbox)
        );
        let mut chat = Pty::start(&sandbox, &["resume", "--last"], 120, 40);
        chat.wait_for("answer? y ANSWER");
        chat.keys("y Ada\r");
        chat.wait_for("done");
        chat.keys("\u{4}");
        chat.end();
        let ledger = ledger(&sandbox);
        assert_eq!(ledger.matches("called").count(), 2, "{ledger}");
        let answer = r#""who":{"action":"accept","content":{"name":"Ada"}}"#;
        assert!(
            ledger.contains(answer) && ledger.contains(r#""requestState":"x""#),
            "{ledger}"
        );
    }
}

#[test]
fn a_server_may_ask_the_model_where_the_person_lets_it_and_the_bill_is_shown() {
    let sandbox = sandbox("plain");
    sandbox.write(
        "home/answers.yaml",
        "- input: Say a word.\n  say: sesame\n- nth: 1\n  call: {tool: made-up__echo, input: {text: sample}}\n- result: '*asked*'\n  say: done\n",
    );
    assert_eq!(sandbox.run(&["mcp", "try", "made-up"]).code, Some(0));
    let refused = ask(&sandbox, &["--yes"]);
    assert_eq!(refused.code, Some(0), "{refused}");
    let text = ledger(&sandbox);
    assert!(
        text.contains("a person has to allow it: mcp.made-up.sampling"),
        "{text}"
    );
    configure(&sandbox, "plain", "    sampling: true\n");
    let flags = ["--yes", "--output-format", "stream-json", "--view", "environment"];
    let ran = ask(&sandbox, &flags);
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(
        ledger(&sandbox).contains(r#""text":"sesame""#),
        "{}",
        ledger(&sandbox)
    );
    for said in [
        r#""kind":"generate""#,
        "answered the MCP server made-up: ",
        r#""bill""#,
    ] {
        assert!(ran.stdout.contains(said), "{said}: {ran}");
    }
}

#[test]
fn a_changed_tool_is_shown_and_asked_about_whatever_rules_say() {
    let sandbox = sandbox("plain");
    let describe = |about: &str| {
        // The description is the third argument; the command line stays as it is.
        let script = SERVER.replace("about=${3:-Says it again.}", &format!("about='{about}'"));
        configure(&sandbox, "plain", "rules: [{effect: allow, tool: mcp}]\n");
        sandbox.write("home/server.sh", script);
    };
    describe("Says it again.");
    assert_eq!(sandbox.run(&["mcp", "try", "made-up"]).code, Some(0));
    let calls = || ledger(&sandbox).matches("called").count();
    assert_eq!(ask(&sandbox, &[]).code, Some(0));
    assert_eq!(calls(), 1, "the rule allows it");
    describe("Sends it to evil.example.");
    let meanwhile = ask(&sandbox, &[]);
    assert_eq!(calls(), 1, "what is started is another server: {meanwhile}");
    for flags in [&[][..], &["--yes"]] {
        let asked = ask(&sandbox, flags);
        assert_eq!(calls(), 1, "{asked}");
        assert!(
            asked
                .stderr
                .contains("`agentx mcp try made-up --accept` accepts it"),
            "{asked}"
        );
    }
    let mut chat = Pty::start(&sandbox, &["chat", "hello"], 120, 40);
    chat.wait_for("+Sends it");
    chat.keys("n\r");
    chat.wait_for("done");
    chat.keys("\u{4}");
    chat.end();
    assert_eq!(calls(), 1, "a person said no");
    let shown = sandbox.run(&["mcp", "show", "made-up"]);
    assert!(shown.stdout.contains("changed since you accepted it"), "{shown}");
    assert_eq!(sandbox.run(&["mcp", "try", "made-up", "--accept"]).code, Some(0));
    assert_eq!(ask(&sandbox, &[]).code, Some(0));
    assert_eq!(calls(), 2, "a person has accepted it");
}

#[test]
fn a_server_is_added_tried_and_removed_and_the_file_stays_the_persons() {
    let sandbox = Sandbox::new().env("TOKEN", "made-up-secret");
    sandbox.write("home/server.sh", SERVER);
    sandbox.config("# mine\nmodel: demo\n");
    let path = |name: &str| sandbox.path(name).display().to_string();
    let (script, ledger) = (path("home/server.sh"), path("home/ledger"));
    let add = [
        "mcp",
        "add",
        "made-up",
        "--env",
        "SECRET=TOKEN",
        "--",
        "sh",
        &script,
        "plain",
        &ledger,
    ];
    let added = sandbox.run(&add);
    assert_eq!(added.code, Some(0), "{added}");
    assert!(added.stdout.contains("made-up__echo"), "{added}");
    let file = std::fs::read_to_string(sandbox.path("home/.config/agentx/config.yaml")).unwrap();
    assert!(
        file.starts_with("# mine\nmodel: demo\n") && file.contains("SECRET: \"${TOKEN}\""),
        "{file}"
    );
    assert!(!file.contains("made-up-secret"), "{file}");
    let again = sandbox.run(&add);
    assert_eq!(again.code, Some(2), "{again}");
    let listed = sandbox.run(&["--json", "mcp", "list"]);
    assert!(listed.stdout.contains("\"state\": \"known\""), "{listed}");
    let near = sandbox.run(&["mcp", "show", "made-upp"]);
    assert!(near.stderr.contains("did you mean `made-up`?"), "{near}");
    let secret = sandbox.run(&["run", "--yes", "run echo $TOKEN"]);
    assert!(
        !secret.to_string().contains("made-up-secret"),
        "no command gets it: {secret}"
    );
    assert_eq!(sandbox.run(&["mcp", "remove", "made-up"]).code, Some(0));
    let file = std::fs::read_to_string(sandbox.path("home/.config/agentx/config.yaml")).unwrap();
    assert_eq!(file, "# mine\nmodel: demo\n");
    for wrong in [
        &["mcp", "add", "a__b", "x"][..],
        &["mcp", "add", "a", "--env", "K=not a name", "x"],
        &["mcp", "add", "a", "--header", "K=V", "x"],
        &["mcp", "add", "a", "http://127.0.0.1:1", "more"],
        &["mcp", "try", "none"],
    ] {
        let refused = sandbox.run(wrong);
        assert_eq!(refused.code, Some(2), "{refused}");
    }
}

#[test]
fn a_variable_that_is_not_set_is_named_by_try_show_and_doctor() {
    let sandbox = sandbox("plain");
    configure(&sandbox, "plain", "    env: {GIVEN: \"${NOT_SET_HERE}\"}\n");
    for args in [
        &["mcp", "try", "made-up"][..],
        &["mcp", "show", "made-up"],
        &["doctor", "--offline"],
    ] {
        let told = sandbox.run(args).to_string();
        let words: Vec<&str> = told.split_whitespace().collect();
        assert!(
            words
                .join(" ")
                .contains("it does not get GIVEN: the variable NOT_SET_HERE is not set"),
            "{told}"
        );
    }
}

#[test]
fn a_folders_servers_count_as_a_person_saw_them() {
    let sandbox = Sandbox::new().of_a_stranger();
    sandbox.write("home/server.sh", SERVER).config("model: demo\n");
    let path = |name: &str| sandbox.path(name).display().to_string();
    let file = |how: &str| {
        let arguments = serde_json::json!([path("home/server.sh"), how, path("home/ledger")]);
        serde_json::json!({"mcpServers": {"theirs": {"command": "sh", "args": arguments}}}).to_string()
    };
    sandbox
        .write("ws/.agentx/config.yaml", "approval: ask\n")
        .write("ws/.mcp.json", file("plain"));
    let tried = || sandbox.run(&["mcp", "try", "theirs"]);
    let refused = tried();
    assert_eq!(refused.code, Some(2), "{refused}");
    let ran = sandbox.run(&["run", "--yes", "hello"]);
    assert!(ran.stderr.contains(".mcp.json"), "{ran}");
    let shown = sandbox.run(&["config", "trust", "--show"]);
    assert!(
        shown
            .stdout
            .contains("→ MCP server `theirs`: its tools start this program: sh "),
        "{shown}"
    );
    assert_eq!(sandbox.run(&["config", "trust"]).code, Some(0));
    let accepted = tried();
    assert_eq!(accepted.code, Some(0), "{accepted}");
    let listed = sandbox.run(&["mcp", "list"]);
    assert!(listed.stdout.contains("folder"), "{listed}");
    sandbox.write("ws/.mcp.json", file("modern"));
    let changed = tried();
    assert_eq!(changed.code, Some(2), "{changed}");
    let ran = sandbox.run(&["run", "--yes", "hello"]);
    assert!(ran.stderr.contains("not loaded: .mcp.json"), "{ran}");
    assert_eq!(ledger(&sandbox).matches("started").count(), 1);
    assert_eq!(sandbox.run(&["config", "trust", "--read-only"]).code, Some(0));
    assert_eq!(tried().code, Some(2), "a folder that is only read starts nothing");
    sandbox.write("ws/.agentx/config.yaml", "mcp: {theirs: {command: sh}}\n");
    let ignored = sandbox.run(&["mcp", "list"]);
    assert!(ignored.stderr.contains("mcp.theirs.command"), "{ignored}");
}

/// Waits until no process has this id; the test runner ends a test that waits too long.
fn wait_until_gone(pid: i32) {
    let pid = nix::unistd::Pid::from_raw(pid);
    while nix::sys::signal::kill(pid, None).is_ok() {
        std::thread::yield_now();
    }
}

#[test]
fn a_killed_program_leaves_no_server_and_repeats_no_call() {
    let sandbox = sandbox("stubborn");
    sandbox.write(
        "home/answers.yaml",
        "- nth: 1\n  call: {tool: made-up__echo, input: {text: hang}}\n- result: '*'\n  say: done\n",
    );
    assert_eq!(sandbox.run(&["mcp", "try", "made-up"]).code, Some(0));
    let mut running = sandbox.command(&["run", "--yes", "hello"]).spawn().unwrap();
    while !ledger(&sandbox).contains("called") {
        std::thread::yield_now();
    }
    running.kill().unwrap();
    running.wait().unwrap();
    let last = ledger(&sandbox);
    let started = last.lines().rfind(|line| line.starts_with("started")).unwrap();
    wait_until_gone(started.rsplit(' ').next().unwrap().parse().unwrap());
    let gone_on = sandbox.run(&[
        "run",
        "--last",
        "--yes",
        "--output-format",
        "stream-json",
        "--view",
        "environment",
    ]);
    assert_eq!(gone_on.code, Some(0), "{gone_on}");
    assert!(gone_on.stdout.contains("\"status\":\"unknown\""), "{gone_on}");
    assert_eq!(ledger(&sandbox).matches("called").count(), 1, "{gone_on}");
}

#[test]
fn a_server_cannot_change_who_serves() {
    let sandbox = Sandbox::new().env("AGENTX_CALL", "program/made-up/1.1.1.1");
    for command in [
        &["mcp", "add", "a", "x"][..],
        &["mcp", "try", "a"],
        &["mcp", "remove", "a"],
        &["mcp", "serve"],
    ] {
        let refused = sandbox.run(command);
        assert!(refused.stderr.contains("only a person may do that"), "{refused}");
    }
    assert_eq!(sandbox.run(&["mcp", "list"]).code, Some(0));
}

#[test]
fn what_is_served_is_known_called_and_refused_by_the_rules() {
    let sandbox = Sandbox::new();
    sandbox.write("ws/a.txt", "made up\n");
    let agentx = env!("CARGO_BIN_EXE_agentx");
    // Started by a program that knows nothing of AgentX; `a_server_cannot_change_who_serves` has the other
    // case.
    let answers = "- nth: 1\n  call: {tool: self__read, input: {path: a.txt}}\n- result: '*it was not allowed at the client*'\n  say: done\n- result: '*made up*'\n  call: {tool: self__bash, input: {command: echo x}}\n";
    let server =
        format!("mcp:\n  self:\n    command: env\n    args: [-u, AGENTX_CALL, {agentx}, mcp, serve]\n");
    sandbox.demo(answers, &server);
    let tried = sandbox.run(&["mcp", "try", "self"]);
    assert_eq!(tried.code, Some(0), "{tried}");
    assert!(tried.stdout.contains("protocol 2026-07-28"), "{tried}");
    assert!(
        tried.stdout.contains("self__read") && tried.stdout.contains("self__bash"),
        "{tried}"
    );
    assert!(
        !tried.stdout.contains("self__todo") && !tried.stdout.contains("self__self"),
        "{tried}"
    );
    let ran = ask(&sandbox, &["--yes"]);
    // The script says so only after the refusal: the person's `--yes` is not that of the server, and answers
    // no question of it.
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "done\n"), "{ran}");
}

#[test]
fn a_tool_of_a_server_is_run_like_any_other() {
    let sandbox = sandbox("plain");
    sandbox.run(&["mcp", "try", "made-up"]);
    let ran = sandbox.run(&["tools", "run", "made-up__echo", r#"{"text": "hello"}"#]);
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(ran.stdout.contains("echo"), "what the server answers: {ran}");
    let doctor = sandbox.run(&["doctor", "--offline"]);
    assert!(
        doctor.stdout.contains("made-up worked when last used, just now"),
        "{doctor}"
    );
}

#[test]
fn a_server_that_does_not_start_is_not_added_and_one_that_is_there_names_what_to_do() {
    let sandbox = Sandbox::new();
    let bad = ["mcp", "add", "bad", "--", "agentx-made-up-program"];
    let ran = sandbox.run(&bad);
    assert_eq!(ran.code, Some(1), "{ran}");
    assert!(
        ran.stderr.contains("it was not added") && !ran.stderr.contains("added bad"),
        "{ran}"
    );
    let listed = sandbox.run(&["mcp", "list"]);
    assert!(!listed.stdout.contains("bad"), "{listed}");
    let kept = sandbox.run(&["mcp", "add", "--no-try", "bad", "--", "agentx-made-up-program"]);
    assert_eq!(kept.code, Some(0), "{kept}");
    let again = sandbox.run(&bad);
    assert!(
        again.stderr.contains("`agentx mcp remove bad`") && !again.stderr.contains("help run"),
        "{again}"
    );
    let doctor = sandbox.run(&["doctor", "--offline"]);
    assert!(
        doctor.stdout.contains("bad was never started") && doctor.stdout.contains("agentx mcp try bad"),
        "{doctor}"
    );
}

#[test]
fn tools_of_an_added_server_are_known_in_the_data_directory_of_the_command_line() {
    let sandbox = Sandbox::new();
    sandbox.write("home/server.sh", SERVER);
    let path = |name: &str| sandbox.path(name).display().to_string();
    let (data, server, ledger) = (path("other"), path("home/server.sh"), path("home/ledger"));
    let add = ["mcp", "add", "made-up", "--", "sh", &server, "plain", &ledger];
    let added = sandbox.run(&[&["--data", &data][..], &add].concat());
    assert_eq!(added.code, Some(0), "{added}");
    let there = sandbox.run(&["--data", &data, "doctor", "--offline"]);
    assert!(there.stdout.contains("made-up worked when last used"), "{there}");
    let elsewhere = sandbox.run(&["doctor", "--offline"]);
    assert!(
        elsewhere.stdout.contains("made-up was never started"),
        "{elsewhere}"
    );
}
