//! The program in a terminal of some width, a world of its own around it: keys go in, the screen is waited
//! for, and what stands there in the end is kept as text.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use crate::common::Sandbox;
use crate::model::{Model, Part};
use crate::stable::stable;
use crate::terminal::Terminal;
use crate::tube::Tube;

/// The height of every terminal here.
pub(crate) const ROWS: u16 = 24;
/// Longer than anything takes; a journey that waits so long has failed.
const PATIENCE: Duration = Duration::from_secs(30);
/// The prompt of the input line.
pub(crate) const PROMPT: &str = "›";
/// The prompt while a call is asked about.
pub(crate) const QUESTION: &str = "allow? y once · s session · a always · n no · Alt+letter at once ›";

/// A home and a workspace, and perhaps a model.
pub(crate) struct World {
    pub(crate) sandbox: Sandbox,
    model: Option<Model>,
}

impl World {
    /// Starts a stage with the offline demo.
    pub(crate) fn of_demo() -> Self {
        Self {
            sandbox: Sandbox::within("/tmp"),
            model: None,
        }
    }

    /// If a model says this, one answer to each request.
    pub(crate) fn of_model(answers: Vec<Vec<Part>>) -> Self {
        Self::configured(answers, "")
    }

    /// Returns whether a model would answer although no settings name one.
    pub(crate) fn without_settings(answers: Vec<Vec<Part>>) -> Self {
        Self {
            model: Some(Model::start(answers)),
            ..Self::of_demo()
        }
    }

    /// A world with these settings, files and variables. `sandbox` lies in `/tmp`.
    pub(crate) fn of(sandbox: Sandbox) -> Self {
        Self { sandbox, model: None }
    }

    /// The same with a workspace that nobody has trusted yet.
    pub(crate) fn untrusted(self) -> Self {
        Self {
            sandbox: self.sandbox.of_a_stranger(),
            ..self
        }
    }

    /// The same with a variable of the environment.
    pub(crate) fn with_variable(self, name: &str, value: &str) -> Self {
        Self {
            sandbox: self.sandbox.env(name, value),
            ..self
        }
    }

    /// A workspace that nobody has trusted yet.
    pub(crate) fn of_a_stranger() -> Self {
        Self {
            sandbox: Sandbox::within("/tmp").of_a_stranger(),
            model: None,
        }
    }

    /// Returns the address of the model's server.
    pub(crate) fn address(&self) -> String {
        self.model.as_ref().unwrap().url.clone()
    }

    /// The same with more settings.
    pub(crate) fn configured(answers: Vec<Vec<Part>>, more: &str) -> Self {
        let model = Model::start(answers);
        let sandbox = Sandbox::within("/tmp").env("OPAL_KEY", "sk-opal");
        sandbox.config(&format!(
            "model: opal\nproviders:\n  stone:\n    api: anthropic\n    base_url: {}\n    api_key: ${{OPAL_KEY}}\n\
             models:\n  opal:\n    provider: stone\n    id: opal-1\n    context_window: 200000\n    \
             max_output_tokens: 8000\n    prices: {{ input: 3.00, output: 15.00 }}\n{more}",
            model.url
        ));
        Self {
            sandbox,
            model: Some(model),
        }
    }

    /// The model continues where it holds.
    pub(crate) fn go_on(&self) {
        self.model.as_ref().unwrap().go_on();
    }

    /// Returns the number of requests that have reached the model.
    pub(crate) fn requests(&self) -> usize {
        self.model.as_ref().unwrap().requests()
    }

    /// The request that the model got as this one, from 0.
    pub(crate) fn asked(&self, index: usize) -> String {
        self.model.as_ref().unwrap().asked(index)
    }

    /// A file of the workspace.
    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> &Self {
        self.sandbox.write(&format!("ws/{name}"), text);
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.sandbox.path(&format!("ws/{name}"))
    }

    pub(crate) fn root(&self) -> String {
        self.sandbox
            .path("")
            .to_string_lossy()
            .trim_end_matches('/')
            .to_owned()
    }

    /// The program without a terminal: what it says.
    pub(crate) fn run(&self, args: &[&str]) -> crate::common::Ran {
        self.sandbox.run(args)
    }
}

/// The program in its terminal.
pub(crate) struct Stage<'a> {
    world: &'a World,
    tube: Tube,
    pub(crate) terminal: Terminal,
    columns: u16,
}

impl<'a> Stage<'a> {
    /// Starts `agentx` in this world.
    pub(crate) fn start(world: &'a World, args: &[&str], columns: u16) -> Self {
        Self::with_rows(world, args, (columns, ROWS))
    }

    /// The same in a terminal of another height.
    pub(crate) fn with_rows(world: &'a World, args: &[&str], (columns, rows): (u16, u16)) -> Self {
        let defaults = [("TERM", "xterm-256color"), ("COLORTERM", "truecolor")];
        let command = world.sandbox.command(args);
        Self {
            world,
            tube: Tube::open(&command, (columns, rows), &defaults, &[]),
            terminal: Terminal::new(columns, rows),
            columns,
        }
    }

    /// A shell in this world, in which the program can be called by its name. Its prompt clears what stands
    /// behind it.
    pub(crate) fn shell(world: &'a World, (columns, rows): (u16, u16)) -> Self {
        let program = world.sandbox.command(&[]);
        let folder = Path::new(program.get_program()).parent().unwrap();
        let path = format!(
            "{}:{}",
            folder.display(),
            std::env::var("PATH").unwrap_or_default()
        );
        let mut shell = Command::new("bash");
        shell.args(["--norc", "--noprofile", "-i"]);
        shell.envs(
            program
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        );
        shell.env("PATH", path).env("PS1", r"\[\e[J\]$ ");
        shell.current_dir(program.get_current_dir().unwrap());
        let defaults = [("TERM", "xterm-256color"), ("COLORTERM", "truecolor")];
        Self {
            world,
            tube: Tube::open(&shell, (columns, rows), &defaults, &[]),
            terminal: Terminal::new(columns, rows),
            columns,
        }
    }

    /// Kills what runs in the foreground of a shell.
    pub(crate) fn kill_foreground(&self) {
        self.tube.kill_foreground();
    }

    /// A chat, once it can be written in.
    pub(crate) fn chat(world: &'a World, args: &[&str], columns: u16) -> Self {
        let mut stage = Self::start(world, args, columns);
        stage.wait_for_prompt();
        stage
    }

    pub(crate) fn keys(&mut self, keys: &str) {
        self.tube.keys(keys);
    }

    /// Types a line and sends it.
    pub(crate) fn say(&mut self, words: &str) {
        self.keys(&format!("{words}\r"));
    }

    /// Pastes, as a terminal does that was asked to say so.
    pub(crate) fn paste(&mut self, text: &str) {
        self.keys(&format!("\u{1b}[200~{text}\u{1b}[201~"));
    }

    /// Another width, for the terminal and for the program.
    pub(crate) fn resize(&mut self, columns: u16) {
        self.drain();
        self.terminal.resize(columns, ROWS);
        self.columns = columns;
        self.tube.resize(columns, ROWS);
    }

    pub(crate) fn kill(&mut self) {
        self.tube.kill_program();
        while let Ok(bytes) = self.tube.output.recv_timeout(PATIENCE) {
            self.take(&bytes);
        }
    }

    /// Leaves; the program ends well.
    pub(crate) fn leave(&mut self) {
        self.keys("\u{4}");
        assert_eq!(self.end(), Some(0), "{}", self.told());
    }

    /// Waits for the end; returns the exit code.
    pub(crate) fn end(&mut self) -> Option<i32> {
        let until = Instant::now() + PATIENCE;
        loop {
            match self.tube.output.recv_timeout(left(until)) {
                Ok(bytes) => self.take(&bytes),
                Err(RecvTimeoutError::Disconnected) => return self.tube.code(),
                Err(RecvTimeoutError::Timeout) => panic!("it does not end:\n{}", self.told()),
            }
        }
    }

    /// Waits until a row shows this, on the screen or above it. What the terminal has broken is looked for
    /// whole.
    pub(crate) fn wait_for(&mut self, text: &str) {
        self.wait(&format!("{text:?}"), |terminal| {
            terminal.all().iter().any(|row| row.contains(text))
        });
    }

    /// Waits until no row of the screen shows this.
    pub(crate) fn wait_for_gone(&mut self, text: &str) {
        self.wait(&format!("no {text:?}"), |terminal| {
            !terminal.screen().iter().any(|row| row.contains(text))
        });
    }

    /// Waits until words are there, however they are broken into rows.
    pub(crate) fn wait_for_words(&mut self, words: &str) {
        let wanted = without_blanks(words);
        self.wait(&format!("{words:?}"), |terminal| {
            without_blanks(&terminal.all().concat()).contains(&wanted)
        });
    }

    /// Waits until the last row is this.
    pub(crate) fn wait_for_last(&mut self, text: &str) {
        self.wait(&format!("{text:?} at the end"), |terminal| {
            terminal.screen().last().is_some_and(|row| row == text)
        });
    }

    /// Waits until the line is empty and nothing is under way, with the cursor behind its sign.
    pub(crate) fn wait_for_prompt(&mut self) {
        self.wait("an empty line", |terminal| {
            let screen = terminal.screen();
            let column = terminal.cursor().1;
            screen.last().is_some_and(|row| row == PROMPT) && column == 3 && !is_busy(&screen)
        });
    }

    /// Waits for a question about a call, with the cursor behind it.
    pub(crate) fn wait_for_question(&mut self) {
        self.wait("a question", |terminal| {
            let screen = without_blanks(&terminal.screen().concat());
            // A narrow terminal has no room for the hint.
            let narrow = QUESTION.replace(" · Alt+letter at once", "");
            [QUESTION, &narrow]
                .into_iter()
                .any(|question| screen.ends_with(&without_blanks(question)))
        });
    }

    /// Waits until what runs has run longer, by the seconds behind these words on the screen: keys that
    /// follow are no longer those of who could not have read what is there.
    pub(crate) fn wait_for_seconds(&mut self, words: &str) {
        let seconds = |screen: &[String]| {
            let row = screen.iter().rev().find_map(|row| row.split_once(words))?;
            let digits = row.1.split_once('s')?.0;
            digits.trim_matches([' ', '·']).parse::<u64>().ok()
        };
        let before = seconds(&self.terminal.screen()).unwrap_or(0);
        self.wait(&format!("more seconds behind {words:?}"), |terminal| {
            seconds(&terminal.screen()).is_some_and(|now| now >= before + 2)
        });
    }

    /// Waits until the terminal is as it should be.
    pub(crate) fn wait(&mut self, what: &str, is_so: impl Fn(&mut Terminal) -> bool) {
        let until = Instant::now() + PATIENCE;
        while !is_so(&mut self.terminal) {
            match self.tube.output.recv_timeout(left(until)) {
                Ok(bytes) => {
                    self.take(&bytes);
                    self.drain();
                }
                Err(error) => panic!("{what} never came ({error}):\n{}", self.told()),
            }
        }
    }

    fn drain(&mut self) {
        while let Ok(bytes) = self.tube.output.try_recv() {
            self.take(&bytes);
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        let answers = self.terminal.write(bytes);
        if !answers.is_empty() {
            self.tube.keys(&answers);
        }
    }

    /// Returns the description of a failed journey.
    fn told(&mut self) -> String {
        let (row, column) = self.terminal.cursor();
        format!(
            "{}\n[{} columns, cursor {row}:{column}]",
            self.terminal.all().join("\n"),
            self.columns
        )
    }

    /// Everything that was ever shown, as it is in every run.
    pub(crate) fn text(&mut self) -> Vec<String> {
        let over = self.terminal.overlong();
        assert!(over.is_empty(), "rows over the edge: {over:#?}\n{}", self.told());
        stable(&self.terminal.all(), &self.world.root())
    }

    /// Returns the current screen, equal in every run.
    pub(crate) fn screen(&self) -> Vec<String> {
        stable(&self.terminal.screen(), &self.world.root())
    }

    /// The session that the program named last when it was left.
    pub(crate) fn id_to_resume(&mut self) -> String {
        let rows = self.terminal.all();
        let named = rows
            .iter()
            .rev()
            .find_map(|row| row.split_once("agentx resume ses_"));
        format!("ses_{}", named.unwrap().1)
    }

    pub(crate) fn root(&self) -> String {
        self.world.root()
    }

    /// Each of these is there once, in this order, however it is broken into rows: nothing is lost, nothing
    /// is twice.
    pub(crate) fn each_once<'t>(&mut self, texts: impl IntoIterator<Item = &'t str>) {
        let told = self.told();
        let whole = without_blanks(&self.terminal.all().concat());
        let mut last = 0;
        for text in texts.into_iter().map(without_blanks) {
            let text = &*text;
            let places: Vec<usize> = whole.match_indices(text).map(|(at, _)| at).collect();
            assert_eq!(
                places.len(),
                1,
                "{text:?} is there {} times:\n{told}",
                places.len()
            );
            assert!(places[0] >= last, "{text:?} is too early:\n{told}");
            last = places[0];
        }
    }
}

/// Whether something is under way, as the row above the line says.
fn is_busy(screen: &[String]) -> bool {
    screen.iter().any(|row| row.contains("Esc stops"))
}

fn without_blanks(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

fn left(until: Instant) -> Duration {
    until.saturating_duration_since(Instant::now())
}
