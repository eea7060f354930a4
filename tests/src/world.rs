//! A separate home, workspace and environment for the program that was built for the tests.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Once;

use serde_json::Value;

use crate::model_server::ModelServer;
use crate::{Ran, Running};

/// The key that the program has; it must turn up nowhere.
pub const KEY: &str = "sk-ant-made-up-0123456789-do-not-show";

/// The directories and the model server in which the program runs.
#[derive(Debug)]
pub struct World {
    home: tempfile::TempDir,
    url: String,
    data: Option<PathBuf>,
    _model: Option<ModelServer>,
}

impl World {
    /// A new one whose model is at `url`.
    ///
    /// # Panics
    /// Panics if it cannot be made.
    pub fn new(url: &str) -> Self {
        let home = tempfile::tempdir().expect("a temporary directory");
        std::fs::create_dir(home.path().join("ws")).expect("a workspace");
        Self {
            home,
            url: url.to_owned(),
            data: None,
            _model: None,
        }
    }

    /// A new one with this model, which it holds.
    ///
    /// # Panics
    /// Panics if it cannot be made.
    pub fn of(model: ModelServer) -> Self {
        Self {
            _model: Some(model.clone()),
            ..Self::new(&model.url())
        }
    }

    /// The same with its data somewhere else.
    #[must_use]
    pub fn with_data(mut self, data: &Path) -> Self {
        self.data = Some(data.to_owned());
        self
    }

    /// The directory in which the agent works.
    pub fn workspace(&self) -> PathBuf {
        self.home.path().join("ws")
    }

    /// A file of the workspace.
    pub fn file(&self, name: &str) -> PathBuf {
        self.workspace().join(name)
    }

    /// The directory of sessions.
    pub fn data(&self) -> PathBuf {
        let usual = || self.home.path().join(".local/share/agentx");
        self.data.clone().unwrap_or_else(usual)
    }

    /// Writes the user's configuration.
    ///
    /// # Panics
    /// Panics if it cannot be written.
    pub fn config(&self, text: &str) {
        let folder = self.home.path().join(".config/agentx");
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join("config.yaml"), text).expect("a file");
    }

    /// The program with these arguments.
    ///
    /// # Panics
    /// Panics if it cannot be built.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(program());
        command
            .args(args)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home.path())
            .env("LANG", "C.UTF-8")
            .env("ANTHROPIC_BASE_URL", &self.url)
            .env("ANTHROPIC_API_KEY", KEY)
            .env("AGENTX_DATA", self.data())
            // Its files are of the test's own making.
            .env("AGENTX_TRUST_FOLDER", "1")
            .current_dir(self.workspace());
        command
    }

    /// Starts it.
    pub fn start(&self, args: &[&str]) -> Running {
        Running::start(self.command(args))
    }

    /// Starts it with an input.
    pub fn talk(&self, args: &[&str]) -> Running {
        Running::talk(self.command(args))
    }

    /// Runs it to its end.
    pub fn run(&self, args: &[&str]) -> Ran {
        self.start(args).end()
    }

    /// Starts `agentx run` with all facts on standard output, in a session that exists or a new one.
    pub fn run_prompt(&self, session: Option<&str>, args: &[&str], prompt: &str) -> Running {
        let mut all = vec!["run", "--output-format", "stream-json", "--view", "environment"];
        all.extend(session.iter().flat_map(|session| ["--session", *session]));
        all.extend(args);
        all.push(prompt);
        self.start(&all)
    }

    /// The facts of a session, as another process reads them.
    ///
    /// # Panics
    /// Panics if the program cannot read them.
    pub fn shown(&self, session: &str) -> Vec<Value> {
        let ran = self.run(&["sessions", "show", "--json", session]).exits(0);
        ran.frames()
    }

    /// Fails the test unless the session is as it was written and derives the same as it did live.
    #[track_caller]
    pub fn check(&self, session: &str) {
        self.run(&["sessions", "verify", session]).exits(0);
        self.run(&["replay", session]).exits(0);
    }
}

/// The program: the one that `AGENTX_TEST_PROGRAM` names, or else `target/debug/agentx`, which is built first
/// if a test runs alone.
///
/// # Panics
/// Panics if it does not build.
pub fn program() -> PathBuf {
    if let Some(named) = std::env::var_os("AGENTX_TEST_PROGRAM") {
        return named.into();
    }
    build();
    let mut path = std::env::current_exe().expect("this program");
    path.pop();
    path.pop();
    path.join("agentx")
}

/// The model server `agentx-mock`: the one beside the [`program`], which is built first if there is none.
///
/// # Panics
/// Panics if it does not build.
pub fn mock() -> PathBuf {
    let beside = program().with_file_name("agentx-mock");
    if !beside.exists() {
        build();
    }
    beside
}

fn build() {
    static BUILT: Once = Once::new();
    BUILT.call_once(|| {
        let built = Command::new(env!("CARGO"))
            .args([
                "build",
                "--quiet",
                "--package",
                "agentx-cli",
                "--package",
                "agentx-mock",
            ])
            .status();
        assert!(
            built.is_ok_and(|status| status.success()),
            "the programs do not build"
        );
    });
}
