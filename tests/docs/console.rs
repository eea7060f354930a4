//! Runs the commands of `console` blocks and compares their output, in a separate home and folder, without a
//! key.
//!
//! A line `…` stands for any lines, `…` in a line for any text. Times, sizes of hashes and numbers with a
//! point differ from run to run and are not compared; ids of sessions and agents may have
//! any value, but the same at each occurrence.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use agentx_tests::program;

use crate::markdown::{blocks, read};
use crate::none;

/// A folder with a README.md of three lines, as the documents say.
const SMALL_README: &str = "# hello\n\nA small project.\n";

/// A home, a workspace, and the program on the path.
pub(crate) struct Sandbox {
    dir: tempfile::TempDir,
}

/// The result of a line.
pub(crate) struct Outcome {
    pub(crate) success: bool,
    pub(crate) text: String,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("ada/hello")).unwrap();
        std::fs::write(dir.path().join("ada/hello/README.md"), SMALL_README).unwrap();
        Self { dir }
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.dir.path().join("ada")
    }

    /// The user's configuration.
    pub(crate) fn configure(&self, text: &str) {
        let folder = self.home().join(".config/agentx");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("config.yaml"), text).unwrap();
    }

    /// Runs a line of shell; both streams as a terminal would show them.
    pub(crate) fn shell(&self, line: &str) -> Outcome {
        let path = std::env::var("PATH").unwrap_or_default();
        let program = program();
        let programs = program.parent().unwrap();
        let output = Command::new("sh")
            .args(["-c", &format!("exec 2>&1\n{line}")])
            .current_dir(self.home().join("hello"))
            .env_clear()
            .env("HOME", self.home())
            .env("PATH", format!("{}:{path}", programs.display()))
            .env("LANG", "C.UTF-8")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        Outcome {
            success: output.status.success(),
            text: String::from_utf8_lossy(&output.stdout).into_owned(),
        }
    }
}

/// A line behind `$ ` and what stands below it.
struct Shown {
    command: String,
    output: Vec<String>,
    at: String,
}

fn shown(document: &str) -> Vec<Shown> {
    let mut all: Vec<Shown> = Vec::new();
    for block in blocks(&read(document)) {
        if block.language != "console" {
            continue;
        }
        for (index, line) in block.text.lines().enumerate() {
            match (line.strip_prefix("$ "), all.last_mut()) {
                (Some(command), _) => all.push(Shown {
                    command: command.to_owned(),
                    output: Vec::new(),
                    at: format!("{document}:{}", block.line + 1 + index),
                }),
                (None, Some(last)) => last.output.push(line.trim_end().to_owned()),
                (None, None) => panic!("{document}:{} begins without a command", block.line),
            }
        }
    }
    all
}

/// Ids as the document has them, and as they are in this run.
type Ids = BTreeMap<String, String>;

/// Runs every `console` block of a document, one after the other, and compares.
#[track_caller]
fn holds(document: &str) {
    let sandbox = Sandbox::new();
    let mut ids = Ids::new();
    let mut wrong = Vec::new();
    let all = shown(document);
    assert!(!all.is_empty(), "{document} shows nothing");
    for Shown { command, output, at } in all {
        let command = ids
            .iter()
            .fold(command, |command, (written, real)| command.replace(written, real));
        let outcome = sandbox.shell(&command);
        let real: Vec<&str> = outcome.text.lines().map(str::trim_end).collect();
        if !outcome.success {
            wrong.push(format!("{at}: `{command}` fails:\n{}", outcome.text));
        } else if !fits(&output, &real, &mut ids) {
            wrong.push(format!("{at}: `{command}` prints:\n{}", outcome.text));
        }
    }
    none(&wrong, "what a document shows is not what the program does");
}

/// Whether lines are what was written down.
fn fits(written: &[String], real: &[&str], ids: &mut Ids) -> bool {
    let Some((first, rest)) = written.split_first() else {
        return real.is_empty();
    };
    if first == "…" {
        return (0..=real.len()).any(|skipped| fits(rest, &real[skipped..], ids));
    }
    let Some((line, others)) = real.split_first() else {
        return false;
    };
    let mut tried = ids.clone();
    let good = line_fits(first, line, &mut tried) && fits(rest, others, &mut tried);
    if good {
        *ids = tried;
    }
    good
}

fn line_fits(written: &str, real: &str, ids: &mut Ids) -> bool {
    let (pattern, written_ids) = plain(written);
    let (text, real_ids) = plain(real);
    if !glob(&pattern, &text) {
        return false;
    }
    if written_ids.len() != real_ids.len() {
        return true;
    }
    written_ids
        .into_iter()
        .zip(real_ids)
        .all(|(written, real)| *ids.entry(written).or_insert_with(|| real.clone()) == real)
}

/// A line without what differs from run to run, and the ids that were in it.
fn plain(line: &str) -> (String, Vec<String>) {
    let mut out = String::new();
    let mut ids = Vec::new();
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        let word: String = rest
            .chars()
            .take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.'))
            .collect();
        if word.is_empty() {
            out.push(c);
            rest = &rest[c.len_utf8()..];
            continue;
        }
        rest = &rest[word.len()..];
        let minted = ["ses_", "agt_"].iter().any(|prefix| word.starts_with(prefix)) && word.len() == 16;
        if minted {
            out.push_str(&word[..4]);
            ids.push(word);
        } else if out.ends_with("\"duration_ms\":") || differs(&word) {
            out.push('#');
        } else {
            out.push_str(&word);
        }
    }
    (out, ids)
}

/// Whether a word is a time, a duration or a hash.
fn differs(word: &str) -> bool {
    let digits = word.trim_end_matches('s');
    let is_number = digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.chars().all(|c| c.is_ascii_digit() || c == '.');
    (is_number && (digits.matches('.').count() == 1 && !digits.ends_with('.') || digits.len() >= 10))
        || (word.len() == 64 && word.chars().all(|c| c.is_ascii_hexdigit()))
}

/// Whether a text fits a pattern in which `…` stands for any text.
fn glob(pattern: &str, text: &str) -> bool {
    match pattern.split_once('…') {
        None => pattern == text,
        Some((before, after)) => text.strip_prefix(before).is_some_and(|rest| {
            rest.char_indices()
                .map(|(at, _)| at)
                .chain([rest.len()])
                .any(|at| glob(after, &rest[at..]))
        }),
    }
}

#[test]
fn the_readme_shows_what_the_program_does() {
    holds("README.md");
}

/// docs/CHAT.md shows a chat up to the kill. The test types the same lines and expects the same screen.
#[test]
fn the_chat_page_shows_a_chat_as_it_is() {
    const QUESTION: &str = "allow? ";
    let blocks = blocks(&read("docs/CHAT.md"));
    let chat = blocks
        .iter()
        .find(|block| block.text.starts_with("$ agentx\n"))
        .unwrap();
    let typed: Vec<&str> = chat
        .text
        .lines()
        .filter(|line| line.starts_with("› ") || line.starts_with(QUESTION))
        .filter_map(|line| line.rsplit_once("› ").map(|(_, typed)| typed))
        .collect();
    assert!(typed.len() > 2, "{typed:?}");
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.home().join("typed"), typed.join("\n") + "\n").unwrap();
    let outcome = sandbox.shell("agentx chat < ~/typed");
    assert!(outcome.success, "{}", outcome.text);
    let real: Vec<String> = outcome
        .text
        .lines()
        .map(|line| plain(line.trim_end()).0)
        .collect();
    // If it ran, what was typed, what was left out, the sums, and where it was killed.
    let own = ["$", "agentx ", "…", "› ", QUESTION];
    let missing: Vec<String> = chat
        .text
        .lines()
        .filter(|line| !own.iter().any(|own| line.starts_with(own)))
        .filter(|line| !line.contains(" in, ") && !line.contains("Killed"))
        .filter(|line| !real.contains(&plain(line.trim_end()).0))
        .map(str::to_owned)
        .collect();
    none(
        &missing,
        &format!(
            "lines of the chat in docs/CHAT.md that are not in\n{}",
            outcome.text
        ),
    );
}

#[test]
fn the_page_of_sessions_shows_what_the_program_does() {
    holds("docs/SESSIONS.md");
}

#[test]
fn the_cli_page_shows_what_the_program_does() {
    holds("docs/CLI.md");
}

#[test]
fn what_differs_from_run_to_run_is_not_compared() {
    let mut ids = Ids::new();
    let same = |written: &str, real: &str, ids: &mut Ids| line_fits(written, real, ids);
    assert!(same("└ ✓ 0.0s", "└ ✓ 1.2s", &mut ids));
    assert!(same("at 1795178175168315", "at 1795178175168999", &mut ids));
    assert!(same("a … d", "a b c d", &mut ids));
    assert!(!same("exit 7", "exit 0", &mut ids));
    assert!(same("ses_aaaaaaaaaaaa", "ses_bbbbbbbbbbbb", &mut ids));
    assert!(!same("ses_aaaaaaaaaaaa", "ses_cccccccccccc", &mut ids));
    assert!(fits(&["…".into(), "z".into()], &["x", "y", "z"], &mut ids));
    assert!(!fits(&["z".into()], &["z", "y"], &mut ids));
}
