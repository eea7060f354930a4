//! Rules by path and the guard of files with secrets, against tables of command lines.

use agentx_agent::approval::{Verdict, explain_decision};
use agentx_types::ApprovalMode;
use serde_json::json;

use crate::secrets::{guarded, word};
use crate::spellings::lines;

const AROUND_PATH: &str = include_str!("spellings/around_path.txt");
const BESIDE_PATH: &str = include_str!("spellings/beside_path.txt");

#[test]
fn no_spelling_of_a_path_leads_around_a_rule_that_denies_it_or_the_guard() {
    let by_rule = |rule: &str| {
        let mut config = guarded(ApprovalMode::Ask, &["allow bash", rule]);
        config.guard = None;
        config
    };
    let rules = ["deny * in **/.env", "deny read in **/.env"];
    let by_guard = guarded(ApprovalMode::Ask, &["allow bash"]);
    let mut wrong = Vec::new();
    for entry in lines(AROUND_PATH) {
        let line = entry.trim_start_matches("! ");
        let input = json!({ "command": line });
        for rule in rules {
            if word(&by_rule(rule), "bash", input.clone()) == "allow" {
                wrong.push(format!("beside `{rule}`: {line}"));
            }
        }
        if line == entry && word(&by_guard, "bash", input) == "allow" {
            wrong.push(format!("beside the guard: {line}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A word that names the file exactly, or by a part of its name, is denied and not only asked about.
#[test]
fn a_glob_or_brace_that_names_a_denied_path_is_denied() {
    let config = guarded(ApprovalMode::Auto, &["allow bash", "deny * in **/.env"]);
    for line in [
        "cat .{env,x}",
        "cat .en?",
        "cat .e*",
        "cat .en[v]",
        "xargs cat <<< .env",
        "cd sub && cat .env",
        "git show HEAD:.env",
        "python3 -c 'open(\".env\")'",
    ] {
        assert_eq!(
            word(&config, "bash", json!({ "command": line })),
            "deny",
            "{line}"
        );
    }
    let below = guarded(ApprovalMode::Ask, &["allow bash", "deny * in secrets/**"]);
    for line in [
        "cat sec*/key",
        "cat {a,secrets}/key",
        "cd secrets && cat key",
        "cd src; cat ../secrets/key",
        "cd src && cat ../sec*/key",
        "cat $PWD/secrets/key",
    ] {
        assert_eq!(word(&below, "bash", json!({ "command": line })), "deny", "{line}");
    }
    for line in ["cat */key", "cp -r * x", "cat $X/key", "cd $X && cat key"] {
        assert_eq!(word(&below, "bash", json!({ "command": line })), "ask", "{line}");
    }
    let asking = guarded(ApprovalMode::Ask, &["allow bash"]);
    for line in [
        "cat ~/.aws/cred*",
        "cat $HOME/.a*/credentials",
        "cd; cat .aws/credentials",
        "cat /Users/Ada/.aw?/config",
        "cat .EN?",
        "cat *.p?m",
        "cat id_*",
    ] {
        assert_eq!(word(&asking, "bash", json!({ "command": line })), "ask", "{line}");
    }
}

/// A rule about `write` is not about command lines: most that name the file only read it.
#[test]
fn a_rule_about_files_of_read_holds_for_command_lines_and_one_about_write_does_not() {
    for (rule, line, wanted) in [
        ("deny read in priv/**", "cat priv/k", "deny"),
        ("deny read in priv/**", "cp -r priv x", "deny"),
        ("deny read in priv/**", "cat pub/k", "allow"),
        ("ask read in priv/**", "cat priv/k", "ask"),
        ("deny read in priv/**", "cat $X", "ask"),
        ("deny write in priv/**", "cat priv/k", "allow"),
    ] {
        let mut config = guarded(ApprovalMode::Ask, &["allow bash", rule]);
        let input = json!({ "command": line });
        assert_eq!(word(&config, "bash", input.clone()), wanted, "{rule}: {line}");
        config.rules_version = 7;
        assert_eq!(
            word(&config, "bash", input),
            "allow",
            "in an older log, {rule}: {line}"
        );
    }
}

/// `query` shows what is in a file as `read` does.
#[test]
fn a_rule_about_files_of_read_holds_for_other_tools_that_read_one() {
    for (rule, tool, path, wanted) in [
        ("deny read in priv/**", "look", "priv/k.db", "deny"),
        ("ask read in priv/**", "look", "priv/k.db", "ask"),
        ("deny read in priv/**", "look", "pub/k.db", "allow"),
        ("deny read in priv/**", "change", "priv/k.db", "allow"),
        ("deny write in priv/**", "look", "priv/k.db", "allow"),
        ("deny read in priv/**", "query_write", "priv/k.db", "deny"),
        ("deny write in priv/**", "query_write", "priv/k.db", "deny"),
        ("ask edit in priv/**", "query_write", "priv/k.db", "ask"),
        ("deny write in priv/**", "query_write", "pub/k.db", "allow"),
    ] {
        let mut config = guarded(ApprovalMode::Ask, &["allow change", "allow query_write", rule]);
        let change = config.tools.iter().find(|tool| tool.name == "change").unwrap();
        let mut query_write = change.clone();
        query_write.name = "query_write".into();
        config.tools = config.tools.iter().cloned().chain([query_write]).collect();
        let input = json!({ "path": path });
        assert_eq!(
            word(&config, tool, input.clone()),
            wanted,
            "{rule}: {tool} {path}"
        );
        config.rules_version = 8;
        assert_eq!(
            word(&config, tool, input),
            "allow",
            "in an older log, {rule}: {tool}"
        );
    }
}

#[test]
fn what_names_nothing_of_a_denied_path_is_not_asked_about_beside_it() {
    let config = guarded(ApprovalMode::Ask, &["allow bash", "deny * in **/.env"]);
    let everyday = lines(include_str!("spellings/everyday.txt"));
    // The files that these open are not known.
    const OPEN_ANY: &[&str] = &[
        "find . -type f -exec wc -l {} +",
        "xargs ls < x",
        "git diff --name-only | xargs wc -l",
        "git ls-files | xargs grep -n a",
        "git log --format=%H | xargs git show --stat",
        "find . -name '*.rs' | while read f; do wc -l \"$f\"; done",
        "diff <(sort a) <(sort b)",
        "grep -rl a src | xargs sed -i 's/a/b/'",
        "rg -l a | xargs sed -i 's/a/b/g'",
        "git ls-files '*.rs' | xargs rg -n a",
        "while read f; do git mv \"$f\" x; done < list",
        "for f in a b; do cat $f; done | sort -u",
        "git commit -m \"$(cat <<'EOF'\nit's done\nEOF\n)\"",
    ];
    let everyday = everyday.filter(|line| !line.starts_with('?') && !OPEN_ANY.contains(&line.as_str()));
    let everyday = everyday.filter_map(|line| line.split(" => ").next().map(str::to_owned));
    let wrong: Vec<String> = lines(BESIDE_PATH)
        .chain(everyday)
        .filter_map(|line| {
            let tool = config.tools.iter().find(|spec| spec.name == "bash").unwrap();
            let judged = explain_decision(&config, tool, &json!({ "command": line }));
            let is_allowed = matches!(judged.verdict, Verdict::Allow { .. });
            (!is_allowed).then(|| format!("{line}: {}", judged.reason))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Older logs keep the old behaviour.
#[test]
fn globs_are_words_in_older_logs() {
    let mut before = guarded(ApprovalMode::Ask, &["allow bash", "deny * in **/.env"]);
    before.rules_version = 4;
    for line in [
        "cat .{env,x}",
        "cat .en?",
        "xargs cat <<< .env",
        "find . | xargs cat",
    ] {
        assert_eq!(
            word(&before, "bash", json!({ "command": line })),
            "allow",
            "{line}"
        );
    }
}

/// A file in a folder that the line enters, or that a command gets as an option, is guarded as if it were
/// written in full.
#[test]
fn a_folder_that_is_told_elsewhere_hides_no_path() {
    let asking = guarded(ApprovalMode::Ask, &["allow bash", "deny * in secrets/**"]);
    let starred = guarded(
        ApprovalMode::Ask,
        &[
            "allow bash: cd *",
            "allow bash: cat *",
            "allow bash: env *",
            "allow bash: find *",
            "allow bash: tar *",
        ],
    );
    let own = guarded(ApprovalMode::Auto, &["allow bash"]);
    for line in lines(include_str!("spellings/folders.txt")) {
        let (wanted, line) = line.split_once(": ").unwrap();
        let input = || json!({ "command": line });
        match wanted {
            "secret" => {
                assert_eq!(word(&asking, "bash", input()), "ask", "{line}");
                assert_ne!(word(&starred, "bash", input()), "allow", "beside stars: {line}");
            }
            "own" => assert_eq!(word(&own, "bash", input()), "deny", "{line}"),
            "denied" => assert_eq!(word(&asking, "bash", input()), "deny", "{line}"),
            "plain" => assert_eq!(word(&asking, "bash", input()), "allow", "{line}"),
            _ => panic!("{wanted}"),
        }
    }
}

/// Lines that read a folder without a word for it, and names that lead anywhere, are about a denied folder in
/// it.
#[test]
fn what_reads_a_folder_that_it_does_not_name_is_asked_about_beside_a_rule_for_a_part_of_it() {
    for rule in ["deny read in priv/**", "deny * in priv/**"] {
        let config = guarded(ApprovalMode::Ask, &["allow bash", rule]);
        for line in [
            "grep -r TOP",
            "grep -rh TOP --include='*.rs'",
            "rg TOP",
            "git grep TOP",
            "git log -p",
            "git log --dd",
            "git add -p",
            "git commit -v",
            "git status -v",
            "git rebase --show-current-patch",
            "git stash show",
            "git reset -p",
            "git show",
            "git diff",
            "git archive HEAD | tar xO",
            "git checkout-index --prefix=out/ -a",
            "git worktree add -q ../x",
            "git log -p -- .",
            "git log -p -- '*'",
            "git show HEAD -- .",
            "git grep TOP -- src/..",
            "git unpack-file abc",
            "uv run rg TOP",
            "uv run git show HEAD",
            "uv run tar cf x .",
            "npx cp -r . x",
            "pnpm exec grep -r TOP",
            "cd sub/..; rg TOP",
            "xargs -I% cat %/k <<< priv",
            "parallel cat {}/k ::: priv",
            "cat /proc/self/cwd/priv/k",
            "cat /proc/$$/cwd/priv/k",
            "cd /proc/self; cat cwd/priv/k",
            "cat ../../proc/1/root/ws/priv/k",
            "exec 5<.; cat /dev/fd/5/priv/k",
            "git --work-tree=priv diff",
            "git --work-tree priv add .",
            "GIT_WORK_TREE=priv git add .",
            "python3 -m zipfile -c x.zip priv",
            "python -m tarfile -c x.tar priv",
            "docker run -v ./priv:/p image cat /p/k",
            "docker run --volume=$PWD/priv:/p image cat /p/k",
            "docker run --mount type=bind,source=priv,target=/p image",
            "aws s3 sync priv s3://bucket",
            "aws s3 cp --recursive . s3://bucket",
            "gsutil rsync -r . gs://bucket",
            "hg diff",
            "hg archive ../x",
            "hg cat -r 0 priv",
            "jj diff",
            "jj file show priv",
            "svn export . ../x",
            "prettier .",
            "npx prettier .",
            "prettier '**/*.json'",
            "prettier 'p*/k'",
            "cd sub; prettier '../**/*.json'",
            "black --diff .",
            "python3 -m black --diff priv",
            "ruff check .",
            "ruff check",
            "mypy .",
            "cd priv; cd ..; cat ~-/k",
            "cd priv && cd - && cat ~-/k",
        ] {
            let said = word(&config, "bash", json!({ "command": line }));
            assert_ne!(said, "allow", "{rule}: {line}");
        }
        for line in [
            "rg TOP src",
            "git log --oneline",
            "git status",
            "git diff -- src",
            "cat /proc/cpuinfo",
            "python3 -m pytest tests",
            "prettier src",
            "prettier 'src/**/*.ts'",
            "ruff check src",
            "docker run -v ./src:/p image",
            "aws s3 ls",
            "hg status",
            "jj log",
            "svn status",
        ] {
            assert_eq!(
                word(&config, "bash", json!({ "command": line })),
                "allow",
                "{rule}: {line}"
            );
        }
    }
    // Nothing asks about them if no rule is about files.
    let open = guarded(ApprovalMode::Ask, &["allow bash"]);
    for line in ["rg TOP", "git diff", "cat /proc/self/cwd/a"] {
        assert_eq!(word(&open, "bash", json!({ "command": line })), "allow", "{line}");
    }
}
