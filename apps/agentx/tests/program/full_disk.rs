//! A disk that is full, and a database that another program locks: nothing typed is lost, the error comes
//! once, what could not be saved on leaving is said, and when there is space again the chat continues.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot start fails")]

use std::path::PathBuf;
use std::process::Command;

use crate::common::Sandbox;
use crate::pty::Pty;
use crate::serving::Serving;

/// A small disk of its own, gone with the value.
struct Disk {
    place: tempfile::TempDir,
}

impl Disk {
    /// `None` if this machine does not let us have one.
    fn mount() -> Option<Self> {
        let place = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=2m,mode=0700", "tmpfs"])
            .arg(place.path())
            .output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(Self { place });
        }
        eprintln!("no disk can be mounted here (that takes root): not run");
        None
    }

    fn path(&self) -> &str {
        self.place.path().to_str().unwrap()
    }

    /// Takes all the space that is left. Removing the file gives it back.
    fn fill(&self) -> PathBuf {
        let ballast = self.place.path().join("ballast");
        let mut file = std::fs::File::create(&ballast).unwrap();
        while std::io::Write::write_all(&mut file, &[0; 4096]).is_ok() {}
        ballast
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount")
            .arg("--lazy")
            .arg(self.place.path())
            .status();
    }
}

fn times(chat: &Pty, text: &str) -> usize {
    chat.lines().concat().matches(text).count()
}

#[test]
fn commands_that_write_small_files_say_that_the_disk_is_full() {
    let Some(disk) = Disk::mount() else { return };
    let sandbox = Sandbox::new().env("AGENTX_DATA", disk.path());
    let config = disk.place.path().join("config.yaml").display().to_string();
    let configured = Sandbox::new().env("AGENTX_CONFIG", &config);
    assert_eq!(sandbox.run(&["run", "hello"]).code, Some(0));
    assert_eq!(sandbox.run(&["memory", "add", "first"]).code, Some(0));
    assert_eq!(configured.run(&["config", "set", "model", "demo"]).code, Some(0));
    // The index of the write-ahead log is made again when it is needed.
    let _ = std::fs::remove_file(disk.place.path().join("sessions.db-shm"));
    let _ballast = disk.fill();
    let full = [
        sandbox.run(&["memory", "list"]),
        sandbox.run(&["memory", "add", "second"]),
        sandbox.run(&["sessions", "list"]),
        configured.run(&["config", "set", "log", "debug"]),
        configured.run(&["mcp", "add", "files", "--", "files-server"]),
        sandbox.run(&["identity", "new"]),
    ];
    for ran in full {
        assert_eq!(ran.code, Some(9), "{ran}");
        assert!(ran.stderr.contains("no space left"), "{ran}");
        assert!(ran.stderr.contains("hint: free some disk space"), "{ran}");
    }
}

/// `resume --last` would be another session.
#[test]
fn a_run_that_saved_nothing_does_not_say_to_go_on_with_a_session() {
    let Some(disk) = Disk::mount() else { return };
    let sandbox = Sandbox::new().env("AGENTX_DATA", disk.path());
    assert_eq!(sandbox.run(&["run", "hello"]).code, Some(0));
    let ballast = disk.fill();
    let ran = sandbox.run(&["run", "hello again"]);
    assert!(
        ran.code != Some(0) && ran.stderr.contains("nothing was saved"),
        "{ran}"
    );
    assert!(
        ran.stderr.contains("hint: free some disk space") && !ran.stderr.contains("resume"),
        "{ran}"
    );
    std::fs::remove_file(ballast).unwrap();
}

#[test]
fn an_export_that_does_not_fit_leaves_the_file_that_was_there() {
    let Some(disk) = Disk::mount() else { return };
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.run(&["run", "hello"]).code, Some(0));
    let file = disk.place.path().join("session.json");
    std::fs::write(&file, "what was there").unwrap();
    let ballast = disk.fill();
    let name = file.to_str().unwrap();
    let id = sandbox.latest_id([]);
    let export = [
        "sessions", "export", &id, "--format", "json", "--output", name, "--force",
    ];
    let ran = sandbox.run(&export);
    assert_eq!(ran.code, Some(9), "{ran}");
    assert!(
        ran.stderr.contains("session.json: no space left")
            && ran.stderr.contains("hint: free some disk space"),
        "{ran}"
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "what was there");
    std::fs::remove_file(ballast).unwrap();
    assert_eq!(sandbox.run(&export).code, Some(0));
    let written = std::fs::read_to_string(&file).unwrap();
    assert!(written.contains("user_message"), "{written}");
    assert_eq!(
        std::fs::read_dir(disk.path()).unwrap().count(),
        1,
        "nothing is left beside it"
    );
}

#[test]
fn a_line_that_could_not_be_saved_is_in_the_input_and_is_sent_when_there_is_space() {
    let Some(disk) = Disk::mount() else { return };
    let sandbox = Sandbox::new();
    let data = [("AGENTX_DATA", disk.path())];
    let mut chat = Pty::start_with(&sandbox, &["chat"], 100, 40, &data);
    chat.wait_for_last("›");
    chat.keys("hello\r");
    chat.wait_for("in, 80 out");
    chat.wait_for_last("›");
    let ballast = disk.fill();
    chat.keys("tell me of the sea\r");
    chat.wait_for("error: no space left");
    chat.wait_for("then press Enter to reopen");
    chat.wait_for_last("› tell me of the sea");
    assert_eq!(times(&chat, "error:"), 1, "{:#?}", chat.lines());
    std::fs::remove_file(ballast).unwrap();
    chat.keys("\r");
    chat.wait_for("the session is open again");
    chat.wait_for("in, 40 out");
    chat.wait_for_last("›");
    chat.keys("\u{4}");
    chat.wait_for("continue with: agentx resume ses_");
    assert_eq!(chat.end(), Some(0));
    assert_eq!(times(&chat, "error:"), 1, "{:#?}", chat.lines());
    let id = sandbox.latest_id([("AGENTX_DATA", disk.path().into())]);
    let shown = sandbox.command(&["show", &id]).envs(data).output().unwrap();
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert_eq!(shown.matches("tell me of the sea").count(), 1, "{shown}");
}

#[test]
fn a_chat_without_a_person_ends_and_says_why_once() {
    let Some(disk) = Disk::mount() else { return };
    let sandbox = Sandbox::new().env("AGENTX_DATA", disk.path());
    assert_eq!(sandbox.run_with_input(&["chat"], "hello\n").code, Some(0));
    let _ballast = disk.fill();
    let ran = sandbox.run_with_input(&["resume", "--last"], "go on\n");
    assert_eq!(ran.code, Some(9), "{ran}");
    assert_eq!(ran.to_string().matches("error:").count(), 1, "{ran}");
}

#[test]
fn a_run_names_its_session_where_the_disk_is_full() {
    let Some(disk) = Disk::mount() else { return };
    let sandbox = Sandbox::new().env("AGENTX_DATA", disk.path());
    let result = |args: &[&str]| -> serde_json::Value {
        let output = sandbox.command(args).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let first = result(&["run", "--output-format", "json", "hello"]);
    let id = first["session_id"].as_str().unwrap();
    let _ballast = disk.fill();
    let second = result(&["run", "--session", id, "--output-format", "json", "go on"]);
    assert_eq!(second["error"]["kind"], "disk_full", "{second}");
    assert_eq!(second["session_id"], id, "{second}");
}

#[test]
fn a_chat_of_a_server_whose_disk_was_full_opens_the_session_again() {
    let Some(disk) = Disk::mount() else { return };
    let sandbox = Sandbox::new().env("AGENTX_DATA", disk.path());
    let server = Serving::start(&sandbox);
    let mut chat = Pty::start(&sandbox, &["--connect", &server.url, "chat"], 100, 40);
    chat.wait_for_last("›");
    chat.keys("hello\r");
    chat.wait_for("in, 80 out");
    chat.wait_for_last("›");
    let ballast = disk.fill();
    chat.keys("tell me of the sea\r");
    chat.wait_for("error: the server's disk is full");
    chat.wait_for_last("› tell me of the sea");
    std::fs::remove_file(ballast).unwrap();
    chat.keys("\r");
    chat.wait_for("the session is open again");
    chat.wait_for("in, 40 out");
    chat.wait_for_last("›");
    chat.keys("\u{4}");
    assert_eq!(chat.end(), Some(0));
}

/// Starts a command in a chat and one more message behind it, then takes the space away.
fn at_work(sandbox: &Sandbox, disk: &Disk) -> (Pty, PathBuf) {
    let mut chat = Pty::start(sandbox, &["chat", "--yes"], 100, 40);
    chat.wait_for_last("›");
    chat.keys("run sleep 1000\r");
    chat.wait_for("bash runs");
    chat.keys("and then this\r");
    chat.wait_for("  1 › and then this");
    let ballast = disk.fill();
    (chat, ballast)
}

#[test]
fn leaving_on_a_full_disk_says_that_the_stop_is_not_saved_and_what_follows() {
    let Some(disk) = Disk::mount() else { return };
    let sandbox = Sandbox::new().env("AGENTX_DATA", disk.path());
    let (mut chat, _ballast) = at_work(&sandbox, &disk);
    chat.terminate_program();
    assert_eq!(chat.end(), Some(9), "{:#?}", chat.lines());
    // Long lines are broken between words, at the terminal's width.
    let said = chat.lines().join(" ");
    for words in [
        "error: no space left",
        "could not save that the run stopped: opening the session again resumes the run and sends the queued message",
        "continue with: agentx resume ses_",
    ] {
        assert_eq!(said.matches(words).count(), 1, "{words}: {:#?}", chat.lines());
    }
    assert!(!said.contains("stays queued"), "{said}");
}

#[test]
fn a_run_that_was_stopped_on_a_full_disk_is_stopped_when_there_is_space() {
    let Some(disk) = Disk::mount() else { return };
    let sandbox = Sandbox::new().env("AGENTX_DATA", disk.path());
    let (mut chat, ballast) = at_work(&sandbox, &disk);
    chat.keys("\u{1b}");
    chat.wait_for("then press Enter to reopen");
    chat.wait_for_last("›");
    assert_eq!(times(&chat, "error:"), 1, "{:#?}", chat.lines());
    std::fs::remove_file(ballast).unwrap();
    chat.keys("\r");
    chat.wait_for("the session is open again");
    chat.wait_for("■ stopped");
    chat.wait_for_last("› and then this");
    chat.keys("\u{15}\u{4}");
    assert_eq!(chat.end(), Some(0), "{:#?}", chat.lines());
}

#[test]
fn a_job_that_ended_with_its_session_is_counted_no_more() {
    let Some(disk) = Disk::mount() else { return };
    let sandbox = Sandbox::new().env("AGENTX_DATA", disk.path());
    sandbox
        .write("ws/.agentx/config.yaml", "scripted_answers: script.yaml\n")
        .write(
            "ws/.agentx/script.yaml",
            "- { input: \"go\", call: { tool: bash, input: { command: sleep 1000, run_in_background: true } } }\n\
             - { input: \"go\", result: \"*\", say: \"It runs.\" }\n",
        );
    let mut chat = Pty::start(&sandbox, &["chat", "--yes"], 100, 40);
    chat.wait_for_last("›");
    chat.keys("go\r");
    chat.wait_for(" · 1 job");
    chat.wait_for("It runs.");
    chat.wait_for_last("›");
    let _ballast = disk.fill();
    chat.keys("tell me of the sea\r");
    chat.wait_for("then press Enter to reopen");
    chat.wait_for("· 1 job was ended: sleep 1000");
    chat.wait_until_gone(" · 1 job");
    chat.keys("\u{15}\u{4}");
    assert_eq!(chat.end(), Some(9), "{:#?}", chat.lines());
    assert_eq!(times(&chat, "still running"), 0, "{:#?}", chat.lines());
}

#[test]
fn a_server_on_a_full_disk_says_what_it_could_not_save() {
    let Some(disk) = Disk::mount() else { return };
    let sandbox = Sandbox::new().env("AGENTX_DATA", disk.path());
    let server = Serving::start(&sandbox);
    let mut chat = Pty::start(&sandbox, &["--connect", &server.url, "chat", "--yes"], 100, 40);
    chat.wait_for_last("›");
    chat.keys("run sleep 1000\r");
    chat.wait_for("bash runs");
    let _ballast = disk.fill();
    let (status, said) = server.told_to_end();
    assert_eq!(status.code(), Some(9), "{said}");
    assert!(said.contains("could not save that 1 session stopped"), "{said}");
    assert!(
        said.contains("error: no space left") && !said.contains("is kept"),
        "{said}"
    );
}

/// The database in another program's hands, until the value is gone.
fn locked(database: &std::path::Path) -> rusqlite::Connection {
    let other = rusqlite::Connection::open(database).unwrap();
    other.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    other
}

#[test]
fn a_database_that_another_program_locks_keeps_the_line_and_the_chat() {
    let sandbox = Sandbox::new();
    let mut chat = Pty::start(&sandbox, &["chat"], 100, 40);
    chat.wait_for_last("›");
    chat.keys("hello\r");
    chat.wait_for("in, 80 out");
    chat.wait_for_last("›");
    let other = locked(&sandbox.path("home/.local/share/agentx/sessions.db"));
    chat.keys("tell me of the sea\r");
    chat.wait_for("error: another program keeps");
    chat.wait_for("then press Enter to reopen");
    chat.wait_for_last("› tell me of the sea");
    drop(other);
    chat.keys("\r");
    chat.wait_for("the session is open again");
    chat.wait_for("in, 40 out");
    chat.wait_for_last("›");
    chat.keys("\u{4}");
    assert_eq!(chat.end(), Some(0), "{:#?}", chat.lines());
    assert_eq!(times(&chat, "error:"), 1, "{:#?}", chat.lines());
}
