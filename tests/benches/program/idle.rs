//! The costs of an idle chat: wake-ups and memory.

use std::process::{Command, Stdio};
use std::time::Duration;

use crate::process::{Scratch, agentx};

const SECONDS: u64 = 10;

pub(crate) fn measure() {
    let scratch = Scratch::new("idle");
    // `script` gives it a terminal; the chat waits for a line that never comes.
    let line = format!("{} chat", agentx().display());
    let mut child = Command::new("script")
        .args(["-qfc", &line, "/dev/null"])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", &scratch.0)
        .env("TERM", "xterm")
        .env("LANG", "C.UTF-8")
        .current_dir(scratch.0.join("ws"))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("script, from util-linux");
    std::thread::sleep(Duration::from_secs(2));
    match chat_of(child.id()) {
        Some(pid) => watch(pid),
        None => println!("the chat did not start"),
    }
    let _ = child.kill();
    let _ = child.wait();
}

fn watch(pid: u32) {
    let before = switches(pid);
    std::thread::sleep(Duration::from_secs(SECONDS));
    let woken = switches(pid).saturating_sub(before);
    println!(
        "{woken} wake-ups of all threads in {SECONDS} s   resident {:.1} MiB",
        resident_mib(pid)
    );
}

/// The chat below `script` (and a shell, if `script` starts one).
pub(crate) fn chat_of(parent: u32) -> Option<u32> {
    let children = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).ok()?;
    let child: u32 = children.split_whitespace().next()?.parse().ok()?;
    let name = std::fs::read_to_string(format!("/proc/{child}/comm")).ok()?;
    let program = agentx();
    if program.file_name().is_some_and(|file| *file == *name.trim()) {
        Some(child)
    } else {
        chat_of(child)
    }
}

/// Returns the number of times that any thread of the process went to sleep and was woken.
fn switches(pid: u32) -> u64 {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).expect("its threads");
    let of = |task: std::fs::DirEntry| {
        let text = std::fs::read_to_string(task.path().join("status")).unwrap_or_default();
        let line = text
            .lines()
            .find(|line| line.starts_with("voluntary_ctxt_switches"));
        line.and_then(|line| line.split_whitespace().nth(1))
            .and_then(|count| count.parse::<u64>().ok())
            .unwrap_or(0)
    };
    tasks.flatten().map(of).sum()
}

pub(crate) fn resident_mib(pid: u32) -> f64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("VmRSS:"));
    line.and_then(|line| line.split_whitespace().nth(1))
        .and_then(|kib| kib.parse::<f64>().ok())
        .map_or(0.0, |kib| kib / 1024.0)
}
