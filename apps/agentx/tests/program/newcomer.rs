//! Lines that a person types in their first hours without having read anything: bare commands, short ids,
//! flags where other programs take them.
#![allow(clippy::unwrap_used, reason = "a test that cannot start fails")]

use crate::common::Sandbox;
use crate::pty::Pty;

#[test]
fn a_command_of_commands_alone_lists_or_shows() {
    let sandbox = Sandbox::new();
    sandbox.run(&["run", "hello"]);
    sandbox.run(&["identity", "new"]);
    for (typed, means) in [
        (&["sessions"][..], &["sessions", "list"][..]),
        (&["sessions", "ls"], &["sessions", "list"]),
        (&["approvals"], &["approvals", "list"]),
        (&["config"], &["config", "show"]),
        (&["identity"], &["identity", "show"]),
        (&["tools", "ls"], &["tools", "list"]),
        (&["models", "ls"], &["models", "list"]),
        (&["mcp", "ls"], &["mcp", "list"]),
    ] {
        let (short, whole) = (sandbox.run(typed), sandbox.run(means));
        assert_eq!(short.code, Some(0), "{short}");
        assert_eq!(short.stdout, whole.stdout, "{typed:?}");
    }
}

#[test]
fn a_letter_is_no_id_of_a_session() {
    let sandbox = Sandbox::new();
    sandbox.run(&["run", "hello"]);
    let id = crate::rewind::id_of(&sandbox, 0);
    for short in ["s", "ses_", &id[..7], &id[4..7]] {
        for command in ["fork", "rewind", "show", "replay"] {
            let ran = sandbox.run(&[command, short]);
            assert_ne!(ran.code, Some(0), "{short}: {ran}");
        }
    }
    let ran = sandbox.run(&["show", &id[..7]]);
    assert!(ran.stderr.contains("at least 4 after `ses_`"), "{ran}");
    for enough in [&id[..8], &id[4..8], &id] {
        let ran = sandbox.run(&["show", enough]);
        assert_eq!(ran.code, Some(0), "{enough}: {ran}");
    }
}

#[test]
fn flags_of_a_command_may_stand_before_it_and_a_session_is_resumed_by_its_flag() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["--output-format", "json", "run", "hello"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(ran.result()["session_id"].is_string(), "{ran}");
    let id = crate::rewind::id_of(&sandbox, 0);
    let ran = sandbox.run(&["-r", &id, "-p", "hello again"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    assert_eq!(crate::rewind::id_of(&sandbox, 0), id);
    let ran = sandbox.run_with_input(&["-r", &id], "hello\n");
    assert_eq!(ran.code, Some(0), "{ran}");
    assert_eq!(crate::rewind::id_of(&sandbox, 0), id);
    let wrong = sandbox.run(&["--output-formt", "json", "run", "hello"]);
    assert_eq!(wrong.code, Some(2), "{wrong}");
}

#[test]
fn a_file_that_is_not_there_says_what_an_import_reads() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["sessions", "import", "nope.json"]);
    assert_eq!(ran.code, Some(2), "{ran}");
    assert!(ran.stderr.contains("sessions export ID --format json"), "{ran}");
}

#[test]
fn a_kept_rule_holds_at_once_in_every_session_of_the_chat() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run_with_input(&["chat"], "run echo one\na\n/new\nrun echo two\n/approvals\n");
    assert_eq!(ran.stdout.matches("wants to run").count(), 1, "{ran}");
    assert!(ran.stdout.contains("allow bash \"echo *\""), "{ran}");
    // A rule that was removed does not come back with `/new`.
    let ran = sandbox.run_with_input(&["chat"], "/approvals remove 1\n/new\nrun echo three\nn\n");
    assert_eq!(ran.stdout.matches("wants to run").count(), 1, "{ran}");
}

#[test]
fn a_pipe_takes_a_pattern_for_each_command_and_everything_is_allowed_only_on_repetition() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run_with_input(
        &["chat"],
        "run echo one 2>&1 | sed 1q\na echo *\na echo *, sed *\nrun echo two | sed 2q\n",
    );
    assert!(
        ran.stdout
            .contains("or `a echo *, sed *` allows commands like each of these"),
        "{ran}"
    );
    assert!(
        ran.stdout
            .contains("does not cover `sed 1q`. Nothing saved; answer again."),
        "{ran}"
    );
    assert_eq!(ran.stdout.matches("saved in").count(), 2, "{ran}");
    assert_eq!(ran.stdout.matches("wants to run").count(), 1, "{ran}");
    let ran = sandbox.run_with_input(&["chat"], "run uname -s\na *\nn\n");
    assert!(
        ran.stdout
            .contains("`*` lets bash do anything here without asking"),
        "{ran}"
    );
    let config = std::fs::read_to_string(sandbox.path("home/.config/agentx/config.yaml")).unwrap();
    assert!(!config.contains("\"*\""), "{config}");
    let ran = sandbox.run_with_input(&["chat"], "run uname -s\na *\na *\n");
    assert!(ran.stdout.contains("always allowed"), "{ran}");
}

#[test]
fn a_pattern_of_stars_for_files_counts_only_on_repetition() {
    let call = "write fresh words to a.txt\n";
    for (answers, is_made) in [("s **\nn\n", false), ("s **\ns **\n", true), ("s *.txt\n", true)] {
        let sandbox = Sandbox::new();
        let ran = sandbox.run_with_input(&["chat"], &format!("{call}{answers}"));
        let warns = "`**` lets write change any file here without asking. Nothing saved";
        assert_eq!(ran.stdout.contains(warns), answers.contains("**"), "{ran}");
        assert_eq!(sandbox.path("ws/a.txt").exists(), is_made, "{answers:?}: {ran}");
    }
}

#[test]
fn a_question_about_an_edit_or_a_build_offers_the_wider_answer() {
    let sandbox = Sandbox::new();
    let call = "write fresh words to a.txt\n";
    let ran = sandbox.run_with_input(&["chat"], &format!("{call}n\n"));
    let offer = "or /approve-mode accept-edits makes this edit and later ones without asking";
    assert!(ran.stdout.contains(offer), "{ran}");
    // A file that programs run is asked about in that mode, too.
    let guarded = call.replace("a.txt", ".envrc");
    let ran = sandbox.run_with_input(&["chat"], &format!("{guarded}n\n"));
    assert!(!ran.stdout.contains("accept-edits makes"), "{ran}");
    let ran = sandbox.run_with_input(&["chat"], "run make all\nn\n");
    let offer = "or `a make *` also allows its other usual targets and options";
    assert!(ran.stdout.contains(offer), "{ran}");
    let ran = sandbox.run_with_input(&["chat"], "run make deploy\nn\n");
    assert!(!ran.stdout.contains("a make *"), "{ran}");
}

#[test]
fn rules_have_the_same_numbers_in_the_chat_and_outside() {
    let sandbox = Sandbox::new();
    for pattern in ["echo a*", "echo b*"] {
        sandbox.run(&["approvals", "add", "allow", "bash", pattern]);
    }
    let numbers = |text: &str| -> Vec<String> {
        let rows = text.lines().filter(|line| line.contains("allow bash"));
        let numbered = |line: &str| {
            line.split("allow bash")
                .next()
                .map(|n| n.trim().to_owned() + line.split('"').nth(1).unwrap())
        };
        rows.filter_map(numbered).collect()
    };
    let outside = numbers(&sandbox.run(&["approvals", "list"]).stdout);
    assert_eq!(outside.len(), 2, "{outside:?}");
    let inside = sandbox.run_with_input(&["chat"], "/approvals\n");
    assert_eq!(numbers(&inside.stdout), outside, "{inside}");
    let kept = sandbox.run_with_input(&["chat"], "run uname\na\n/approvals\n");
    let outside = numbers(&sandbox.run(&["approvals", "list"]).stdout);
    let listed = kept.stdout.split("› /approvals").nth(1).unwrap_or_default();
    assert_eq!(numbers(listed), outside, "{kept}");
}

#[test]
fn what_other_programs_take_at_mcp_add_is_taken_or_explained() {
    let sandbox = Sandbox::new();
    let add = |args: &[&str]| sandbox.run(&[&["mcp", "add"][..], args].concat());
    let help = add(&["--help"]);
    assert!(
        help.stdout.contains("--transport") && help.stdout.contains("--scope"),
        "{help}"
    );
    for (args, told) in [
        (
            &["x", "-e", "FOO=bar", "--", "sh"][..],
            "export FOO=…, then --env FOO",
        ),
        (
            &["x", "--env", "NOT_SET_HERE", "--", "sh"],
            "the variable NOT_SET_HERE is not set",
        ),
        (&["--scope", "project", "x", "--", "sh"], ".mcp.json"),
        (
            &["--transport", "sse", "x", "https://x.test"],
            "`stdio` and `http`",
        ),
        (&["--transport", "http", "x", "--", "sh"], "needs an address"),
        (&["x", "--nosuch", "sh"], "--nosuch is not an option"),
    ] {
        let ran = add(args);
        assert_eq!(ran.code, Some(2), "{args:?}: {ran}");
        assert!(
            ran.stderr.contains(told) && !ran.stderr.contains("--no-try"),
            "{args:?}: {ran}"
        );
    }
    let ran = add(&[
        "--transport",
        "stdio",
        "-s",
        "user",
        "--no-try",
        "x",
        "-e",
        "HOME",
        "--",
        "sh",
        "-c",
        "exit",
    ]);
    assert_eq!(ran.code, Some(0), "{ran}");
    sandbox.run(&["approvals", "add", "allow", "bash", "ls"]);
    let file = sandbox.path("home/.config/agentx/config.yaml");
    let config = std::fs::read_to_string(&file).unwrap();
    std::fs::write(
        &file,
        config.replace("rules:\n", "rules:\n  - {effect: allow, tool: x__echo}\n"),
    )
    .unwrap();
    let ran = sandbox.run(&["mcp", "remove", "x"]);
    assert!(
        ran.stderr.contains("removed 1 rule for its tools: allow x__echo"),
        "{ran}"
    );
    let config = std::fs::read_to_string(&file).unwrap();
    assert!(!config.contains("x__echo") && config.contains("bash"), "{config}");
}

#[test]
fn options_and_words_in_the_wrong_place_say_what_to_do() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["-m", "opus", "serve"]);
    assert_eq!(ran.code, Some(2), "{ran}");
    assert!(ran.stderr.contains("`serve` takes no `-m`"), "{ran}");
    let ran = sandbox.run(&["run", "/compact"]);
    assert!(ran.stderr.contains("/compact is a command of a chat"), "{ran}");
    let ran = sandbox.run(&["--cwd", "/no/such/place", "run", "hello"]);
    assert!(ran.stderr.contains("it has to exist"), "{ran}");
    let ran = sandbox.run(&["run", "--schema", "{\"type\": \"nosuch\"}", "hello"]);
    assert!(ran.stderr.contains("not a JSON Schema that can be used"), "{ran}");
    let ran = sandbox.run(&["uninstall"]);
    assert!(ran.stderr.contains("cargo uninstall"), "{ran}");
}

#[test]
fn leaving_takes_the_same_twice_while_something_runs() {
    let sandbox = Sandbox::new();
    let mut chat = Pty::start(&sandbox, &["--yes"], 80, 24);
    chat.wait_for_last("›");
    chat.keys("run sleep 100\r");
    chat.wait_for("bash runs · ");
    chat.keys("exit\r");
    chat.wait_for("something is still running; enter it again to stop it and leave");
    chat.keys("two words\u{4}");
    chat.wait_for("the line is not empty; Ctrl-C clears it");
    // Kills what is written before the cursor.
    chat.keys("\u{15}\u{4}\u{4}");
    assert!(matches!(chat.end(), Some(0 | 130)));
}

#[test]
fn a_chat_continues_the_latest_session_that_is_free_and_does_not_list_its_own() {
    let sandbox = Sandbox::new();
    sandbox.run(&["run", "the free one"]);
    let mut chat = Pty::start(&sandbox, &[], 80, 24);
    chat.wait_for_last("›");
    chat.keys("the open one\r");
    chat.wait_for(" in, ");
    chat.wait_for_last("›");
    chat.keys("/resume\r");
    chat.wait_for("the free one");
    assert!(
        !chat.lines().iter().any(|line| line.contains("another process")),
        "{:#?}",
        chat.lines()
    );
    chat.keys("\u{1b}");
    chat.wait_for_last("›");
    // A script that means the latest one writes in no other.
    let script = sandbox.run(&["run", "--last", "more"]);
    assert_eq!(script.code, Some(8), "{script}");
    let ran = sandbox.run_with_input(&["-c"], "/status\n");
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(ran.stdout.contains("› the free one"), "{ran}");
    let told = format!("{}{}", ran.stdout, ran.stderr);
    assert!(
        told.contains("is open in another program, so this is an earlier one"),
        "{ran}"
    );
    // The one that was continued is the latest now, until the other one is used again.
    chat.keys("thanks\r");
    chat.wait_for("You are welcome.");
    chat.wait_for_last("›");
    // Words that are typed already go to no other session, and a copy is one of the latest.
    let words = sandbox.run_with_input(&["-c", "two words"], "/status\n");
    assert_eq!(words.code, Some(8), "{words}");
    let copy = sandbox.run_with_input(&["-c", "--fork"], "/status\n");
    assert_eq!(copy.code, Some(0), "{copy}");
    assert!(copy.stdout.contains("› the open one"), "{copy}");
    assert!(!copy.to_string().contains("earlier one"), "{copy}");
    chat.keys("\u{4}");
    assert_eq!(chat.end(), Some(0));
}
