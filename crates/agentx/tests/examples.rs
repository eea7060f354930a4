//! Each example is short, and prints the promised output on the scripted environment, without a key.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::PathBuf;
use std::time::Duration;

use crate::support::{build_folder, cargo, printed, run, workspace};
use tokio::process::Command;
use tokio::sync::OnceCell;

/// An example has fewer lines than this.
const MOST_LINES: usize = 80;
/// Nothing here takes longer.
const BOUND: Duration = Duration::from_secs(60);
/// But for what is not built yet.
const BUILD: Duration = Duration::from_secs(500);

static BUILT: OnceCell<()> = OnceCell::const_new();

/// The folder of the examples: the one that `AGENTX_TEST_EXAMPLES` names, or else `target/debug/examples`,
/// once they are built.
async fn examples() -> PathBuf {
    if let Some(named) = std::env::var_os("AGENTX_TEST_EXAMPLES") {
        return named.into();
    }
    BUILT
        .get_or_init(|| async {
            let mut build = cargo(&["build", "-p", "agentx", "--examples"]);
            let output = run(build.current_dir(workspace()), BUILD).await;
            assert!(
                output.status.success(),
                "{}",
                String::from_utf8_lossy(&output.stderr)
            );
        })
        .await;
    build_folder().0.join("examples")
}

/// An example, in a home without configuration, and without a key.
async fn example(name: &str, home: &tempfile::TempDir) -> Command {
    let mut command = Command::new(examples().await.join(name));
    command
        .env_clear()
        .env("HOME", home.path())
        .current_dir(home.path());
    if let Some(root) = std::env::var_os("SYSTEMROOT") {
        command.env("SYSTEMROOT", root);
    }
    command
}

#[track_caller]
fn same(printed: &str, expected: &[&str]) {
    let lines: Vec<&str> = printed.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(lines, expected);
}

#[test]
fn examples_are_short() {
    let folder = workspace().join("crates/agentx/examples");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let lines = std::fs::read_to_string(&path).unwrap().lines().count();
        assert!(lines < MOST_LINES, "{} has {lines} lines", path.display());
        seen += 1;
    }
    assert_eq!(seen, 13, "each of them has a test here");
}

#[tokio::test]
async fn weather_is_an_agent_with_a_tool_in_eleven_lines() {
    let code = std::fs::read_to_string(workspace().join("crates/agentx/examples/weather.rs")).unwrap();
    let lines = code
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with("//!"));
    assert!(lines.count() <= 11);
    let home = tempfile::tempdir().unwrap();
    let printed = printed(&mut example("weather", &home).await, BOUND).await;
    same(
        &printed,
        &[
            "`weather` answered with 1 line:",
            "```",
            "It is sunny in Rome.",
            "```",
        ],
    );
}

#[tokio::test]
async fn stream_shows_words_and_tools_as_they_come() {
    let home = tempfile::tempdir().unwrap();
    let printed = printed(&mut example("stream", &home).await, BOUND).await;
    let lines: Vec<&str> = printed.lines().collect();
    for line in [
        "→ local-time {\"city\":\"Paris\"}",
        "→ local-time {\"city\":\"Rome\"}",
        "← Success: 18:30 in Paris",
        "← Success: 18:30 in Rome",
        "(2 model calls)",
    ] {
        assert!(lines.contains(&line), "{line:?} is not in\n{printed}");
    }
    assert!(
        printed.starts_with("I will use `local-time` for that."),
        "{printed}"
    );
}

#[tokio::test]
async fn context_gives_each_run_its_own_values() {
    let home = tempfile::tempdir().unwrap();
    let printed = printed(&mut example("context", &home).await, BOUND).await;
    same(
        &printed,
        &[
            "ada: `orders` answered with 1 line:",
            "```",
            "[\"tea\",\"rope\"]",
            "```",
            "bob: `orders` answered with 1 line:",
            "```",
            "[\"ink\"]",
            "```",
            "nobody: `orders` did not work. It said:",
            "```",
            "nobody is signed in",
            "```",
        ],
    );
}

#[tokio::test]
async fn cancel_reaches_the_model_the_tool_and_the_helper() {
    let home = tempfile::tempdir().unwrap();
    let printed = printed(&mut example("cancel", &home).await, BOUND).await;
    same(
        &printed,
        &[
            "begun: true",
            "somebody dives in Loch Ness",
            "the diver comes up",
            "delegate to diver: dive in Loch Ness: Interrupted",
            "still here",
        ],
    );
}

#[tokio::test]
async fn steer_is_read_before_the_next_answer() {
    let home = tempfile::tempdir().unwrap();
    let printed = printed(&mut example("steer", &home).await, BOUND).await;
    same(
        &printed,
        &[
            "first_line {\"title\":\"Moby-Dick\"}",
            "first_line {\"title\":\"Emma\"}",
            "`first_line` answered with 1 line:",
            "```",
            "“Call me the first line of Emma.”",
            "```",
        ],
    );
}

#[tokio::test]
async fn approve_later_goes_on_in_another_process() {
    let home = tempfile::tempdir().unwrap();
    let asked = printed(example("approve_later", &home).await.arg("bank"), BOUND).await;
    let lines: Vec<&str> = asked.lines().collect();
    assert!(
        lines[0].starts_with("awaited: transfer {\"amount\":100,\"to\":\"ada\"} ("),
        "{asked}"
    );
    let session = lines[1].strip_prefix("session ").unwrap();
    let decided = printed(
        example("approve_later", &home).await.args(["bank", session]),
        BOUND,
    )
    .await;
    same(
        &decided,
        &[
            "approved: transfer {\"amount\":100,\"to\":\"ada\"}",
            "`transfer` answered with 1 line:",
            "```",
            "ada has 100 euros more.",
            "```",
        ],
    );
    let again = printed(
        example("approve_later", &home).await.args(["bank", session]),
        BOUND,
    )
    .await;
    assert!(
        again.contains("ada has 100 euros more.") && !again.contains("approved"),
        "{again}"
    );
}

#[tokio::test]
async fn fork_goes_two_ways_from_one_point() {
    let home = tempfile::tempdir().unwrap();
    let printed = printed(&mut example("fork", &home).await, BOUND).await;
    same(
        &printed,
        &[
            "we meet in Lyon",
            "here: then north",
            "there: then south",
            "there: then the sea",
            "here: 4 messages, forked: false",
            "there: 6 messages, forked: true",
        ],
    );
}

#[tokio::test]
async fn reactor_brings_a_tool_replaces_the_model_and_watches_while_the_agent_runs() {
    let home = tempfile::tempdir().unwrap();
    let printed = printed(&mut example("reactor", &home).await, BOUND).await;
    same(
        &printed,
        &[
            "`next_train` answered with 1 line:",
            "```",
            "The next train to Rome leaves at 10:04.",
            "```",
            "The ticket office is closed.",
            "1 call of a tool was heard",
        ],
    );
}

#[tokio::test]
async fn replaced_service_gives_another_persona_from_the_next_run_on() {
    let home = tempfile::tempdir().unwrap();
    let printed = printed(&mut example("replaced_service", &home).await, BOUND).await;
    same(
        &printed,
        &[
            "You are the personal assistant of the person you talk to. Answer in their language, directly and briefly, and",
            "You are a pirate who hears: ahoy",
        ],
    );
}

#[tokio::test]
async fn embedded_server_serves_an_agent_of_the_program() {
    let home = tempfile::tempdir().unwrap();
    let printed = printed(&mut example("embedded_server", &home).await, BOUND).await;
    same(
        &printed,
        &[
            "`stock` answered with 1 line:",
            "```",
            "There are 3 of tea.",
            "```",
            "all is kept",
        ],
    );
}

#[tokio::test]
async fn environment_speaks_by_itself() {
    let home = tempfile::tempdir().unwrap();
    let printed = printed(&mut example("environment", &home).await, BOUND).await;
    same(&printed, &["I close the windows."]);
}

#[tokio::test]
async fn provider_is_a_model_of_ones_own() {
    let home = tempfile::tempdir().unwrap();
    let printed = printed(&mut example("provider", &home).await, BOUND).await;
    same(&printed, &["or 1 tea 2", "1 model calls"]);
}

#[tokio::test]
async fn scripted_test_needs_no_model() {
    let home = tempfile::tempdir().unwrap();
    let printed = printed(&mut example("scripted_test", &home).await, BOUND).await;
    same(&printed, &["Have a good journey!"]);
}
