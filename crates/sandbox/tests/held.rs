//! A place with planted files, and commands in it that the real helper holds.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::PipeReader;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output};

use agentx_sandbox::{
    CommandPlace, HeldProcess, SandboxLauncher, SandboxMode, SandboxNetwork, SandboxProfile, SandboxStep,
    SandboxSupport, TemplateStart, hidden_variables,
};

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

/// Commands of a place that start in copies of a template.
pub(crate) struct FromTemplate {
    launcher: SandboxLauncher,
}

impl FromTemplate {
    /// The mark of each command.
    pub(crate) const MARK: &str = "AGENTX_CALL=made/up";

    /// Commands with the network of this machine, or without one.
    pub(crate) fn new(world: &World, network: bool) -> Self {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let profile = SandboxProfile {
            home: Some(world.path("home")),
            program_directories: std::env::split_paths(&path).collect(),
            network: if network {
                SandboxNetwork::On
            } else {
                SandboxNetwork::Off
            },
            ..SandboxProfile::default()
        };
        let mode = SandboxMode::Step(SandboxStep::Namespace);
        let made = Self {
            launcher: SandboxLauncher::new(HELD, mode, profile),
        };
        // What is missing is made for the first command, and seen as a change by the second one.
        made.run(world, &["true"]);
        made
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, world: &World, words: &[&str]) -> (ExitStatus, String) {
        self.finish(&world.command(SandboxStep::Namespace, words))
    }

    /// Runs a command of [`World::command`] to its end. Its output is read until its leader ends.
    pub(crate) fn finish(&self, command: &Command) -> (ExitStatus, String) {
        let (mut output, writer) = std::io::pipe().unwrap();
        let mut leader = self.begin(command, writer);
        let status = leader.wait().unwrap();
        let group = nix::unistd::Pid::from_raw(i32::try_from(leader.id()).unwrap());
        // What it left running has the output, too. There may be nothing.
        let _ = nix::sys::signal::killpg(group, nix::sys::signal::Signal::SIGKILL);
        let mut text = String::new();
        std::io::Read::read_to_string(&mut output, &mut text).unwrap();
        (status, text)
    }

    /// Starts a command. Returns its output and its leader.
    pub(crate) fn start(&self, world: &World, words: &[&str]) -> (PipeReader, HeldProcess) {
        let (output, writer) = std::io::pipe().unwrap();
        let command = world.command(SandboxStep::Namespace, words);
        (output, self.begin(&command, writer))
    }

    fn begin(&self, command: &Command, output: std::io::PipeWriter) -> HeldProcess {
        let words: Vec<&OsStr> = command.get_args().collect();
        let [_, workspace, words @ ..] = words.as_slice() else {
            panic!("no words");
        };
        let mut variables: std::collections::BTreeMap<OsString, OsString> = std::env::vars_os().collect();
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => variables.insert(name.to_owned(), value.to_owned()),
                None => variables.remove(name),
            };
        }
        let (mark, value) = Self::MARK.split_once('=').unwrap();
        variables.insert(mark.into(), value.into());
        variables.retain(|name, _| hidden_variables().iter().all(|hidden| name != hidden));
        let workspace = Path::new(workspace);
        let place = CommandPlace {
            workspace,
            session: "from-template",
        };
        let sandboxed = self.launcher.command(Path::new(words[0]), words, place);
        let start = TemplateStart {
            directory: workspace,
            variables: variables
                .iter()
                .map(|(name, value)| (&**name, &**value))
                .collect(),
            mark: OsStr::new(mark),
            output: output.as_fd(),
        };
        let started = self
            .launcher
            .start_from_template(&sandboxed.unwrap().unwrap(), &start);
        started.unwrap().expect("a template")
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
