//! Headless runs on the offline demo: what goes where, how it ends, what is kept.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot start fails")]

use crate::common::Sandbox;
use serde_json::Value;

#[test]
fn standard_output_is_data_and_standard_error_is_how_it_goes() {
    let sandbox = Sandbox::new();
    sandbox.write("ws/README.md", "# Hello\n");
    let ran = sandbox.run(&["run", "--yes", "run echo one"]);
    insta::assert_snapshot!("run_text", ran);
    let quiet = sandbox.run(&["run", "--quiet", "read README.md"]);
    assert_eq!(quiet.code, Some(0), "{quiet}");
    assert_eq!(quiet.stderr, "", "{quiet}");
    assert!(quiet.stdout.contains("# Hello"), "{quiet}");
}

#[test]
fn standard_input_joins_the_prompt() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run_with_input(&["run", "--output-format", "json", "-"], "hello\n");
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(ran.result()["text"].as_str().unwrap().contains("demo"), "{ran}");
}

#[test]
fn a_json_run_is_one_object() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["run", "--output-format", "json", "hello"]);
    assert_eq!(ran.stdout.lines().count(), 1, "{ran}");
    let result = ran.result();
    assert_eq!(result["status"], "completed");
    assert_eq!(result["exit_code"], 0);
    assert_eq!(result["model"], "scripted");
    assert!(result["usage"]["output_tokens"].as_u64().unwrap() > 0, "{ran}");
    assert!(result.get("error").is_none());
}

/// Every frame of a run, and the result at its end.
fn frames(sandbox: &Sandbox, view: &str) -> (Vec<Value>, Value) {
    let ran = sandbox.run(&[
        "run",
        "--output-format",
        "stream-json",
        "--view",
        view,
        "--yes",
        "run echo two",
    ]);
    let mut frames: Vec<Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let result = frames.pop().unwrap();
    assert_eq!(result["type"], "result");
    (frames, result)
}

#[test]
fn a_stream_is_every_event_and_then_the_result() {
    let sandbox = Sandbox::new();
    let (frames, result) = frames(&sandbox, "runtime");
    assert_eq!(frames.first().unwrap()["event"], "session_created");
    assert_eq!(frames.last().unwrap()["event"], "run_finished");
    let text: String = frames
        .iter()
        .filter(|frame| frame["event"] == "text_delta")
        .filter_map(|frame| frame["payload"]["text"].as_str())
        .collect();
    assert!(text.ends_with(result["text"].as_str().unwrap()));
    let keys: Vec<(u64, u64)> = frames
        .iter()
        .map(|frame| (frame["seq"].as_u64().unwrap(), frame["index"].as_u64().unwrap()))
        .collect();
    assert!(
        keys.windows(2).all(|pair| pair[0] < pair[1]),
        "no event comes twice"
    );
}

#[test]
fn the_facts_are_a_stream_too() {
    let sandbox = Sandbox::new();
    let (frames, result) = frames(&sandbox, "environment");
    let seqs: Vec<u64> = frames
        .iter()
        .map(|frame| frame["seq"].as_u64().unwrap())
        .collect();
    assert_eq!(
        seqs,
        (1..=seqs.len() as u64).collect::<Vec<_>>(),
        "dense from the first fact"
    );
    assert_eq!(frames[0]["event"], "session_opened");
    assert_eq!(
        frames
            .iter()
            .filter(|frame| frame["event"] == "tool_result")
            .count(),
        1
    );
    assert_eq!(result["status"], "completed");
}

#[test]
fn without_a_terminal_a_question_is_answered_with_no() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["run", "--approve", "ask", "run touch made"]);
    assert_eq!(ran.code, Some(7), "{ran}");
    assert!(ran.stderr.contains("nobody could be asked"), "{ran}");
    assert!(!sandbox.path("ws/made").exists());
    let frames = sandbox.run(&["run", "--output-format", "stream-json", "run touch made"]);
    assert!(
        frames
            .stdout
            .contains("nobody can be asked: there is no terminal"),
        "{frames}"
    );
    assert!(
        !frames.stdout.contains("approval_requested") && !frames.stdout.contains("The person"),
        "no decision is recorded that nobody made: {frames}"
    );
    let again = sandbox.run(&["run", "--last", "run touch made"]);
    assert_eq!(
        again.code,
        Some(7),
        "the session asks again, and there is nobody: {again}"
    );
    let denied = sandbox.run(&["run", "--approve", "deny", "run touch made"]);
    assert_eq!(denied.code, Some(0), "{denied}");
    assert!(!sandbox.path("ws/made").exists());
    sandbox.config("rules:\n  - {effect: allow, tool: bash, argument: 'touch *'}\n");
    let allowed = sandbox.run(&["run", "run touch made"]);
    assert_eq!(allowed.code, Some(0), "{allowed}");
    assert!(sandbox.path("ws/made").exists());
}

#[test]
fn an_output_that_is_closed_ends_the_run_quietly() {
    use std::io::{BufRead as _, BufReader};
    let sandbox = Sandbox::new();
    let mut child = sandbox
        .command(&["run", "--output-format", "stream-json", "hello"])
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut String::new()).unwrap();
    drop(out);
    let output = child.wait_with_output().unwrap();
    // The short answer may have been written before the output was closed.
    assert!(
        matches!(output.status.code(), Some(141 | 0)),
        "{:?}",
        output.status
    );
    assert!(!String::from_utf8_lossy(&output.stderr).contains("panicked"));
}

#[test]
fn a_limit_ends_a_run() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&[
        "run",
        "--yes",
        "--timeout",
        "300ms",
        "--output-format",
        "json",
        "run sleep 20",
    ]);
    assert_eq!(ran.code, Some(6), "{ran}");
    assert_eq!(ran.result()["status"], "timed_out", "{ran}");
}

#[test]
#[cfg(unix)]
fn a_signal_stops_the_run_and_the_result_is_printed() {
    use std::io::{BufRead as _, BufReader, Read as _};
    for (signal, code) in [(nix::sys::signal::SIGINT, 130), (nix::sys::signal::SIGTERM, 143)] {
        let sandbox = Sandbox::new();
        let args = ["run", "--yes", "--output-format", "stream-json", "run sleep 20"];
        let mut child = sandbox.command(&args).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.contains("\"tool_executing\"") {
            line.clear();
            assert!(
                out.read_line(&mut line).unwrap() > 0,
                "it ended before the tool ran"
            );
        }
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(child.id().try_into().unwrap()), signal).unwrap();
        let mut rest = String::new();
        out.read_to_string(&mut rest).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(code));
        let result: Value = serde_json::from_str(rest.lines().last().unwrap()).unwrap();
        assert_eq!(
            (&result["status"], result["exit_code"].as_i64()),
            (&Value::from("interrupted"), Some(code.into()))
        );
    }
}

#[test]
fn sessions_are_kept_and_gone_on_with() {
    let sandbox = Sandbox::new();
    let first = sandbox.run(&["run", "--output-format", "json", "hello"]);
    assert_eq!(first.code, Some(0), "{first}");
    let raw = sandbox.command(&["sessions", "list", "--json"]).output().unwrap();
    let list: Value = serde_json::from_slice(&raw.stdout).unwrap();
    let id = list[0]["session_id"].as_str().unwrap().to_owned();
    let short = &id[..id.len() - 4];

    let again = sandbox.run(&[
        "run",
        "--last",
        "--output-format",
        "stream-json",
        "list the files here",
    ]);
    assert_eq!(again.code, Some(0), "{again}");
    assert!(
        !again.stdout.contains("session_created"),
        "what was before is not printed again"
    );
    let fork = sandbox.run(&["run", "--session", short, "--fork", "hello"]);
    assert_eq!(fork.code, Some(0), "{fork}");
    let count = |sandbox: &Sandbox| {
        let raw = sandbox.command(&["sessions", "list", "--json"]).output().unwrap();
        serde_json::from_slice::<Value>(&raw.stdout)
            .unwrap()
            .as_array()
            .unwrap()
            .len()
    };
    assert_eq!(count(&sandbox), 2);
    let copy = sandbox.run(&["fork", short]);
    assert_eq!(copy.code, Some(0), "{copy}");
    let list = sandbox.run(&["sessions", "list"]);
    assert!(list.stdout.contains("(fork of "), "{list}");
    assert!(!list.stdout.contains('–'), "every session has a status: {list}");

    for args in [
        &["sessions", "verify", short][..],
        &["replay", short],
        &["sessions", "show", short],
        &["context", short],
    ] {
        let ran = sandbox.run(args);
        assert_eq!(ran.code, Some(0), "{ran}");
    }
    for args in [
        &["fork", short, "--at", "99999"][..],
        &["context", short, "--at", "1"],
    ] {
        let wrong = sandbox.run(args);
        assert_eq!(wrong.code, Some(2), "{wrong}");
        assert!(wrong.stderr.contains("hint: "), "{wrong}");
    }
    let unsure = sandbox.run(&["sessions", "delete", short]);
    assert_eq!(unsure.code, Some(2), "{unsure}");
    let ambiguous = sandbox.run(&["sessions", "show", "ses_"]);
    assert_eq!(ambiguous.code, Some(8), "{ambiguous}");
}

#[test]
fn tools_that_one_run_disabled_are_back_in_the_next_and_both_are_said() {
    let sandbox = Sandbox::new();
    let has_bash = |sandbox: &Sandbox| {
        let output = |args: &[&str]| sandbox.command(args).output().unwrap().stdout;
        let listed: Value = serde_json::from_slice(&output(&["sessions", "list", "--json"])).unwrap();
        let id = listed[0]["session_id"].as_str().unwrap();
        let context: Value = serde_json::from_slice(&output(&["context", id, "--json"])).unwrap();
        context["body"].as_str().unwrap().contains("\"bash\"")
    };
    assert_eq!(sandbox.run(&["run", "--quiet", "hello"]).code, Some(0));
    assert!(has_bash(&sandbox), "a tool of the session");
    sandbox.config("tools:\n  disabled: [bash, glob]\n");
    let without = sandbox.run(&["run", "--last", "hello"]);
    assert!(
        without
            .stderr
            .contains("note: tools of this session that are not available here: bash, glob\n")
            || without.stderr.contains("not on offer here: glob, bash\n"),
        "{without}"
    );
    assert!(!has_bash(&sandbox), "{without}");
    let again = sandbox.run(&["run", "--last", "hello"]);
    assert!(!again.stderr.contains("note: tools"), "it is said once: {again}");
    sandbox.config("{}\n");
    let back = sandbox.run(&["run", "--last", "hello"]);
    assert!(
        back.stderr.contains("note: tools added to this session: "),
        "{back}"
    );
    assert!(back.stderr.contains("bash"), "{back}");
    assert!(has_bash(&sandbox), "{back}");
}

#[test]
fn a_session_gets_the_tools_that_the_configuration_has_when_it_is_gone_on_with() {
    let sandbox = Sandbox::new();
    sandbox.config("tools:\n  disabled: [glob]\n");
    assert_eq!(sandbox.run(&["run", "--quiet", "hello"]).code, Some(0));
    let tool = "type: http\nname: tide\ndescription: Says when the tide is high.\nmethod: GET\n\
                endpoint: https://tides.example/today\n";
    sandbox
        .config("{}\n")
        .write("home/.config/agentx/tools/tide.yaml", tool);
    let more = sandbox.run(&["run", "--last", "hello"]);
    let note = "note: tools added to this session: glob, tide\n";
    assert!(more.stderr.contains(note), "{more}");
    let same = sandbox.run(&["run", "--last", "hello"]);
    assert!(!same.stderr.contains("note: tools"), "it is said once: {same}");
    // An agent of a file has the tools that its file names.
    let named = "name: reader\ntype: react\nprompt: You read.\ntools: [{ $ref: 'tool:read' }]\n";
    sandbox.write("home/.config/agentx/agents/reader.yaml", named);
    assert_eq!(
        sandbox
            .run(&["run", "--quiet", "--agent", "reader", "hello"])
            .code,
        Some(0)
    );
    let same = sandbox.run(&["run", "--last", "hello"]);
    assert!(!same.stderr.contains("note: tools"), "{same}");
}

#[test]
fn a_script_that_said_ask_is_told_that_there_is_no_terminal() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["run", "--approve", "ask", "run touch made"]);
    assert_eq!(ran.code, Some(7), "{ran}");
    assert!(
        ran.stderr.contains("there is no terminal to ask on") && !ran.stderr.contains("approval mode `deny`"),
        "{ran}"
    );
    assert!(
        ran.stderr
            .contains("agentx approvals add allow bash 'touch made' --here; or run with --yes"),
        "{ran}"
    );
    let added = sandbox.run(&["approvals", "add", "allow", "bash", "touch *", "--here"]);
    assert_eq!(added.code, Some(0), "{added}");
    assert!(
        added.stdout.ends_with("allow bash \"touch *\" (only in /ws)\n"),
        "{added}"
    );
    let ran = sandbox.run(&["run", "run touch made"]);
    assert!(ran.code == Some(0) && sandbox.path("ws/made").exists(), "{ran}");
    std::fs::create_dir(sandbox.path("other")).unwrap();
    let other = sandbox.path("other");
    let elsewhere = sandbox.run(&["--cwd", &other.to_string_lossy(), "run", "run touch made"]);
    assert_eq!(elsewhere.code, Some(7), "the rule is for one folder: {elsewhere}");
    assert!(
        elsewhere.stderr.contains("'touch made' --here --cwd /"),
        "{elsewhere}"
    );
    let listed = sandbox.run(&["sessions", "list"]);
    assert_eq!(listed.stdout.matches("calls refused").count(), 2, "{listed}");
    assert_eq!(listed.stdout.matches("completed").count(), 1, "{listed}");
    let unclear = sandbox.run(&["approvals", "add", "allow", "edit", "src/**"]);
    assert!(
        unclear.code == Some(2) && unclear.stderr.contains("--path 'src/**'"),
        "{unclear}"
    );
}
