//! Words that a shell replaces by names of files, of which one may be an option: with a file named
//! `--open-files-in-pager=touch x`, `git grep y *` runs `touch`.

use agentx_agent::pattern::literal;
use agentx_types::{AgentConfig, ApprovalMode, RULES_VERSION, since};

use crate::rules::{config, judged};

fn now(rules: &[&str]) -> AgentConfig {
    AgentConfig {
        rules_version: RULES_VERSION,
        ..config(ApprovalMode::Ask, rules)
    }
}

/// Rules with a star, and lines that they covered before.
const BECOME_OPTIONS: &[(&str, &str)] = &[
    ("git *", "git grep *"),
    ("git *", "git diff *"),
    ("git *", "git diff -*"),
    ("git *", "git diff ?-output*"),
    ("git *", "git log --oneline *"),
    ("git *", "git log x *.rs"),
    ("git *", "timeout 60 git grep *"),
    ("git *", "git grep -e -- *"),
    ("git grep *", "git grep *"),
    ("sort *", "sort *.txt"),
    ("sort *", "sort -n **/*.txt"),
    ("find *", "find * -name x"),
    ("find *", "find -- * -name x"),
    ("make *", "make *"),
    ("foo check *", "foo check *.c"),
    ("rm *", "rm *.o"),
    ("./ls *", "./ls *"),
    ("bash *", "bash *.sh"),
];

#[test]
fn no_star_stands_for_a_word_that_may_become_an_option_by_the_name_of_a_file() {
    for (pattern, line) in BECOME_OPTIONS {
        let config = now(&[&format!("allow bash: {pattern}")]);
        assert_eq!(judged(&config, line).0, "ask", "{line}");
    }
    let (_, why) = judged(&now(&["allow bash: git *"]), "git grep *");
    assert!(
        why.ends_with("`git *` may become an option by the name of a file; with `./` in front it does not"),
        "{why}"
    );
    let older = AgentConfig {
        rules_version: since::NAMES_BECOME_OPTIONS - 1,
        ..now(&["allow bash: git *"])
    };
    let is = "sessions of before are decided about as they were";
    assert_eq!(judged(&older, "git grep *").0, "allow", "{is}");
}

#[test]
fn a_star_stands_for_names_with_a_known_beginning_behind_the_end_of_options_and_of_programs_that_only_read() {
    for (pattern, line) in [
        ("git *", "git log src/*.rs"),
        ("git *", "git grep x ./*"),
        ("git *", "git diff a*"),
        ("git *", "git log '*.rs'"),
        ("git *", "git grep x -- *.rs"),
        ("git *", "git diff --stat -- *.rs"),
        ("git *", "git add -- *"),
        ("sort *", "sort -n -- *.txt"),
        ("sort *", "sort ./*.txt"),
        ("find *", "find . -name '*.rs'"),
        ("rm *", "rm -f -- *.o"),
        ("ls *", "ls *.rs"),
        ("cat *", "cat *"),
        ("/usr/bin/cat *", "/usr/bin/cat *"),
        ("wc *", "wc -l *.rs"),
        ("head *", "head -3 *.md"),
        ("tail *", "tail -3 ?.md"),
        ("grep *", "grep -n x *.rs"),
        ("echo *", "echo *"),
    ] {
        let config = now(&[&format!("allow bash: {pattern}")]);
        let (word, why) = judged(&config, line);
        assert_eq!(word, "allow", "{line}: {why}");
    }
}

/// The person approved the line, but not the files that were added since.
#[test]
fn a_rule_for_the_whole_line_covers_no_word_that_may_become_an_option_that_runs_something() {
    for line in [
        "git grep *",
        "git add *.rs",
        "sort *.txt",
        "make *",
        "find * -name x",
        "perl *.pl",
        "sort *.txt > x",
    ] {
        for pattern in [literal(line), line.to_owned()] {
            let (word, why) = judged(&now(&[&format!("allow bash: {pattern}")]), line);
            assert_eq!(word, "ask", "{line}");
            assert!(why.contains("may become an option"), "{line}: {why}");
        }
        assert_eq!(judged(&now(&["allow bash"]), line).0, "allow", "{line}");
        assert_eq!(judged(&now(&["allow bash: *"]), line).0, "allow", "{line}");
    }
    for line in ["rm *.o", "cp *.txt backup", "foo check *.c", "ls *.rs > x"] {
        let kept = now(&[&format!("allow bash: {}", literal(line))]);
        assert_eq!(judged(&kept, line).0, "allow", "{line}");
    }
}
