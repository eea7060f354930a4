//! The parts of this machine that tools use: a shell, git, and sandboxing programs. The last are only
//! reported: commands run with the rights of this program's user.

use std::path::{Path, PathBuf};

use super::DoctorCheck;

/// Looks at the machine.
pub(super) fn all() -> Vec<DoctorCheck> {
    let mut checks = vec![shell(), git()];
    if cfg!(target_os = "linux") {
        checks.push(sandbox(Path::new("/")));
    }
    checks
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
            format!("{}, and no bash", sh.display()),
            "install bash, the shell that models expect",
        ),
        (None, None) => DoctorCheck::warn(
            name,
            "none",
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
            "not found",
            "install git: agents use it, and it lets you undo changes",
        ),
    }
}

/// Checks which ways to lock a program in the kernel offers. `root` is `/`.
fn sandbox(root: &Path) -> DoctorCheck {
    let read = |path: &str| std::fs::read_to_string(root.join(path)).ok();
    let number = |path: &str| read(path)?.trim().parse::<u64>().ok();
    let limited = number("proc/sys/kernel/unprivileged_userns_clone") == Some(0)
        || number("proc/sys/kernel/apparmor_restrict_unprivileged_userns") == Some(1);
    let namespaces = match number("proc/sys/user/max_user_namespaces") {
        None | Some(0) => "no user namespaces",
        Some(_) if limited => "user namespaces for root only",
        Some(_) => "user namespaces",
    };
    let landlock = match read("sys/kernel/security/lsm") {
        Some(modules) if modules.trim().split(',').any(|module| module == "landlock") => "Landlock",
        Some(_) => "no Landlock",
        None => "Landlock unknown",
    };
    DoctorCheck::note(
        "sandbox",
        format!("none: commands run without a sandbox (kernel: {namespaces}, {landlock})"),
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use super::*;

    #[test]
    fn what_the_kernel_offers_is_read_from_its_files() {
        let root = tempfile::tempdir().unwrap();
        let found = |root: &Path| sandbox(root).found;
        assert!(found(root.path()).starts_with("none: commands run without a sandbox"));
        assert!(found(root.path()).ends_with("(kernel: no user namespaces, Landlock unknown)"));
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("proc/sys/user/max_user_namespaces", "1000\n");
        write("sys/kernel/security/lsm", "lockdown,landlock,yama\n");
        assert!(found(root.path()).ends_with("(kernel: user namespaces, Landlock)"));
        write("proc/sys/kernel/unprivileged_userns_clone", "0\n");
        write("sys/kernel/security/lsm", "yama\n");
        assert!(found(root.path()).ends_with("(kernel: user namespaces for root only, no Landlock)"));
    }
}
