//! `bash` and `job` against commands that behave well and badly.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a helper that fails fails its test"
)]

use crate::support;

use std::time::Duration;

use crate::support::{BOUND, Place, gone, has, text};
use agentx_tools::{BashOptions, ToolOptions};
use agentx_types::{OutputChannel, ToolStatus};
use serde_json::json;

#[tokio::test]
async fn says_what_came_out_and_how_it_ended() {
    let mut place = Place::new();
    let outcome = place
        .call("bash", json!({"command": "echo hi; echo oh >&2"}))
        .await;
    has(&text(&outcome), &["hi\n", "oh\n", "[exit 0, 0."]);
    let details = outcome.details.unwrap();
    assert_eq!(
        (&details["exit_code"], &details["output_bytes"]),
        (&json!(0), &json!(6))
    );
    let chunks = place.chunks();
    assert!(chunks.iter().all(|chunk| chunk.channel == OutputChannel::Stdout));
    let shown: String = chunks.iter().map(|chunk| chunk.text.as_str()).collect();
    assert_eq!(shown, "hi\noh\n");
}

#[tokio::test]
async fn both_channels_are_shown_in_the_order_in_which_they_were_written() {
    let mut place = Place::new();
    let lines = "for i in 1 2 3 4 5 6 7 8; do echo out $i; echo err $i >&2; done";
    let outcome = place.call("bash", json!({ "command": lines })).await;
    let expected: String = (1..=8).map(|i| format!("out {i}\nerr {i}\n")).collect();
    has(&text(&outcome), &[&expected]);
    let shown: String = place.chunks().iter().map(|chunk| chunk.text.as_str()).collect();
    assert_eq!(shown, expected);
}

#[tokio::test]
async fn failure_is_told_with_its_code_or_signal() {
    let place = Place::new();
    has(
        &place
            .says(ToolStatus::Failed, "bash", json!({"command": "echo no; exit 3"}))
            .await,
        &["no\n", "[exit 3"],
    );
    let killed = place
        .says(ToolStatus::Failed, "bash", json!({"command": "kill -9 $$"}))
        .await;
    has(&killed, &["killed by SIGKILL"]);
    has(
        &place
            .says(ToolStatus::Failed, "bash", json!({"command": "no_such_program"}))
            .await,
        &["exit 127"],
    );
}

#[tokio::test]
async fn runs_in_the_workspace_with_a_plain_environment_and_no_input() {
    let place = Place::new();
    let said = place
        .ok(
            "bash",
            json!({"command": "pwd -P; echo $AGENTX $TERM $GIT_PAGER; cat; tty || true"}),
        )
        .await;
    has(
        &said,
        &[place.workspace.to_str().unwrap(), "1 dumb cat", "not a tty"],
    );
}

#[tokio::test]
async fn arguments_that_make_no_sense_are_answered() {
    let place = Place::new();
    let check = async |input, words: &str| {
        has(&place.says(ToolStatus::Invalid, "bash", input).await, &[words]);
    };
    check(json!({"command": "  "}), "empty").await;
    check(json!({"command": "a\0b"}), "NUL").await;
    check(json!({"command": "ls", "timeout_ms": 0}), "1 to 3600000").await;
    check(
        json!({"command": "ls", "timeout_ms": 99_999_999}),
        "run_in_background",
    )
    .await;
    check(json!({"cmd": "ls"}), "did you mean \"command\"?").await;
    let long = format!("true {}", "x".repeat(3_000_000));
    has(
        &place
            .says(ToolStatus::Failed, "bash", json!({"command": long}))
            .await,
        &["too long"],
    );
}

#[tokio::test]
async fn a_workspace_that_is_gone_is_named() {
    let place = Place::new();
    std::fs::remove_dir(&place.workspace).unwrap();
    has(
        &place
            .says(ToolStatus::Failed, "bash", json!({"command": "ls"}))
            .await,
        &["is not a directory"],
    );
}

#[tokio::test]
async fn nexus_6_a_hanging_command_is_stopped_when_its_time_is_up() {
    let place = Place::new();
    let command = "echo $$; trap '' TERM; sleep 1000 & wait; sleep 1000";
    let said = place
        .says(
            ToolStatus::TimedOut,
            "bash",
            json!({"command": command, "timeout_ms": 300}),
        )
        .await;
    has(&said, &["not done within 0.30 s"]);
    gone(said.lines().next().unwrap()).await;
}

/// Runs `command` until it has printed something, cancels it, and checks that each process whose id it
/// printed is gone when the call has ended.
async fn cancelled(command: &str) {
    let mut place = Place::new();
    let call = tokio::spawn(
        place
            .toolbox
            .get("bash")
            .unwrap()
            .call(json!({"command": command}), place.context()),
    );
    let mut pids = String::new();
    while !pids.contains("ready") {
        pids.push_str(&place.next_chunk().await);
    }
    place.cancel.cancel();
    let outcome = tokio::time::timeout(BOUND, call)
        .await
        .expect("the call ends")
        .unwrap();
    assert_eq!(outcome.status, ToolStatus::Interrupted);
    has(&text(&outcome), &["interrupted after"]);
    for pid in pids.lines().filter(|line| !line.contains("ready")) {
        gone(pid).await;
    }
}

#[tokio::test]
async fn cancel_ends_a_plain_command() {
    cancelled("echo $$; echo ready; sleep 1000").await;
}

#[tokio::test]
async fn cancel_ends_what_ignores_sigterm() {
    cancelled("trap '' TERM INT HUP; echo $$; echo ready; while :; do sleep 1000; done").await;
}

#[tokio::test]
async fn cancel_ends_a_stopped_command() {
    cancelled("echo $$; echo ready; kill -STOP $$; sleep 1000").await;
}

#[tokio::test]
async fn cancel_ends_many_children() {
    cancelled("for i in $(seq 50); do (sleep 1000 & echo $!; wait) & done; wait_for() { :; }; sleep 0.3; echo ready; wait").await;
}

#[tokio::test]
async fn cancel_ends_what_left_the_group_by_a_double_fork() {
    let escape = "setsid bash -c 'trap \"\" TERM; (sleep 1000 & echo $!); echo $$; sleep 1000' & sleep 0.3; echo ready; wait";
    cancelled(escape).await;
}

#[tokio::test]
async fn cancel_ends_a_daemon_whose_parent_is_gone() {
    cancelled("(setsid bash -c 'echo $$; exec sleep 1000' &); sleep 0.3; echo ready; sleep 1000").await;
}

#[tokio::test]
async fn cancel_ends_a_fork_bomb() {
    cancelled("b() { for i in 1 2 3; do sleep 0.02; if [ $1 -gt 0 ]; then b $(($1 - 1)) & fi; done; sleep 1000; }; echo $$; echo ready; b 3").await;
}

#[tokio::test]
async fn a_call_that_is_dropped_leaves_nothing() {
    let mut place = Place::new();
    let call = tokio::spawn(
        place
            .toolbox
            .get("bash")
            .unwrap()
            .call(json!({"command": "echo $$; sleep 1000"}), place.context()),
    );
    let pid = place.next_chunk().await;
    call.abort();
    gone(&pid).await;
}

#[tokio::test]
async fn a_call_that_is_cancelled_before_it_starts_does_nothing() {
    let place = Place::new();
    place.cancel.cancel();
    place
        .says(ToolStatus::Interrupted, "bash", json!({"command": "touch made"}))
        .await;
    assert!(!place.workspace.join("made").exists());
}

#[tokio::test]
async fn a_flood_is_read_to_its_end_in_bounded_memory() {
    let mut place = Place::new();
    let outcome = place
        .call("bash", json!({"command": "head -c 256000000 /dev/zero"}))
        .await;
    assert_eq!(outcome.status, ToolStatus::Success);
    let said = text(&outcome);
    assert!(said.len() < 200_000, "{}", said.len());
    has(
        &said,
        &["244 MiB left out", "its beginning is kept: read {\"blob\": \"b3_"],
    );
    let details = outcome.details.unwrap();
    assert_eq!(details["output_bytes"], 256_000_000);
    assert_eq!(place.blobs.get(details["blob"].as_str().unwrap()).len(), 16 << 20);
    let chunks = place.chunks();
    let shown: usize = chunks.iter().map(|chunk| chunk.text.len()).sum();
    assert!(shown < (256 << 10) + 200, "{shown}");
    assert!(chunks.iter().all(|chunk| chunk.text.len() <= 8 << 10));
    let note = chunks.last().unwrap();
    assert_eq!(note.channel, OutputChannel::Progress);
    assert!(
        note.text.starts_with("\n[there is more"),
        "a line of its own: {:?}",
        note.text
    );
}

#[tokio::test]
async fn an_endless_flood_is_stopped() {
    let bash = BashOptions {
        kill_bytes: 4 << 20,
        ..BashOptions::default()
    };
    let place = Place::with(ToolOptions {
        bash,
        ..ToolOptions::default()
    });
    let said = place
        .says(ToolStatus::Failed, "bash", json!({"command": "yes"}))
        .await;
    has(&said, &["stopped after", "of output; send it to a file"]);
}

#[tokio::test]
async fn a_slow_session_does_not_hold_the_kill() {
    let mut place = Place::new();
    let (events, _held) = tokio::sync::mpsc::channel(1);
    place.fill_queue(events);
    let call = place
        .toolbox
        .get("bash")
        .unwrap()
        .call(json!({"command": "od -v /dev/zero"}), place.context());
    let cancel = place.cancel.clone();
    let call = tokio::spawn(call);
    let pid = loop {
        tokio::task::yield_now().await;
        if let Some(pid) = support::find_process("od") {
            break pid;
        }
    };
    cancel.cancel();
    gone(&pid).await;
    call.abort();
}

#[tokio::test]
async fn the_middle_of_long_output_can_be_read_on() {
    let place = Place::new();
    let outcome = place.call("bash", json!({"command": "seq 20000"})).await;
    let said = text(&outcome);
    has(&said, &["1\n2\n3\n", "\n20000\n", "all of it is kept"]);
    let details = outcome.details.unwrap();
    let whole: String = (1..=20000).map(|number| format!("{number}\n")).collect();
    assert_eq!(
        place.blobs.get(details["blob"].as_str().unwrap()),
        whole.as_bytes()
    );
    let offset: u64 = said
        .split("\"offset\": ")
        .nth(1)
        .unwrap()
        .split('}')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    let on = place
        .ok(
            "read",
            json!({"blob": details["blob"], "offset": offset, "limit": 1}),
        )
        .await;
    has(&on, &[&format!("{offset:>6}\t{offset}\n")]);
    assert!(said.contains(&format!("\n{}\n", offset - 1)) && !said.contains(&format!("\n{offset}\n")));
}

#[tokio::test]
async fn output_that_cannot_be_kept_is_still_shown() {
    let place = Place::new();
    *place.blobs.full.lock().unwrap() = true;
    has(
        &place.ok("bash", json!({"command": "seq 20000"})).await,
        &["1\n2\n", "it could not be kept: no space left"],
    );
}

#[tokio::test]
async fn output_is_text_whatever_comes() {
    let mut place = Place::new();
    let said = place
        .ok(
            "bash",
            json!({"command": r"printf 'a\xff\xe4\xbd'; sleep 0.05; printf '\xa0b\xe4'"}),
        )
        .await;
    has(&said, &["a\u{FFFD}你b\u{FFFD}\n[exit 0"]);
    let chunks: String = place.chunks().into_iter().map(|chunk| chunk.text).collect();
    assert_eq!(chunks, "a\u{FFFD}你b\u{FFFD}");
}

#[tokio::test]
async fn output_comes_while_it_runs() {
    let mut place = Place::new();
    let call = tokio::spawn(place.toolbox.get("bash").unwrap().call(
        json!({"command": "echo one; read x < gate; echo $x"}),
        {
            std::process::Command::new("mkfifo")
                .arg(place.workspace.join("gate"))
                .status()
                .unwrap();
            place.context()
        },
    ));
    assert_eq!(place.next_chunk().await, "one\n");
    tokio::fs::write(place.workspace.join("gate"), "two\n")
        .await
        .unwrap();
    has(&text(&call.await.unwrap()), &["one\ntwo\n[exit 0"]);
}

#[tokio::test]
async fn what_holds_the_pipe_does_not_hold_the_call_and_becomes_a_job() {
    let place = Place::new();
    let outcome = place
        .call(
            "bash",
            json!({"command": "(sleep 1; echo late; sleep 1000) & echo $!"}),
        )
        .await;
    assert_eq!(outcome.details.as_ref().unwrap()["job"], "job_1");
    let said = text(&outcome);
    has(&said, &["[exit 0", "still runs, as job_1"]);
    let pid = said.lines().next().unwrap();
    has(
        &place.ok("job", json!({"id": "job_1", "wait_ms": 30_000})).await,
        &["late\n[job_1 runs"],
    );
    has(
        &place.ok("job", json!({"id": "job_1", "kill": true})).await,
        &["interrupted"],
    );
    gone(pid).await;
}

#[tokio::test]
async fn what_runs_on_silently_becomes_a_job() {
    let place = Place::new();
    let said = place
        .ok("bash", json!({"command": "sleep 1000 >/dev/null 2>&1 & echo $!"}))
        .await;
    has(&said, &["still runs, as job_1"]);
    place.toolbox.shutdown(&place.session).await;
    gone(said.lines().next().unwrap()).await;
}

#[tokio::test]
async fn what_is_left_is_killed_where_no_job_is_free() {
    let bash = BashOptions {
        max_jobs: 0,
        ..BashOptions::default()
    };
    let place = Place::with(ToolOptions {
        bash,
        ..ToolOptions::default()
    });
    let said = place.ok("bash", json!({"command": "sleep 1000 & echo $!"})).await;
    has(&said, &["[exit 0", "was killed: too many jobs"]);
    gone(said.lines().next().unwrap()).await;
}

#[tokio::test]
async fn jobs_are_polled_and_killed() {
    let place = Place::new();
    has(&place.ok("job", json!({})).await, &["no jobs"]);
    let command = "echo $$; read x < gate; echo $x; sleep 1000";
    std::process::Command::new("mkfifo")
        .arg(place.workspace.join("gate"))
        .status()
        .unwrap();
    has(
        &place
            .ok("bash", json!({"command": command, "run_in_background": true}))
            .await,
        &["Started job_1"],
    );
    let first = place.ok("job", json!({"id": "job_1", "wait_ms": 30_000})).await;
    has(&first, &["[job_1 runs, "]);
    tokio::fs::write(place.workspace.join("gate"), "next\n")
        .await
        .unwrap();
    let second = place.ok("job", json!({"id": "job_1", "wait_ms": 30_000})).await;
    assert!(second.starts_with("next\n[job_1 runs"), "{second}");
    has(&place.ok("job", json!({})).await, &["job_1 runs", "echo $$"]);
    has(
        &place.ok("job", json!({"id": "job_1", "kill": true})).await,
        &["[job_1 interrupted after"],
    );
    gone(first.lines().next().unwrap()).await;
    has(
        &place
            .says(ToolStatus::Failed, "job", json!({"id": "job_7"}))
            .await,
        &["no job \"job_7\"", "job_1 interrupted"],
    );
}

#[tokio::test]
async fn a_job_tells_its_end() {
    let place = Place::new();
    place
        .ok(
            "bash",
            json!({"command": "echo done; exit 4", "run_in_background": true}),
        )
        .await;
    let mut said = String::new();
    while !said.contains("exit 4") {
        said.push_str(&place.ok("job", json!({"id": "job_1", "wait_ms": 30_000})).await);
    }
    has(&said, &["done\n"]);
}

#[tokio::test]
async fn jobs_are_bounded_and_belong_to_their_session() {
    let bash = BashOptions {
        max_jobs: 2,
        ..BashOptions::default()
    };
    let mut place = Place::with(ToolOptions {
        bash,
        ..ToolOptions::default()
    });
    let start = json!({"command": "sleep 1000", "run_in_background": true});
    place.ok("bash", start.clone()).await;
    place.ok("bash", start.clone()).await;
    has(
        &place.says(ToolStatus::Failed, "bash", start.clone()).await,
        &["2 jobs run already"],
    );
    place.session = "ses_other".into();
    has(&place.ok("job", json!({})).await, &["no jobs"]);
    has(&place.ok("bash", start).await, &["Started job_1"]);
}

#[tokio::test]
async fn a_job_that_floods_keeps_its_newest_output() {
    let bash = BashOptions {
        backlog_bytes: 1000,
        ..BashOptions::default()
    };
    let place = Place::with(ToolOptions {
        bash,
        ..ToolOptions::default()
    });
    place
        .ok(
            "bash",
            json!({"command": "seq 100000; echo end > made", "run_in_background": true}),
        )
        .await;
    while !place.ok("job", json!({})).await.contains("exit 0") {
        tokio::task::yield_now().await;
    }
    let said = place.ok("job", json!({"id": "job_1"})).await;
    has(&said, &["before this are lost]", "\n100000\n[job_1 exit 0"]);
}

#[tokio::test]
async fn jobs_end_with_the_toolbox() {
    let place = Place::new();
    place
        .ok(
            "bash",
            json!({"command": "echo $$; sleep 1000", "run_in_background": true}),
        )
        .await;
    let said = place.ok("job", json!({"id": "job_1", "wait_ms": 30_000})).await;
    let pid = said.lines().next().unwrap().to_owned();
    drop(place);
    gone(&pid).await;
}

#[tokio::test]
async fn a_background_command_has_a_time_limit_if_it_is_given_one() {
    let place = Place::new();
    place
        .ok(
            "bash",
            json!({"command": "sleep 1000", "run_in_background": true, "timeout_ms": 100}),
        )
        .await;
    has(
        &place.ok("job", json!({"id": "job_1", "wait_ms": 30_000})).await,
        &["[job_1 stopped: not done"],
    );
}

#[tokio::test]
async fn many_calls_at_once_keep_apart() {
    let place = Place::new();
    let calls: Vec<_> = (0..20)
        .map(|number| {
            let input = json!({"command": format!("echo {number}; sleep 0.0{number}; echo {number}")});
            tokio::spawn(place.toolbox.get("bash").unwrap().call(input, place.context()))
        })
        .collect();
    for (number, call) in calls.into_iter().enumerate() {
        let outcome = tokio::time::timeout(Duration::from_secs(60), call)
            .await
            .unwrap()
            .unwrap();
        assert!(text(&outcome).starts_with(&format!("{number}\n{number}\n[exit 0")));
    }
}
