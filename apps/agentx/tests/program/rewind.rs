//! Going back with files, trying another way, comparing branches: on the command line and in a chat.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test: it fails by panicking, and reads files"
)]

use crate::common::Sandbox;
use crate::pty::Pty;
use serde_json::Value;

/// A session that changed a file, made one, and ran a command.
fn worked() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    sandbox.write("ws/notes.txt", "one\nhello\nthree\n");
    let said = "hello\nreplace hello with bye in notes.txt\nwrite fresh words to new.txt\nrun echo hi\n";
    let ran = sandbox.run_with_input(&["chat", "--yes"], said);
    assert_eq!(ran.code, Some(0), "{ran}");
    let id = id_of(&sandbox, 0);
    (sandbox, id)
}

/// The id of a session, the latest first.
pub(crate) fn id_of(sandbox: &Sandbox, index: usize) -> String {
    let list = json(sandbox, &["sessions", "list", "--json"]);
    list[index]["session_id"].as_str().unwrap().to_owned()
}

fn json(sandbox: &Sandbox, args: &[&str]) -> Value {
    let output = sandbox.command(args).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    serde_json::from_str(&text).unwrap_or_else(|_| {
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        Value::String(format!("{text}\n{words}"))
    })
}

fn read(sandbox: &Sandbox, name: &str) -> Option<String> {
    std::fs::read_to_string(sandbox.path(&format!("ws/{name}"))).ok()
}

#[test]
fn on_the_command_line_it_says_first_what_it_would_undo_and_can_be_taken_back() {
    let (sandbox, id) = worked();
    let list = sandbox.run(&["rewind", &id]);
    let dry = sandbox.run(&["rewind", &id, "--to", "2", "--dry-run"]);
    let refused = sandbox.run(&["rewind", &id, "--to", "2"]);
    assert_eq!(read(&sandbox, "notes.txt").as_deref(), Some("one\nbye\nthree\n"));
    let done = sandbox.run(&["rewind", &id, "--to", "2", "--yes"]);
    assert_eq!(
        read(&sandbox, "notes.txt").as_deref(),
        Some("one\nhello\nthree\n")
    );
    assert_eq!(read(&sandbox, "new.txt"), None);
    let fork = id_of(&sandbox, 0);
    let diff = sandbox.run(&["diff", &fork]);
    let undone = sandbox.run(&["rewind", &fork, "--undo", "--yes"]);
    assert_eq!(read(&sandbox, "notes.txt").as_deref(), Some("one\nbye\nthree\n"));
    assert_eq!(read(&sandbox, "new.txt").as_deref(), Some("fresh words\n"));
    let all = [list, dry, refused, done, diff, undone].map(|ran| ran.to_string());
    insta::assert_snapshot!("rewind", all.join("\n\n"));
    // A script repeats its undo if it was killed before it knew the end.
    let again = sandbox.run(&["rewind", &fork, "--undo", "--yes"]);
    assert_eq!(again.code, Some(0), "{again}");
    assert!(again.stderr.contains("was an undo already"), "{again}");
    let told = json(&sandbox, &["rewind", &fork, "--undo", "--yes", "--json"]);
    assert_eq!(told["undone_already"], true, "{told}");
    assert_eq!(read(&sandbox, "notes.txt").as_deref(), Some("one\nbye\nthree\n"));
    assert_eq!(read(&sandbox, "new.txt").as_deref(), Some("fresh words\n"));
    let shown = sandbox.run(&["rewind", &fork, "--undo", "--dry-run"]);
    let note = "the last restore was an undo; this takes it back";
    assert!(shown.stdout.contains(note), "{shown}");
    let verified = sandbox.run(&["sessions", "verify", &id]);
    assert_eq!(verified.code, Some(0), "{verified}");
    let replayed = sandbox.run(&["replay", &id]);
    assert_eq!(replayed.code, Some(0), "{replayed}");
}

#[test]
fn files_alone_conversation_alone_and_what_others_changed() {
    let (sandbox, id) = worked();
    sandbox.write("ws/notes.txt", "by somebody else\n");
    let told = json(
        &sandbox,
        &["rewind", &id, "--to", "2", "--files", "--yes", "--json"],
    );
    assert_eq!(told["fork"], Value::Null, "{told}");
    assert_eq!(told["report"]["restored"].as_array().unwrap().len(), 1, "{told}");
    assert_eq!(read(&sandbox, "notes.txt").as_deref(), Some("by somebody else\n"));
    assert_eq!(read(&sandbox, "new.txt"), None);
    let ran = sandbox.run(&["rewind", &id, "--to", "2", "--files", "--yes"]);
    assert_eq!(
        ran.code,
        Some(1),
        "a script has to know that not all is as it was: {ran}"
    );
    assert!(ran.stderr.contains("--all restores it too"), "{ran}");
    let all = sandbox.run(&["rewind", &id, "--to", "2", "--files", "--all", "--yes"]);
    assert_eq!(all.code, Some(0), "{all}");
    assert_eq!(
        read(&sandbox, "notes.txt").as_deref(),
        Some("one\nhello\nthree\n")
    );
    sandbox.run(&["rewind", &id, "--undo", "--yes"]);
    assert_eq!(read(&sandbox, "notes.txt").as_deref(), Some("by somebody else\n"));
    let told = json(
        &sandbox,
        &["rewind", &id, "--to", "3", "--conversation", "--yes", "--json"],
    );
    assert!(told["fork"].is_string() && told["report"].is_null(), "{told}");
    let list = json(&sandbox, &["rewind", told["fork"].as_str().unwrap(), "--json"]);
    assert_eq!(list["inputs"].as_array().unwrap().len(), 2, "{list}");
    let wrong = sandbox.run(&["rewind", &id, "--to", "9"]);
    assert_eq!(wrong.code, Some(2), "{wrong}");
}

#[test]
fn an_undo_that_kept_a_file_goes_on_with_it_and_is_finished_then() {
    let (sandbox, id) = worked();
    let back = sandbox.run(&["rewind", &id, "--to", "2", "--files", "--yes"]);
    assert_eq!(back.code, Some(0), "{back}");
    assert!(!back.stderr.contains("conversation"), "no copy is made: {back}");
    sandbox.write("ws/notes.txt", "by somebody else\n");
    for time in ["first", "second"] {
        let kept = sandbox.run(&["rewind", &id, "--undo", "--yes"]);
        assert_eq!(kept.code, Some(1), "{time}: {kept}");
        assert!(kept.stderr.contains("--all restores it too"), "{time}: {kept}");
    }
    assert_eq!(read(&sandbox, "new.txt").as_deref(), Some("fresh words\n"));
    assert_eq!(read(&sandbox, "notes.txt").as_deref(), Some("by somebody else\n"));
    let all = ["rewind", &id, "--undo", "--yes", "--all"];
    let finished = sandbox.run(&all);
    assert_eq!(finished.code, Some(0), "{finished}");
    assert!(
        finished
            .stderr
            .contains("the last undo left 1 file; this undo continues it"),
        "{finished}"
    );
    assert_eq!(read(&sandbox, "notes.txt").as_deref(), Some("one\nbye\nthree\n"));
    // Without a terminal nobody can be asked, so that no advice leads back to the other command.
    for command in [&all[..], &all[..3]] {
        let again = sandbox.run(command);
        assert_eq!(again.code, Some(0), "{again}");
        assert!(again.stderr.contains("was an undo already"), "{again}");
        assert!(again.stderr.contains("--to N --files --yes"), "{again}");
    }
    assert_eq!(read(&sandbox, "notes.txt").as_deref(), Some("one\nbye\nthree\n"));
}

#[test]
fn an_undo_keeps_what_the_agent_changed_after_the_restore_and_names_it() {
    let (sandbox, id) = worked();
    let back = sandbox.run(&["rewind", &id, "--to", "2", "--files", "--yes"]);
    assert_eq!(back.code, Some(0), "{back}");
    let newer = "write newer words to new.txt";
    let ran = sandbox.run(&["run", "--session", &id, "--yes", "--quiet", newer]);
    assert_eq!(ran.code, Some(0), "{ran}");
    for time in ["first", "second"] {
        let kept = sandbox.run(&["rewind", &id, "--undo", "--yes"]);
        assert_eq!(kept.code, Some(1), "{time}: {kept}");
        assert!(
            kept.stderr.contains("new.txt: kept: changed by the agent since"),
            "{time}: {kept}"
        );
        assert_eq!(read(&sandbox, "new.txt").as_deref(), Some("newer words\n"));
    }
    assert_eq!(read(&sandbox, "notes.txt").as_deref(), Some("one\nbye\nthree\n"));
    let all = sandbox.run(&["rewind", &id, "--undo", "--yes", "--all"]);
    assert_eq!(all.code, Some(0), "{all}");
    assert_eq!(read(&sandbox, "new.txt").as_deref(), Some("fresh words\n"));
}

/// Takes the end of the latest restore out of the database and one file back, as if the program had been
/// killed before them.
fn cut_off(sandbox: &Sandbox, file: &str, was: &str) {
    let database = rusqlite::Connection::open(sandbox.path("home/.local/share/agentx/sessions.db")).unwrap();
    database
        .execute("DELETE FROM batches WHERE id = (SELECT max(id) FROM batches)", [])
        .unwrap();
    sandbox.write(&format!("ws/{file}"), was);
}

#[test]
fn a_rewind_that_was_cut_off_is_named_finished_and_taken_back() {
    let (sandbox, id) = worked();
    let back = ["rewind", &id, "--to", "2", "--files", "--yes"];
    let undo = ["rewind", &id, "--undo", "--yes"];
    sandbox.run(&back);
    cut_off(&sandbox, "notes.txt", "one\nbye\nthree\n");
    let list = sandbox.run(&["rewind", &id]);
    let again = sandbox.run(&back);
    assert_eq!(
        read(&sandbox, "notes.txt").as_deref(),
        Some("one\nhello\nthree\n")
    );
    let undone = sandbox.run(&undo);
    assert_eq!(read(&sandbox, "notes.txt").as_deref(), Some("one\nbye\nthree\n"));
    assert_eq!(read(&sandbox, "new.txt").as_deref(), Some("fresh words\n"));
    cut_off(&sandbox, "notes.txt", "one\nhello\nthree\n");
    let finished = sandbox.run(&undo);
    assert_eq!(read(&sandbox, "notes.txt").as_deref(), Some("one\nbye\nthree\n"));
    assert_eq!(read(&sandbox, "new.txt").as_deref(), Some("fresh words\n"));
    let all = [list, again, undone, finished].map(|ran| ran.to_string());
    insta::assert_snapshot!("rewind_cut_off", all.join("\n\n"));
    let verified = sandbox.run(&["sessions", "verify", &id]);
    assert_eq!(verified.code, Some(0), "{verified}");
}

#[test]
fn two_branches_are_compared_for_programs_too() {
    let (sandbox, id) = worked();
    sandbox.run(&["rewind", &id, "--to", "2", "--yes"]);
    let fork = id_of(&sandbox, 0);
    let other = "replace hello with ciao in notes.txt";
    let ran = sandbox.run(&["run", "--session", &fork, "--yes", "--quiet", other]);
    assert_eq!(ran.code, Some(0), "{ran}");
    let told = json(&sandbox, &["diff", &id, "--json"]);
    assert_eq!(
        told["other"]["session_id"],
        id.as_str(),
        "the fork beside the session that was named: {told}"
    );
    let files = told["files"].as_array().unwrap();
    let names: Vec<&str> = files.iter().map(|file| file["path"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    let notes = files
        .iter()
        .find(|file| file["path"].as_str().unwrap().ends_with("notes.txt"))
        .unwrap();
    let diff = notes["diff"].as_str().unwrap();
    assert!(
        diff.contains("-ciao\n+bye\n"),
        "each as its branch left it: {diff}"
    );
    let stranger = sandbox.run(&["run", "--quiet", "hello"]);
    assert_eq!(stranger.code, Some(0), "{stranger}");
    let stranger = sandbox.run(&["diff", &id_of(&sandbox, 0), &id]);
    assert_eq!(stranger.code, Some(1), "{stranger}");
    assert!(
        stranger.stderr.contains("are not branches of one session"),
        "{stranger}"
    );
}

#[test]
fn yes_goes_back_where_only_the_conversation_can() {
    let sandbox = Sandbox::new();
    let mut chat = Pty::start(&sandbox, &["chat"], 80, 40);
    chat.wait_for_last("›");
    chat.keys("hello\r");
    chat.wait_for(" out · ");
    chat.wait_for_last("›");
    chat.keys("/rewind 1\r");
    chat.wait_for_last("rewind? c conversation · n cancel ›");
    chat.keys("y\r");
    chat.wait_for_last("› hello");
    chat.keys("\u{15}\u{4}");
    assert_eq!(chat.end(), Some(0));
}

#[test]
fn a_rewind_keeps_the_stricter_mode_and_names_it() {
    let sandbox = Sandbox::new();
    for (mode, note, status) in [
        ("/plan", "plan mode is on in the copy", "refused (plan mode)"),
        (
            "/approve-mode deny",
            "in the copy, deny: calls that no rule allows are refused",
            "approval   calls that no rule allows are refused",
        ),
        (
            "/approve-mode auto",
            "in the copy, ask: you are asked about calls",
            "approval   you are asked",
        ),
    ] {
        let ran = sandbox.run_with_input(&["chat"], &format!("hello\n{mode}\n/rewind 1\nc\n/status\n"));
        let shown = ran.to_string();
        assert!(shown.contains(note) && shown.contains(status), "{mode}: {ran}");
    }
}

#[test]
fn in_a_chat_files_go_back_after_it_was_shown_what_that_undoes() {
    let sandbox = Sandbox::new();
    sandbox.write("ws/notes.txt", "one\nhello\nthree\n");
    let mut chat = Pty::start(&sandbox, &["chat", "--yes"], 80, 60);
    chat.wait_for_last("›");
    chat.keys("replace hello with bye in notes.txt\r");
    chat.wait_for("replaced 1 occurrence");
    chat.wait_for_last("›");
    chat.keys("write fresh words to new.txt\r");
    chat.wait_for("Created new.txt");
    chat.wait_for_last("›");
    sandbox.write("ws/new.txt", "by somebody else\n");
    chat.keys("/rewind\r");
    for (slip, told) in [
        ("99", "there is no input 99"),
        ("k", "`k` is not one of the answers"),
    ] {
        chat.wait_for_last("before which message? number · Enter cancels ›");
        chat.keys(&format!("{slip}\r"));
        chat.wait_for(told);
    }
    chat.wait_for_last("before which message? number · Enter cancels ›");
    chat.keys("1\r");
    chat.wait_for("changed since, not by this agent");
    chat.wait_for_last("rewind? b both · c conversation · f files · d diff · n cancel ›");
    chat.keys("what?\r");
    chat.wait_for("`what?` is not one of the answers: b both");
    chat.keys("\u{1b}");
    chat.wait_for("nothing was changed");
    chat.wait_for_last("›");
    chat.keys("/rewind 1\r");
    chat.wait_for_last("rewind? b both · c conversation · f files · d diff · n cancel ›");
    chat.keys("b\r");
    chat.wait_for("changed since, not by this agent, just now; the file did not exist");
    chat.wait_for_last("k keep it · r delete it · d diff · n cancel ›");
    assert_eq!(
        read(&sandbox, "notes.txt").as_deref(),
        Some("one\nbye\nthree\n"),
        "not before it was decided"
    );
    chat.keys("k\r");
    chat.wait_for("1 file put back: notes.txt");
    chat.wait_for("/rewind undo reverts this; first empty the line with Ctrl-C");
    chat.wait_for_last("› replace hello with bye in notes.txt");
    assert_eq!(
        read(&sandbox, "notes.txt").as_deref(),
        Some("one\nhello\nthree\n")
    );
    assert_eq!(read(&sandbox, "new.txt").as_deref(), Some("by somebody else\n"));
    chat.keys("\u{3}");
    chat.wait_for_last("›");
    chat.keys("/rewind undo\r");
    chat.wait_for_last("undo this restore? y yes · d diff · n cancel ›");
    chat.keys("y\r");
    chat.wait_for_last("›");
    chat.keys("/diff\r");
    chat.wait_for("notes.txt  +1 -1");
    chat.wait_for_last("›");
    chat.keys(&format!("/diff {}\r", id_of(&sandbox, 1)));
    chat.wait_for("are the same up to event");
    chat.wait_for_last("›");
    assert_eq!(read(&sandbox, "notes.txt").as_deref(), Some("one\nbye\nthree\n"));
    chat.keys("\u{4}");
    assert_eq!(chat.end(), Some(0));
}

#[test]
fn a_chat_shows_what_its_session_changed_in_files_also_in_a_copy() {
    let sandbox = Sandbox::new();
    sandbox.write("ws/notes.txt", "hello\n");
    let input = "hello\n/diff\nreplace hello with bye in notes.txt\nwrite fresh words to new.txt\n/diff\n/fork\n/diff\n";
    let ran = sandbox.run_with_input(&["chat", "--yes"], input);
    let none = "`edit` and `write` changed no file in this session";
    assert_eq!(ran.stdout.matches(none).count(), 1, "{ran}");
    for (said, times) in [
        ("notes.txt  +1 -1\n  1 -hello\n  1 +bye\n", 2),
        ("new.txt  new, +1 -0\n", 2),
    ] {
        assert_eq!(ran.stdout.matches(said).count(), times, "{said:?}: {ran}");
    }
    assert!(!ran.to_string().contains("error:"), "{ran}");
}

#[test]
fn changes_of_commands_are_counted_and_commands_that_only_read_have_no_effects() {
    let sandbox = Sandbox::new();
    sandbox.write("ws/notes.txt", "hello\n");
    let input = "run wc -l notes.txt\nreplace hello with bye in notes.txt\n/diff\nrun touch made\n/diff\n";
    let ran = sandbox.run_with_input(&["chat", "--yes"], input);
    let note = "not listed: what 1 command changed; `!git diff` shows it";
    assert_eq!(ran.stdout.matches(note).count(), 1, "{ran}");
    let listed = sandbox.run(&["rewind", &id_of(&sandbox, 0)]);
    let stays = "1 call cannot be undone";
    assert_eq!(
        listed.stdout.matches(stays).count(),
        3,
        "each undoes `touch`: {listed}"
    );
    assert!(!listed.stdout.contains("2 calls"), "{listed}");
}

#[test]
fn a_fork_from_an_earlier_event_asks_what_becomes_of_the_files() {
    let (sandbox, id) = worked();
    let list = json(&sandbox, &["rewind", &id, "--json"]);
    let second = list["inputs"][2]["seq"].as_u64().unwrap();
    let input = format!("/fork {}\nr\n/fork\n", second - 1);
    let ran = sandbox.run_with_input(&["resume", &id], &input);
    assert!(
        ran.stdout.contains("k keep files · r restore files · d diff ·"),
        "{ran}"
    );
    assert!(ran.stdout.contains("1 file put back"), "{ran}");
    assert_eq!(
        read(&sandbox, "notes.txt").as_deref(),
        Some("one\nhello\nthree\n")
    );
}

const SCAFFOLD: &str = "name: scaffold
description: Makes a package.
capabilities:
  tools: [write, edit]
lua: |
  function invoke(ctx, args)
    ctx.invoke('write', { path = 'pkg/src/lib.txt', content = 'made by a script\\n' })
    ctx.invoke('edit', { path = 'notes.txt', old_string = 'hello', new_string = 'bye' })
    return 'scaffolded'
  end
";

#[test]
fn what_a_script_wrote_goes_back_with_the_directories_that_it_made() {
    let sandbox = Sandbox::new();
    sandbox.write("ws/notes.txt", "one\nhello\nthree\n");
    sandbox.write("ws/.agentx/tools/scaffold.yaml", SCAFFOLD);
    sandbox.write(
        "ws/.agentx/agents/host.yaml",
        "name: host\nprompt: You make packages.\ntools:\n  - $ref: tool:scaffold\n",
    );
    let ran = sandbox.run(&["run", "--agent", "host", "--yes", "Please scaffold it"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    assert_eq!(read(&sandbox, "notes.txt").as_deref(), Some("one\nbye\nthree\n"));
    assert_eq!(
        read(&sandbox, "pkg/src/lib.txt").as_deref(),
        Some("made by a script\n")
    );
    let id = id_of(&sandbox, 0);
    let done = sandbox.run(&["rewind", &id, "--to", "1", "--files", "--yes"]);
    assert_eq!(done.code, Some(0), "{done}");
    assert!(
        done.stderr.contains("scaffold"),
        "what else it did is named: {done}"
    );
    assert_eq!(
        read(&sandbox, "notes.txt").as_deref(),
        Some("one\nhello\nthree\n")
    );
    assert!(!sandbox.path("ws/pkg").exists(), "{done}");
    let undone = sandbox.run(&["rewind", &id, "--undo", "--yes"]);
    assert_eq!(undone.code, Some(0), "{undone}");
    assert_eq!(
        read(&sandbox, "pkg/src/lib.txt").as_deref(),
        Some("made by a script\n")
    );
}

/// A rule that a person removed in a chat stays removed in the copies that the chat makes, although they
/// begin before that and the settings were read before.
#[test]
fn a_removed_rule_stays_removed_in_every_copy_of_the_chat() {
    let sandbox = Sandbox::new();
    sandbox.config("model: demo\nrules:\n  - {effect: deny, tool: bash, argument: \"walrus *\"}\n");
    for copy in ["/retry", "/fork", "/fork 1"] {
        sandbox.config("model: demo\nrules:\n  - {effect: deny, tool: bash, argument: \"walrus *\"}\n");
        let lines = format!("hello\n/approvals remove 1\n{copy}\n/approvals\n");
        let ran = sandbox.run_where(&[], &["chat"], &lines);
        let (before, after) = ran.stdout.split_once("no longer applies").unwrap_or_default();
        assert!(before.contains("walrus"), "{copy}: {ran}");
        assert!(after.contains("reading inside the workspace"), "{copy}: {ran}");
        assert!(!after.contains("walrus"), "{copy}: {ran}");
    }
}
