//! Habits from other programs: what people type works, or the error names the equivalent.

use crate::common::Sandbox;

/// Command lines, and the own command that each error names.
const LINES: &[(&[&str], &str)] = &[
    (&["exec", "list the files"], "agentx run \"PROMPT\""),
    (&["run", "-p", "list the files"], "agentx run \"PROMPT\""),
    (&["ses_7d4k"], "agentx resume ses_7d4k"),
    (&["--dangerously-skip-permissions"], "--yes"),
    (&["run", "--full-auto", "go"], "--yes"),
    (&["--yolo"], "--yes"),
    (
        &["--permission-mode", "plan"],
        "--approval ask, accept-edits, auto or deny",
    ),
    (
        &["--permission-mode=plan"],
        "--approval ask, accept-edits, auto or deny",
    ),
    (&["--allowedTools", "Bash"], "agentx approvals add"),
    (&["--sandbox", "read-only"], "agentx config trust --read-only"),
    (&["login"], "agentx doctor"),
    (&["auth", "login"], "agentx doctor"),
    (&["init"], "AGENTS.md"),
    (&["new"], "`agentx` without a command starts a new session"),
    (&["history"], "agentx sessions list"),
    (&["cost"], "agentx usage"),
    (&["-v"], "agentx --version"),
    (&["--max-turns", "3"], "--max-iterations"),
    (&["--cd", "src"], "--cwd DIR"),
    (&["--add-dir", "x"], "agentx approvals add"),
    (&["--yse"], "--yes"),
    (&["run", "--yse", "x"], "--yes"),
];

/// Commands typed in a chat, and the equivalent that the answer names.
const SLASH: &[(&str, &str)] = &[
    ("/reset", "/new"),
    ("/cost", "/usage"),
    ("/permissions", "/approvals"),
    ("/login", "/doctor"),
    ("/continue", "/resume"),
    ("/undo", "/rewind"),
    ("/models", "/model NAME"),
    ("/plugins", "/mcp"),
    ("/cd", "agentx --cwd"),
    ("/add-dir", "agentx approvals add"),
    ("/think", "/effort"),
    ("/redo", "/rewind undo"),
    ("/share", "agentx sessions share"),
    ("/settings", "agentx config edit"),
    ("/save", "/export"),
];

#[test]
fn a_command_line_of_another_program_is_answered_with_the_own_one() {
    let sandbox = Sandbox::new();
    for (line, named) in LINES {
        let ran = sandbox.run(line);
        assert_eq!(ran.code, Some(2), "{ran}");
        let hint = ran.stderr.lines().find(|line| line.starts_with("hint: "));
        assert!(hint.is_some_and(|hint| hint.contains(named)), "{named}: {ran}");
        assert!(!ran.stderr.contains("-- -"), "{ran}");
    }
}

#[test]
fn flags_of_another_program_run_a_prompt_and_continue() {
    let sandbox = Sandbox::new();
    sandbox.write("ws/README.md", "# Hello\n");
    let ran = sandbox.run(&["-p", "list the files here", "--model", "demo", "--quiet"]);
    assert!(ran.code == Some(0) && ran.stdout.contains("README.md"), "{ran}");
    assert!(
        !ran.to_string().contains("agentx resume"),
        "it is not a chat: {ran}"
    );
    for line in [
        &["-c", "-p", "thanks", "--model", "demo"][..],
        &["run", "--continue", "thanks"],
        &["-c", "thanks"],
    ] {
        assert_eq!(sandbox.run(line).code, Some(0), "{line:?}");
    }
    let listed = sandbox.run(&["sessions", "list", "--json"]);
    let listed: serde_json::Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(listed.as_array().unwrap().len(), 1, "one session: {listed}");
}

#[test]
fn what_is_nearly_an_own_command_is_one() {
    let sandbox = Sandbox::new();
    for (line, named) in [
        (&["session"][..], "did you mean `sessions`?"),
        (&["docter"], "did you mean `doctor`?"),
        (&["docter"], "To start a chat with it: agentx chat \"docter\""),
        (&["sessions", "lsit"], "did you mean `sessions list`?"),
    ] {
        let ran = sandbox.run(line);
        assert_eq!(ran.code, Some(2), "{ran}");
        assert!(ran.stderr.contains(named), "{ran}");
    }
}

#[test]
fn a_single_word_that_is_no_command_opens_a_chat_with_it() {
    for line in [&["--model", "demo", "tour"][..], &["tour"]] {
        let sandbox = Sandbox::new();
        let ran = sandbox.run(line);
        assert_eq!(ran.code, Some(0), "{ran}");
        assert!(ran.to_string().contains("agentx resume"), "it was a chat: {ran}");
        let listed = sandbox.run(&["sessions", "list"]);
        assert!(listed.stdout.contains("tour"), "{listed}");
    }
}

#[test]
fn a_slash_command_of_another_program_is_answered_with_the_own_one() {
    let sandbox = Sandbox::new();
    let typed: Vec<&str> = SLASH.iter().map(|(typed, _)| *typed).collect();
    let ran = sandbox.run_with_input(&[], &format!("{}\n/exit\nnot sent\n", typed.join("\n")));
    assert_eq!(ran.code, Some(0), "{ran}");
    for (typed, named) in SLASH {
        let told = match *typed {
            "/login" => "AgentX has no login".to_owned(),
            _ => format!("there is no command {typed}: "),
        };
        let said = ran.stdout.lines().find(|line| line.starts_with(&told));
        assert!(said.is_some_and(|said| said.contains(named)), "{typed}: {ran}");
    }
    assert!(!ran.stdout.contains("not sent"), "/exit leaves: {ran}");
}

#[test]
fn a_prompt_behind_the_name_or_chat_opens_a_chat_that_begins_with_it() {
    for line in [
        &["list the files here"][..],
        &["chat", "list the files here"],
        &["chat", "list", "the", "files", "here"],
    ] {
        let sandbox = Sandbox::new();
        sandbox.write("ws/README.md", "# Hello\n");
        let ran = sandbox.run(line);
        assert_eq!(ran.code, Some(0), "{ran}");
        assert!(ran.stdout.contains("README.md"), "{ran}");
        assert!(ran.to_string().contains("agentx resume"), "it was a chat: {ran}");
    }
}
