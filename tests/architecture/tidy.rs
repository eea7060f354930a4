//! Rules that keep the tree readable: budgets, headers, no open ends, tests that do not wait for a clock.

use agentx_tests::workspace_root;

use crate::none;
use crate::source::{Source, sources, split};

/// Lines of a file, tests left out.
const FILE_LINES: usize = 400;
/// Lines of a function, tests left out.
const FUNCTION_LINES: usize = 70;
/// Lines of the program, tests left out: what other programs can use as well belongs into a library. Its
/// `build.rs` is not counted: it runs before the program is compiled and is not a part of it, and no
/// library could hold it.
const PROGRAM_LINES: usize = 8_000;
/// Lines of README.md: a newcomer reads it to the end.
const README_LINES: usize = 180;

/// Tests that wait by the clock all the same, each with its reason. The path is a prefix.
const MAY_SLEEP: &[(&str, &str)] = &[
    ("tests/benches/", "a benchmark measures by the clock"),
    ("crates/luau-tools/benches/", "a benchmark measures by the clock"),
    (
        "tests/src/model_server.rs",
        "a model that takes its time to speak",
    ),
    ("tests/src/proxy.rs", "a network that takes its time"),
];

fn violations(check: impl Fn(&Source) -> Vec<String>) -> Vec<String> {
    sources(&workspace_root()).iter().flat_map(check).collect()
}

fn lines_that_say<'a>(
    source: &Source,
    lines: impl Iterator<Item = (usize, &'a str)>,
    words: &[&str],
) -> Vec<String> {
    lines
        .filter(|(_, line)| words.iter().any(|word| line.contains(word)))
        .map(|(number, line)| format!("{}:{} {}", source.path, number + 1, line.trim()))
        .collect()
}

#[test]
fn files_fit_on_a_few_screens() {
    let wrong = violations(|source| {
        let lines = source.tests_from;
        if lines > FILE_LINES {
            vec![format!("{} has {lines} lines", source.path)]
        } else {
            vec![]
        }
    });
    none(
        &wrong,
        &format!("files of more than {FILE_LINES} lines, tests left out"),
    );
}

#[test]
fn the_program_holds_little_beside_its_commands() {
    let sources = sources(&workspace_root());
    let of_program = sources
        .iter()
        .filter(|source| source.path.starts_with("apps/agentx/src/"));
    let lines: usize = of_program.map(|source| source.tests_from).sum();
    assert!(
        lines <= PROGRAM_LINES,
        "apps/agentx has {lines} lines, tests left out; at most {PROGRAM_LINES} are allowed"
    );
}

#[test]
fn the_first_page_is_short() {
    let readme = std::fs::read_to_string(workspace_root().join("README.md")).unwrap();
    let lines = readme.lines().count();
    assert!(
        lines <= README_LINES,
        "README.md has {lines} lines; at most {README_LINES} are allowed, the rest belongs into docs/"
    );
}

#[test]
fn functions_fit_on_a_screen() {
    let wrong = violations(|source| {
        let long = source
            .functions()
            .into_iter()
            .filter(|(_, _, lines)| *lines > FUNCTION_LINES);
        long.map(|(name, first, lines)| format!("{}:{} {name} has {lines} lines", source.path, first + 1))
            .collect()
    });
    none(&wrong, &format!("functions of more than {FUNCTION_LINES} lines"));
}

#[test]
fn every_file_says_why_it_exists() {
    let wrong = violations(|source| {
        let says = source.text.starts_with("//! ");
        if says { vec![] } else { vec![source.path.clone()] }
    });
    none(&wrong, "files that do not open with //!");
}

/// The functions of a VM (`issues/027`) and some system calls (`issues/053`) have no other form; that each
/// use says why it is sound is a lint.
const UNSAFE: [&str; 2] = [
    "crates/luau-tools/src/stack.rs",
    "crates/sandbox/src/linux/kernel.rs",
];

#[test]
fn what_the_compiler_cannot_check_is_in_the_files_that_argue_for_it() {
    let wrong = violations(|source| {
        let words = [
            "unsafe {",
            "unsafe fn",
            "unsafe impl",
            "unsafe extern",
            "(unsafe_code",
        ];
        let is_elsewhere = !UNSAFE.contains(&source.path.as_str());
        let elsewhere = source.code.lines().enumerate().filter(|_| is_elsewhere);
        lines_that_say(source, elsewhere, &words)
    });
    none(&wrong, &format!("`unsafe` outside {UNSAFE:?}"));
}

#[test]
fn nothing_is_left_open() {
    let marks = ["TODO", "FIXME", "XXX"];
    let macros = ["dbg!(", "todo!(", "unimplemented!(", "#[ignore"];
    let wrong = violations(|source| {
        let mut found = lines_that_say(source, source.comments.lines().enumerate(), &marks);
        found.extend(lines_that_say(source, source.code.lines().enumerate(), &macros));
        found
    });
    none(&wrong, "open ends: a question is a note in issues/, a test runs");
}

#[test]
fn tests_wait_for_no_clock() {
    let sleeps = ["thread::sleep(", "time::sleep(", " sleep(", "sleep_ms("];
    let wrong = violations(|source| {
        let may = MAY_SLEEP.iter().any(|(path, _)| source.path.starts_with(path));
        // A clock of a test is itself called `sleep`.
        let lines = source.tests().filter(|(_, line)| !line.contains("fn sleep("));
        if may {
            vec![]
        } else {
            lines_that_say(source, lines, &sleeps)
        }
    });
    none(
        &wrong,
        "sleeps in tests: wait for what happens, or simulate the time",
    );
}

fn is_of_a_front_end(source: &Source) -> bool {
    ["apps/", "crates/chat/"]
        .iter()
        .any(|folder| source.path.starts_with(folder))
}

#[test]
fn a_front_end_reaches_a_runtime_only_through_its_trait() {
    let root = workspace_root();
    let assembling: Vec<String> = sources(&root)
        .into_iter()
        .filter(is_of_a_front_end)
        .filter(|source| {
            let mut lines = source.production();
            lines.any(|(_, line)| line.contains("node_runtime") || line.contains("NodeRuntime"))
        })
        .map(|source| source.path)
        .collect();
    assert!(
        assembling.len() <= 1,
        "one file of an app builds its runtime, the rest sees `dyn Runtime`: {assembling:?}"
    );
    let inner = [
        "sqlite_log",
        "agentx::agent::",
        "agentx::bus",
        "rusqlite",
        "SqliteLog",
    ];
    let wrong = violations(|source| {
        if is_of_a_front_end(source) {
            lines_that_say(source, source.production(), &inner)
        } else {
            vec![]
        }
    });
    none(&wrong, "front ends that reach around the Runtime trait");
}

/// Whether a line compares a version of the rules with a bare number, be it with an operator or, behind
/// `match … version {`, as an arm.
fn compares_a_version(line: &str, is_arm: bool) -> bool {
    let starts_with_number = |text: &str| {
        text.trim_start_matches([' ', '.'])
            .starts_with(|c: char| c.is_ascii_digit())
    };
    let compared = line.match_indices("version").any(|(at, word)| {
        let behind = line[at + word.len()..].trim_start();
        let operand = behind.trim_start_matches(['<', '>', '=', '!']);
        operand.len() < behind.len() && !behind.starts_with("=>") && starts_with_number(operand)
    });
    compared || (is_arm && starts_with_number(line))
}

#[test]
fn versions_of_the_rules_are_compared_with_what_changed_in_them() {
    let wrong = violations(|source| {
        if !["crates/agent/src/", "crates/session/src/"]
            .iter()
            .any(|folder| source.path.starts_with(folder))
        {
            return vec![];
        }
        let mut in_match = false;
        let mut found = Vec::new();
        for (number, line) in source.production() {
            if compares_a_version(line, in_match) {
                found.push(format!("{}:{} {}", source.path, number + 1, line.trim()));
            }
            let begins = line.contains("match ") && line.trim_end().ends_with("version {");
            in_match = begins || (in_match && line.trim() != "}");
        }
        found
    });
    none(
        &wrong,
        "versions of the rules that are compared with a number instead of a constant of agentx_types::since",
    );
    for (line, is_arm, expected) in [
        ("if config.rules_version >= 7 {", false, true),
        ("self.version == 0 || x", false, true),
        ("if config.rules_version >= since::AUTO_ASKS {", false, false),
        ("fn of(version: u32) -> u32", false, false),
        ("version => 7,", false, false),
        ("let version = 7;", false, true),
        ("9.. => a,", true, true),
        ("..6 => a,", true, true),
        ("since::ANSWERS_FIT.. => a,", true, false),
        ("9.. => a,", false, false),
    ] {
        assert_eq!(compares_a_version(line, is_arm), expected, "{line}");
    }
}

/// A crate whose tests are one binary lists its test files by hand: one that nobody lists would never be
/// compiled.
#[test]
fn every_file_of_tests_that_are_one_binary_is_part_of_it() {
    let all = sources(&workspace_root());
    let wrong: Vec<String> = all
        .iter()
        .filter(|source| source.path.ends_with("/tests/main.rs"))
        .flat_map(|main| {
            let folder = main.path.trim_end_matches("main.rs");
            let names = all.iter().filter_map(move |source| {
                let name = source.path.strip_prefix(folder)?.strip_suffix(".rs")?;
                (name != "main" && !name.contains('/')).then_some(name)
            });
            names
                .filter(|name| !main.code.lines().any(|line| line == format!("mod {name};")))
                .map(move |name| format!("{folder}{name}.rs"))
        })
        .collect();
    none(&wrong, "test files that the main.rs beside them does not name");
}

#[test]
fn the_reader_of_sources_tells_code_from_text() {
    let table = [
        ("let a = 1; // {", "let a = 1;     "),
        ("/* { /* } */ */ b", "                b"),
        (r#"f("{\"}", 'x', '\'')"#, "f(      ,    ,     )"),
        (r##"r#"{"}"# + r"\""##, "         +     "),
        ("fn f<'a>(x: &'a str)", "fn f<'a>(x: &'a str)"),
        (
            "b\"{\" + br#\"{\"# + c\"{\" + b'{' + 1.5",
            "     +         +      +      + 1.5",
        ),
        ("r#match { 'label: loop {} }", "r#match { 'label: loop {} }"),
        ("\"a\nb\"", "  \n  "),
    ];
    for (text, code) in table {
        assert_eq!(split(text).0, code, "{text}");
    }
}
