//! A chat on a disk that is full: nothing typed is lost, the error comes once, and with space again the chat goes on.
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
    /// `None` where this machine does not let us have one.
    fn mount() -> Option<Self> {
        let place = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=2m", "tmpfs"])
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
    chat.wait_for("press Enter to go on");
    chat.wait_for_last("› tell me of the sea");
    assert_eq!(times(&chat, "error:"), 1, "{:#?}", chat.lines());
    std::fs::remove_file(ballast).unwrap();
    chat.keys("\r");
    chat.wait_for("the session is open again");
    chat.wait_for("in, 39 out");
    chat.wait_for_last("›");
    chat.keys("\u{4}");
    chat.wait_for("go on with: agentx resume ses_");
    assert_eq!(chat.end(), Some(0));
    assert_eq!(times(&chat, "error:"), 1, "{:#?}", chat.lines());
    let shown = sandbox.command(&["show", "ses_"]).envs(data).output().unwrap();
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
    chat.wait_for("in, 39 out");
    chat.wait_for_last("›");
    chat.keys("\u{4}");
    assert_eq!(chat.end(), Some(0));
}
