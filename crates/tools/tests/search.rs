//! `glob` and `grep` on small trees written by hand, and on a bigger one against a plain walk.

use crate::support::{Place, has};
use agentx_tools::{SearchOptions, ToolOptions};
use agentx_types::ToolStatus;
use serde_json::json;

fn tree() -> Place {
    let place = Place::new();
    place.write("src/main.rs", "fn main() {\n    let answer = 42;\n}\n");
    place.write(
        "src/deep/lib.rs",
        "// Answer\npub fn answer() -> u8 {\n    42\n}\n",
    );
    place.write("web/app.tsx", "const answer = 42;\n");
    place.write("notes.md", "nothing\n");
    place.write(".github/ci.yml", "answer: 42\n");
    place.write(".git/config", "answer\n");
    place.write(".gitignore", "target/\n*.log\n");
    place.write("target/out.rs", "answer\n");
    place.write("x.log", "answer\n");
    place.write("data.bin", b"answer\0answer\n");
    place
}

#[tokio::test]
async fn glob_lists_what_matches() {
    let place = tree();
    let check = async |input, expected: &str| assert_eq!(place.ok("glob", input).await, expected);
    check(json!({"pattern": "**/*.rs"}), "src/deep/lib.rs\nsrc/main.rs\n").await;
    check(json!({"pattern": "*.rs"}), "src/deep/lib.rs\nsrc/main.rs\n").await;
    check(json!({"pattern": "src/*.rs"}), "src/main.rs\n").await;
    check(
        json!({"pattern": "*.rs", "path": "src/deep"}),
        "src/deep/lib.rs\n",
    )
    .await;
    check(json!({"pattern": "src/main.rs"}), "src/main.rs\n").await;
    check(json!({"pattern": "**/*.{tsx,md}"}), "notes.md\nweb/app.tsx\n").await;
    check(json!({"pattern": ".github/**"}), ".github/ci.yml\n").await;
    check(json!({"pattern": "*.log"}), "No files match.\n").await;
    check(json!({"pattern": "*.log", "ignored": true}), "x.log\n").await;
    check(json!({"pattern": place.workspace.join("web/*")}), "web/app.tsx\n").await;
    has(
        &place.ok("glob", json!({"pattern": "nowhere/*.rs"})).await,
        &["No files match: ./nowhere: no such file"],
    );
    has(
        &place.ok("glob", json!({"pattern": "*", "limit": 2})).await,
        &[".github/ci.yml\n.gitignore\n[2 of 7 files;"],
    );
}

#[tokio::test]
async fn glob_can_show_the_newest_first() {
    let place = Place::new();
    for (name, age) in [("b", 10), ("a", 30), ("c", 20)] {
        place.write(name, "");
        let file = std::fs::File::options()
            .write(true)
            .open(place.workspace.join(name))
            .unwrap();
        file.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(age))
            .unwrap();
    }
    assert_eq!(
        place
            .ok("glob", json!({"pattern": "*", "sort": "modified"}))
            .await,
        "b\nc\na\n"
    );
}

#[tokio::test]
async fn grep_shows_lines_files_and_counts() {
    let place = tree();
    let check = async |input, expected: &str| assert_eq!(place.ok("grep", input).await, expected);
    check(
        json!({"pattern": "answer"}),
        ".github/ci.yml\n1:answer: 42\n\nsrc/deep/lib.rs\n2:pub fn answer() -> u8 {\n\nsrc/main.rs\n2:    let answer = 42;\n\nweb/app.tsx\n1:const answer = 42;\n",
    )
    .await;
    check(
        json!({"pattern": "answer", "mode": "files", "type": "rust"}),
        "src/deep/lib.rs\nsrc/main.rs\n",
    )
    .await;
    check(
        json!({"pattern": "42|answer", "mode": "count", "glob": "src/**/*.rs"}),
        "src/deep/lib.rs:2\nsrc/main.rs:1\n",
    )
    .await;
    check(
        json!({"pattern": "ANSWER", "case_insensitive": true, "mode": "count", "path": "src/deep"}),
        "src/deep/lib.rs:2\n",
    )
    .await;
    check(
        json!({"pattern": "^}", "path": "src/main.rs"}),
        "src/main.rs\n3:}\n",
    )
    .await;
    check(
        json!({"pattern": "answer", "mode": "files", "glob": "!*.rs"}),
        ".github/ci.yml\nweb/app.tsx\n",
    )
    .await;
    check(
        json!({"pattern": "answer", "glob": "*.log", "ignored": true}),
        "x.log\n1:answer\n",
    )
    .await;
    check(json!({"pattern": "nowhere"}), "No matches (files searched: 7).\n").await;
    check(
        json!({"pattern": "x", "glob": "*.none"}),
        "No files to search: nothing matches the path, glob and type.\n",
    )
    .await;
}

#[tokio::test]
async fn grep_shows_context() {
    let place = Place::new();
    let lines: String = (1..=20).map(|number| format!("l{number}\n")).collect();
    place.write("a", &lines);
    assert_eq!(
        place
            .ok("grep", json!({"pattern": "^l(3|4|10)$", "context": 1}))
            .await,
        "a\n2-l2\n3:l3\n4:l4\n5-l5\n--\n9-l9\n10:l10\n11-l11\n"
    );
}

#[tokio::test]
async fn grep_is_bounded_and_says_so() {
    let place = Place::new();
    for file in 0..20 {
        place.write(&format!("f{file:02}"), "match\n".repeat(50));
    }
    place.write("z", format!("match {}\n", "x".repeat(10_000)));
    let said = place.ok("grep", json!({"pattern": "match", "limit": 60})).await;
    has(
        &said,
        &[
            "f00\n1:match",
            "f01\n1:match",
            "\n10:match\n\n[60 of 1001 matching lines (files that match: 21); narrow",
        ],
    );
    assert!(!said.contains("f02"));
    has(
        &place.ok("grep", json!({"pattern": "match", "path": "z"})).await,
        &["… [9506 more bytes in this line]"],
    );
    let files = place
        .ok("grep", json!({"pattern": "match", "mode": "files", "limit": 3}))
        .await;
    assert_eq!(
        files,
        "f00\nf01\nf02\n\n[3 of 21 files (files that match: 21); narrow the search, or raise limit]\n"
    );
}

#[tokio::test]
async fn a_file_with_a_line_that_is_too_long_is_left_out_and_said() {
    let place = Place::new();
    place.write(
        "data.json",
        format!("{{\"{}\": \"needle\"}}\n", "x".repeat(5 << 20)),
    );
    place.write("short.txt", "a needle\n");
    let said = place.ok("grep", json!({"pattern": "needle"})).await;
    has(
        &said,
        &[
            "short.txt\n1:a needle",
            "or with a line of more than 4096 KiB: 1]",
        ],
    );
    assert!(!said.contains("data.json"), "{said}");
}

/// To measure the memory of 64 concurrent searches, run this test alone under `command time -v`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_searches_at_once_take_turns_and_all_come_to_their_end() {
    let place = Place::new();
    for number in 0..8 {
        place.write(
            &format!("long{number}.txt"),
            format!("{} needle\n", "x".repeat(3 << 20)),
        );
    }
    let search = async |_: usize| {
        let said = place
            .ok("grep", json!({"pattern": "needle", "mode": "files"}))
            .await;
        assert_eq!(said.lines().count(), 8, "{said}");
    };
    futures_util::future::join_all((0..64).map(search)).await;
}

#[tokio::test]
async fn nonsense_is_explained() {
    let place = tree();
    let check = async |tool: &str, input, words: &[&str]| {
        has(&place.says(ToolStatus::Invalid, tool, input).await, words);
    };
    check(
        "grep",
        json!({"pattern": "a("}),
        &["Bad regular expression", "unclosed group"],
    )
    .await;
    check(
        "grep",
        json!({"pattern": "a\\nb"}),
        &["Bad regular expression", "Matches are per line"],
    )
    .await;
    check(
        "grep",
        json!({"pattern": "a{1000}{1000}"}),
        &["Bad regular expression"],
    )
    .await;
    check(
        "grep",
        json!({"pattern": "a", "type": "rsut"}),
        &["not a file type"],
    )
    .await;
    check(
        "grep",
        json!({"pattern": "a", "mode": "lines"}),
        &[r#"expected one of "content", "files", "count""#],
    )
    .await;
    check("glob", json!({"pattern": "a["}), &["Bad glob"]).await;
    has(
        &place
            .says(ToolStatus::Failed, "grep", json!({"pattern": "a", "path": "scr"}))
            .await,
        &["did you mean src?"],
    );
    has(
        &place
            .says(
                ToolStatus::Failed,
                "glob",
                json!({"pattern": "*", "path": "notes.md"}),
            )
            .await,
        &["is a file"],
    );
}

#[tokio::test]
async fn links_are_not_followed() {
    let place = Place::new();
    let beside = place.beside();
    std::fs::write(beside.join("secret"), "secret\n").unwrap();
    std::os::unix::fs::symlink(&beside, place.workspace.join("door")).unwrap();
    std::os::unix::fs::symlink(".", place.workspace.join("loop")).unwrap();
    assert_eq!(
        place.ok("glob", json!({"pattern": "**"})).await,
        "No files match.\n"
    );
    has(
        &place.ok("grep", json!({"pattern": "secret"})).await,
        &["No files to search"],
    );
}

fn pipe(place: &Place, path: &str) {
    place.write(path, "");
    let path = place.workspace.join(path);
    assert!(std::fs::remove_file(&path).is_ok());
    let made = std::process::Command::new("mkfifo").arg(path).status();
    assert!(made.is_ok_and(|made| made.success()), "a named pipe is made");
}

#[tokio::test]
async fn a_named_pipe_in_place_of_an_ignore_file_holds_no_search() {
    for name in [".gitignore", ".ignore", ".git/info/exclude"] {
        let place = Place::new();
        place.write("a/file", "answer\n");
        place.write("b/c/file", "answer\n");
        pipe(&place, &format!("b/{name}"));
        for (tool, input) in [
            ("glob", json!({"pattern": "**/file"})),
            ("grep", json!({"pattern": "answer"})),
        ] {
            let said = place.ok(tool, input).await;
            has(
                &said,
                &["a/file", &format!("\"b/{name}\" was left out"), "set ignored"],
            );
            assert!(!said.contains("b/c/file"), "{said}");
        }
        has(
            &place
                .ok("grep", json!({"pattern": "answer", "ignored": true}))
                .await,
            &["a/file", "b/c/file"],
        );
        for input in [
            json!({"pattern": "answer", "path": "b"}),
            json!({"pattern": "answer", "path": "b/c"}),
            json!({"pattern": "answer", "path": "b/c/file"}),
        ] {
            let said = place.says(ToolStatus::Failed, "grep", input).await;
            has(&said, &[name, "is not a regular file", "set ignored"]);
        }
    }
}

#[tokio::test]
async fn a_named_pipe_behind_a_git_file_holds_no_search() {
    let place = Place::new();
    place.write("a/file", "answer\n");
    let git = place.workspace.join("fake");
    for held in ["b", "c"] {
        place.write(&format!("{held}/file"), "answer\n");
        let link = format!("gitdir: {}\n", git.join(held).display());
        place.write(&format!("{held}/.git"), link);
    }
    pipe(&place, "fake/b/commondir");
    place.write("fake/c/commondir", "..\n");
    pipe(&place, "fake/info/exclude");
    let said = place.ok("grep", json!({"pattern": "answer"})).await;
    has(&said, &["a/file", "fake/b/commondir", "info/exclude"]);
    assert!(!said.contains("b/file") && !said.contains("c/file"), "{said}");
}

#[tokio::test]
async fn a_search_that_takes_too_long_says_so() {
    let search = SearchOptions {
        timeout: std::time::Duration::ZERO,
        ..SearchOptions::default()
    };
    let place = Place::with(ToolOptions {
        search,
        ..ToolOptions::default()
    });
    place.write("a", "x");
    has(
        &place
            .says(ToolStatus::TimedOut, "grep", json!({"pattern": "x"}))
            .await,
        &["this is not all"],
    );
    has(
        &place
            .says(ToolStatus::TimedOut, "glob", json!({"pattern": "*"}))
            .await,
        &["this is not all"],
    );
}

#[tokio::test]
async fn a_search_is_left_when_it_is_cancelled() {
    let place = tree();
    place.cancel.cancel();
    place
        .says(ToolStatus::Interrupted, "grep", json!({"pattern": "x"}))
        .await;
    place
        .says(ToolStatus::Interrupted, "glob", json!({"pattern": "x"}))
        .await;
}

/// In a tree of many files, the parallel search finds the same as a plain loop, in every run.
#[tokio::test]
async fn a_big_tree_is_searched_completely() {
    let place = Place::new();
    let mut expected = Vec::new();
    for number in 0..3000 {
        let path = format!("d{:02}/e{}/f{number}.txt", number % 37, number % 5);
        let hit = number % 11 == 0;
        place.write(
            &path,
            format!("some words\nand {}\n", if hit { "needle" } else { "hay" }),
        );
        if hit {
            expected.push(path);
        }
    }
    expected.sort_by(|a, b| std::path::Path::new(a).cmp(std::path::Path::new(b)));
    let whole: String = expected.iter().map(|path| format!("{path}\n")).collect();
    assert_eq!(
        place
            .ok(
                "grep",
                json!({"pattern": "needle", "mode": "files", "limit": 2000})
            )
            .await,
        whole
    );
    let first: String = expected[..50].iter().map(|path| format!("{path}\n")).collect();
    for _ in 0..3 {
        let said = place
            .ok("grep", json!({"pattern": "needle", "mode": "files", "limit": 50}))
            .await;
        assert_eq!(
            said,
            format!(
                "{first}\n[50 of 273 files (files that match: 273); narrow the search, or raise limit]\n"
            )
        );
    }
    let listed = place
        .ok("glob", json!({"pattern": "**/*.txt", "limit": 10}))
        .await;
    has(&listed, &["[10 of 3000 files;"]);
    assert!(listed.starts_with("d00/e0/"), "{listed}");
}
