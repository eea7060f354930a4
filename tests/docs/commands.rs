//! docs/CLI.md and README.md list the commands, flags, exit codes and tools that the program has.

use std::collections::BTreeSet;

use agentx_tests::workspace_root;

use crate::console::Sandbox;
use crate::markdown::{blocks, quoted, read, rows, section};
use crate::none;

/// The names below `Commands:` of a help.
fn subcommands(help: &str) -> Vec<String> {
    let list = help.split_once("Commands:\n").unwrap_or_default().1;
    list.lines()
        .take_while(|line| line.starts_with("  "))
        .filter_map(|line| line.split_whitespace().next().map(str::to_owned))
        .collect()
}

/// Every command, whole: `sessions list`.
fn commands(sandbox: &Sandbox) -> Vec<String> {
    let top = subcommands(&sandbox.shell("agentx help").text);
    assert!(top.len() > 8, "{top:?}");
    let mut all = Vec::new();
    for name in top {
        let below = subcommands(&sandbox.shell(&format!("agentx help {name}")).text);
        if below.is_empty() {
            all.push(name);
        } else {
            all.extend(below.iter().map(|sub| format!("{name} {sub}")));
        }
    }
    all
}

/// Words of a text that begin with `--`.
fn flags(text: &str) -> BTreeSet<String> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-')
        .filter(|word| word.starts_with("--") && word.len() > 3)
        .map(str::to_owned)
        .collect()
}

#[test]
fn the_page_has_every_command() {
    let documented: BTreeSet<String> = rows(section(&read("docs/CLI.md"), "## Commands"))
        .into_iter()
        .map(|row| quoted(&row[0])[0].clone())
        .map(|line| {
            let words = line.split_whitespace().skip(1);
            let words: Vec<&str> = words
                .take_while(|word| !word.starts_with('-'))
                .take_while(|word| word.chars().all(|c| c.is_ascii_lowercase() || c == '-'))
                .collect();
            words.join(" ")
        })
        .collect();
    let real: BTreeSet<String> = commands(&Sandbox::new()).into_iter().collect();
    assert_eq!(documented, real);
}

#[test]
fn the_page_has_every_flag() {
    let sandbox = Sandbox::new();
    let mut real = flags(&sandbox.shell("agentx --help; agentx help").text);
    for command in commands(&sandbox) {
        real.extend(flags(&sandbox.shell(&format!("agentx help {command}")).text));
    }
    let page = read("docs/CLI.md");
    let documented = flags(&quoted(section(&page, "## Flags")).join(" "));
    assert_eq!(documented, real);
}

/// A row about a command names only flags that this command takes, and a row of its flags names all of them.
#[test]
fn a_row_has_the_flags_of_its_command() {
    let sandbox = Sandbox::new();
    let page = read("docs/CLI.md");
    let everywhere = flags(&sandbox.shell("agentx --help").text);
    let of_command = |command: &str| -> BTreeSet<String> {
        let found = flags(&sandbox.shell(&format!("agentx help {command}")).text);
        found.into_iter().collect()
    };
    let mut wrong = Vec::new();
    let known = commands(&sandbox);
    let lists = page
        .split_once("Other flags:")
        .map(|(_, rest)| rest)
        .unwrap_or_default();
    let lists = lists.split("\n## ").next().unwrap_or_default();
    let mut seen = 0;
    for row in rows(lists) {
        let named = flags(&quoted(&row[1]).join(" "));
        for command in quoted(&row[0]) {
            seen += 1;
            let real = of_command(&command);
            for flag in named.iter().filter(|flag| !real.contains(*flag)) {
                wrong.push(format!("{command} has no {flag}"));
            }
        }
    }
    for row in rows(section(&page, "## Commands")) {
        let words = row[0]
            .trim_matches('`')
            .strip_prefix("agentx ")
            .unwrap_or_default();
        let command = known
            .iter()
            .filter(|command| words == **command || words.starts_with(&format!("{command} ")));
        let Some(command) = command.max_by_key(|command| command.len()) else {
            continue;
        };
        seen += 1;
        let real = of_command(command);
        let named = flags(&quoted(&row.join(" ")).join(" "));
        let other = named
            .iter()
            .filter(|flag| !real.contains(*flag) && !everywhere.contains(*flag));
        wrong.extend(other.map(|flag| format!("{command} has no {flag}")));
    }
    assert!(seen > 60, "{seen} commands");
    none(&wrong, "flags that no such command has");
}

#[test]
fn the_exit_codes_are_those_of_the_program() {
    let help = Sandbox::new().shell("agentx help exit-codes").text;
    let real: Vec<(String, String)> = help
        .lines()
        .filter_map(|line| line.trim().split_once("  "))
        .map(|(code, meaning)| (code.to_owned(), meaning.to_owned()))
        .collect();
    assert!(real.len() > 8, "{help}");
    let documented: Vec<(String, String)> = rows(section(&read("docs/CLI.md"), "## Exit codes"))
        .into_iter()
        .map(|row| (row[0].clone(), row[1].clone()))
        .collect();
    assert_eq!(documented, real);
}

#[test]
fn the_page_has_every_tool() {
    let table = Sandbox::new().shell("agentx tools").text;
    let real: Vec<(String, String)> = table
        .lines()
        .skip(1)
        .map(|line| {
            let (name, rest) = line.split_once("  ").unwrap_or_default();
            let touches = rest.trim_start().split("  ").next().unwrap_or_default();
            (format!("`{name}`"), touches.to_owned())
        })
        .map(|(name, touches)| (name.replace(' ', ""), touches))
        .collect();
    let documented: Vec<(String, String)> = rows(section(&read("docs/CLI.md"), "## Built-in tools"))
        .into_iter()
        .map(|row| (row[0].clone(), row[1].clone()))
        .collect();
    assert_eq!(documented, real);
}

/// A line of shell that calls the program, with what stands before it.
fn calls_program(line: &str) -> bool {
    line.split_whitespace()
        .find(|word| !word.contains('='))
        .is_some_and(|word| word == "agentx")
}

#[test]
fn lines_of_shell_can_be_typed() {
    let sandbox = Sandbox::new();
    let mut wrong = Vec::new();
    let mut tried = 0;
    for document in ["README.md", "docs/CONFIG.md", "docs/CLI.md"] {
        for block in blocks(&read(document)) {
            if block.language != "sh" {
                continue;
            }
            let lines = block
                .text
                .lines()
                .map(|line| line.split(" #").next().unwrap_or(line));
            for line in lines.filter(|line| calls_program(line)) {
                tried += 1;
                let outcome = sandbox.shell(&format!("{line} --help"));
                if !outcome.success {
                    wrong.push(format!("{document}: {line}: {}", outcome.text));
                }
            }
        }
    }
    assert!(tried > 2, "{tried} lines");
    none(&wrong, "lines that the program does not understand");
}

#[test]
fn packages_and_scripts_that_are_named_exist() {
    let root = workspace_root();
    let pages = read("README.md") + &read("docs/FIGURES.md");
    let metadata = read("Cargo.lock");
    let mut wrong = Vec::new();
    let words: Vec<&str> = pages.split_whitespace().collect();
    for pair in words.windows(2).filter(|pair| pair[0] == "-p") {
        let package = pair[1].trim_matches(|c: char| !c.is_ascii_alphanumeric());
        if !metadata.contains(&format!("name = \"{package}\"\n")) {
            wrong.push(format!("no package {package}"));
        }
    }
    if !root.join("tests/run.sh").exists() {
        wrong.push("no tests/run.sh".to_owned());
    }
    none(
        &wrong,
        "README.md or docs/FIGURES.md names a package that does not exist",
    );
}

#[test]
fn the_library_example_is_the_one_that_is_tested() {
    let readme = read("README.md");
    let tested = read("crates/agentx/examples/weather.rs");
    let code = tested.split_once("\n\n").map(|(_, code)| code);
    let shown = blocks(section(&readme, "## As a library"));
    let shown = shown.iter().find(|block| block.language == "rust");
    assert_eq!(shown.map(|block| block.text.as_str()), code);
}
