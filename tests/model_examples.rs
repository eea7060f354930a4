//! The examples with a model behind a real socket, over the protocol of each provider: what a person sees is
//! the same, each agent's stream apart, and the model is asked what it has to be asked and nothing more.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use agentx_tests::teller::{Provider, Teller};
use agentx_tests::{Ran, Running, World, workspace_root};

/// Runs an example; how it ended, and how often the model was asked.
fn run(provider: Provider, example: &str, args: &[&str]) -> (Ran, usize) {
    let (teller, world) = (Teller::start(), World::new("http://127.0.0.1:9"));
    let folder = workspace_root().join("examples").join(example);
    let mut all = vec!["run", "--yes", "--agent", example];
    all.extend(args);
    let mut command = world.command(&all);
    teller.serves(provider, "sk-made-up", &mut command);
    command.current_dir(folder);
    let ran = Running::start(command).end().exits(0);
    (ran, teller.take().0.len())
}

/// The lines of each agent, by its name.
fn streams(out: &str) -> BTreeMap<&str, Vec<&str>> {
    let mut streams: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in out.lines() {
        let (name, said) = line
            .split_once(" │ ")
            .unwrap_or_else(|| panic!("whose is {line:?}?"));
        streams.entry(name).or_default().push(said);
    }
    streams
}

#[test]
fn a_router_says_who_speaks_over_each_protocol() {
    for (prompt, names, asked) in [
        ("play Clair de lune by Debussy", &["music"][..], 1),
        ("I would like to hear something by Satie", &["music"], 2),
        ("How are you?", &["chat"], 2),
        ("讲一个关于海的故事", &["teller"], 1),
    ] {
        let outs = Provider::ALL.map(|provider| {
            let (ran, requests) = run(provider, "router", &["--streams", prompt]);
            assert_eq!(requests, asked, "{provider:?}, {prompt}: {ran}");
            let found: Vec<&str> = streams(&ran.out).into_keys().collect();
            assert_eq!(found, names, "{provider:?}, {prompt}: {ran}");
            ran.out
        });
        assert_eq!(outs[0], outs[1], "{prompt}");
    }
}

#[test]
fn a_story_is_told_by_each_of_its_agents_over_each_protocol() {
    let outs = Provider::ALL.map(|provider| {
        let (ran, requests) = run(provider, "story", &["--streams", "A story of the sea"]);
        assert_eq!(requests, 24, "{provider:?}: {ran}");
        let streams = streams(&ran.out);
        let names: Vec<&str> = streams.keys().copied().collect();
        assert_eq!(
            names,
            ["Ada", "Ben", "director", "story", "writer", "小月"],
            "{provider:?}: {ran}"
        );
        assert_eq!(streams["director"].len(), 12, "nine speak, three chapters end");
        for name in ["Ada", "Ben", "小月"] {
            // What the script emits has each line that somebody speaks, with their name.
            let emitted = streams["story"]
                .iter()
                .filter_map(|line| line.trim().strip_prefix("│ "));
            let said: Vec<&str> = emitted
                .filter_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
                .collect();
            assert_eq!(
                streams[name]
                    .iter()
                    .map(|line| line.trim_end())
                    .collect::<Vec<_>>(),
                said,
                "{name}"
            );
        }
        ran.out
            .lines()
            .filter(|line| !line.contains("✓ "))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    });
    assert_eq!(outs[0], outs[1]);
}

/// Runs the `run.sh` of an example, which proves itself.
#[cfg(unix)]
fn run_script(example: &str) -> Ran {
    let mut command = std::process::Command::new("bash");
    command
        .arg(workspace_root().join("examples").join(example).join("run.sh"))
        .env("AGENTX", agentx_tests::program())
        .env("AGENTX_MOCK", agentx_tests::mock());
    Running::start(command).end().exits(0)
}

#[cfg(unix)]
#[test]
fn each_example_with_agents_proves_itself() {
    for (example, last) in [
        ("router", "each input went to its agents"),
        ("story", "the story is the same"),
        ("weather", "the service was asked"),
    ] {
        let ran = run_script(example);
        assert_eq!(ran.out.lines().last(), Some(last), "{example}: {ran:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_payroll_that_is_killed_in_the_middle_pays_everybody_once() {
    let ran = run_script("payroll");
    assert!(ran.out.ends_with("everybody was paid once, twice\n"), "{ran:?}");
    let killed: Vec<&str> = ran
        .out
        .lines()
        .filter(|line| line.starts_with("killed"))
        .collect();
    let expected = [
        "killed before-bob; the book has: ada 100",
        "killed after-bob; the book has: ada 100,bob 200",
    ];
    assert_eq!(killed, expected);
}
