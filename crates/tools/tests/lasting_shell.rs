//! `shell`, `shell_input` and `shell_wait`: what stays from one call to the next, programs that ask, keys,
//! and the ends of a shell.

#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use crate::support::{Place, gone, has, text};
use agentx_tools::{BashOptions, ToolOptions};
use agentx_types::{SessionId, ToolStatus};
use serde_json::{Value, json};

fn run(line: &str) -> Value {
    json!({ "command": line })
}

/// Runs a line that does not end within the call.
fn begin(line: &str) -> Value {
    json!({ "command": line, "wait_ms": 1 })
}

#[tokio::test]
async fn directory_variables_functions_and_the_last_status_stay() {
    let place = Place::new();
    let line =
        "mkdir sub; cd sub; export A=7; declare -A m=([k]=v); f() { echo \"f-$A-${m[k]}\"; }; set -- x y";
    place.ok("shell", run(line)).await;
    let said = place.ok("shell", run("f; echo $2; pwd")).await;
    let sub = place.workspace.join("sub").display().to_string();
    has(
        &said,
        &[
            "f-7-v\n",
            "y\n",
            &format!("{sub}\n"),
            "[exit 0, 0.",
            &format!("in {sub}]"),
        ],
    );
    let outcome = place.call("shell", run("false")).await;
    assert_eq!(outcome.status, ToolStatus::Failed);
    let details = outcome.details.unwrap();
    assert_eq!((&details["exit_code"], &details["cwd"]), (&json!(1), &json!(sub)));
    assert_eq!(
        (&details["runs"], &details["output_bytes"]),
        (&json!(false), &json!(0))
    );
    assert!(place.ok("shell", run("echo $?")).await.starts_with("1\n["));
    let said = place.ok("bash", run("pwd; echo \"<$A>\"")).await;
    has(&said, &[&format!("{}\n<>", place.workspace.display())]);
}

#[tokio::test]
async fn long_lines_here_documents_and_errors_of_syntax_are_as_in_any_shell() {
    let place = Place::new();
    let long = "x".repeat(50_000);
    let said = place.ok("shell", run(&format!("a='{long}'; echo ${{#a}}"))).await;
    assert!(said.starts_with("50000\n["), "{said}");
    let said = place
        .ok("shell", run("cat <<'E'\nit's $HOME \\n\nE\necho done"))
        .await;
    assert!(said.starts_with("it's $HOME \\n\ndone\n["), "{said}");
    let said = place.says(ToolStatus::Failed, "shell", run("echo 'open")).await;
    has(&said, &["unexpected EOF", "[exit "]);
    has(&place.ok("shell", run("echo hi")).await, &["hi\n[exit 0"]);
    for wrong in ["", "  ", "a\0b"] {
        place.says(ToolStatus::Invalid, "shell", run(wrong)).await;
    }
}

#[tokio::test]
async fn a_program_that_asks_is_answered() {
    let place = Place::new();
    let line = "while IFS= read -r -p 'next> ' l; do echo \"got $l\"; done; echo over";
    has(&place.ok("shell", run(line)).await, &["next> ", "[runs for "]);
    let refused = place.says(ToolStatus::Failed, "shell", run("ls")).await;
    has(&refused, &["still runs", "while IFS=", "shell_wait"]);
    has(
        &place.ok("shell_input", json!({"text": "one"})).await,
        &["got one\nnext> "],
    );
    has(
        &place.ok("shell_input", json!({"text": "two\nthree"})).await,
        &["got two\n", "got three\nnext> "],
    );
    has(
        &place.ok("shell_wait", json!({"key": "C-d"})).await,
        &["over\n[exit 0"],
    );
    let idle = place
        .says(ToolStatus::Failed, "shell_input", json!({"text": "touch made"}))
        .await;
    has(&idle, &["No program runs"]);
    place.ok("shell", run("true")).await;
    assert!(!place.workspace.join("made").exists());
}

#[tokio::test]
async fn a_pager_takes_single_keys_and_leaves_the_terminal_as_it_was() {
    let place = Place::new();
    has(
        &place
            .ok("shell", run("read -r -n 1 -p '--More--' key; echo \"<$key>\""))
            .await,
        &["--More--"],
    );
    let said = place
        .ok("shell_input", json!({"text": "q", "enter": false}))
        .await;
    has(&said, &["<q>\n[exit 0"]);
    place.ok("shell", run("stty raw echo")).await;
    let said = place
        .ok("shell", run("stty -a | grep -ow -e '-\\?icanon' -e '-\\?echo'"))
        .await;
    assert!(said.contains("icanon\n") && !said.contains("-icanon"), "{said}");
    has(&said, &["-echo\n"]);
}

#[tokio::test]
async fn keys_end_a_program_and_what_it_did_not_read_is_dropped() {
    let place = Place::new();
    has(
        &place.ok("shell", begin("A=1; sleep 1000; echo after")).await,
        &["[runs for "],
    );
    place
        .ok("shell_input", json!({"text": "touch made", "wait_ms": 1}))
        .await;
    let said = place
        .says(ToolStatus::Failed, "shell_wait", json!({"key": "C-c"}))
        .await;
    has(&said, &["[exit 130"]);
    assert!(!said.contains("after"), "the whole line ends: {said}");
    let said = place.ok("shell", run("read -r -t 0.2 x; echo \"<$x> $A\"")).await;
    has(&said, &["<> 1\n"]);
    assert!(!place.workspace.join("made").exists());
    let said = place
        .says(ToolStatus::Failed, "shell_wait", json!({"key": "C-c"}))
        .await;
    has(&said, &["No program runs"]);
}

#[tokio::test]
async fn a_shell_that_exits_is_replaced_by_a_new_one() {
    let place = Place::new();
    place.ok("shell", run("B=1; cd /")).await;
    let said = place
        .says(ToolStatus::Failed, "shell", run("echo bye; exit 5"))
        .await;
    has(&said, &["bye\n", "[the shell ended: exit 5"]);
    let said = place.ok("shell", run("echo \"<$B>\"; pwd")).await;
    has(&said, &["<>\n", &format!("{}\n", place.workspace.display())]);
    let said = place.ok("shell_wait", json!({"end": true})).await;
    has(&said, &["the shell was ended"]);
    has(
        &place.ok("shell_wait", json!({"end": true})).await,
        &["no shell runs"],
    );
}

/// The process ids that a line printed, each on a line of its own.
fn pids(said: &str) -> Vec<String> {
    let lines = said
        .lines()
        .filter(|line| line.chars().all(|c| c.is_ascii_digit()));
    lines.filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

const LEAVES: &str = "sleep 1000 & echo $!; (trap '' HUP TERM; exec env -i sleep 1000) & echo $!; echo $$";

#[tokio::test]
async fn all_of_a_terminal_ends_with_the_session() {
    let place = Place::new();
    let of_shell = pids(&place.ok("shell", run(LEAVES)).await);
    assert_eq!(of_shell.len(), 3, "{of_shell:?}");
    place.toolbox.shutdown(&SessionId::new("ses_other")).await;
    has(&place.ok("shell", run("jobs")).await, &["Running"]);
    place.toolbox.shutdown(&place.session).await;
    for pid in &of_shell {
        gone(pid).await;
    }
    let said = place.ok("shell", run(LEAVES)).await;
    drop(place);
    for pid in pids(&said) {
        gone(&pid).await;
    }
}

#[tokio::test]
async fn a_cancelled_command_is_interrupted_and_one_that_ignores_that_ends_with_its_shell() {
    for (line, stays) in [
        ("bash -c 'echo $$; exec sleep 1000'", true),
        ("bash -c 'trap \"\" INT; echo $$; sleep 1000; sleep 1000'", false),
    ] {
        let mut place = Place::new();
        place.ok("shell", run("A=kept")).await;
        let call = place
            .toolbox
            .get("shell")
            .unwrap()
            .call(run(line), place.context());
        let call = tokio::spawn(call);
        let pid = place.next_chunk().await;
        place.cancel.cancel();
        let outcome = call.await.unwrap();
        assert_eq!(outcome.status, ToolStatus::Interrupted, "{}", text(&outcome));
        gone(&pid).await;
        place.cancel = tokio_util::sync::CancellationToken::new();
        let said = place.ok("shell", run("echo \"<$A>\"")).await;
        has(&said, &[if stays { "<kept>" } else { "<>" }]);
    }
}

#[tokio::test]
async fn output_is_cleaned_bounded_and_kept() {
    let mut place = Place::with(ToolOptions {
        bash: BashOptions {
            head_bytes: 1_000,
            tail_bytes: 1_000,
            event_bytes: 4_000,
            ..BashOptions::default()
        },
        ..ToolOptions::default()
    });
    let line = "printf '\\e[31mred\\e[0m\\r\\ngo\\rno\\n'; seq 100000";
    let outcome = place.call("shell", run(line)).await;
    let said = text(&outcome);
    has(&said, &["red\nno\n1\n2\n", "left out", "\n100000\n[exit 0"]);
    assert!(said.len() < 3_000 && !said.contains('\u{1b}'), "{said}");
    let blob = outcome.details.unwrap()["blob"].as_str().unwrap().to_owned();
    assert!(place.blobs.get(&blob).ends_with(b"\n100000\n"));
    let shown: usize = place.chunks().iter().map(|chunk| chunk.text.len()).sum();
    assert!(shown < 5_000, "{shown}");
}
