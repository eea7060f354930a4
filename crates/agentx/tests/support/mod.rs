//! Paths of cargo's output, and the environment of programs: without a key, with their own home.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use tokio::process::Command;

pub(crate) fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap()
        .to_owned()
}

/// The folder of this build (`debug`, say), and the target directory above it.
pub(crate) fn build_folder() -> (PathBuf, PathBuf) {
    let test = std::env::current_exe().unwrap();
    let folder = test.ancestors().nth(2).unwrap().to_owned();
    let target = folder.parent().unwrap().to_owned();
    (folder, target)
}

/// Cargo, working for the same profile and into the same target directory as this test.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let (folder, target) = build_folder();
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args(arguments)
        .args(["--quiet", "--offline", "--target-dir"])
        .arg(target);
    if folder.ends_with("release") {
        cargo.arg("--release");
    }
    cargo
}

/// Runs it to its end, within `bound`.
pub(crate) async fn run(command: &mut Command, bound: Duration) -> Output {
    command.stdin(Stdio::null()).kill_on_drop(true);
    tokio::time::timeout(bound, command.output())
        .await
        .unwrap()
        .unwrap()
}

/// Returns the output of a program that has to succeed.
pub(crate) async fn printed(command: &mut Command, bound: Duration) -> String {
    let output = run(command, bound).await;
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}
