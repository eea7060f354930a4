//! The pure crates do no I/O and read no clock: by what they use, by what they say, and by being built for a
//! machine that has neither.

use std::path::Path;
use std::process::Command;

use agentx_tests::workspace_root;

use crate::edges::packages;
use crate::none;
use crate::source::sources;

const PURE: &[&str] = &["types", "secrets", "agent", "session", "llm", "openhands"];

/// The outside crates that a pure crate may use: data, text, arithmetic.
const PURE_DEPENDENCIES: &[&str] = &[
    // Searches in memory, without threads.
    "aho-corasick",
    "base64",
    "blake3",
    "httpdate",
    "itoa",
    "memchr",
    // Digests and signatures; its source of randomness is forbidden below.
    "ring",
    "schemars",
    "serde",
    "serde_json",
    "strsim",
    "thiserror",
];

/// Words that a pure crate may not contain. Types whose order differs from run to run are here too.
const IMPURE: &[&str] = &[
    "std::env",
    "std::fs",
    "std::io::stdin",
    "std::io::stdout",
    "std::net",
    "std::process",
    "std::thread",
    "std::os",
    "SystemTime",
    "Instant",
    "Mutex",
    "RwLock",
    "OnceLock<Mutex",
    "HashMap",
    "HashSet",
    "RandomState",
    "thread_local!",
    "static mut",
    "println!",
    "eprintln!",
    "print!",
    "tokio",
    "reqwest",
    "rusqlite",
    "rand::",
    "SystemRandom",
];

#[test]
fn pure_crates_use_only_pure_crates() {
    let mut wrong = Vec::new();
    for package in packages()
        .iter()
        .filter(|package| PURE.contains(&package.name.as_str()))
    {
        let impure = package
            .outside
            .iter()
            .filter(|name| !PURE_DEPENDENCIES.contains(&name.as_str()));
        wrong.extend(impure.map(|name| format!("{} uses {name}", package.name)));
    }
    none(&wrong, "dependencies of pure crates");
}

#[test]
fn pure_crates_do_no_io() {
    let mut wrong = Vec::new();
    for source in sources(&workspace_root()) {
        if !PURE
            .iter()
            .any(|name| source.path.starts_with(&format!("crates/{name}/src/")))
        {
            continue;
        }
        for (number, line) in source.production() {
            let said = IMPURE.iter().filter(|word| says(line, word));
            wrong.extend(said.map(|word| format!("{}:{} {word}", source.path, number + 1)));
        }
    }
    none(&wrong, "what a pure crate may not say");
}

/// Whether `word` stands in the line as a word of its own.
fn says(line: &str, word: &str) -> bool {
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back().is_some_and(is_letter);
        let after = line[at + word.len()..].chars().next().is_some_and(is_letter);
        let inside_a_word = before || (after && word.ends_with(is_letter));
        !inside_a_word
    })
}

#[test]
fn pure_crates_forbid_the_clock_by_lint() {
    let mut wrong = Vec::new();
    for name in PURE {
        let path = workspace_root().join("crates").join(name).join("clippy.toml");
        let lints = std::fs::read_to_string(&path).unwrap_or_default();
        for method in [
            "std::time::SystemTime::now",
            "std::time::Instant::now",
            "std::thread::spawn",
            "std::env::var",
        ] {
            if !lints.contains(method) {
                wrong.push(format!("crates/{name}/clippy.toml does not disallow {method}"));
            }
        }
    }
    none(&wrong, "lints of pure crates");
}

#[test]
fn pure_crates_build_for_wasm() {
    const TARGET: &str = "wasm32-unknown-unknown";
    if !has_target(TARGET) {
        assert!(
            !agentx_tests::every_check_must_run(),
            "the target {TARGET} is not installed, and tests/run.sh could not add it"
        );
        println!(
            "the target {TARGET} is not installed: pure crates are checked by manifest, source and lint only"
        );
        return;
    }
    let root = workspace_root();
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args(["check", "--quiet", "--target", TARGET, "--target-dir"])
        .arg(root.join("target/wasm"));
    for name in PURE {
        cargo.args(["-p", &format!("agentx-{name}")]);
    }
    let output = cargo.current_dir(root).output().unwrap();
    assert!(
        output.status.success(),
        "not built for {TARGET}:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

fn has_target(target: &str) -> bool {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc)
        .args(["--print", "target-libdir", "--target", target])
        .output();
    output.is_ok_and(|output| Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir())
}
