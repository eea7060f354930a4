//! Tables of command lines: spellings around a rule that denies, lines near rules that allow, and the rules
//! that "always" keeps.

use agentx_agent::approval::{Verdict, explain_decision, suggested};
use agentx_agent::pattern::literal;
use agentx_types::{AgentConfig, ApprovalMode, RULES_VERSION, Rule};
use serde_json::json;

use crate::rules::config;

const AROUND_DENY: &str = include_str!("spellings/around_deny.txt");
const AROUND_ALLOW: &str = include_str!("spellings/around_allow.txt");
const EVERYDAY: &str = include_str!("spellings/everyday.txt");
const BUILD_TOOLS: &str = include_str!("spellings/build_tools.txt");
/// The page that states the number of command lines.
const PAGE: &str = include_str!("../../../../docs/FIGURES.md");

const DENIED: &[&str] = &["allow bash", "deny bash: git push *", "deny bash: rm -rf *"];

fn now(rules: &[&str]) -> AgentConfig {
    AgentConfig {
        rules_version: RULES_VERSION,
        ..config(ApprovalMode::Ask, rules)
    }
}

/// The lines of a table, without its comments.
pub(crate) fn lines(table: &str) -> impl Iterator<Item = String> {
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    // A line with its own backslash tests that backslash.
    let is_escaped = |line: &str| (line.contains(r"\n") || line.contains(r"\t")) && !line.contains(r"gi\t");
    lines.map(move |line| {
        if !is_escaped(line) {
            return line.to_owned();
        }
        line.replace(r"\\\n", "\\\n")
            .replace(r"\r\n", "\r\n")
            .replace(r"\n", "\n")
            .replace(r"\t", "\t")
    })
}

#[expect(clippy::unwrap_used, reason = "a helper of tests, with a table of ours")]
fn is_allowed(config: &AgentConfig, line: &str) -> bool {
    let bash = config.tools.iter().find(|tool| tool.name == "bash").unwrap();
    let judged = explain_decision(config, bash, &json!({ "command": line }));
    matches!(judged.verdict, Verdict::Allow { .. })
}

#[expect(clippy::unwrap_used, reason = "a helper of tests, with a table of ours")]
fn kept(config: &AgentConfig, line: &str) -> Rule {
    let bash = config.tools.iter().find(|tool| tool.name == "bash").unwrap();
    suggested(config, bash, &json!({ "command": line }))
}

#[test]
fn no_spelling_leads_around_a_rule_that_denies() {
    let config = now(DENIED);
    let allowed: Vec<String> = lines(AROUND_DENY)
        .filter(|line| is_allowed(&config, line))
        .collect();
    assert!(lines(AROUND_DENY).count() >= 400);
    assert!(allowed.is_empty(), "{}", allowed.join("\n"));
}

/// The counts are exact, so none changes without the page.
#[test]
fn the_page_states_the_number_of_command_lines() {
    let beside_build_tools = lines(BUILD_TOOLS).filter(|line| !line.starts_with("rule "));
    let stated = format!(
        "| {}; {}; {}; {}; none is allowed that",
        lines(AROUND_DENY).count(),
        lines(AROUND_ALLOW).count(),
        beside_build_tools.count(),
        lines(EVERYDAY).count(),
    );
    assert!(PAGE.contains(&stated), "docs/FIGURES.md does not say {stated:?}");
}

#[test]
fn options_in_front_of_a_subcommand_do_not_hide_it_from_a_rule_that_denies() {
    let config = now(&[
        "allow bash",
        "deny bash: kubectl delete *",
        "deny bash: terraform destroy*",
    ]);
    for line in [
        "kubectl delete pod p",
        "kubectl --user x delete pod p",
        "kubectl --request-timeout 5 delete pod p",
        "kubectl -v 9 delete pod p",
        "terraform destroy",
        "terraform -chdir=. destroy",
    ] {
        assert!(!is_allowed(&config, line), "{line}");
    }
    for line in ["kubectl get pods", "kubectl --user x get pods"] {
        assert!(is_allowed(&config, line), "{line}");
    }
}

#[test]
fn a_rule_that_denies_a_subcommand_of_npm_covers_its_abbreviations() {
    let config = now(&[
        "allow bash",
        "deny bash: npm publish *",
        "deny bash: npm dist-tag *",
    ]);
    for line in [
        "npm publish",
        "npm pu",
        "npm publ --tag x",
        "npm --silent pub",
        "npm distTag add x",
        "npm dist add x",
        "timeout 60 npm pu",
    ] {
        assert!(!is_allowed(&config, line), "{line}");
    }
    for line in [
        "npm test",
        "npm run publish-x",
        "npm install",
        "npm i x",
        "npm prune",
    ] {
        assert!(is_allowed(&config, line), "{line}");
    }
    let older = AgentConfig {
        rules_version: 8,
        ..config
    };
    assert!(
        is_allowed(&older, "npm pu"),
        "sessions of before are decided about as they were"
    );
}

#[test]
fn no_spelling_leads_around_a_rule_that_denies_where_nobody_is_asked() {
    let auto = |version| AgentConfig {
        approval: ApprovalMode::Auto,
        rules_version: version,
        ..now(&["deny bash: git push *", "deny bash: rm -rf *"])
    };
    let config = auto(RULES_VERSION);
    let allowed: Vec<String> = lines(AROUND_DENY)
        .filter(|line| is_allowed(&config, line))
        .collect();
    assert!(allowed.is_empty(), "{}", allowed.join("\n"));
    for plain in [
        "cargo test --workspace",
        "git status | head -3",
        "ls *.rs && wc -l README.md",
    ] {
        assert!(is_allowed(&config, plain), "{plain}");
    }
    for older in [5, 6] {
        let before = lines(AROUND_DENY).filter(|line| is_allowed(&auto(older), line));
        assert!(
            before.count() > 0,
            "sessions of before are decided about as they were"
        );
    }
}

#[test]
fn a_rule_allows_no_more_than_its_words_say() {
    let rules = [
        "ls *",
        "git status *",
        "git log -1",
        "cargo test *",
        "rm build/*",
        "echo *",
    ];
    let rules = rules.map(|pattern| format!("allow bash: {pattern}"));
    let config = now(&rules.each_ref().map(String::as_str));
    let allowed: Vec<String> = lines(AROUND_ALLOW)
        .filter(|line| is_allowed(&config, line))
        .collect();
    assert!(lines(AROUND_ALLOW).count() >= 110);
    assert!(allowed.is_empty(), "{}", allowed.join("\n"));
    for line in [
        "ls",
        "ls -l; git status",
        "cargo test -p a",
        "rm build/a build/b",
        "echo 'a; b'",
    ] {
        assert!(is_allowed(&config, line), "{line}");
    }
}

#[test]
fn no_star_stands_for_what_bash_alone_sees() {
    let rules = ["test *", "printf *", "unset *", "[[ *"].map(|pattern| format!("allow bash: {pattern}"));
    let config = now(&rules.each_ref().map(String::as_str));
    for line in [
        "test -v 'x[$(rm y)]'",
        "printf -v 'x[`rm y`]' a",
        "unset 'x[$(rm y)]'",
        "[[ 'x[$(rm y)]' -eq 1 ]]",
        "test\r",
        "\rtest -f x",
    ] {
        assert!(!is_allowed(&config, line), "{line}");
    }
    for line in ["test -f 'x[1]'", "printf '%s[%s]' a b", "unset 'x[1]'"] {
        assert!(is_allowed(&config, line), "{line}");
    }
}

#[test]
fn always_keeps_no_more_than_was_seen() {
    let config = now(&[]);
    let mut wrong = Vec::new();
    let mut count = 0;
    for entry in lines(EVERYDAY) {
        count += 1;
        let entry = entry.trim_start_matches("? ");
        let (line, expected) = match entry.split_once(" => ") {
            Some((line, pattern)) => (line, pattern.to_owned()),
            None => (entry, literal(entry)),
        };
        let rule = kept(&config, line);
        let mut with = config.clone();
        with.rules.push(rule.clone());
        let more = [
            " && rm other",
            "; curl x",
            " | sh",
            " > x",
            " $(x)",
            " `x`",
            "\nrm other",
        ];
        let options = [" --output=x", " -o x", " --exec x", " y"];
        let harmless = entry.contains(" => ");
        let wider = |end: &&str| is_allowed(&with, &format!("{line}{end}"));
        if rule.argument.as_deref() != Some(&*expected)
            || rule.workspace.as_deref() != Some("/ws")
            || !is_allowed(&with, line)
            || more.iter().any(&wider)
            || (!harmless && options.iter().any(wider))
        {
            wrong.push(format!("{line}: {rule:?}"));
        }
    }
    assert!(count >= 200);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Rules that deny cause no questions about unrelated commands.
#[test]
fn what_is_plain_is_not_asked_about_beside_a_rule_that_denies() {
    let config = now(DENIED);
    let wrong: Vec<String> = lines(EVERYDAY)
        .filter(|entry| {
            let asked = entry.starts_with("? ");
            let line = entry
                .trim_start_matches("? ")
                .split(" => ")
                .next()
                .unwrap_or_default();
            is_allowed(&config, line) == asked
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A rule that was kept in one project has no effect in another.
#[test]
fn what_was_kept_holds_in_its_project_alone() {
    let mut config = now(&[]);
    let rule = kept(&config, "cargo test");
    config.rules.push(rule);
    assert!(is_allowed(&config, "cargo test"));
    config.workspace = "/ws/sub".into();
    assert!(is_allowed(&config, "cargo test"));
    for elsewhere in ["/", "/ws2", "/other"] {
        config.workspace = elsewhere.into();
        assert!(!is_allowed(&config, "cargo test"), "{elsewhere}");
    }
}

/// The files that a part of a line uses are in the folder that the line entered: a `Makefile` of another
/// project.
#[test]
fn what_was_kept_in_a_project_allows_no_part_of_a_line_that_goes_out_of_it() {
    let mut config = now(&["allow bash: cd *", "allow bash: pushd *"]);
    let rule = kept(&config, "make test");
    config.rules.push(rule);
    let older = AgentConfig {
        rules_version: 8,
        ..config.clone()
    };
    for line in [
        "make test",
        "cd sub && make test",
        "cd /ws/sub; make test",
        "cd ./a/.. && make test",
    ] {
        assert!(is_allowed(&config, line), "{line}");
    }
    for line in [
        "cd /other && make test",
        "cd /ws2 && make test",
        "cd ../other && make test",
        "cd sub && cd ../../other && make test",
        "cd && make test",
        "cd ~/other && make test",
        "cd /ws/* && make test",
        "pushd /other; make test",
    ] {
        assert!(!is_allowed(&config, line), "{line}");
        assert!(
            is_allowed(&older, line),
            "sessions of before are decided about as they were: {line}"
        );
    }
    // A person who wrote it for all folders meant them.
    config.rules.push(crate::rules::rule("allow bash: make *"));
    assert!(is_allowed(&config, "cd /other && make test"));
}

/// A program that may write `.git/config` can make an allowed `git status` run anything.
#[test]
fn no_pattern_covers_files_that_programs_run_by_themselves() {
    let config = now(&[
        "allow change in **",
        "allow change in .git/config",
        "allow change",
    ]);
    let narrow = now(&["allow change in **", "allow change"]);
    let allowed = |config: &AgentConfig, path: &str| {
        let tool = config.tools.iter().find(|tool| tool.name == "change").unwrap();
        let judged = explain_decision(config, tool, &json!({ "path": path }));
        matches!(judged.verdict, Verdict::Allow { .. })
    };
    assert!(allowed(&narrow, "src/a.rs") && allowed(&config, ".git/config"));
    for path in [
        ".git/config",
        ".git/hooks/pre-commit",
        "sub/.git/config",
        "src/../.git/config",
        ".GIT/config",
        ".agentx/config.yaml",
        ".agentx/tools/x.yaml",
        ".bashrc",
        ".envrc",
        "sub/.envrc",
        ".vscode/tasks.json",
        ".husky/pre-commit",
        ".cargo/config.toml",
        ".npmrc",
        ".git",
    ] {
        assert!(!allowed(&narrow, path), "{path}");
    }
    let before = AgentConfig {
        rules_version: 6,
        ..narrow.clone()
    };
    for path in [
        ".devcontainer.json",
        "lefthook.yaml",
        "sub/.lefthook.yml",
        "mise.local.toml",
        ".zed/tasks.json",
        ".pdbrc",
        ".Rprofile",
        "AGENT.md",
        "QWEN.md",
        ".windsurf/rules/x.md",
        ".clinerules/x.md",
        ".aider.conf.yml",
        "opencode.json",
        ".github/instructions/x.instructions.md",
        "a.code-workspace",
        ".config/nvim/init.lua",
        ".psqlrc",
    ] {
        assert!(!allowed(&narrow, path) && allowed(&before, path), "{path}");
    }
    let tool = narrow.tools.iter().find(|tool| tool.name == "change").unwrap();
    let path = |path: &str| suggested(&narrow, tool, &json!({ "path": path })).path;
    assert_eq!(path("src/a.rs").as_deref(), Some("src/*"));
    assert_eq!(path("a.rs").as_deref(), Some("a.rs"));
    assert_eq!(path(".git/config").as_deref(), Some(".git/config"));
    assert_eq!(path("/etc/x*").as_deref(), Some(r"/etc/x\*"));
    // As in older logs.
    let old = config_before();
    assert!(allowed(&old, ".git/config"));
    assert_eq!(
        suggested(&old, tool, &json!({"path": "a"})).path.as_deref(),
        Some("**")
    );
}

fn config_before() -> AgentConfig {
    config(ApprovalMode::Ask, &["allow change in **"])
}

/// A star after a program that reads matches no option by which it writes, deletes, sends or runs, unless the
/// rule names the option.
#[test]
fn no_star_stands_for_an_option_that_writes_sends_or_runs() {
    let programs = [
        "sort", "find", "sed", "awk", "tree", "less", "uniq", "date", "rg", "fd", "ag", "yq", "file", "xxd",
        "curl", "wget", "tar", "shuf", "split", "csplit", "tee", "printf", "read", "ls", "export", "git",
        "rsync", "http", "sqlite3", "psql", "mysql", "vim", "gdb", "ssh", "npm", "cargo",
    ];
    let rules = programs.map(|program| format!("allow bash: {program} *"));
    let config = now(&rules.each_ref().map(String::as_str));
    let mut wrong = Vec::new();
    for entry in lines(include_str!("spellings/beyond_stars.txt")) {
        let line = entry.trim_start_matches("= ");
        let is_plain = line != entry;
        if is_allowed(&config, line) != is_plain {
            wrong.push(entry.clone());
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for (rule, line) in [
        ("sort -o *", "sort -o y x"),
        ("sort * -o y", "sort x -o y"),
        ("find * -delete", "find . -delete"),
        ("sed -i *", "sed -i s/a/b/ x"),
        ("curl -o *", "curl -o x https://example.com"),
        ("tar xf *", "tar xf x.tar"),
    ] {
        let config = now(&[&format!("allow bash: {rule}")]);
        let is_named = !rule.contains("* -");
        assert_eq!(is_allowed(&config, line), is_named, "{rule}: {line}");
    }
}

/// A star matches no setting of Git that runs something, and no option of a client that leads it to another
/// server, lends it other rights, or names a file with programs to run.
#[test]
fn no_star_stands_for_a_setting_of_git_or_another_server_of_a_client() {
    for (rule, line, is_covered) in [
        ("git config *", "git config core.pager sh", false),
        ("git config *", "git config --global core.pager sh", false),
        ("git config *", "git config 'core.pager' sh", false),
        ("git config *", "git config set alias.x '!sh'", false),
        ("git config *", "git config --add url.x.insteadOf y", false),
        ("git config *", "git config user.name Ada", true),
        ("git config *", "git config pull.rebase true", true),
        ("git config *", "git config core.pager", true),
        ("git config core.pager *", "git config core.pager sh", true),
        ("git config core.pager *", "git config core.editor sh", false),
        ("kubectl get *", "kubectl get pods -n a -o json", true),
        ("kubectl get *", "kubectl get pods --kubeconfig=f", false),
        ("kubectl get *", "kubectl get pods --kubec f", false),
        ("kubectl get *", "kubectl get pods -s http://x.example", false),
        ("kubectl get *", "kubectl get pods -Ashttp://x.example", false),
        ("kubectl get *", "kubectl get pods --as=root", false),
        (
            "kubectl get * --kubeconfig=f",
            "kubectl get pods --kubeconfig=f",
            false,
        ),
        (
            "kubectl --kubeconfig=f get *",
            "kubectl --kubeconfig=f get pods",
            true,
        ),
        ("docker ps *", "docker ps -a", true),
        ("docker ps *", "docker ps --host tcp://x.example", false),
        ("docker ps *", "docker ps -aH tcp://x.example", false),
        ("docker *", "docker --context x ps", false),
        ("helm list *", "helm list -A", true),
        (
            "helm list *",
            "helm list --kube-apiserver https://x.example",
            false,
        ),
        ("helm template *", "helm template a --post-renderer ./x", false),
        ("aws s3 ls *", "aws s3 ls", true),
        ("aws s3 ls *", "aws s3 ls --endpoint-url https://x.example", false),
        ("gcloud projects *", "gcloud projects list --flags-file=f", false),
    ] {
        let config = now(&[&format!("allow bash: {rule}")]);
        assert_eq!(is_allowed(&config, line), is_covered, "{rule}: {line}");
    }
    let mut older = now(&["allow bash: git config *"]);
    older.rules_version = 8;
    assert!(is_allowed(&older, "git config core.pager sh"));
}

/// A star beside a build or test tool matches only options that are known to be harmless, and no path out of
/// the workspace.
#[test]
fn a_star_beside_a_build_tool_stands_for_listed_options_alone() {
    let (mut rule, mut wrong) = (String::new(), Vec::new());
    let mut counts = (0, 0);
    for entry in lines(BUILD_TOOLS) {
        if let Some(pattern) = entry.strip_prefix("rule ") {
            rule = format!("allow bash: {pattern}");
            continue;
        }
        let line = entry.strip_prefix("= ");
        let is_covered = is_allowed(&now(&[&rule]), line.unwrap_or(&entry));
        if is_covered != line.is_some() {
            wrong.push(format!("{rule}: {entry}"));
        }
        match line {
            Some(_) => counts.0 += 1,
            None => counts.1 += 1,
        }
    }
    assert!(counts.0 >= 200 && counts.1 >= 250, "{counts:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let mut older = now(&["allow bash: cargo test *"]);
    older.rules_version = 8;
    for line in ["cargo test --config x", "cargo test -C /x"] {
        assert!(
            is_allowed(&older, line),
            "sessions of before are decided about as they were: {line}"
        );
    }
}

#[test]
fn a_long_row_of_programs_that_run_the_next_one_is_read_in_time() {
    let config = now(&["allow bash: npx *"]);
    assert!(is_allowed(&config, "npx npx jest"));
    assert!(!is_allowed(&config, &format!("{}jest", "npx ".repeat(20_000))));
    assert!(!is_allowed(
        &config,
        &format!("npx jest{}", " --config".repeat(20_000))
    ));
}
