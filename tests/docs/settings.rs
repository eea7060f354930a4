//! Examples of configuration are right, and docs/CONFIG.md has every key with its default and what an untrusted workspace may do.

use agentx::config::{KEYS, KeySpec, Trust, VARIABLES};

use crate::console::Sandbox;
use crate::markdown::{blocks, quoted, read, rows, section};
use crate::none;

#[test]
fn examples_of_configuration_are_right() {
    let mut wrong = Vec::new();
    let mut examples = 0;
    for document in ["README.md", "docs/CONFIG.md"] {
        for block in blocks(&read(document)) {
            if block.language != "yaml" {
                continue;
            }
            examples += 1;
            let sandbox = Sandbox::new();
            sandbox.configure(&block.text);
            let outcome = sandbox.shell("WORK_KEY=made-up agentx config check");
            if !outcome.success || outcome.text.lines().count() != 1 {
                wrong.push(format!("{document}:{}: {}", block.line, outcome.text));
            }
        }
    }
    assert!(examples >= 4, "{examples} examples");
    none(&wrong, "examples of configuration with mistakes");
}

#[test]
fn rules_do_what_the_page_says() {
    let sandbox = Sandbox::new();
    sandbox.configure(
        "rules:\n  - {effect: allow, tool: bash, argument: \"wc *\"}\n  - {effect: deny, tool: bash, argument: \"echo *\"}\n",
    );
    let exit = |prompt: &str| {
        let outcome = sandbox.shell(&format!("agentx run --model demo \"{prompt}\"; echo \"exit $?\""));
        (
            outcome.text.contains("exit 0"),
            outcome.text.contains("● bash") && outcome.text.contains("✓"),
        )
    };
    assert_eq!(
        exit("run wc -l README.md"),
        (true, true),
        "an allowed command runs"
    );
    assert_eq!(
        exit("run wc -l README.md; touch x"),
        (false, false),
        "each command has to be allowed"
    );
    assert_eq!(
        exit("run wc -l README.md && echo x"),
        (true, false),
        "one that is denied denies all"
    );
}

fn may(trust: Trust) -> &'static str {
    match trust {
        Trust::Free => "may set it",
        Trust::Tighten => "may make it stricter",
        Trust::Trusted => "may not",
        Trust::Own => "may not, trusted or not",
    }
}

/// A row as it has to be: key, default, trust.
fn expected(spec: &KeySpec) -> [String; 3] {
    // Built-in providers have their own, so this one is no default of the table.
    let default = match spec.path {
        "providers.*.api" => Some("openai-chat"),
        _ => spec.default,
    };
    [
        format!("`{}`", spec.path),
        default.map(|default| format!("`{default}`")).unwrap_or_default(),
        may(spec.trust).to_owned(),
    ]
}

#[test]
fn the_page_has_every_key() {
    let documented: Vec<[String; 3]> = rows(section(&read("docs/CONFIG.md"), "## Keys"))
        .into_iter()
        .map(|row| [row[0].clone(), row[2].clone(), row[4].clone()])
        .collect();
    let right: Vec<[String; 3]> = KEYS.iter().map(expected).collect();
    assert_eq!(documented, right);
}

#[test]
fn the_page_has_the_words_of_every_choice() {
    let page = read("docs/CONFIG.md");
    let table = rows(section(&page, "## Keys"));
    let mut wrong = Vec::new();
    for (spec, row) in KEYS.iter().zip(table) {
        let expects = spec.kind.expects();
        if let Some(words) = expects.strip_prefix("one of ") {
            let words: Vec<&str> = words.split(", ").collect();
            if quoted(&row[1]) != words {
                wrong.push(format!("{}: {expects}", spec.path));
            }
        }
    }
    none(&wrong, "choices in docs/CONFIG.md");
}

#[test]
fn the_page_has_every_variable() {
    let page = read("docs/CONFIG.md");
    let table: Vec<(String, String)> = rows(section(&page, "## Environment"))
        .into_iter()
        .map(|row| (row[0].clone(), row[1].clone()))
        .collect();
    let wrong: Vec<String> = VARIABLES
        .iter()
        .map(|(name, key)| (format!("`{name}`"), format!("`{key}`")))
        .filter(|pair| !table.contains(pair))
        .map(|(name, key)| format!("{name} for {key}"))
        .collect();
    none(&wrong, "variables that docs/CONFIG.md does not name");
}
