//! Checks the parts of this machine that tools use: a shell and git.

use std::path::PathBuf;

use super::DoctorCheck;

/// Checks the machine.
pub(super) fn all() -> Vec<DoctorCheck> {
    vec![shell(), git()]
}

/// A program on the path.
fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain([PathBuf::from("/bin"), PathBuf::from("/usr/bin")])
        .map(|directory| directory.join(program))
        .find(|place| place.is_absolute() && place.is_file())
}

fn shell() -> DoctorCheck {
    let name = "shell";
    match (find("bash"), find("sh")) {
        (Some(bash), _) => DoctorCheck::ok(name, bash.display().to_string()),
        (None, Some(sh)) => DoctorCheck::warn(
            name,
            format!("{}; bash was not found", sh.display()),
            "install bash, the shell that models expect",
        ),
        (None, None) => DoctorCheck::warn(
            name,
            "no shell was found",
            "install bash: the agent cannot run commands without a shell",
        ),
    }
}

fn git() -> DoctorCheck {
    let name = "git";
    match find("git") {
        Some(git) => DoctorCheck::ok(name, git.display().to_string()),
        None => DoctorCheck::warn(
            name,
            "git was not found",
            "install git: agents use it, and it lets you undo changes",
        ),
    }
}
