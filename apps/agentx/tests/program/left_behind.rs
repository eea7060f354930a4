//! The remains of an ended program: a server continues the work of a killed server, and nothing else; jobs at
//! a server stay.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test: it fails by panicking, and reads files"
)]

use std::path::Path;
use std::time::Instant;

use crate::common::Sandbox;
use crate::ends::{PATIENCE, ends, process_with, runs, wait_until_it_runs};
use crate::pty::Pty;
use crate::serving::{Running, Serving};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

/// Begins a run whose command lasts until the file `ws/go` is there. It has begun when this returns.
fn begun(sandbox: &Sandbox, connect: &[&str]) -> Running {
    let command = "run n=0; until [ -e go ] || [ $((n += 1)) -gt 6000 ]; do sleep 0.01; done";
    let run = ["run", "--yes", "--output-format", "stream-json", command];
    let mut running = Running::start(sandbox.command(&[connect, &run].concat()));
    running.prints("\"tool_executing\"");
    running
}

/// The sessions with their last events, the latest first.
fn sessions(sandbox: &Sandbox) -> Vec<(String, u64)> {
    let listed = sandbox.command(&["--json", "sessions", "list"]).output().unwrap();
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let all = listed.as_array().unwrap().iter();
    all.map(|one| {
        let id = one["session_id"].as_str().unwrap().to_owned();
        (id, one["last_seq"].as_u64().unwrap())
    })
    .collect()
}

#[test]
fn a_server_goes_on_with_what_a_killed_server_was_at_and_with_nothing_else() {
    let sandbox = Sandbox::new();
    begun(&sandbox, &[]).kill();
    let local = sessions(&sandbox).remove(0);
    let server = Serving::start(&sandbox);
    let asked = begun(&sandbox, &["--connect", &server.url]);
    let served = sessions(&sandbox);
    let served = &served.iter().find(|(id, _)| *id != local.0).unwrap().0;
    let server = server.killed_and_started_again(&sandbox);
    sandbox.write("ws/go", "");
    let (status, _, err) = asked.end();
    assert!(status.success(), "{status}: {err}");
    let said = server.stop();
    assert!(said.contains(&format!("session={served}")), "{said}");
    assert!(!said.contains(&local.0), "nobody has opened it: {said}");
    assert!(sessions(&sandbox).contains(&local), "nothing happened in it");
    let opened = sandbox.run(&["run", "--session", &local.0, "--quiet"]);
    assert_eq!(opened.code, Some(0), "who opens it goes on with it: {opened}");
}

#[test]
fn a_run_at_a_server_says_which_of_its_jobs_go_on_there() {
    let sandbox = Sandbox::new();
    let script = r#"
- { result: "*", say: It runs. }
- { input: "go", call: { tool: bash, input: { command: "sleep 3000", run_in_background: true } } }
"#;
    sandbox
        .write("ws/.agentx/config.yaml", "scripted_answers: script.yaml\n")
        .write("ws/.agentx/script.yaml", script);
    let server = Serving::start(&sandbox);
    let ran = sandbox.run(&["--connect", &server.url, "run", "--yes", "go"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(
        ran.stderr
            .contains("1 job is still running on the server: sleep 3000"),
        "{ran}"
    );
    assert!(
        ran.stderr.contains("; to see it: agentx --connect ") && ran.stderr.contains(" resume ses_[id]"),
        "{ran}"
    );
    let mut chat = Pty::start(&sandbox, &["--connect", &server.url, "resume", "--last"], 100, 40);
    chat.wait_for(" · 1 job");
    chat.keys("/jobs\r");
    chat.wait_for("job_1  ");
    chat.wait_for("sleep 3000");
    chat.keys("\u{4}");
    assert_eq!(chat.end(), Some(0), "it goes on there, so leaving asks nothing");
    server.stop();
    let here = sandbox.run(&["run", "--yes", "--output-format", "json", "go"]);
    assert_eq!(here.code, Some(0), "{here}");
    assert!(
        here.stderr.contains("note: 1 job ends with this run: sleep 3000"),
        "here they end with the program: {here}"
    );
    assert_eq!(here.result()["jobs"], serde_json::json!(["sleep 3000"]), "{here}");
}

/// A number of seconds that no other process has among its arguments.
fn seconds(own: u64) -> String {
    format!("{}", 5_000_000 + 10 * u64::from(std::process::id()) + own)
}

/// Waits until the program has written down that its command runs. It does so in the moment after the start
/// of the command, and a kill between the two leaves nothing to find a command by that cleared its
/// environment.
fn wait_until_it_is_on_record(sandbox: &Sandbox) {
    let until = Instant::now() + PATIENCE;
    let records = sandbox.path("home/.local/share/agentx/commands");
    let has_a_command = |path: &Path| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.lines().skip(1).any(|line| !line.trim().is_empty())
    };
    let is_on_record = || {
        let mut files = std::fs::read_dir(&records).into_iter().flatten().flatten();
        files.any(|file| has_a_command(&file.path()))
    };
    while !is_on_record() {
        assert!(Instant::now() < until, "the command was never written down");
        std::thread::yield_now();
    }
}

#[test]
fn a_command_that_cleared_its_environment_is_ended_after_a_kill_and_so_is_what_it_left_in_its_group() {
    let first = seconds(2);
    for (own, line) in [
        (1, "exec env -i sleep SECONDS"),
        (3, "env -i sh -c 'sleep SECONDS &'; sleep FIRST; true"),
    ] {
        let (sandbox, seconds) = (Sandbox::new(), seconds(own));
        let line = line.replace("FIRST", &first);
        let prompt = format!("run {}", line.replace("SECONDS", &seconds));
        let run = ["run", "--yes", "--output-format", "stream-json", &prompt];
        let mut running = Running::start(sandbox.command(&run));
        running.prints("\"tool_executing\"");
        wait_until_it_runs(&seconds);
        wait_until_it_is_on_record(&sandbox);
        running.kill();
        // The shell itself ends; what it put behind itself has nothing but the group.
        if let Some(first) = process_with(&first) {
            kill(Pid::from_raw(first.parse().unwrap()), Signal::SIGKILL).unwrap();
        }
        assert!(runs(&seconds), "{line}: it outlives the program");
        let ran = sandbox.run(&["run", "--last", "hello"]);
        assert!(ends(&seconds), "{line}: {ran}");
        assert!(
            ran.stderr.contains("still running from before, now ended"),
            "{line}: {ran}"
        );
    }
}

/// Processes of its terminal that ignore the end of the terminal and have no mark are known by their record.
#[test]
fn a_shell_that_stays_is_ended_after_a_kill_with_all_of_its_terminal() {
    let deaf = "(trap '' HUP; exec env -i sleep SECONDS) & sleep 5000000";
    for (own, mode, line, ends_alone) in [
        (8, "none", "sleep SECONDS", true),
        (9, "none", deaf, false),
        (0, "everyday", deaf, false),
    ] {
        let (sandbox, seconds) = (Sandbox::new(), seconds(own));
        let line = serde_json::to_string(&line.replace("SECONDS", &seconds)).unwrap();
        sandbox.demo(
            &format!(
                "- input: \"go\"\n  call: {{tool: shell, input: {{command: {line}}}}}\n- result: \"*\"\n  say: done\n"
            ),
            &format!("tools: {{optional: [shell]}}\nsandbox: {{mode: {mode}}}\n"),
        );
        let run = ["run", "--yes", "--output-format", "stream-json", "go"];
        let mut running = Running::start(sandbox.command(&run));
        running.prints("\"tool_executing\"");
        wait_until_it_runs(&seconds);
        wait_until_it_is_on_record(&sandbox);
        running.kill();
        if ends_alone {
            assert!(ends(&seconds), "its terminal is gone");
            continue;
        }
        assert!(runs(&seconds), "{line}: it outlives the program");
        let ran = sandbox.run(&["run", "--last", "hello"]);
        assert!(ends(&seconds), "{line}: {ran}");
        assert!(
            ran.stderr.contains("still running from before, now ended"),
            "{line}: {ran}"
        );
    }
}

#[test]
fn what_a_killed_tools_run_left_running_is_ended_and_named_by_the_next_one_and_by_a_session_that_opens() {
    let tools_run = ["tools", "run", "bash", "{\"command\": \"true\"}"];
    let session = ["run", "hello"];
    for (own, line, next) in [
        (4, "exec sleep SECONDS", &tools_run[..]),
        (5, "exec env -i sleep SECONDS", &tools_run),
        (6, "exec sleep SECONDS", &session),
    ] {
        let (sandbox, seconds) = (Sandbox::new(), seconds(own));
        let line = line.replace("SECONDS", &seconds);
        let arguments = format!("{{\"command\": \"{line}\"}}");
        let mut tried = sandbox
            .command(&["tools", "run", "bash", &arguments])
            .spawn()
            .unwrap();
        wait_until_it_runs(&seconds);
        wait_until_it_is_on_record(&sandbox);
        let beside = sandbox.run(&session);
        assert!(
            runs(&seconds) && !beside.stderr.contains("still running"),
            "{beside}"
        );
        tried.kill().unwrap();
        tried.wait().unwrap();
        assert!(runs(&seconds), "{line}: it outlives the program");
        let next = sandbox.run(next);
        assert!(ends(&seconds), "{line}: {next}");
        assert!(
            next.stderr
                .contains("still running from before, now ended: sleep"),
            "{line}: {next}"
        );
    }
}

/// Another data directory is another person's, or another project's, although the user is the same.
#[test]
fn a_tools_run_ends_nothing_of_another_data_directory() {
    let (sandbox, other, seconds) = (Sandbox::new(), Sandbox::new(), seconds(7));
    let arguments = format!("{{\"command\": \"exec sleep {seconds}\"}}");
    let mut tried = sandbox
        .command(&["tools", "run", "bash", &arguments])
        .spawn()
        .unwrap();
    wait_until_it_runs(&seconds);
    wait_until_it_is_on_record(&sandbox);
    tried.kill().unwrap();
    tried.wait().unwrap();
    let next = ["tools", "run", "bash", "{\"command\": \"true\"}"];
    let ran = other.run(&next);
    assert!(runs(&seconds) && !ran.stderr.contains("still running"), "{ran}");
    let ran = sandbox.run(&next);
    assert!(ends(&seconds) && ran.stderr.contains("still running"), "{ran}");
}
