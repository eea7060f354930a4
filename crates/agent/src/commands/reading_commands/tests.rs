//! The lines that only read, and lines near them that do not. All of them are made up.

use agentx_types::RULES_VERSION;

use super::*;

fn read(line: &str) -> Option<ReadingLine> {
    reading_line(line, "/ws", RULES_VERSION)
}

#[test]
fn everyday_lines_only_read() {
    for line in [
        "ls",
        "ls -la",
        "ls -la src/a b",
        "ls /ws/src",
        "ls -lL src",
        "ls -lR src",
        "pwd",
        "cd /ws && ls -1",
        "cat README.md",
        "cat 'a b.txt' src/x.rs",
        "head -20 a.rs",
        "head -n 5 a.rs b.rs",
        "tail -n +3 a.rs",
        "wc -l src/a.rs",
        "sed -n 10,20p src/a.rs",
        "sed -n '1,5p;9p;$p' a.rs",
        "stat a",
        "file a",
        "du -sh .",
        "tree -L 2",
        "sort a.txt | uniq -c | sort -rn | head -5",
        "find . -name '*.rs' -not -path './target/*' -type f",
        "find src -maxdepth 2 2>/dev/null | wc -l",
        "grep -n 'a b' src/a.rs",
        "grep -rn /api/v1 src",
        "rg -n word",
        "rg -g '*.rs' -t rust word src",
        "fd -e rs main src",
        "diff a b",
        "diff -u a b",
        "which cargo",
        "command -v cargo",
        "test -f a.rs && cat a.rs",
        "[ -d src ] && ls src || true",
        "echo 'the files:' && ls; echo \"exit $?\"",
        "set -o pipefail; ls | head -3",
        "git status",
        "git status --short --branch",
        "git --no-pager log --oneline -5",
        "git log --stat main..HEAD -- src",
        "git diff",
        "git diff --staged",
        "git diff HEAD~1 -- src/a.rs",
        "git diff --stat main...HEAD",
        "git show",
        "git show --stat HEAD^",
        "git show my-gadget",
        "git diff v1.0-gamma main",
        "git branch -vv",
        "git remote",
        "git config user.name",
        "git rev-parse --abbrev-ref HEAD",
        "git ls-files src",
        "git blame -L 1,20 src/a.rs",
        "git stash list",
        "git tag",
        "git --version",
        "git status 2>&1 >/dev/null",
    ] {
        assert!(read(line).is_some(), "{line}");
    }
}

/// Lines beside Git that are not listed as reading.
const NOT_READING: &[&str] = &[
    "",
    "echo ok",
    "true",
    "cd /ws",
    "set -e; echo ok",
    "rm a",
    "ls; rm a",
    "ls && make",
    "ls > out",
    "cat < in",
    "ls $(touch x)",
    "ls `touch x`",
    "cat $X",
    "cat *.rs",
    "cat ~/x",
    "cat {a,b}",
    "cat a\\ b",
    "X=1 ls",
    "PATH=. ls",
    "env ls",
    "sudo ls",
    "time ls",
    "./ls",
    "/bin/ls",
    "sub/ls x",
    "cd sub && ls",
    "xargs cat < a",
    "find . | xargs cat",
    "cat -",
    "tail -f a",
    "sort -o a b",
    "sort --output=a b",
    "sort -T x a",
    "uniq a b",
    "date",
    "uname -a",
    "ls -LR",
    "ls -lLR src",
    "ls -RL1",
    "ls -R -L",
    "ls -L --recursive",
    "ls -R --dereference",
    "ls -RH --dereference-command-line",
    "tree -l",
    "whoami",
    "tree -o x",
    "sed -i s/a/b/ x",
    "sed s/a/b/w x",
    "sed -n 's/a/b/p' x",
    "sed -n '1e touch x' x",
    "sed -n 1p -i x",
    "find . -delete",
    "find . -exec cat x",
    "find -L . -name x",
    "find . -fprint x",
    "find . -newer",
    "grep -f list x",
    "grep -R x .",
    "rg --pre ./x y",
    "rg -L x",
    "rg -uu x",
    "rg --hidden x",
    "rg -f list",
    "rg --iglob '*.rs' x",
    "fd -x rm",
    "diff -r a b",
    "which ./x",
    "command ls",
    "awk 1 x",
    "jq . x",
    "env",
    "printenv",
    "ps aux",
    "less a",
    "man ls",
    "tee a",
];

/// Lines of Git that are not listed as reading.
const NOT_READING_OF_GIT: &[&str] = &[
    "git",
    "git push",
    "git fetch",
    "git commit -m x",
    "git add .",
    "git -C sub status",
    "git -c core.pager=x log",
    "git --git-dir=x log",
    "git --exec-path=x log",
    "git log -p",
    "git log --output=x",
    "git log --ext-diff",
    "git log --show-signature",
    "git log --format=%GG",
    "git diff --no-index a b",
    "git diff --output=x",
    "git diff --ext-diff",
    "git diff HEAD:a.rs",
    "git show HEAD:a.rs",
    "git show :/word",
    "git show 'H^{}'",
    "git show -s 'H^{blob}'",
    "git show --stat x-0-g0123abc",
    "git show 'HEAD^{/word}'",
    "git diff 'H^{}' 'I^{}'",
    "git diff 'H^{object}'",
    "git diff --stat 'H^{}'",
    "git diff 'H^{}' -- a.rs",
    "git diff x-0-g0123 x-0-g4567",
    "git diff HEAD..x-0-g0123",
    "git diff x-0-g0123...HEAD",
    "git branch new",
    "git branch -d old",
    "git branch -- new",
    "git tag v1",
    "git remote -v",
    "git remote add x y",
    "git config user.name x",
    "git config --list",
    "git stash",
    "git stash pop",
    "git reflog expire",
    "git restore --staged a",
    "git blame --contents x a",
    "git ls-files -X x",
    "git grep x",
    "git cat-file -p HEAD",
    "git archive HEAD",
    "git help log",
    "git log --help",
];

#[test]
fn whatever_is_not_listed_is_no_reading() {
    for line in NOT_READING.iter().chain(NOT_READING_OF_GIT) {
        assert_eq!(read(line), None, "{line}");
    }
}

#[test]
fn every_place_is_below_the_workspace() {
    for line in [
        "cat /etc/hosts",
        "cat /ws/../etc/hosts",
        "ls ..",
        "ls sub/..",
        "ls /",
        "cat /wsx/a",
        "head a.rs ../b.rs",
        "find / -name x",
        "find .. -name x",
        "grep x /etc/hosts",
        "grep -e a -e b /etc/hosts",
        "rg --files /etc",
        "rg x ..",
        "fd x /etc",
        "diff a /etc/hosts",
        "du -sh /home",
        "test -f /etc/hosts && ls",
        "git log -- ../x",
        "git diff -- /etc/hosts",
        "git diff a /etc/hosts",
    ] {
        assert_eq!(read(line), None, "{line}");
    }
}

#[test]
fn the_tool_learns_what_to_look_at() {
    let programs = |line: &str| read(line).unwrap().programs;
    assert_eq!(programs("cd /ws && ls | head -3; pwd; echo x"), ["ls", "head"]);
    let searched = |line: &str| read(line).unwrap().searched;
    let here = |place: &str| SearchedFolder {
        place: place.to_owned(),
        ..SearchedFolder::default()
    };
    assert_eq!(searched("grep -rn x"), [here(".")]);
    assert_eq!(searched("grep -rn x a b"), [here("a"), here("b")]);
    for line in ["grep -n x a", "rg --files", "fd x", "git diff"] {
        assert!(searched(line).is_empty(), "{line}");
    }
    let of_rg = SearchedFolder {
        leaves_out_ignored: true,
        globs: vec!["*.rs".into(), "!x".into(), "y".into()],
        ..here("src")
    };
    // The letter of a type is none of a pattern.
    assert_eq!(searched("rg -tgo -ng '*.rs' -g '!x' --glob=y word src"), [of_rg]);
    let linked = |place: &str| SearchedFolder {
        follows_links: true,
        ..here(place)
    };
    assert_eq!(searched("diff a b"), [linked("a"), linked("b")]);
}

#[test]
fn a_diff_is_listed_before_it_is_shown() {
    let listed = |line: &str| -> Vec<String> {
        let listings = read(line).unwrap().listings;
        listings.iter().map(|words| words.join(" ")).collect()
    };
    for line in [
        "git diff --stat",
        "git diff --stat main -- a",
        "git log --stat",
        "git status",
        "git blame a",
    ] {
        assert_eq!(listed(line), Vec::<String>::new(), "{line}");
    }
    for (line, listing) in [
        ("git diff", "git diff --name-only --no-renames -z --"),
        (
            "git diff --stat -p",
            "git diff --stat -p --name-only --no-renames -z --",
        ),
        (
            "git --no-pager diff --staged main -- a b",
            "git diff --staged --name-only --no-renames -z main^{commit} -- a b",
        ),
        (
            "git diff 0123abc..HEAD",
            "git diff --name-only --no-renames -z 0123abc^{commit}..HEAD^{commit} --",
        ),
        (
            "git diff ...topic",
            "git diff --name-only --no-renames -z HEAD^{commit}...topic^{commit} --",
        ),
        (
            "git show --oneline HEAD~1",
            "git show --oneline --name-only --no-renames -z --format= --no-show-signature HEAD~1^{commit} --",
        ),
        (
            "git show",
            "git show --name-only --no-renames -z --format= --no-show-signature HEAD^{commit} --",
        ),
    ] {
        assert_eq!(listed(line), [listing], "{line}");
    }
}

/// `git show` prints a file that a hash or a tag names, whatever options about a diff it gets.
#[test]
fn every_revision_that_is_shown_has_to_be_a_commit() {
    for (words, revisions) in [
        ("-s 0123abc", "0123abc^{commit}"),
        ("--stat 0123abc", "0123abc^{commit}"),
        ("--raw 0123abc", "0123abc^{commit}"),
        ("--name-only v1 main -- a", "v1^{commit} main^{commit}"),
        ("--numstat a..b", "a^{commit}..b^{commit}"),
        ("--quiet", "HEAD^{commit}"),
    ] {
        let line = format!("git show {words}");
        let listings = read(&line).unwrap().listings;
        let wanted = format!("git show -s --format= --no-show-signature {revisions} --");
        let listed: Vec<String> = listings.iter().map(|words| words.join(" ")).collect();
        assert_eq!(listed, [wanted], "{line}");
    }
}
