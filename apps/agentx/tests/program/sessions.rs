//! Operations on existing sessions: naming, counting, exporting, importing, cleaning up.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot start fails")]

use std::io::BufRead as _;

use crate::common::{Ran, Sandbox};
use crate::models::streaming;
use serde_json::{Value, json};

/// A session in which a file was read, a command failed, and one was not allowed.
fn worked(sandbox: &Sandbox) -> String {
    sandbox.write("ws/README.md", "# Hello <b>you</b>\n\n```\nfenced\n```\n");
    let first = sandbox.run(&["run", "--output-format", "json", "read README.md"]);
    let id = raw_id(sandbox);
    assert_eq!(first.code, Some(0), "{first}");
    sandbox.run(&["run", "--last", "--yes", "--quiet", "run false"]);
    sandbox.run(&["run", "--last", "--approve", "deny", "--quiet", "run touch made"]);
    id
}

/// The id of the latest session, as it is.
fn raw_id(sandbox: &Sandbox) -> String {
    let listed = sandbox.command(&["sessions", "list", "--json"]).output().unwrap();
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    listed[0]["session_id"].as_str().unwrap().to_owned()
}

/// A text without points in time and counts of tokens, which differ from run to run.
fn timeless(text: &str) -> String {
    let shape = |text: &str| {
        text.chars()
            .map(|c| if c.is_ascii_digit() { '0' } else { c })
            .collect::<String>()
    };
    let mut out = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let next = [
            "0000-00-00 00:00:00",
            "0.00 s",
            "0000 in, 000 out",
            "0000 in, 00 out",
        ]
        .into_iter()
        .find(|pattern| {
            rest.get(..pattern.len())
                .is_some_and(|head| shape(head) == **pattern)
        });
        let taken = next.map_or(c.len_utf8(), str::len);
        out.push_str(if next.is_some() { "[n]" } else { &rest[..taken] });
        rest = &rest[taken..];
    }
    out
}

fn ok(ran: Ran) -> Ran {
    assert_eq!(ran.code, Some(0), "{ran}");
    ran
}

#[test]
fn what_was_spent() {
    let sandbox = Sandbox::new().env("TZ", "UTC");
    let nothing = ok(sandbox.run(&["usage"]));
    assert_eq!(
        (nothing.stdout.as_str(), nothing.stderr.as_str()),
        ("", "nothing was spent\n")
    );
    worked(&sandbox);
    let sessions = ok(sandbox.run(&["usage", "--by", "session", "--since", "1h"]));
    assert!(sessions.stdout.contains("read README.md"), "{sessions}");
    let mut all = Vec::new();
    for by in ["model", "cause"] {
        let table = ok(sandbox.run(&["usage", "--by", by]));
        let head = table.stdout.lines().next().unwrap();
        let (from, to) = (head.find("IN").unwrap(), head.find("CACHED").unwrap());
        // How much is read depends on the length of the directory's name.
        let lines = table
            .stdout
            .lines()
            .map(|line| format!("{}{}\n", &line[..from], &line[to..]));
        all.push(lines.collect::<String>());
    }
    insta::assert_snapshot!("usage", all.join("\n"));
    let days = ok(sandbox.run(&["usage", "--json"]));
    let days: Value = serde_json::from_str(&days.stdout).unwrap();
    assert_eq!(days["by"], "day");
    assert_eq!(days["rows"][0]["calls"], days["total"]["calls"]);
    assert_eq!(days["total"]["calls"], 6);
    assert_eq!(days["rows"][0]["key"].as_str().unwrap().len(), 10);
    let both = ok(sandbox.run(&["usage", "--by", "day-model", "--json"]));
    let both: Value = serde_json::from_str(&both.stdout).unwrap();
    let day = days["rows"][0]["key"].as_str().unwrap();
    assert_eq!(both["rows"][0]["key"], format!("{day} scripted"), "{both}");
    let later = ok(sandbox.run(&["usage", "--since", "2999-01-01"]));
    assert_eq!(later.stderr, "nothing was spent\n");
}

#[test]
fn the_latest_session_of_a_directory_needs_no_id() {
    let sandbox = Sandbox::new();
    let id = worked(&sandbox);
    ok(sandbox.run(&["fork", "--last"]));
    let fork = &raw_id(&sandbox)[..];
    assert_ne!(fork, id);
    for line in [
        &["show"][..],
        &["sessions", "show"],
        &["sessions", "verify"],
        &["sessions", "export"],
        &["replay"],
        &["context", "--parts"],
        &["rewind"],
        &["diff"],
    ] {
        let last = ok(sandbox.run(&[line, &["--last"]].concat()));
        let named = ok(sandbox.run(&[line, &[fork]].concat()));
        assert_eq!(last.stdout, named.stdout, "{line:?}");
    }
    let (last, named) = (
        sandbox.run(&["diff", "--last", &id]),
        sandbox.run(&["diff", fork, &id]),
    );
    assert_eq!(ok(last).stdout, named.stdout);
    assert_eq!(sandbox.run(&["show"]).code, Some(2));
    assert_eq!(sandbox.run(&["show", "--last", &id]).code, Some(2));
}

#[test]
fn the_latest_session_is_renamed_and_shared_without_its_id_and_not_deleted() {
    let sandbox = Sandbox::new();
    let id = worked(&sandbox);
    ok(sandbox.run(&["fork", "--last"]));
    let fork = raw_id(&sandbox);
    let renamed = ok(sandbox.run(&["sessions", "rename", "--last", "Another", "way"]));
    assert_eq!(renamed.stdout, "renamed ses_[id] to Another way\n");
    let listed = sandbox.command(&["sessions", "list", "--json"]).output().unwrap();
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let title_of = |id: &str| {
        let sessions = listed.as_array().unwrap();
        let session = sessions.iter().find(|session| session["session_id"] == id);
        session.unwrap()["title"].clone()
    };
    assert_eq!(title_of(&fork), "Another way");
    assert_ne!(title_of(&id), "Another way");
    let none = sandbox.run(&["sessions", "rename", "--last"]);
    assert_eq!(none.code, Some(2), "{none}");
    ok(sandbox.run(&["sessions", "share", "--last", "anyone", "--as", "watch"]));
    let named = ok(sandbox.run(&["sessions", "share", &fork]));
    assert!(named.stdout.contains("anyone"), "{named}");
    assert_eq!(
        ok(sandbox.run(&["sessions", "share", "--last"])).stdout,
        named.stdout
    );
    let other = ok(sandbox.run(&["sessions", "share", &id]));
    assert!(other.stdout.contains("nobody"), "{other}");
    for line in [
        &["--last", "anyone"][..],
        &["--last", "--as", "watch"],
        &[id.as_str(), "--as", "watch"],
    ] {
        let ran = sandbox.run(&[&["sessions", "share"], line].concat());
        assert_eq!(ran.code, Some(2), "{ran}");
    }
    assert_eq!(
        sandbox.run(&["sessions", "delete", "--last", "--yes"]).code,
        Some(2)
    );
}

#[test]
fn a_session_is_not_shared_with_a_key_that_cannot_be_read_and_the_error_says_why() {
    let sandbox = Sandbox::new();
    let id = worked(&sandbox);
    let small_order = format!("ed25519:AQ{}", "A".repeat(41));
    for (key, said) in [
        (small_order.as_str(), "anybody could sign for it"),
        ("ed25519:short", "43 characters of base64url"),
    ] {
        let refused = sandbox.run(&["sessions", "share", &id, key, "--as", "watch"]);
        assert_eq!(refused.code, Some(2), "{refused}");
        assert!(refused.stderr.contains(said), "{refused}");
    }
}

#[test]
fn an_export_names_the_whole_path() {
    let sandbox = Sandbox::new();
    let id = worked(&sandbox);
    let export = sandbox
        .command(&["sessions", "export", &id, "-o", "talk.md"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&export.stderr).into_owned();
    let file = std::fs::canonicalize(sandbox.path("ws/talk.md")).unwrap();
    assert!(said.contains(&format!("to {}\n", file.display())), "{said}");
    let export = sandbox
        .command(&["sessions", "export", &id, "-o", "talk.md", "--force", "--json"])
        .output()
        .unwrap();
    let told: Value = serde_json::from_slice(&export.stdout).unwrap();
    assert_eq!(told["session_id"], id.as_str(), "{told}");
    assert_eq!(told["file"], file.to_str().unwrap(), "{told}");
}

#[test]
fn a_session_gets_a_name_and_nothing_else_happens() {
    let sandbox = Sandbox::new();
    let id = worked(&sandbox);
    ok(sandbox.run(&["run", "--quiet", "thanks"]));
    let latest = crate::rewind::id_of(&sandbox, 0);
    let named = ok(sandbox.run(&["sessions", "rename", &id, "The", "first\none"]));
    assert_eq!(
        crate::rewind::id_of(&sandbox, 0),
        latest,
        "--last goes by what was done"
    );
    assert_eq!(named.stdout, "renamed ses_[id] to The first one\n");
    let listed = ok(sandbox.run(&["sessions", "list"]));
    assert!(listed.stdout.contains("The first one"), "{listed}");
    ok(sandbox.run(&["sessions", "verify", &id]));
    ok(sandbox.run(&["replay", &id]));
    let after = ok(sandbox.run(&["run", "--session", &id, "--quiet", "hello"]));
    assert!(after.stdout.contains("demo"), "{after}");
    ok(sandbox.run(&["replay", &id]));
    let none = sandbox.run(&["sessions", "rename", &id, " "]);
    assert_eq!(none.code, Some(2), "{none}");
    let long = sandbox.run(&["sessions", "rename", &id, &"好".repeat(201)]);
    assert_ne!(long.code, Some(0), "{long}");
    let why = "the title has 201 characters; it may have 200";
    assert!(long.stderr.contains(why), "{long}");
    let in_a_chat = sandbox.run_with_input(
        &["chat", "--last", "--plain"],
        &format!("/title {}\n", "a".repeat(201)),
    );
    assert!(in_a_chat.to_string().contains(why), "{in_a_chat}");
    ok(sandbox.run(&["sessions", "rename", &id, &"好".repeat(200)]));
}

#[test]
fn the_list_is_right_after_a_crash_and_a_name_begins_nothing_again() {
    let sandbox = Sandbox::new();
    let mut run = sandbox
        .command(&["run", "--yes", "run sleep 20"])
        .spawn()
        .unwrap();
    let said = std::io::BufReader::new(run.stderr.take().unwrap()).lines();
    assert!(said.map_while(Result::ok).any(|line| line.contains("sleep 20")));
    run.kill().unwrap();
    run.wait().unwrap();
    let info = || {
        let listed = sandbox.command(&["sessions", "list", "--json"]).output().unwrap();
        serde_json::from_slice::<Value>(&listed.stdout).unwrap()[0].clone()
    };
    let before = info();
    assert_eq!(before["title"], "run sleep 20");
    assert_eq!(before["messages"], 2);
    assert!(
        before["writer"].is_null() && before["status"].is_string(),
        "{before}"
    );
    let listed = ok(sandbox.run(&["sessions", "list"]));
    assert!(listed.stdout.contains("interrupted"), "{listed}");
    let id = raw_id(&sandbox);
    ok(sandbox.run(&["sessions", "rename", &id, "Sleeper"]));
    let after = info();
    let seq = |info: &Value| info["last_seq"].as_u64().unwrap();
    assert_eq!(
        (seq(&after), &after["title"]),
        (seq(&before) + 1, &"Sleeper".into())
    );
    assert_eq!(after["status"], before["status"]);
    ok(sandbox.run(&["sessions", "verify", &id]));
    ok(sandbox.run(&["replay", &id]));
}

#[test]
fn what_sessions_came_to() {
    let sandbox = Sandbox::new();
    let id = worked(&sandbox);
    ok(sandbox.run(&["fork", &id]));
    let one = ok(sandbox.run(&["sessions", "stats", &id]));
    let all = ok(sandbox.run(&["sessions", "stats", "--json"]));
    let stats: Value = serde_json::from_str(&all.stdout).unwrap();
    assert_eq!(stats["sessions"], 2, "{all}");
    assert_eq!(stats["model_calls"], 6, "what a fork shares counts once: {all}");
    assert_eq!(stats["cost"], 0, "{all}");
    assert_eq!(stats["cost_usd"], 0.0, "{all}");
    let listed = ok(sandbox.run(&["sessions", "list", "--json"]));
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(listed[0]["cost_usd"], 0.0, "{listed}");
    assert!(stats["stored"]["facts"].as_u64().unwrap() > 500, "{all}");
    let shown: String = one
        .to_string()
        .lines()
        .filter(|line| {
            !["stored ", "blobs ", "events ", "tokens "]
                .iter()
                .any(|name| line.starts_with(name))
        })
        .map(|line| format!("{line}\n"))
        .collect();
    insta::assert_snapshot!("stats", shown);
}

#[test]
fn a_session_is_written_down_to_read() {
    let sandbox = Sandbox::new();
    let id = worked(&sandbox);
    let markdown = ok(sandbox.run(&["sessions", "export", &id]));
    insta::assert_snapshot!("export_md", timeless(&markdown.stdout));
    let page = ok(sandbox.run(&["sessions", "export", &id, "--format", "html", "-o", "page.html"]));
    assert!(
        page.stdout.is_empty() && page.stderr.contains("page.html"),
        "{page}"
    );
    let page = std::fs::read_to_string(sandbox.path("ws/page.html")).unwrap();
    insta::assert_snapshot!("export_html", timeless(&sandbox.normalized(&page)));
    let again = sandbox.run(&["sessions", "export", &id, "-o", "page.html"]);
    assert_eq!(again.code, Some(2), "{again}");
    assert!(again.stderr.contains("--force"), "{again}");
    ok(sandbox.run(&["sessions", "export", &id, "-o", "page.html", "--force"]));
}

/// Text that clears a screen, sets a title, or changes the direction of text, as a person and a model may
/// write it.
const ACTS: &str = "a\u{1b}[2J b\u{9b}2J c\u{1b}]0;title\u{7} d\u{7f} e\u{202e} f\u{2066}";

#[test]
fn what_is_written_down_does_nothing_to_a_terminal() {
    let answer = format!(
        "data: {}\n\ndata: {}\n\ndata: [DONE]\n\n",
        json!({"choices": [{"index": 0, "delta": {"content": format!("model {ACTS}")}}]}),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
    );
    let sandbox = Sandbox::new().env("OPENAI_BASE_URL", &streaming(&[&answer]));
    let said = format!("person {ACTS}");
    ok(sandbox.run(&["run", "--model", "openai/own", "--quiet", &said]));
    let id = raw_id(&sandbox);
    let acts = |text: &str| {
        let is_one = |c: char| (c.is_control() && !c.is_whitespace()) || "\u{85}\u{202e}\u{2066}".contains(c);
        text.contains(is_one)
    };
    for format in ["json", "md", "html"] {
        let export = ["sessions", "export", &id, "--format", format];
        let shown = ok(sandbox.run(&export)).stdout;
        assert!(!acts(&shown), "{format}: {shown:?}");
        let file = format!("page.{format}");
        ok(sandbox.run(&[&export[..], &["-o", &file]].concat()));
        let written = std::fs::read_to_string(sandbox.path(&format!("ws/{file}"))).unwrap();
        assert!(!acts(&written), "{format}: {written:?}");
    }
    // The values are the same.
    let document = ok(sandbox.run(&["sessions", "export", &id, "--format", "json"])).stdout;
    let document: Value = serde_json::from_str(&document).unwrap();
    let values = document.to_string();
    for words in [said, format!("model {ACTS}")] {
        let words = Value::from(words).to_string();
        assert!(values.contains(words.trim_matches('"')), "{words} is in {values}");
    }
}

#[test]
fn changes_of_files_are_written_down_as_diffs() {
    let sandbox = Sandbox::new();
    sandbox.write("ws/notes.txt", "one\nhello <b>\nthree\n");
    let said = "replace hello with bye in notes.txt\nwrite fresh words to new.txt\n";
    ok(sandbox.run_with_input(&["chat", "--yes"], said));
    let id = raw_id(&sandbox);
    let markdown = ok(sandbox.run(&["sessions", "export", &id])).stdout;
    for part in [
        "```diff\n@@ -1,3 +1,3 @@\n one\n-hello <b>\n+bye <b>\n three\n```",
        "+fresh words",
    ] {
        assert!(markdown.contains(part), "{part} is in {markdown}");
    }
    assert!(!markdown.contains("old_string"), "the diff says it: {markdown}");
    let page = ok(sandbox.run(&["sessions", "export", &id, "--format", "html"])).stdout;
    let line = "<span class=\"removed\">-hello &lt;b&gt;</span>\n<span class=\"added\">+bye &lt;b&gt;</span>\n three";
    assert!(page.contains(line), "{page}");
}

#[test]
fn a_session_is_taken_in_elsewhere_as_it_was() {
    let sandbox = Sandbox::new();
    let id = worked(&sandbox);
    ok(sandbox.run(&["sessions", "export", &id, "--format", "json", "-o", "s.json"]));
    let taken = sandbox.run(&["sessions", "import", "s.json"]);
    assert_eq!(taken.code, Some(8), "{taken}");
    insta::assert_snapshot!("import_taken", taken);
    let there = ["--data", "../there"];
    let at = |args: &[&str]| ok(sandbox.run(&[args, &there].concat()));
    let taken = at(&["sessions", "import", "s.json"]);
    assert!(taken.stdout.ends_with(" events, checked\n"), "{taken}");
    assert_eq!(taken.stderr, "continue with: agentx resume ses_[id]\n");
    for check in [&["sessions", "verify", &id][..], &["replay", &id]] {
        at(check);
    }
    for same in [
        &["sessions", "show", &id][..],
        &["context", &id],
        &["usage", "--by", "cause"],
    ] {
        let here = ok(sandbox.run(same));
        assert_eq!(at(same).stdout, here.stdout);
    }
    // All events come over, and one more says that they were imported.
    let export = ["sessions", "export", &id, "--format", "json"];
    let (here, there) = (ok(sandbox.run(&export)).stdout, at(&export).stdout);
    let events = |text: &str| {
        Vec::from_iter(
            text.lines()
                .filter(|line| line.contains("\"seq\""))
                .map(|line| line.trim_end_matches(',').to_owned()),
        )
    };
    let mut imported = events(&there);
    let last = imported.pop().unwrap_or_default();
    assert!(last.contains("session_imported"), "{last}");
    assert_eq!(imported, events(&here));
    let listed = at(&["sessions", "list"]);
    assert_eq!(listed.stdout, ok(sandbox.run(&["sessions", "list"])).stdout);
    at(&["sessions", "search", "fenced"]);
    at(&["run", "--session", &id, "--quiet", "hello"]);
    at(&["sessions", "verify", &id]);
}

#[test]
fn a_database_that_is_gone_while_its_log_is_there_is_no_empty_list() {
    let sandbox = Sandbox::new();
    ok(sandbox.run(&["run", "--quiet", "hello"]));
    // What a killed program leaves in its log, which the last writer otherwise empties.
    let database = sandbox.path("home/.local/share/agentx/sessions.db");
    std::fs::rename(
        &database,
        sandbox.path("home/.local/share/agentx/sessions.db-wal"),
    )
    .unwrap();
    for args in [&["sessions", "list"][..], &["run", "hello"], &["doctor"]] {
        let ran = sandbox.run(args);
        assert_ne!(ran.code, Some(0), "{ran}");
        let said = format!("{}{}", ran.stdout, ran.stderr);
        let whole = said.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in ["missing or empty", "sessions.db-wal", "put the database back"] {
            assert!(whole.contains(part), "{ran}");
        }
    }
}

/// An import that is killed has made the session and written no event yet.
#[test]
fn a_session_whose_import_was_killed_does_not_exist_and_can_be_taken_in_again() {
    let sandbox = Sandbox::new();
    let id = worked(&sandbox);
    ok(sandbox.run(&["sessions", "export", &id, "--format", "json", "-o", "s.json"]));
    let there = ["--data", "../there"];
    let at = |args: &[&str]| sandbox.run(&[args, &there].concat());
    ok(at(&["sessions", "import", "s.json"]));
    let database = rusqlite::Connection::open(sandbox.path("there/sessions.db")).unwrap();
    database
        .execute_batch(
            "DELETE FROM batches; DELETE FROM blob_refs; DELETE FROM messages; DELETE FROM spent;
             UPDATE sessions SET messages = 0, status = NULL, title = '', model = '', cost = 0",
        )
        .unwrap();
    drop(database);
    for args in [
        &["sessions", "verify", &id][..],
        &["sessions", "show", &id],
        &["replay", &id],
    ] {
        let ran = at(args);
        assert_ne!(ran.code, Some(0), "{ran}");
        assert!(ran.stderr.contains("no session"), "{ran}");
    }
    ok(at(&["sessions", "import", "s.json"]));
    ok(at(&["sessions", "verify", &id]));
    ok(at(&["replay", &id]));
}

#[test]
fn what_is_not_as_it_was_exported_is_not_taken_in() {
    let sandbox = Sandbox::new();
    let id = worked(&sandbox);
    ok(sandbox.run(&["sessions", "export", &id, "--format", "json", "-o", "s.json"]));
    let text = std::fs::read_to_string(sandbox.path("ws/s.json")).unwrap();
    let mut all = Vec::new();
    let second = text.lines().find(|line| line.starts_with("{\"seq\":2,")).unwrap();
    for (name, changed) in [
        ("changed", text.replace("README", "LICENSE")),
        ("shorter", text.replace(&format!("{second}\n"), "")),
        ("cut", text.lines().next().unwrap().to_owned()),
        ("newer", text.replace("\"version\": 1", "\"version\": 9")),
        ("other", "{\"format\":\"x\",\"version\":1}".to_owned()),
        ("empty", String::new()),
    ] {
        sandbox.write(&format!("ws/{name}.json"), changed);
        let ran = sandbox.run(&[
            "sessions",
            "import",
            &format!("{name}.json"),
            "--data",
            "../there",
        ]);
        assert_ne!(ran.code, Some(0), "{ran}");
        all.push(ran.to_string());
    }
    insta::assert_snapshot!("import_mistakes", all.join("\n\n"));
    let listed = ok(sandbox.run(&["sessions", "list", "--data", "../there"]));
    assert!(listed.stdout.contains("no sessions yet"), "{listed}");
    ok(sandbox.run(&["sessions", "import", "s.json", "--data", "../there"]));
}

#[test]
fn a_deletion_says_what_the_session_had_spent_and_that_no_sum_has_it_any_more() {
    let sandbox = Sandbox::new();
    let id = worked(&sandbox);
    let calls = || -> Value {
        let usage = ok(sandbox.run(&["usage", "--json"]));
        serde_json::from_str::<Value>(&usage.stdout).unwrap()["total"]["calls"].clone()
    };
    assert_ne!(calls(), 0);
    let deleted = ok(sandbox.run(&["sessions", "delete", "--yes", &id]));
    assert!(
        deleted.stderr.contains("its usage (")
            && deleted.stderr.contains(") is deleted too")
            && deleted.stderr.contains("`agentx usage` no longer counts it"),
        "{deleted}"
    );
    assert_eq!(calls(), 0);
}

#[test]
fn space_is_given_back() {
    let sandbox = Sandbox::new();
    let id = worked(&sandbox);
    // A page that is free by chance goes with the first.
    ok(sandbox.run(&["sessions", "gc"]));
    let none = ok(sandbox.run(&["sessions", "gc"]));
    assert_eq!(none.stdout, "reclaimed 0 B\n");
    ok(sandbox.run(&["sessions", "delete", "--yes", &id]));
    let json = ok(sandbox.run(&["sessions", "gc", "--json"]));
    assert!(json.stdout.contains("freed_bytes"), "{json}");
}

#[test]
fn a_search_without_a_word_says_that_only_words_can_be_searched() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["sessions", "search", "🐞"]);
    assert_eq!(ran.code, Some(2), "{ran}");
    assert!(ran.stderr.contains("only words can be searched"), "{ran}");
}

#[test]
fn a_long_title_is_whole_in_a_pipe() {
    let sandbox = Sandbox::new();
    let id = worked(&sandbox);
    let title = "tide ".repeat(40);
    ok(sandbox.run(&["sessions", "rename", &id, &title]));
    let listed = ok(sandbox.run(&["sessions", "list"]));
    assert!(listed.stdout.contains(title.trim_end()), "{listed}");
}

#[test]
fn a_pipe_that_nobody_writes_into_is_refused_by_every_command_that_reads_a_file() {
    let sandbox = Sandbox::new();
    let made = std::process::Command::new("mkfifo")
        .arg(sandbox.path("ws/pipe"))
        .status();
    assert!(made.unwrap().success());
    for line in [
        &["sessions", "import", "pipe"][..],
        &["run", "--schema", "pipe", "hello"],
        &["run", "--image", "pipe", "hello"],
        &["identity", "new", "--from", "pipe"],
        &["debug", "decode", "--api", "anthropic", "pipe"],
    ] {
        let ran = sandbox.run(line);
        assert_ne!(ran.code, Some(0), "{line:?}: {ran}");
        assert!(
            ran.stderr.contains("not a regular file") || ran.stderr.contains("there is no file"),
            "{line:?}: {ran}"
        );
    }
}
