//! A crate outside of the workspace that depends on `agentx` by its path, and on nothing else of it, compiles: the features that the
//! facade itself turns on are enough. What it does when it runs is seen in `examples.rs`, which runs the same program.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/mod.rs"]
mod support;

use std::time::Duration;

use support::{build_folder, cargo, printed, workspace};

/// Everything that it depends on is built again where its features differ from those of the workspace.
const BOUND: Duration = Duration::from_secs(580);

/// The workspace's profile, so that what is built already is not built again.
fn profile() -> String {
    let manifest = std::fs::read_to_string(workspace().join("Cargo.toml")).unwrap();
    let from = manifest.find("[profile.dev]").unwrap();
    manifest[from..].to_owned()
}

#[tokio::test]
async fn a_crate_that_depends_on_the_facade_alone_compiles() {
    let workspace = workspace();
    let folder = build_folder().1.join("outside");
    std::fs::create_dir_all(folder.join("src")).unwrap();
    let manifest = format!(
        "[package]\nname = \"outside\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n\
         agentx = {{ path = {:?} }}\ntokio = {{ version = \"1\", features = [\"macros\", \"rt-multi-thread\"] }}\n\n{}",
        workspace.join("crates/agentx"),
        profile()
    );
    std::fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    std::fs::copy(workspace.join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    std::fs::copy(
        workspace.join("crates/agentx/examples/weather.rs"),
        folder.join("src/main.rs"),
    )
    .unwrap();
    // Checked and not built: building would compile every dependency a second time, with other features than those of the tests.
    let mut check = cargo(&["check"]);
    printed(check.current_dir(&folder), BOUND).await;
}
