//! A place with planted files, and commands in it that the real helper holds.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use agentx_sandbox::{SandboxStep, SandboxSupport};

/// The program whose `main` is the helper.
pub(crate) const HELD: &str = env!("CARGO_BIN_EXE_agentx-held");

/// The words of the planted secret (made up).
pub(crate) const SECRET: &str = "planted-secret-4711";

/// The steps that hold something and work here. One that does not is named on standard error.
///
/// # Panics
/// Panics on CI if none works, unless `tests/run.sh` found that none can and names that: tests that try
/// nothing must not look like tests that passed.
pub(crate) fn steps() -> Vec<SandboxStep> {
    let support = SandboxSupport::of_machine(Path::new(HELD));
    let works = |step: &SandboxStep| match support.why_not(*step) {
        None => true,
        Some(why) => {
            eprintln!("the step {step} is not tried: {why}");
            false
        }
    };
    let steps: Vec<SandboxStep> = [SandboxStep::Landlock, SandboxStep::Namespace]
        .into_iter()
        .filter(works)
        .collect();
    let is_set = |name: &str| std::env::var_os(name).is_some();
    assert!(
        !steps.is_empty() || !is_set("CI") || is_set("AGENTX_TEST_NO_SANDBOX"),
        "no step of the sandbox works here"
    );
    steps
}

/// A home directory with secrets, a workspace, and something outside of both.
pub(crate) struct World {
    root: tempfile::TempDir,
    pub(crate) network: bool,
}

impl World {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        for name in [
            "home/.ssh",
            "home/.aws",
            "home/.cargo",
            "home/.npm",
            "work/.git/hooks",
            "work/.git/modules/sub",
            "outside",
        ] {
            fs::create_dir_all(root.path().join(name)).unwrap();
        }
        for name in [
            "home/.ssh/id_ed25519",
            "home/.aws/credentials",
            "home/.cargo/credentials.toml",
            "home/.bashrc",
            "home/notes",
            "outside/file",
        ] {
            fs::write(root.path().join(name), SECRET).unwrap();
        }
        for name in ["work/.git/config", "work/.git/modules/sub/config"] {
            fs::write(root.path().join(name), "[core]\n").unwrap();
        }
        fs::write(
            root.path().join("work/.git/modules/sub/HEAD"),
            "ref: refs/heads/main\n",
        )
        .unwrap();
        Self { root, network: false }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.root.path()).unwrap().join(name)
    }

    /// Runs a line of the shell in the workspace, in this step. `$ROOT` is the place with everything.
    pub(crate) fn run(&self, step: SandboxStep, line: &str) -> Output {
        self.command(step, &["sh", "-c", line]).output().unwrap()
    }

    pub(crate) fn command(&self, step: SandboxStep, words: &[&str]) -> Command {
        let mut command = Command::new(HELD);
        command
            .arg(step.as_str())
            .arg(self.path("work"))
            .args(words)
            .env("HOME", self.path("home"))
            .env("ROOT", self.path(""))
            .env("SSH_AUTH_SOCK", self.path("outside/agent"))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env_remove("CARGO_HOME")
            .env_remove("RUSTUP_HOME");
        if self.network {
            command.env("HELD_NETWORK", "on");
        }
        command
    }

    /// Whether nothing outside of the workspace has changed.
    pub(crate) fn is_unharmed(&self) -> bool {
        let outside: Vec<_> = fs::read_dir(self.path("outside")).unwrap().collect();
        let intact = |name: &str| fs::read_to_string(self.path(name)).is_ok_and(|text| text == SECRET);
        outside.len() == 1
            && [
                "outside/file",
                "home/.bashrc",
                "home/notes",
                "home/.ssh/id_ed25519",
            ]
            .iter()
            .all(|name| intact(name))
            && !self.path("home/planted").exists()
    }
}

/// The output and the error output as text.
pub(crate) fn said(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}
