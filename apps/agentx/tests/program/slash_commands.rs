//! Commands that people know from other chats: in lines, in a terminal, and at a server.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test that cannot start fails; it reads files"
)]

use crate::common::{Ran, Sandbox};
use crate::pty::Pty;
use crate::serving::Serving;

/// A folder whose script answers `code` with two code blocks.
fn scripted() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox
        .write("ws/.agentx/config.yaml", "scripted_answers: script.yaml\n")
        .write(
            "ws/.agentx/script.yaml",
            "- input: \"*AGENTS.md*\"\n  say: I would look at the project first.\n\
             - input: \"*code*\"\n  say: |\n    Two of them:\n    ```sh\n    echo \"a\tb\"\n    ```\n    and\n    ```\n    x = 1\n    ```\n\
             - input: \"*\"\n  say: Hello to you.\n",
        );
    sandbox
}

fn lines(sandbox: &Sandbox, input: &str) -> Ran {
    sandbox.run_with_input(&["chat"], input)
}

fn says(ran: &Ran, all: &[&str]) {
    for what in all {
        assert!(ran.to_string().contains(what), "{what}\n{ran}");
    }
}

fn sessions(sandbox: &Sandbox) -> usize {
    sandbox.run(&["sessions", "list"]).stdout.lines().count() - 1
}

#[test]
fn a_new_session_begins_in_the_same_chat_and_the_one_before_is_kept() {
    let sandbox = scripted();
    let ran = lines(&sandbox, "/new\nfirst\n/new\n/status\nsecond\n/clear\n");
    says(
        &ran,
        &[
            "this session is already new",
            "a new session starts with your next message\nthe session before is kept: /resume ses_[id]",
            "session    starts with your first message",
        ],
    );
    assert_eq!(sessions(&sandbox), 2, "{ran}");
}

#[test]
fn a_session_is_continued_by_its_id() {
    let sandbox = scripted();
    let list = |sandbox: &Sandbox| {
        let out = sandbox.command(&["sessions", "list"]).output().unwrap().stdout;
        let rows = String::from_utf8_lossy(&out).into_owned();
        rows.lines()
            .filter_map(|row| row.split_whitespace().next().map(str::to_owned))
            .collect::<Vec<_>>()
    };
    lines(&sandbox, "the first one\n");
    let first = list(&sandbox)[1].clone();
    let ran = lines(
        &sandbox,
        &format!("another\n/resume {first}\n/resume {first}\nmore of it\n/resume\n"),
    );
    says(
        &ran,
        &[
            "› the first one",
            "the session before is kept: /resume ses_[id]",
            "you are in that session already",
            "which one? /resume ID",
        ],
    );
    assert_eq!(sessions(&sandbox), 2, "{ran}");
    let shown = sandbox.run(&["sessions", "show", &first]);
    assert!(shown.stdout.contains("more of it"), "{shown}");
    assert!(!shown.stdout.contains("another"), "{shown}");
}

#[test]
fn a_session_of_another_folder_is_named_and_not_opened() {
    let sandbox = scripted();
    lines(&sandbox, "here\n");
    std::fs::create_dir(sandbox.path("ws/sub")).unwrap();
    std::fs::create_dir(sandbox.path("ws/sub/.git")).unwrap();
    let mut other = sandbox.command(&["chat"]);
    other.current_dir(sandbox.path("ws/sub"));
    let resume = format!("/resume {}\n", sandbox.latest_id([]));
    other.stdin(std::fs::File::open(sandbox.write("in", resume).path("in")).unwrap());
    let out = other.output().unwrap();
    let said = String::from_utf8_lossy(&out.stdout);
    assert!(said.contains("that session works in"), "{said}");
}

/// A session with a copy in this directory, and one of another directory.
fn sessions_here_and_elsewhere() -> Sandbox {
    let sandbox = scripted();
    lines(&sandbox, "the apple here\n");
    assert_eq!(sandbox.run(&["fork", &sandbox.latest_id([])]).code, Some(0));
    std::fs::create_dir_all(sandbox.path("ws/sub/.git")).unwrap();
    let mut other = sandbox.command(&["run", "the pear elsewhere"]);
    other.current_dir(sandbox.path("ws/sub"));
    assert!(other.output().unwrap().status.success());
    sandbox
}

#[test]
fn the_list_after_diff_has_the_sessions_of_this_directory_alone() {
    let sandbox = sessions_here_and_elsewhere();
    let mut chat = Pty::start(&sandbox, &[], 100, 24);
    chat.wait_for_last("›");
    chat.keys("/diff ");
    chat.wait_for("  the apple here");
    chat.wait_for("⑂ the apple here (fork at ");
    let shown = chat.lines().join("\n");
    assert!(!shown.contains("the pear elsewhere"), "{shown}");
    assert!(!shown.contains("all directories"), "{shown}");
    chat.keys("\u{1b}");
    chat.wait_until_gone("the apple here");
    chat.keys("\u{4}");
    assert_eq!(chat.end(), Some(0));
}

#[test]
fn the_list_after_resume_has_the_sessions_of_this_directory_and_a_way_to_all() {
    let sandbox = sessions_here_and_elsewhere();
    let mut chat = Pty::start(&sandbox, &[], 100, 24);
    chat.wait_for_last("›");
    chat.keys("/resume ");
    chat.wait_for("  the apple here");
    chat.wait_for("⑂ the apple here (fork at ");
    chat.wait_for("choose from the sessions of all directories");
    assert!(
        !chat.lines().join("\n").contains("the pear elsewhere"),
        "it is of another directory"
    );
    chat.keys("all\r");
    chat.wait_for("the pear elsewhere");
    chat.keys("\u{1b}");
    chat.wait_until_gone("the pear elsewhere");
    chat.wait_for_last("›");
    chat.keys("\u{4}");
    assert_eq!(chat.end(), Some(0));
}

#[test]
fn another_answer_is_asked_for_in_a_copy() {
    let sandbox = scripted();
    let ran = lines(&sandbox, "/retry\nhello there\n/retry\n");
    says(
        &ran,
        &[
            "there are no messages yet",
            "asked again in a copy; the first answer stays in ses_[id] (/resume ses_[id])",
        ],
    );
    let answers = ran.stdout.matches("Hello to you.").count();
    assert_eq!((answers, sessions(&sandbox)), (2, 2), "{ran}");
}

#[test]
fn settings_effort_checks_and_instructions_are_at_hand() {
    let sandbox = scripted();
    let ran = lines(
        &sandbox,
        "/effort\n/effort high\n/effort much\nhello\n/effort 9000\n/effort\n/config\n/doctor\n/init\n/copy\n",
    );
    says(
        &ran,
        &[
            "* default ",
            "effort from now on: high; models that do not reason ignore it",
            "there is no effort `much`",
            "effort from now on: up to 9.0k tokens",
            "* up to 9.0k tokens",
            "scripted_answers",
            "`agentx config edit` changes them; a chat reads them when it starts; `/config all` also lists the defaults",
            "ok    configuration",
            "› Write an AGENTS.md for this project",
            "I would look at the project first.",
            "/copy needs a terminal",
        ],
    );
}

#[test]
fn only_what_was_set_is_listed_unless_all_settings_are_wanted() {
    let sandbox = scripted();
    let changed = lines(&sandbox, "/config\n");
    let all = lines(&sandbox, "/config all\n");
    assert!(!changed.stdout.contains("limits.max_iterations"), "{changed}");
    assert!(changed.stdout.contains("scripted_answers"), "{changed}");
    assert!(all.stdout.contains("limits.max_iterations"), "{all}");
    assert!(all.stdout.contains("data_dir"), "{all}");
}

#[test]
fn a_session_is_written_to_a_file_that_is_new_each_time() {
    let sandbox = scripted();
    let ran = lines(
        &sandbox,
        "/export\nhello\n/export\n/export\n/export talk.html\n/export talk.html\n/export none/talk.md\n/export talk.pdf\n",
    );
    says(
        &ran,
        &[
            "there is nothing to export yet",
            "talk.html already exists; name another file",
            "none/talk.md: its directory does not exist",
            "a session cannot be written as `.pdf`",
            "ends with .md (to read), .html (a page) or .json (to import again)",
        ],
    );
    let names = std::fs::read_dir(sandbox.path("ws")).unwrap();
    let names: Vec<String> = names
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    let written = names
        .iter()
        .filter(|name| name.starts_with("agentx-ses_"))
        .count();
    assert_eq!(written, 2, "{names:?}");
    assert!(!names.contains(&"talk.pdf".to_owned()), "{names:?}");
    let page = std::fs::read_to_string(sandbox.path("ws/talk.html")).unwrap();
    assert!(page.contains("Hello to you."), "{page}");
}

#[test]
fn an_answer_and_its_code_go_to_the_clipboard_to_the_letter() {
    let sandbox = scripted();
    let mut chat = Pty::start(&sandbox, &[], 80, 24);
    chat.wait_for_last("›");
    chat.keys("/copy\r");
    chat.wait_for("there is no answer yet");
    chat.keys("show me code\r");
    chat.wait_for("x = 1");
    chat.wait_for_last("›");
    chat.keys("/copy 1\r");
    chat.wait_for("sent code block 1 (1 line) to the clipboard of your terminal");
    chat.wait_for_last("›");
    // `echo "a<tab>b"` and a line end.
    assert_eq!(chat.clipboard(), Some("ZWNobyAiYQliIgo="));
    chat.keys("/copy 3\r");
    chat.wait_for("there is no code block 3: the last answer has 2 code blocks");
    chat.keys("/copy\r");
    chat.wait_for("sent the last answer");
    chat.wait_for("/copy N copies one of its 2 code blocks");
    chat.wait_for_last("›");
    chat.keys("exit\r");
    assert_eq!(chat.end(), Some(0));
}

#[test]
fn a_session_is_picked_from_the_list_inside_the_chat() {
    let sandbox = scripted();
    lines(&sandbox, "the apple one\n");
    let mut chat = Pty::start(&sandbox, &[], 80, 24);
    chat.wait_for_last("›");
    chat.keys("the pear one\r");
    chat.wait_for("Hello to you.");
    chat.wait_for_last("›");
    // A blank behind the command changes nothing.
    for opens in ["/resume\r", "/resume \r"] {
        chat.keys(opens);
        chat.wait_for("the apple one");
        chat.keys("\u{1b}");
        chat.wait_until_gone("the apple one");
        chat.wait_for_last("›");
    }
    chat.keys("/resume\r");
    chat.wait_for("the apple one");
    chat.keys("apple\r");
    chat.wait_for("› the apple one");
    chat.wait_for("the session before is kept: /resume ses_");
    chat.wait_for_last("›");
    chat.keys("and more\r");
    chat.wait_for("› and more");
    chat.wait_for_last("›");
    chat.keys("\u{4}");
    assert_eq!(chat.end(), Some(0));
    assert_eq!(sessions(&sandbox), 2);
}

#[test]
fn ctrl_c_stops_what_runs_and_leaves_when_it_comes_again() {
    let sandbox = Sandbox::new();
    let mut chat = Pty::start(&sandbox, &["--yes"], 80, 24);
    chat.wait_for_last("›");
    chat.keys("run sleep 100\r");
    chat.wait_for("bash runs · ");
    chat.keys("\u{4}");
    chat.wait_for("something is still running; press Ctrl-D again to stop it and leave");
    chat.keys("\u{3}\u{3}");
    // It may still be stopping, or have stopped.
    assert!(matches!(chat.end(), Some(0 | 130)));
    assert!(
        chat.lines().iter().any(|line| line.contains("stopped")),
        "{:#?}",
        chat.lines()
    );
}

#[test]
fn shift_tab_changes_who_decides_and_records_it() {
    let sandbox = Sandbox::new();
    let mut chat = Pty::start(&sandbox, &[], 80, 24);
    chat.wait_for_last("›");
    chat.keys("hello\r");
    chat.wait_for("built-in demo");
    chat.wait_for_last("›");
    let steps = [
        (
            "accept-edits: from now on edits of files are made without asking (Shift-Tab",
            "accept-edits · ",
        ),
        (
            "plan: nothing is changed or run until you accept a plan (Shift-Tab",
            "plan · ",
        ),
        (
            "deny: from now on calls that no rule allows are refused (Shift-Tab",
            "deny · ",
        ),
        (
            "ask: from now on you are asked about calls that no rule covers (Shift-Tab",
            "",
        ),
    ];
    // The first steps are repeated because the modes before them differ then.
    for (said, row) in steps.iter().cycle().take(8) {
        chat.keys("\u{1b}[Z");
        chat.wait_for(said);
        chat.wait_for(row);
    }
    let shown = chat.lines();
    assert!(
        !shown.iter().any(|line| line.contains("plan mode stays on")),
        "{shown:#?}"
    );
    // Only the command leads to `auto`, and the key away from it.
    chat.keys("/approve-mode auto\r");
    chat.wait_for("from now on calls run without asking, unless a rule asks or denies");
    chat.wait_for("auto · ");
    chat.wait_for_last("›");
    chat.keys("\u{1b}[Z");
    chat.wait_for("ask: from now on you are asked about calls that no rule covers (Shift-Tab");
    chat.keys("/approve-mode auto\r");
    chat.wait_for("auto · ");
    chat.wait_for_last("›");
    chat.keys("\u{4}");
    assert_eq!(chat.end(), Some(0));
    let again = sandbox.run_with_input(&["resume"], "/approve-mode\n");
    // What let calls run is said, and does not hold for the session that is continued.
    says(&again, &["calls ran without asking in this session"]);
    // If nothing may be changed or run, no mode changes that.
    let guarded = Sandbox::new().of_a_stranger();
    guarded.run(&["config", "trust", "--read-only"]);
    let mut chat = Pty::start(&guarded, &[], 80, 24);
    chat.wait_for_last("›");
    chat.keys("\u{1b}[Z");
    chat.wait_for("this folder is read-only: changes and commands are refused in every mode");
    let told = guarded.run_with_input(&[], "/approve-mode\n");
    says(&told, &["changes and commands are refused in every mode"]);
    assert!(!told.stdout.contains("you are asked"), "{told}");
    chat.keys("\u{4}");
    assert_eq!(chat.end(), Some(0));
}

#[test]
fn plan_mode_keeps_the_mode_that_a_person_worked_in() {
    let sandbox = Sandbox::new();
    let mut chat = Pty::start(&sandbox, &[], 80, 24);
    chat.wait_for_last("›");
    chat.keys("hello\r");
    chat.wait_for("built-in demo");
    chat.wait_for_last("›");
    // A mode that is only passed does not count.
    chat.keys("\u{1b}[Z");
    chat.wait_for("accept-edits · ");
    chat.keys("\u{1b}[Z");
    chat.wait_for("plan · ");
    chat.keys("/plan off\r");
    chat.wait_for("plan mode is off");
    chat.wait_until_gone("plan · ");
    chat.keys("/approve-mode\r");
    chat.wait_for("you are asked about calls that no rule covers;");
    chat.keys("/approve-mode accept-edits\r");
    chat.wait_for("accept-edits · ");
    chat.keys("\u{1b}[Z");
    chat.wait_for("plan · ");
    chat.keys("/plan off\r");
    chat.wait_for("accept-edits · ");
    chat.keys("\u{4}");
    assert_eq!(chat.end(), Some(0));
}

#[test]
fn accepted_edits_are_made_and_commands_are_still_asked_about() {
    let sandbox = Sandbox::new();
    let mut chat = Pty::start(&sandbox, &["--approval", "accept-edits"], 80, 30);
    chat.wait_for("files of the workspace are changed without asking");
    chat.wait_for_last("›");
    chat.keys("run touch made\r");
    chat.wait_for("allow? y once");
    chat.keys("n\r");
    chat.wait_for("`bash` did not work");
    chat.wait_for_last("›");
    chat.keys("/approve-mode\r");
    chat.wait_for("edits of files are made without asking");
    chat.keys("\u{4}");
    assert!(matches!(chat.end(), Some(0 | 130)));
    assert!(!sandbox.path("ws/made").exists());
}

#[test]
fn a_session_that_is_continued_says_that_edits_are_asked_about_again() {
    let sandbox = Sandbox::new();
    sandbox.run_with_input(&["chat"], "hello\n/approve-mode accept-edits\n");
    let again = sandbox.run_with_input(&["resume"], "/approve-mode\n");
    says(
        &again,
        &[
            "edits of files were made without asking in this session; from now on you are asked again",
            "(`/approve-mode accept-edits` sets that again)",
        ],
    );
}

#[test]
fn approve_mode_says_that_plan_mode_is_on_and_lists_the_modes() {
    let told = Sandbox::new().run_with_input(&[], "/approve-mode\n/plan\n/approve-mode\n");
    says(
        &told,
        &[
            "calls that no rule covers; /approve-mode takes ask, accept-edits, plan, auto or deny",
            "plan mode is on: changes and commands are refused until you accept a plan or type /plan off",
        ],
    );
}

#[test]
fn plan_mode_refuses_a_call_that_waits_for_an_answer() {
    for begins in ["\u{1b}[Z\u{1b}[Z", "/plan\r"] {
        let sandbox = Sandbox::new();
        let mut chat = Pty::start(&sandbox, &[], 80, 30);
        chat.wait_for_last("›");
        chat.keys("run touch made\r");
        chat.wait_for("because running a program needs your approval");
        chat.wait_for("allow? y once");
        chat.keys(begins);
        chat.wait_for("refused: 1 call that waited for an answer, because plan mode is on");
        chat.wait_until_gone("allow? y once");
        chat.wait_for("They say: the person switched on plan mode");
        chat.keys("\u{4}\u{4}");
        assert!(matches!(chat.end(), Some(0 | 130)));
        assert!(!sandbox.path("ws/made").exists());
    }
}

#[cfg(not(feature = "clipboard"))]
#[test]
fn a_key_for_the_picture_in_the_clipboard_says_what_to_do_without_the_feature() {
    let sandbox = scripted();
    let mut chat = Pty::start(&sandbox, &[], 120, 24);
    chat.wait_for_last("›");
    chat.keys("see\u{16}");
    chat.wait_for("save the picture and type @FILE");
    chat.keys(" this\r");
    chat.wait_for("› see this");
    chat.wait_for("Hello to you.");
    chat.wait_for_last("›");
    chat.keys("\u{4}");
    assert_eq!(chat.end(), Some(0));
}

#[test]
fn a_list_below_the_line_is_chosen_from_by_keys() {
    let sandbox = scripted();
    sandbox.write("ws/src/parser.rs", "fn main() {}\n");
    let mut chat = Pty::start(&sandbox, &[], 80, 30);
    chat.wait_for_last("›");
    // A name that is written whole is sent as it is, and Enter takes the first that fits.
    chat.keys("/stat\r");
    chat.wait_for("session    starts with your first message");
    chat.wait_for_last("›");
    // Tab completes, and the list of what follows opens.
    chat.keys("/eff\t");
    chat.wait_for("▸ default");
    chat.keys("hi\r");
    chat.wait_for("effort from now on: high");
    chat.wait_for_last("›");
    // Without words of the person it only completes.
    chat.keys("/ti\r");
    chat.wait_for_last("› /title");
    chat.keys("A talk\r");
    chat.wait_for("renamed this session to \"A talk\"");
    chat.wait_for_last("›");
    // Esc closes it, and then Enter sends what is written.
    chat.keys("/mod");
    chat.wait_for("▸ model");
    chat.keys("\u{1b}");
    chat.wait_until_gone("▸ model");
    chat.keys("\r");
    chat.wait_for("there is no command /mod; did you mean /model?");
    chat.wait_for_last("›");
    // What comes from the history opens none: ↑ continues to the line before.
    chat.keys("\u{1b}[A\u{1b}[A");
    chat.wait_for_last("› /title A talk");
    chat.keys("\u{15}see @pars");
    chat.wait_for("▸ src/parser.rs");
    chat.keys("\t");
    chat.wait_for_last("› see @src/parser.rs");
    chat.keys("\r");
    chat.wait_for("Hello to you.");
    chat.wait_for_last("›");
    chat.keys("\u{4}");
    assert_eq!(chat.end(), Some(0));
    let plain = sandbox.run_with_input(&["chat", "--plain"], "/mod\n/effort\n");
    says(&plain, &["there is no command /mod", "* default "]);
}

#[test]
fn all_of_them_work_at_a_server_or_say_what_they_are_about() {
    let sandbox = scripted();
    let server = Serving::start(&sandbox);
    let input = "hello\n/retry\n/effort high\n/new\nagain\n/export talk.md\n/config\n/doctor\n/sessions\n";
    let ran = sandbox.run_with_input(&["--connect", &server.url, "chat"], input);
    says(
        &ran,
        &[
            "asked again in a copy",
            "effort from now on: high",
            "a new session starts with your next message",
            "talk.md",
            "these settings are for this program; the agent uses the settings of the server",
            "these checks are about this machine",
        ],
    );
    let list = sandbox
        .run(&["--connect", &server.url, "sessions", "list"])
        .stdout;
    assert_eq!(list.lines().count() - 1, 3, "{list}");
    let talk = std::fs::read_to_string(sandbox.path("ws/talk.md")).unwrap();
    assert!(talk.contains("Hello to you."), "{talk}");
    server.stop();
}
