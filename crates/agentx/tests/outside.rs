//! Builds, runs and tests a crate outside the workspace that depends on `agentx` by its path and on nothing
//! else of it, with the default features of the facade. The crate is `tests/outside`.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use crate::support::{build_folder, cargo, printed, workspace};

/// Its dependencies are built again if their features differ from those of the workspace.
const BOUND: Duration = Duration::from_secs(580);

/// A hello with a tool compiles no more crates than these, itself among them: 128, as docs/LIBRARY.md says,
/// and one.
const MOST_CRATES: usize = 129;

/// The workspace's profile, so that what is built already is not built again. It optimises dependencies, and
/// here our crates are dependencies: they are built without optimisations, which takes half the time.
fn profile() -> String {
    let manifest = std::fs::read_to_string(workspace().join("Cargo.toml")).unwrap();
    let from = manifest.find("[profile.dev]").unwrap();
    let mut profile = manifest[from..].to_owned();
    for folder in std::fs::read_dir(workspace().join("crates")).unwrap() {
        let folder = folder.unwrap().file_name().into_string().unwrap();
        let name = if folder == "agentx" {
            folder
        } else {
            format!("agentx-{folder}")
        };
        let table = format!("[profile.dev.package.{name}]\n");
        let plain = format!("{table}opt-level = 0\n");
        if profile.contains(&table) {
            profile = profile.replace(&format!("{table}opt-level = 1\n"), &plain);
        } else {
            profile.push_str(&format!("\n{plain}"));
        }
    }
    profile
}

/// The crate in a folder of this build, with the versions and the profile of the workspace.
fn outside() -> std::path::PathBuf {
    let (workspace, folder) = (workspace(), build_folder().1.join("outside"));
    let there = workspace.join("tests/outside");
    std::fs::create_dir_all(folder.join("src")).unwrap();
    let manifest = std::fs::read_to_string(there.join("Cargo.toml")).unwrap();
    let here = "\"../../crates/agentx\"";
    assert!(manifest.contains(here));
    let manifest = manifest.replace(here, &format!("{:?}", workspace.join("crates/agentx")));
    std::fs::write(folder.join("Cargo.toml"), format!("{manifest}\n{}", profile())).unwrap();
    std::fs::copy(workspace.join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    std::fs::copy(there.join("src/main.rs"), folder.join("src/main.rs")).unwrap();
    folder
}

#[tokio::test]
async fn a_crate_that_depends_on_the_facade_alone_is_built_run_and_tested() {
    let folder = outside();
    let said = printed(cargo(&["run"]).current_dir(&folder), BOUND).await;
    let lines: Vec<&str> = said.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(
        lines,
        ["hello", "Bought: {\"city\":\"Rome\",\"euros\":60}", "once"]
    );
    let tested = printed(cargo(&["test"]).current_dir(&folder), BOUND).await;
    assert!(tested.contains("test result: ok. 1 passed"), "{tested}");
    // The whole tree of a hello with a tool: what is compiled before it is.
    let mut tree = tokio::process::Command::new(env!("CARGO"));
    tree.args([
        "tree",
        "--offline",
        "--edges",
        "normal,build",
        "--prefix",
        "none",
        "--format",
        "{p}",
    ]);
    let crates = printed(tree.current_dir(&folder), BOUND).await;
    let names = crates.lines().map(|line| line.trim_end_matches(" (*)"));
    let names: std::collections::BTreeSet<&str> = names.filter(|line| !line.is_empty()).collect();
    assert!(names.len() <= MOST_CRATES, "{} crates: {names:?}", names.len());
    for heavy in [
        "mlua",
        "rusqlite",
        "axum",
        "grep-searcher",
        "jaq-core",
        "tokio-tungstenite",
        "serde-saphyr",
    ] {
        assert!(
            names.iter().all(|name| !name.starts_with(heavy)),
            "a hello needs no {heavy}"
        );
    }
}
