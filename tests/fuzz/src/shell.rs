//! The reader of command lines, with bash as the judge: a line that a rule allows runs only programs that
//! the rule names, and a line that runs without a question runs nothing that a rule denies.
//!
//! Bytes choose words and signs from a table, so that no line can do harm: the only programs in it do not
//! exist, and bash tells the name of each one that it looks for. Lines of any other bytes are read too, but
//! not run.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

use agentx_agent::approval::{Verdict, explain_decision};
use agentx_agent::command_analysis::read_as;
use agentx_agent::command_split::{similar_commands, take_apart};
use agentx_agent::fixtures;
use agentx_types::{Access, AgentConfig, ApprovalMode, RULES_VERSION, Rule, RuleEffect, ToolSpec};
use serde_json::json;
use tempfile::TempDir;

/// Of these a line is made. Nothing in it exists as a program, and nothing makes a loop without an end.
#[rustfmt::skip]
const PARTS: &[&str] = &[
    " ", " ", " ", "aa", "bb", "bad", "ba", "d", "x", "-x", "\n", ";", "&", "&&", "|", "||", "|&", "(", ")", "{", "}", "{ ", " }",
    "'", "\"", "\\", "`", "$(", "${", "$((", "))", "((", "$'", "$\"", "\\x62", "$x", "${x}", "$@", "$_", "x=", "x=bad", "X=1 ", "<", ">",
    ">>", "<<", "<<-", "<<<", "<(", ">(", ">&2", "2>&1", "&>", "<>", ">|", "/dev/null", "EOF", "\nEOF\n", "<<EOF\n", "<<'EOF'\n", "#", " # ",
    "!", "! ", "*", "?", "[", "]", "[[ ", " ]]", "~", "=", "+=", "-", "--", ",", ".", "..", ":", "^", "%", "@", "\t", "\r", "\u{a0}", "é", "\\\n",
    "if ", "then ", "else ", "elif ", "fi", "for x in ", "do ", "done", "case ", " in ", "esac", ";;", "function ", "()", "time ", "select ",
    "eval ", "exec ", "command ", "builtin ", "trap ", "EXIT", "export ", "declare ", "local ", "readonly ", "let ", "test ", "[ ", " ]",
    "printf ", "echo ", "read ", "set ", "unset ", "shift ", "alias ", "shopt ", "-s ", "-v ", "-i ", "-a ", "-p ", "-c ", "-C ", "-n ",
    "expand_aliases", "mapfile ", "compgen ", "enable ", "hash ", "type ", "return ", "exit ", "cd ", "pushd ", ":-", ":=", "@P", "//", "x[", "!x",
    "PS4=", "PROMPT_COMMAND=", "IFS=", "BASH_ENV=", "nameref", "coproc_", "-e ", "-x ", "a", "b",
];
const MOST_PARTS: usize = 32;

/// Tells the line's number and the name of each program that is looked for, and the number and `.` at the end
/// of the line.
const SCRIPT: &str = r#"
exec 9>&1 >/dev/null 2>/dev/null
PATH=/nowhere FUNCNEST=4
command_not_found_handle() { printf '%s %q\n' "$line_number" "$1" >&9; }
ulimit -c 0
line_number=0
while IFS= read -r -d '' line_text; do
    line_number=$((line_number + 1))
    ( ulimit -t 2; exec </dev/null; eval -- "$line_text"; wait )
    printf '%s .\n' "$line_number" >&9
done
"#;

/// With an even first byte the others choose parts of a line that is run; with an odd one they are the line.
pub fn check(data: &[u8]) {
    let Some((kind, bytes)) = data.split_first() else {
        return;
    };
    if kind % 2 == 1 {
        return read_only(&String::from_utf8_lossy(bytes));
    }
    let parts = bytes.iter().take(MOST_PARTS);
    let line: String = parts
        .map(|byte| PARTS[usize::from(*byte) % PARTS.len()])
        .collect();
    read_only(&line);
    judged(&line);
}

/// Reading any line ends, and what is found is bounded.
fn read_only(line: &str) {
    for version in 0..=RULES_VERSION {
        let reading = read_as(line, version);
        let found: usize = reading
            .commands
            .iter()
            .chain(&reading.open)
            .map(String::len)
            .sum();
        assert!(found <= 4096 * (line.len() + 16), "{found} bytes of {line:?}");
    }
    let apart = take_apart(line);
    assert!(apart.fed.iter().all(|fed| *fed < apart.commands.len()));
    let _ = similar_commands(line);
}

fn judged(line: &str) {
    let allowed = is_allowed(ApprovalMode::Ask, &["allow aa *", "allow bb *"], line);
    let passed = is_allowed(ApprovalMode::Auto, &["deny bad *"], line);
    if !allowed && !passed {
        return;
    }
    let Some(ran) = ran(line) else { return };
    if allowed {
        let others: Vec<&String> = ran
            .iter()
            // `time` is a program in front of a command behind a pipe; a rule for the command allows it, too.
            .filter(|name| !matches!(&***name, "aa" | "bb" | "time"))
            .collect();
        assert!(
            others.is_empty(),
            "rules that allow `aa *` and `bb *` let {line:?} run {others:?}"
        );
    }
    if passed {
        assert!(
            !ran.iter().any(|name| name == "bad"),
            "a rule that denies `bad *` let {line:?} run"
        );
    }
}

fn is_allowed(mode: ApprovalMode, rules: &[&str], line: &str) -> bool {
    let bash = ToolSpec::new("bash", "runs a command", json!({"type": "object"}), Access::Run)
        .with_command_argument("command");
    let config = AgentConfig {
        approval: mode,
        rules: rules.iter().map(|text| rule(text)).collect(),
        rules_version: RULES_VERSION,
        ..fixtures::config()
    };
    matches!(
        explain_decision(&config, &bash, &json!({ "command": line })).verdict,
        Verdict::Allow { .. }
    )
}

/// `allow aa *`
fn rule(text: &str) -> Rule {
    let (effect, pattern) = text.split_once(' ').unwrap_or_default();
    Rule {
        workspace: None,
        effect: if effect == "allow" {
            RuleEffect::Allow
        } else {
            RuleEffect::Deny
        },
        tool: "bash".into(),
        argument: Some(pattern.into()),
        path: None,
        origin: None,
    }
}

/// A bash that runs lines, each in a subshell.
struct Bash {
    _child: Child,
    lines: ChildStdin,
    told: BufReader<ChildStdout>,
    directory: TempDir,
    number: u64,
}

/// The names of the programs that bash looks for when it runs the line; `None` if there is no bash.
fn ran(line: &str) -> Option<Vec<String>> {
    static BASH: OnceLock<Option<Mutex<Bash>>> = OnceLock::new();
    let bash = BASH.get_or_init(|| Bash::start().map(Mutex::new)).as_ref()?;
    let mut bash = bash.lock().unwrap_or_else(PoisonError::into_inner);
    let ran = bash.run(line);
    assert!(ran.is_some(), "bash is gone after {line:?}");
    ran
}

impl Bash {
    fn start() -> Option<Self> {
        let directory = tempfile::tempdir().ok()?;
        let mut child = Command::new("bash")
            .args(["--norc", "--noprofile", "-c", SCRIPT])
            .current_dir(directory.path())
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        Some(Self {
            lines: child.stdin.take()?,
            told: BufReader::new(child.stdout.take()?),
            _child: child,
            directory,
            number: 0,
        })
    }

    fn run(&mut self, line: &str) -> Option<Vec<String>> {
        self.number += 1;
        let text: String = line.chars().filter(|c| *c != '\0').collect();
        self.lines.write_all(text.as_bytes()).ok()?;
        self.lines.write_all(&[0]).ok()?;
        self.lines.flush().ok()?;
        let mut names = Vec::new();
        let mut told = String::new();
        loop {
            told.clear();
            if self.told.read_line(&mut told).ok()? == 0 {
                return None;
            }
            let (number, name) = told.trim_end_matches('\n').split_once(' ').unwrap_or_default();
            // A program in the background of an earlier line may be late.
            if number != self.number.to_string() {
                continue;
            }
            if name == "." {
                break;
            }
            names.push(name.to_owned());
        }
        empty(self.directory.path());
        Some(names)
    }
}

/// Takes away what a redirection left, so that no line finds what another one wrote.
fn empty(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let _ = fs::remove_file(entry.path());
    }
}
