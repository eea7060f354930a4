//! Rules about Git: the words that a star does not match, and repositories that name programs.

use std::sync::Arc;

use agentx_agent::approval::{Verdict, explain_decision, suggested};
use agentx_types::{AgentConfig, ApprovalMode, GitRemotes, Guard, RULES_VERSION, Rule, RuleEffect};
use serde_json::json;

use crate::rules::config;
use crate::spellings::lines;

const AROUND_GIT: &str = include_str!("spellings/around_git.txt");

fn now(rules: &[&str]) -> AgentConfig {
    AgentConfig {
        rules_version: RULES_VERSION,
        ..config(ApprovalMode::Ask, rules)
    }
}

/// Returns whether the line is allowed, and the reason.
fn judged(config: &AgentConfig, line: &str) -> (bool, String) {
    let bash = config.tools.iter().find(|tool| tool.name == "bash").unwrap();
    let judged = explain_decision(config, bash, &json!({ "command": line }));
    (matches!(judged.verdict, Verdict::Allow { .. }), judged.reason)
}

#[test]
fn a_star_stands_for_no_words_that_send_or_destroy() {
    let git = now(&["allow bash: git *"]);
    for line in [
        "git status",
        "git log --oneline -3",
        "git add -A",
        "git commit -m 'fix'",
        "git checkout main",
        "git diff && git stash",
    ] {
        assert!(judged(&git, line).0, "{line}");
    }
    for line in [
        "git push",
        "git push --force",
        "git push -fu origin main",
        "git push origin +main",
        "git push origin :old",
        "git -C sub push --force-with-lease",
        "git status && git push --delete origin x",
        "git clean -fdx",
        "git reset --hard HEAD~9",
        "git branch -D main",
        "git stash clear",
        "git reflog expire --all",
        "git -c core.pager=sh log",
        "git -ccore.sshCommand=sh fetch",
        "git --exec-path=/tmp/x status",
        "git -C sub status",
        "git config core.hooksPath x",
        "git bisect run sh x",
        "git rebase -x sh main",
        "git submodule foreach sh",
        "git remote set-url origin x",
        "git log --output=x",
    ] {
        assert!(!judged(&git, line).0, "{line}");
        assert!(
            judged(&now(&["allow bash"]), line).0,
            "who allows everything allows it: {line}"
        );
        let older = AgentConfig {
            rules_version: 4,
            ..git.clone()
        };
        assert!(
            judged(&older, line).0,
            "older logs are judged as they were: {line}"
        );
    }
    // A rule that names it matches it.
    let push = now(&[
        "allow bash: git push *",
        "allow bash: cargo *",
        "allow bash: rm -r build/*",
    ]);
    assert!(judged(&push, "git push -u origin main").0);
    assert!(!judged(&push, "git push --force origin main").0);
    assert!(
        judged(
            &now(&["allow bash: git push --force *"]),
            "git push --force origin main"
        )
        .0
    );
    assert!(judged(&push, "cargo test").0 && !judged(&push, "cargo publish").0);
    assert!(judged(&push, "rm -r build/a").0);
}

#[test]
fn a_star_stands_for_no_shortened_option_that_destroys() {
    let git = now(&["allow bash: git *"]);
    for line in [
        "git reset --har",
        "git reset --h HEAD~1",
        "git commit --ame",
        "git grep '--open=less' x",
        "git grep --open=less x",
        "git rebase --exe sh main",
        "git branch --del --forc x",
        "git --git-d=x status",
        "git log --outp=x",
        "git diff --ext",
        "git push --mirr",
    ] {
        assert!(!judged(&git, line).0, "{line}");
    }
    for line in [
        "git diff --stat",
        "git log --format=%h --no-merges",
        "git checkout -- a",
        "git log --all --oneline",
        "git reset --soft HEAD~1",
        "git commit --all -m x",
    ] {
        assert!(judged(&git, line).0 || line.starts_with("git checkout"), "{line}");
    }
    let denied = now(&[
        "allow bash",
        "deny bash: git reset --hard *",
        "deny bash: git commit --no-verify *",
        "ask bash: git branch --delete *",
    ]);
    for line in [
        "git reset --har",
        "git reset --hard",
        "git commit --no-verif -m x",
        "git -C sub reset --ha HEAD",
        "git branch --del x",
    ] {
        assert!(!judged(&denied, line).0, "{line}");
    }
    let older = |line: &str| {
        let config = |config: &AgentConfig| AgentConfig {
            rules_version: 8,
            ..config.clone()
        };
        judged(&config(&git), line).0 && judged(&config(&denied), line).0
    };
    assert!(older("git reset --har"), "older logs are judged as they were");
    for line in ["git commit -m x", "git reset --soft x", "git branch --list"] {
        assert!(judged(&denied, line).0, "{line}");
    }
    assert!(judged(&now(&["allow bash: git reset --har *"]), "git reset --har x").0);
}

#[test]
fn a_star_stands_for_subcommands_of_git_that_are_known() {
    let git = now(&["allow bash: git *", "allow bash: git-*"]);
    for line in lines(AROUND_GIT) {
        let line = line.as_str();
        assert!(!judged(&git, line).0, "{line}");
        let exact = now(&["allow bash: git *", &format!("allow bash: {line}")]);
        assert!(
            judged(&exact, line).0,
            "a rule that is the line allows it: {line}"
        );
    }
    let older = AgentConfig {
        rules_version: 8,
        ..git.clone()
    };
    for line in ["git credential fill", "git my-alias", "git rebase --continue"] {
        assert!(
            judged(&older, line).0,
            "older logs are judged as they were: {line}"
        );
    }
    for line in [
        "git",
        "git --version",
        "git --no-pager log -3",
        "git 'status'",
        "git rebase main",
        "git rebase --abort",
        "git cherry-pick x",
        "git merge --no-ff x",
        "git worktree list",
        "git rev-parse HEAD",
        "git remote",
        "git config user.name",
        "git config --get user.name",
        "git restore --staged a.rs",
    ] {
        assert!(judged(&git, line).0, "{line}");
    }
    let named = now(&["allow bash: git lfs *", "allow bash: git -C * status"]);
    assert!(judged(&named, "git lfs ls-files").0 && judged(&named, "git -C sub status").0);
    let reason = judged(&git, "git credential fill").1;
    assert!(reason.contains("`git credential` has to be named"), "{reason}");
}

/// A guard of a repository whose remote `origin` is on another machine.
fn guard_of_origin(may_be_paths: bool) -> Guard {
    Guard {
        git_remotes: Some(GitRemotes {
            names: vec!["origin".to_owned()],
            may_be_paths,
        }),
        ..Guard::default()
    }
}

#[test]
fn no_star_stands_for_a_remote_that_may_be_a_repository_on_this_machine() {
    let rules =
        ["push", "fetch", "pull", "clone", "ls-remote"].map(|name| format!("allow bash: git {name} *"));
    let mut config = now(&rules.each_ref().map(String::as_str));
    config.guard = Some(Arc::new(guard_of_origin(false)));
    for line in [
        "git push",
        "git push -u origin feature/x",
        "git push -o ci.skip origin HEAD:refs/heads/x",
        "git push https://example.com/x main",
        "git push git@example.com:x/y main",
        "git fetch --depth 1 origin",
        "git fetch --all",
        "git pull -X theirs origin",
        "git clone -b main https://example.com/x x",
        "git ls-remote origin",
    ] {
        assert!(judged(&config, line).0, "{line}: {}", judged(&config, line).1);
    }
    for line in [
        "git push ../x",
        "git push ./x main",
        "git push '../x'",
        "git push sub/bare.git main",
        "git push bare main",
        "git push b*re main",
        "git push -u bare",
        "git push -o x bare",
        "git push -- bare",
        "git push file:///srv/x",
        "git push FILE:///srv/x",
        "git push ext::sh",
        "git push odd://x",
        "git push ~/x",
        "git fetch --multiple origin bare",
        "git fetch --depth 1 bare",
        "git pull bare",
        "git clone bare",
        "git clone -b main bare",
        "git ls-remote ..",
        "git push origin && git push bare",
    ] {
        let (allowed, reason) = judged(&config, line);
        assert!(
            !allowed && reason.contains("repository on this machine"),
            "{line}: {reason}"
        );
    }
    config
        .rules
        .extend(now(&["allow bash: git push ../x *", "allow bash: git push bare"]).rules);
    for line in ["git push ../x main", "git push bare"] {
        assert!(judged(&config, line).0, "{line}");
    }
    config.rules_version = 8;
    assert!(judged(&config, "git push ../y").0);
    config.rules_version = RULES_VERSION;
    config.guard = Some(Arc::new(guard_of_origin(true)));
    assert!(judged(&config, "git push origin").0);
    for line in ["git push", "git fetch --all", "git pull"] {
        assert!(!judged(&config, line).0, "{line}");
    }
}

#[test]
fn no_star_allows_git_where_a_repository_names_programs_that_nobody_accepted() {
    let rules = [
        "allow bash: git status *",
        "allow bash: git log -1",
        "allow bash: ls *",
    ];
    let mut config = now(&rules);
    assert!(judged(&config, "git status").0 && judged(&config, "git log -1").0);
    config.guard = Some(Arc::new(Guard {
        git: vec!["filter.x.clean".to_owned()],
        ..Guard::default()
    }));
    for line in [
        "git status",
        "git status -s",
        "git log -1",
        "ls && git -C sub status",
        "env git status",
    ] {
        let (allowed, reason) = judged(&config, line);
        assert!(!allowed, "{line}");
        assert!(
            line.starts_with("ls") || reason.contains("filter.x.clean"),
            "{line}: {reason}"
        );
    }
    // A setting that shows a file is named there, too, so the words say nothing about programs.
    let (_, reason) = judged(&config, "git status");
    assert!(
        reason.starts_with("Git follows this repository (filter.x.clean)"),
        "{reason}"
    );
    assert!(judged(&config, "ls -l").0, "what is not Git is not its matter");
    // The decision keeps a rule for this line in this project.
    let bash = config.tools.iter().find(|tool| tool.name == "bash").unwrap();
    let kept = suggested(&config, bash, &json!({ "command": "git status" }));
    let wanted = Rule {
        effect: RuleEffect::Allow,
        tool: "bash".to_owned(),
        argument: Some("git status".to_owned()),
        path: None,
        workspace: Some(config.workspace.clone()),
        origin: None,
    };
    assert_eq!(kept, wanted);
    config.rules.push(kept);
    assert!(judged(&config, "git status").0 && !judged(&config, "git status -s").0);
}

#[test]
fn a_kept_status_shows_no_files() {
    let kept = now(&["allow bash: git status *"]);
    for line in ["git status", "git status -s src", "git status --short --branch"] {
        assert!(judged(&kept, line).0, "{line}");
    }
    for line in [
        "git status -v",
        "git status -vv",
        "git status -sv",
        "git status --verbose",
        "git status --verb",
        "git status '-v'",
        "git status && git status -\\v",
    ] {
        assert!(!judged(&kept, line).0, "{line}");
        let older = AgentConfig {
            rules_version: 5,
            ..kept.clone()
        };
        assert!(
            judged(&older, line).0,
            "older logs are judged as they were: {line}"
        );
    }
    assert!(judged(&now(&["allow bash: git status -v *"]), "git status -v x").0);
}

#[test]
fn what_was_kept_word_for_word_is_not_fed_by_a_pipe() {
    let kept = now(&[
        "allow bash: echo *",
        "allow bash: sqlite3 app.db",
        "allow bash: sort *",
        "allow bash: cat a | psql",
    ]);
    for line in [
        "sqlite3 app.db",
        "echo x; sqlite3 app.db",
        "echo x && sqlite3 app.db",
        "echo x || sqlite3 app.db",
        "echo x | sort -u; sqlite3 app.db",
        "echo x | sort -u",
        "cat a | psql",
    ] {
        assert!(judged(&kept, line).0, "{line}");
    }
    for line in [
        "echo '.shell touch x' | sqlite3 app.db",
        "echo '.shell touch x' |& sqlite3 app.db",
        "echo '.shell touch x' |\nsqlite3 app.db",
        "echo '.shell touch x' | sort -u | sqlite3 app.db && echo y",
    ] {
        assert!(!judged(&kept, line).0, "{line}");
        let older = AgentConfig {
            rules_version: 5,
            ..kept.clone()
        };
        assert!(
            judged(&older, line).0,
            "older logs are judged as they were: {line}"
        );
    }
    for line in [
        "sqlite3 app.db < x",
        "sqlite3 app.db <<< .shell",
        "sqlite3 app.db << E\nx\nE",
    ] {
        assert!(!judged(&kept, line).0, "{line}");
    }
}

#[test]
fn a_long_option_of_a_rule_that_denies_or_asks_is_found_wherever_it_stands() {
    let rules = |effect: &str| {
        [
            "allow bash".to_owned(),
            format!("{effect} bash: git reset --hard *"),
            format!("{effect} bash: git commit --no-verify *"),
            format!("{effect} bash: find * -delete"),
        ]
    };
    for effect in ["deny", "ask"] {
        let rules = rules(effect);
        let rules = rules.each_ref().map(String::as_str);
        let config = now(&rules);
        let before = AgentConfig {
            rules_version: 8,
            ..now(&rules)
        };
        for line in [
            "git reset HEAD~1 --hard",
            "git reset -q HEAD~1 '--hard'",
            "git -C sub reset HEAD~1 --har",
            "cd sub && sudo git reset HEAD~1 --hard",
            "sh -c 'git reset HEAD~1 --hard'",
            "git commit -m 'no reason' --no-verify",
            "find . -delete -print",
        ] {
            assert!(!judged(&config, line).0, "{effect} {line}");
            assert!(
                judged(&before, line).0,
                "older logs are read as they were: {line}"
            );
        }
        for line in [
            "git reset HEAD~1 --soft",
            "git reset -- --hard",
            "git log --grep=--hard",
            "git commit -m 'Explain --no-verify'",
            "git commit -m \"$words\"",
            "find . -name x",
        ] {
            assert!(judged(&config, line).0, "{effect} {line}");
        }
    }
    let exact = now(&["allow bash: git reset --hard *"]);
    assert!(
        !judged(&exact, "git reset HEAD~1 --hard").0,
        "rules that allow are exact"
    );
}

#[test]
fn no_star_stands_for_what_shows_a_manual_with_a_viewer_of_somebody() {
    let rules = ["allow bash: git log *", "allow bash: git *", "allow bash: man *"];
    let config = now(&rules);
    let before = AgentConfig {
        rules_version: 8,
        ..now(&rules)
    };
    for line in [
        "git log --help",
        "git log --oneline --help",
        "git status '--help'",
        "git --help log",
        "git -h log",
        "git --no-pager --help log",
        "man -P sh git",
        "man -Psh git",
        "man --pager=sh git",
        "man --pag=sh git",
        "man -Hsh git",
        "man -C x git",
        "man --html=sh git",
    ] {
        assert!(!judged(&config, line).0, "{line}");
        assert!(
            judged(&before, line).0,
            "older logs are read as they were: {line}"
        );
    }
    assert!(!judged(&config, "git help log").0);
    for line in [
        "git log -h",
        "git log -- --help",
        "git log --oneline",
        "man git",
        "man 3 printf",
    ] {
        assert!(judged(&config, line).0, "{line}");
    }
    for (rule, line) in [
        ("allow bash: git log --help *", "git log --help"),
        ("allow bash: git --help *", "git --help log"),
        ("allow bash: git help *", "git help log"),
        ("allow bash: man -P cat *", "man -P cat git"),
    ] {
        assert!(judged(&now(&[rule]), line).0, "{rule}");
    }
    let why = judged(&config, "git log --help").1;
    assert!(why.contains("`git log --help` has to be named"), "{why}");
}

/// "Always" for a line that a star of `git status *` does not stand for keeps the line, which covers the
/// call.
#[test]
fn always_keeps_a_status_that_shows_files_word_for_word() {
    for line in ["git status -v", "git status --verbose", "git status -sv src"] {
        let mut config = now(&[]);
        let bash = config.tools.iter().find(|tool| tool.name == "bash").unwrap();
        let kept = suggested(&config, bash, &json!({ "command": line }));
        assert_eq!(kept.argument.as_deref(), Some(line));
        config.rules.push(kept);
        assert!(judged(&config, line).0, "{line}");
        assert!(!judged(&config, "git status").0, "{line}");
    }
}
