//! Secrets that a person marks are replaced from then on; recorded ones are taken out of a session, which
//! still verifies, and of every byte of the database.
#![allow(clippy::unwrap_used, reason = "a test that cannot start fails")]

use serde_json::Value;

use crate::common::{Ran, Sandbox};
use crate::pty::Pty;
use crate::serving::Serving;

/// A made-up secret without a published form.
const KEY: &str = "walrus5f2c81d09be34a7766";

/// The output as it is, with its ids.
fn output(sandbox: &Sandbox, args: &[&str]) -> String {
    let ran = sandbox.command(args).output().unwrap();
    let words = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(0), "{args:?}: {words}");
    String::from_utf8(ran.stdout).unwrap()
}

/// A session in which a person says the key, and a command prints it.
fn planted(sandbox: &Sandbox) -> String {
    let ran = sandbox.run(&["run", "--quiet", "--yes", &format!("run echo {KEY}")]);
    assert_eq!(ran.code, Some(0), "{ran}");
    sandbox.latest_id([])
}

/// The key in files beside the sessions: a typed line, a draft, and a memory.
fn planted_beside(sandbox: &Sandbox) {
    sandbox
        .write(&data("history"), format!("hello\nrun echo {KEY}\nbye\n"))
        .write(
            &data("drafts/1"),
            format!("{{\"at\":\"ses_nosuch\"}}\n[\"use {KEY} \\\"now\\\"\"]\n"),
        );
    output(sandbox, &["memory", "add", &format!("the key is {KEY}")]);
}

/// A file of the data directory, from the sandbox.
fn data(file: &str) -> String {
    format!("home/.local/share/agentx/{file}")
}

fn text_of(sandbox: &Sandbox, file: &str) -> String {
    std::fs::read_to_string(sandbox.path(&data(file))).unwrap()
}

/// The files of the data directory that have the key.
fn files_with_key(sandbox: &Sandbox) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![sandbox.path("home/.local/share/agentx")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let bytes = std::fs::read(&path).unwrap();
                if bytes.windows(KEY.len()).any(|part| part == KEY.as_bytes()) {
                    found.push(path.file_name().unwrap().to_string_lossy().into_owned());
                }
            }
        }
    }
    found
}

fn redacted(sandbox: &Sandbox, id: &str) -> Ran {
    let args = ["sessions", "redact", id, "--value-from-stdin", "--name", "WIFI"];
    let ran = sandbox.run_with_input(&args, &format!("{KEY}\n"));
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(!format!("{}{}", ran.stdout, ran.stderr).contains(KEY), "{ran}");
    ran
}

#[test]
fn a_value_is_taken_out_of_a_session_that_still_verifies_and_of_every_byte() {
    let sandbox = Sandbox::new();
    let id = planted(&sandbox);
    let fork: Value = serde_json::from_str(&output(&sandbox, &["fork", "--json", &id])).unwrap();
    let fork = fork["session_id"].as_str().unwrap().to_owned();
    planted_beside(&sandbox);
    let before = files_with_key(&sandbox);
    for file in ["sessions.db", "history", "1"] {
        assert!(before.contains(&file.to_owned()), "{file}: {before:?}");
    }

    let ran = redacted(&sandbox, &id);
    assert!(ran.stdout.contains("WIFI taken out of"), "{ran}");
    assert!(
        ran.stderr.contains("1 typed line, 1 draft, 1 memory") && !ran.stderr.contains("still there"),
        "{ran}"
    );
    assert_eq!(
        text_of(&sandbox, "history"),
        "hello\nrun echo [secret WIFI]\nbye\n"
    );
    assert_eq!(
        text_of(&sandbox, "drafts/1"),
        "{\"at\":\"ses_nosuch\"}\n[\"use [secret WIFI] \\\"now\\\"\"]\n"
    );
    assert!(output(&sandbox, &["memory", "list"]).contains("the key is [secret WIFI]"));
    assert_eq!(files_with_key(&sandbox), Vec::<String>::new());
    for session in [&id, &fork] {
        let said = output(&sandbox, &["sessions", "verify", session]);
        assert!(said.contains("texts were taken out of"), "{said}");
        output(&sandbox, &["replay", session]);
        let document = output(&sandbox, &["sessions", "export", "--format", "json", session]);
        assert!(
            document.contains("[secret WIFI]") && !document.contains(KEY),
            "{document}"
        );
    }
    assert!(output(&sandbox, &["sessions", "list"]).contains("run echo [secret WIFI]"));
    // It goes on, and can be copied.
    let on = ["run", "--quiet", "--session", &id, "thanks"];
    assert_eq!(sandbox.run(&on).code, Some(0));
    output(&sandbox, &["fork", &id]);
    output(&sandbox, &["sessions", "verify", &id]);
    let again = redacted(&sandbox, &id);
    assert!(again.stdout.contains("nothing was found"), "{again}");
}

#[test]
fn what_a_scan_finds_is_taken_out_of_a_session() {
    let sandbox = Sandbox::new();
    let id = planted(&sandbox);
    let sandbox = sandbox.env("WALRUS_TOKEN", KEY);
    assert!(output(&sandbox, &["sessions", "scan", "--all"]).contains("WALRUS_TOKEN"));
    let unsure = sandbox.run(&["sessions", "redact", &id, "--found"]);
    assert_eq!(unsure.code, Some(2), "{unsure}");
    output(&sandbox, &["sessions", "redact", &id, "--found", "--yes"]);
    assert_eq!(
        output(&sandbox, &["sessions", "scan", &id]),
        "no known secret is recorded\n"
    );
}

#[test]
fn a_scan_looks_into_the_files_beside_the_sessions_and_says_what_it_found_where() {
    let sandbox = Sandbox::new();
    planted_beside(&sandbox);
    let added = sandbox.run(&[
        "schedule",
        "add",
        "--name",
        "nightly",
        "0 3 * * *",
        &format!("use {KEY}"),
    ]);
    assert_eq!(added.code, Some(0), "{added}");
    sandbox.write(&data("flows.db"), format!("a value {KEY} of a tool"));
    let sandbox = sandbox.env("WALRUS_TOKEN", KEY);
    let said = output(&sandbox, &["sessions", "scan"]);
    assert!(!said.contains(KEY), "{said}");
    for place in [
        "history · line 2",
        "drafts/1 · unsent text",
        "schedules.json · schedule nightly",
        "memory.db · memory 1",
        "flows.db · values that tools keep",
    ] {
        assert!(said.contains(&format!("{place} · WALRUS_TOKEN\n")), "{said}");
    }
    assert!(said.contains("agentx schedule remove NAME"), "{said}");
    let found: Value = serde_json::from_str(&output(&sandbox, &["sessions", "scan", "--json"])).unwrap();
    assert_eq!(
        found[0],
        serde_json::json!({"file": "history", "place": "line 2", "name": "WALRUS_TOKEN"})
    );
}

#[test]
fn a_chat_that_starts_takes_what_became_known_out_of_typed_lines() {
    let sandbox = Sandbox::new();
    sandbox.write(&data("history"), format!("hello\nuse {KEY}\n"));
    let sandbox = sandbox.env("WALRUS_TOKEN", KEY);
    let mut chat = Pty::start(&sandbox, &[], 80, 24);
    chat.wait_for_last("›");
    chat.keys("\u{1b}[A");
    chat.wait_for_last("› use [secret WALRUS_TOKEN]");
    assert_eq!(text_of(&sandbox, "history"), "hello\nuse [secret WALRUS_TOKEN]\n");
    chat.keys("\u{3}\u{3}\u{3}");
    assert_eq!(chat.end(), Some(0));
}

#[test]
fn a_session_that_is_open_is_not_redacted_and_the_person_learns_what_to_do() {
    let sandbox = Sandbox::new();
    let mut chat = Pty::start(&sandbox, &[], 80, 24);
    chat.wait_for_last("›");
    chat.keys("hello\r");
    chat.wait_for("built-in demo");
    chat.wait_for_last("›");
    let id = sandbox.latest_id([]);
    let args = ["sessions", "redact", &id, "--value-from-stdin"];
    let busy = sandbox.run_with_input(&args, KEY);
    assert_eq!(busy.code, Some(8), "{busy}");
    for part in [
        "(process ",
        "nothing was taken out",
        "leave the chat there",
        "`agentx serve`",
    ] {
        assert!(busy.stderr.contains(part), "{part}: {busy}");
    }
    chat.keys("\u{4}");
    assert_eq!(chat.end(), Some(0));
    assert_eq!(sandbox.run_with_input(&args, KEY).code, Some(0));
}

#[test]
fn a_value_that_is_marked_in_a_chat_leaves_the_lines_that_were_typed_before() {
    let sandbox = Sandbox::new();
    let mut chat = Pty::start(&sandbox, &[], 100, 30);
    chat.wait_for_last("›");
    chat.keys(&format!("what is {KEY}\r"));
    chat.wait_for("› what is");
    chat.wait_for_last("›");
    assert!(text_of(&sandbox, "history").contains(KEY));
    for (keys, said) in [
        ("/secret remove\r", "one name is needed"),
        ("/secret remove WIFI\r", "no value is marked as WIFI"),
    ] {
        chat.keys(keys);
        chat.wait_for(said);
        chat.wait_for_last("›");
    }
    for (name, cancel) in [
        ("ESC", "\u{1b}"),
        ("CTRL_C", "some-made-up-value\u{3}"),
        ("EMPTY", "\r"),
    ] {
        chat.keys(&format!("/secret {name}\r"));
        chat.wait_for(&format!("Value of {name}:"));
        chat.keys(cancel);
        chat.wait_for_last("›");
    }
    chat.wait_for("nothing was marked");
    assert!(!sandbox.path(&data("secrets.json")).exists());
    chat.keys("/secret WIFI\r");
    chat.wait_for("Value of WIFI:");
    chat.keys(&format!("{KEY}\r"));
    chat.wait_for("marked: WIFI is replaced from now on");
    chat.wait_for("taken out of 1 typed line");
    chat.wait_for_last("›");
    assert!(text_of(&sandbox, "history").contains("what is [secret WIFI]"));
    chat.keys("/secret WIFI\r");
    chat.wait_for("WIFI is marked already");
    chat.wait_for_last("›");
    // A line that is recalled or typed again has it no more in the file.
    chat.keys(&format!("again {KEY}\r"));
    chat.wait_for("› again");
    chat.wait_for_last("›");
    chat.keys("\u{4}");
    assert_eq!(chat.end(), Some(0));
    let history = text_of(&sandbox, "history");
    assert!(
        history.contains("again [secret WIFI]") && !history.contains(KEY),
        "{history}"
    );
}

#[test]
fn a_value_that_is_marked_is_replaced_in_what_a_chat_draws_again() {
    let sandbox = Sandbox::new();
    let mut chat = Pty::start(&sandbox, &["--yes"], 100, 30);
    chat.wait_for_last("›");
    chat.keys(&format!("run echo {KEY}\r"));
    chat.wait_for("`bash` answered with");
    chat.wait_for_last("›");
    chat.keys("/secret WIFI\r");
    chat.wait_for("Value of WIFI:");
    chat.keys(&format!("{KEY}\r"));
    chat.wait_for("marked: WIFI is replaced from now on");
    chat.wait_for("what the terminal shows already stays there");
    chat.wait_for_last("›");
    chat.keys("/output\r");
    chat.wait_for("[secret WIFI]");
    chat.wait_for_last("›");
    let shown = chat.lines().join("\n");
    let since = shown.split_once("marked: WIFI").map_or("", |(_, since)| since);
    assert!(since.contains("[secret WIFI]") && !since.contains(KEY), "{shown}");
    chat.keys("\u{4}");
    assert_eq!(chat.end(), Some(0));
    let mut chat = Pty::start(&sandbox, &["-c"], 100, 30);
    chat.wait_for("run echo [secret WIFI]");
    chat.wait_for_last("›");
    let shown = chat.lines().join("\n");
    assert!(!shown.contains(KEY), "{shown}");
    chat.keys("\u{4}");
    assert_eq!(chat.end(), Some(0));
}

#[test]
fn a_value_that_is_typed_behind_the_name_is_marked_and_its_line_is_not_stored() {
    const OTHER: &str = "q8Zr-made-up-2";
    let sandbox = Sandbox::new();
    let mut chat = Pty::start(&sandbox, &[], 100, 30);
    chat.wait_for_last("›");
    chat.keys(&format!("/secret WIFI {KEY}\r"));
    chat.wait_for("marked: WIFI is replaced from now on");
    chat.wait_for("the value was visible in the line");
    chat.wait_for_last("›");
    // What is pasted with a line end is one line too, and what is refused is stored as little.
    chat.keys(&format!("\u{1b}[200~/secret LAN\n{OTHER}\u{1b}[201~\r"));
    chat.wait_for("marked: LAN is replaced from now on");
    chat.wait_for_last("›");
    chat.keys("/secret THIRD made-up-3 with blanks\r");
    chat.wait_for("one name is needed, without blanks");
    chat.wait_for_last("›");
    chat.keys("\u{1b}[A");
    chat.wait_for_last("› /secret THIRD");
    chat.keys("\u{15}\u{4}");
    assert_eq!(chat.end(), Some(0));
    let history = text_of(&sandbox, "history");
    assert!(
        history.contains("/secret WIFI") && history.contains("/secret LAN"),
        "{history}"
    );
    for value in [KEY, OTHER, "made-up-3"] {
        assert!(!history.contains(value), "{history}");
    }
    assert_eq!(files_with_key(&sandbox), ["secrets.json"]);
}

#[test]
fn a_value_that_is_typed_right_behind_the_command_is_never_shown() {
    let sandbox = Sandbox::new();
    let mut chat = Pty::start(&sandbox, &[], 100, 30);
    chat.wait_for_last("›");
    // The second line is dropped, like the rest of a value that was pasted.
    chat.keys(&format!("/secret WIFI\r{KEY}\r{KEY}\r"));
    chat.wait_for("marked: WIFI is replaced from now on");
    chat.wait_for_last("›");
    let (begin, end) = KEY.split_at(9);
    chat.keys(&format!("/secret AGAIN\r{begin}"));
    chat.wait_for("Value of AGAIN:");
    chat.keys(&format!("{end}\r"));
    chat.wait_for("marked: AGAIN is replaced from now on");
    chat.wait_for_last("›");
    chat.keys("/secret ESC\rsome-made-up-value\u{3}");
    chat.wait_for("nothing was marked");
    chat.wait_for_last("›");
    for typed in [begin, end, "some-made-up-value"] {
        assert!(!chat.lines().concat().contains(typed), "{:?}", chat.lines());
    }
    chat.keys("\u{4}");
    assert_eq!(chat.end(), Some(0));
    assert_eq!(files_with_key(&sandbox), ["secrets.json"]);
}

#[test]
fn esc_at_the_question_for_a_value_marks_nothing() {
    let sandbox = Sandbox::new();
    let mut asked = Pty::start(&sandbox, &["secrets", "add", "WIFI"], 80, 24);
    asked.wait_for("Value of WIFI:");
    asked.keys("some-made-up-value\u{1b}");
    asked.wait_for("no value was given; nothing was changed");
    assert_eq!(asked.end(), Some(2), "{:?}", asked.lines());
    assert!(!sandbox.path(&data("secrets.json")).exists());
}

/// It is refused before it asks for the value, which would otherwise travel to the server.
#[test]
fn a_redaction_through_a_server_is_refused_and_says_where_it_works() {
    let sandbox = Sandbox::new();
    let id = planted(&sandbox);
    let server = Serving::start(&sandbox);
    for way in ["--value-from-stdin", "--found"] {
        let args = ["--connect", &server.url, "sessions", "redact", &id, way];
        let refused = sandbox.run_with_input(&args, KEY);
        assert_eq!(refused.code, Some(2), "{refused}");
        assert!(
            refused.stderr.contains("does not work through a server"),
            "{refused}"
        );
        assert!(
            refused.stderr.contains("its operator runs the command"),
            "{refused}"
        );
    }
    assert!(!files_with_key(&sandbox).is_empty(), "nothing was taken out");
}

#[test]
fn a_short_value_and_an_unknown_session_are_refused() {
    let sandbox = Sandbox::new();
    let id = planted(&sandbox);
    let short = ["sessions", "redact", &id, "--value-from-stdin"];
    let refused = sandbox.run_with_input(&short, "abc\n");
    assert_eq!(refused.code, Some(2), "{refused}");
    assert!(refused.stderr.contains("fewer than 8 bytes"), "{refused}");
    let unknown = ["sessions", "redact", "ses_nosuch", "--value-from-stdin"];
    assert_eq!(sandbox.run_with_input(&unknown, KEY).code, Some(8));
}

#[test]
fn words_of_a_deleted_session_are_in_no_byte_of_the_data_directory() {
    let sandbox = Sandbox::new();
    let id = planted(&sandbox);
    // A chat was killed while it wrote its first draft.
    sandbox.write(&data("drafts/1.7-1.new"), format!("[\"use {KEY}"));
    assert!(!files_with_key(&sandbox).is_empty());
    output(&sandbox, &["sessions", "delete", "--yes", &id]);
    assert_eq!(files_with_key(&sandbox), Vec::<String>::new());
}

#[test]
fn a_command_that_was_killed_after_it_marked_a_value_can_be_repeated() {
    let sandbox = Sandbox::new();
    let add = ["secrets", "add", "WIFI", "--value-from-stdin"];
    assert_eq!(sandbox.run_with_input(&add, KEY).code, Some(0));
    // It was killed before it took the value out of the files, and others while they wrote some.
    sandbox
        .write(&data("history"), format!("run echo {KEY}\n"))
        .write(&data("drafts/1.7-1.new"), format!("[\"use {KEY}"))
        .write(&data("schedules.json.7-1.new"), KEY);
    let scanned = output(&sandbox, &["sessions", "scan"]);
    for file in ["history", "drafts/1.7-1.new", "schedules.json.7-1.new"] {
        assert!(scanned.contains(file), "{file}: {scanned}");
    }
    let repeated = sandbox.run_with_input(&add, KEY);
    assert_eq!(repeated.code, Some(0), "{repeated}");
    assert!(
        repeated.stderr.contains("marked already with this value")
            && repeated.stderr.contains("taken out of 1 typed line")
            && !repeated.stderr.contains("still there"),
        "{repeated}"
    );
    assert_eq!(files_with_key(&sandbox), ["secrets.json"]);
}

#[test]
fn files_that_cannot_be_read_are_reported_and_not_counted_as_clean() {
    let sandbox = Sandbox::new();
    sandbox
        .write(&data("memory.db"), "this is not a database. ".repeat(1_000))
        .write(&data("schedules.json"), "{");
    let marked = sandbox.run_with_input(&["secrets", "add", "WIFI", "--value-from-stdin"], KEY);
    assert_eq!(marked.code, Some(0), "{marked}");
    for said in [
        "memory.db cannot be changed: ",
        "schedules.json could not be read: ",
    ] {
        assert!(marked.stderr.contains(said), "{said}: {marked}");
    }
    let scanned = output(&sandbox, &["sessions", "scan"]);
    for file in ["memory.db", "schedules.json"] {
        assert!(
            scanned.contains(&format!("{file} could not be read: ")),
            "{file}: {scanned}"
        );
    }
    assert!(
        scanned.contains("no known secret is recorded in what could be read"),
        "{scanned}"
    );
}

#[test]
fn a_marked_value_is_replaced_listed_by_name_and_forgotten() {
    let sandbox = Sandbox::new();
    let add = ["secrets", "add", "WIFI", "--value-from-stdin"];
    let marked = sandbox.run_with_input(&add, &format!("{KEY}\n"));
    assert_eq!(marked.code, Some(0), "{marked}");
    let listed = output(&sandbox, &["secrets"]);
    assert!(listed.contains("WIFI") && !listed.contains(KEY), "{listed}");
    let taken = sandbox.run_with_input(&add, "another-made-up-value");
    assert!(
        taken.code == Some(2) && taken.stderr.contains("files may still have that value"),
        "{taken}"
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let file = sandbox.path("home/.local/share/agentx/secrets.json");
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
    let id = planted(&sandbox);
    let document = output(&sandbox, &["sessions", "export", "--format", "json", &id]);
    assert!(
        document.contains("[secret WIFI]") && !document.contains(KEY),
        "{document}"
    );
    assert_eq!(files_with_key(&sandbox), ["secrets.json"]);

    output(&sandbox, &["secrets", "remove", "WIFI"]);
    assert!(!output(&sandbox, &["secrets", "list"]).contains("WIFI"));
    assert_eq!(sandbox.run(&["secrets", "remove", "WIFI"]).code, Some(2));
    assert_eq!(
        sandbox.run(&["secrets", "add", "WIFI"]).code,
        Some(2),
        "nobody types it"
    );
}
