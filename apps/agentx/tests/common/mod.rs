//! A home, a workspace and an environment of their own for the program under test, and its output with
//! everything left out that differs from time to time.
#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "not every test file uses all of it; a test that cannot start fails"
)]

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// The program in a world of its own.
pub(crate) struct Sandbox {
    dir: tempfile::TempDir,
    env: Vec<(String, String)>,
    /// Whether the workspace's files count as they are.
    trusts: bool,
    /// Whether `run` names the demo if nothing else names a model.
    names_demo: bool,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        Self::of(tempfile::tempdir().unwrap())
    }

    /// In this folder, under a name of eight letters: what is as wide as its path is as wide every time.
    pub(crate) fn within(folder: &str) -> Self {
        let mut named = tempfile::Builder::new();
        Self::of(named.prefix("ax").rand_bytes(6).tempdir_in(folder).unwrap())
    }

    fn of(dir: tempfile::TempDir) -> Self {
        for folder in ["home", "ws"] {
            std::fs::create_dir(dir.path().join(folder)).unwrap();
        }
        Self {
            dir,
            env: Vec::new(),
            trusts: true,
            names_demo: true,
        }
    }

    /// Without trust in the workspace: what its files say counts as that of a stranger.
    pub(crate) fn of_a_stranger(mut self) -> Self {
        self.trusts = false;
        self
    }

    /// If nothing says which model is asked, `run` names none either.
    pub(crate) fn without_model(mut self) -> Self {
        self.names_demo = false;
        self
    }

    /// Whether this is a run that nothing gives a model: `run` lets the demo answer only if it is named.
    fn lacks_model(&self, args: &[&str]) -> bool {
        let is_run = args.contains(&"run") && !args.contains(&"tools");
        let names = |arg: &&str| ["--model", "--connect", "-m"].contains(arg);
        let of_env = |name: &str| name.ends_with("_KEY") || name.ends_with("_URL") || name == "AGENTX_MODEL";
        let of_file = |path: &str| {
            let text = std::fs::read_to_string(self.path(path)).unwrap_or_default();
            ["model", "providers", "connect"]
                .iter()
                .any(|key| text.contains(key))
        };
        let files = ["home/.config/agentx/config.yaml", "ws/.agentx/config.yaml"];
        is_run
            && !args.iter().any(names)
            && !self.env.iter().any(|(name, _)| of_env(name))
            && !files.into_iter().any(of_file)
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// A file of the sandbox: `home/…` or `ws/…`.
    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.dir.path().join(relative)
    }

    pub(crate) fn write(&self, relative: &str, text: impl AsRef<[u8]>) -> &Self {
        let path = self.path(relative);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    /// The user's configuration.
    pub(crate) fn config(&self, text: &str) -> &Self {
        self.write("home/.config/agentx/config.yaml", text)
    }

    /// The user's configuration: the demo with these answers, and these lines.
    pub(crate) fn demo(&self, answers: &str, lines: &str) -> &Self {
        self.write("home/answers.yaml", answers);
        let file = self.path("home/answers.yaml");
        self.config(&format!(
            "model: demo\nscripted_answers: {}\n{lines}",
            file.display()
        ))
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agentx"));
        command.args(args).current_dir(self.path("ws")).env_clear();
        command
            .env("HOME", self.path("home"))
            .env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("LANG", "C.UTF-8");
        if self.trusts {
            command.env("AGENTX_TRUST_FOLDER", "1");
        }
        if self.names_demo && self.lacks_model(args) {
            command.env("AGENTX_MODEL", "demo");
        }
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        self.ran(args, self.command(args).output().unwrap())
    }

    /// The id of the latest session, as this environment has it.
    pub(crate) fn latest_id(&self, env: impl IntoIterator<Item = (&'static str, PathBuf)>) -> String {
        let list = self
            .command(&["sessions", "list", "--json"])
            .envs(env)
            .output()
            .unwrap();
        let list: serde_json::Value = serde_json::from_slice(&list.stdout).unwrap();
        list[0]["session_id"].as_str().unwrap().to_owned()
    }

    /// With these variables besides, and this input.
    pub(crate) fn run_where(&self, env: &[(&str, String)], args: &[&str], input: &str) -> Ran {
        let mut command = self.command(args);
        command.env_remove("AGENTX_MODEL");
        let variables = env.iter().map(|(name, value)| (name, value));
        let mut child = command.envs(variables).stdin(Stdio::piped()).spawn().unwrap();
        // A program that does not want its input may have closed it.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        self.ran(args, child.wait_with_output().unwrap())
    }

    pub(crate) fn run_with_input(&self, args: &[&str], input: &str) -> Ran {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        // A program that does not want its input may have closed it.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        self.ran(args, child.wait_with_output().unwrap())
    }

    fn ran(&self, args: &[&str], output: Output) -> Ran {
        Ran {
            line: self.normalized(&args.join(" ")),
            code: output.status.code(),
            stdout: self.normalized(&String::from_utf8_lossy(&output.stdout)),
            stderr: self.normalized(&String::from_utf8_lossy(&output.stderr)),
        }
    }

    /// The text without what differs between two runs: directories, ids, times.
    pub(crate) fn normalized(&self, text: &str) -> String {
        let real = std::fs::canonicalize(self.dir.path()).unwrap();
        let text = text
            .replace(&*real.to_string_lossy(), "")
            .replace(&*self.dir.path().to_string_lossy(), "");
        let text = text.replace(env!("CARGO_PKG_VERSION"), "[version]");
        let text = text.lines().map(without_figures).collect::<Vec<_>>().join("\n")
            + if text.ends_with('\n') { "\n" } else { "" };
        words(&text, |word| {
            for prefix in ["ses_", "agt_"] {
                if word.starts_with(prefix) && word.len() > 12 {
                    return Some(format!("{prefix}[id]"));
                }
            }
            let time = word
                .strip_suffix('s')
                .is_some_and(|n| n.contains('.') && n.parse::<f64>().is_ok());
            time.then(|| "[time]".to_owned())
        })
    }
}

/// A line without counts of tokens and without the time that a command took.
fn without_figures(line: &str) -> String {
    if line.contains(" out · $") {
        return "[usage]".to_owned();
    }
    match line.strip_suffix(" s]").and_then(|rest| rest.rsplit_once(", ")) {
        Some((before, seconds)) if seconds.parse::<f64>().is_ok() => format!("{before}, [time]]"),
        _ => line.to_owned(),
    }
}

/// Replaces words (letters, digits, `_`, `.`) of a text.
fn words(text: &str, replace: impl Fn(&str) -> Option<String>) -> String {
    let mut out = String::new();
    let mut word = String::new();
    for c in text.chars().chain(['\0']) {
        if c.is_alphanumeric() || matches!(c, '_' | '.') {
            word.push(c);
            continue;
        }
        out.push_str(&replace(&word).unwrap_or_else(|| word.clone()));
        word.clear();
        if c != '\0' {
            out.push(c);
        }
    }
    out
}

/// Replaces runs of spaces in a table by one: their width depends on the length of the temporary directory's
/// name.
pub(crate) fn squeezed(text: impl std::fmt::Display) -> String {
    let text = text.to_string();
    let lines = text
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    lines.collect::<Vec<_>>().join("\n")
}

/// The end of a run of the program.
pub(crate) struct Ran {
    pub(crate) line: String,
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    /// The last line of standard output as JSON.
    pub(crate) fn result(&self) -> serde_json::Value {
        let last = self.stdout.lines().last().unwrap_or_default();
        serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {last:?}\n{}", self.stderr))
    }
}

/// Checks the exit code, and that the output has these words.
#[track_caller]
pub(crate) fn check(ran: &Ran, code: i32, words: &[&str]) {
    assert_eq!(ran.code, Some(code), "{ran}");
    let said = format!("{}{}", ran.stdout, ran.stderr);
    for word in words {
        assert!(said.contains(word), "{word:?} is not in {ran}");
    }
}

impl std::fmt::Display for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "$ agentx {}", self.line)?;
        f.write_str(&self.stdout)?;
        if !self.stderr.is_empty() {
            writeln!(f, "--- standard error")?;
            f.write_str(&self.stderr)?;
        }
        write!(
            f,
            "--- exit {}",
            self.code.map_or("by a signal".into(), |code| code.to_string())
        )
    }
}
