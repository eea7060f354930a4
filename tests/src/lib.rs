//! Helpers of the tests and benchmarks that span several crates: where the workspace is, where data for tests
//! that is not part of it may be found, a model server to talk to, the program in a world of its own, a bad
//! network, and clients of a server.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a helper of tests fails by panicking, as tests do"
)]

mod leash;
mod model;
pub mod model_server;
mod process;
pub mod proxy;
mod random;
pub mod remote;
mod signed;
pub mod teller;
mod world;

pub use leash::Leash;
pub use model::Model;
pub use process::{Ran, Running};
pub use random::Random;
pub use signed::Signed;
pub use world::{KEY, World, mock, program};

use std::path::{Path, PathBuf};
use std::time::Duration;

/// Far longer than anything takes that a test waits for; a bound, not a measure.
pub const BOUND: Duration = Duration::from_secs(60);

/// The top of the workspace.
pub fn workspace_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the tests lie below the workspace")
        .to_owned()
}

/// Whether a check that cannot run here is a failure: on CI, unless `tests/run.sh` found that the package
/// registry, from which missing tools and crates are installed, cannot be reached. It then names each such
/// check at its end.
pub fn every_check_must_run() -> bool {
    std::env::var_os("CI").is_some() && std::env::var_os("AGENTX_TEST_OFFLINE").is_none()
}

/// The folder `name` of data for tests that is kept outside of the project, or `None` if it is missing.
///
/// It is looked for where `AGENTX_TEST_DATA` points, then at `../shared/data` from the workspace. If it is
/// missing, the caller says what it did not run: `what` names it.
///
/// # Panics
/// Panics if the data is missing and `CI` is set: a check that is not run must not look like one that passed.
pub fn test_data(name: &str, what: &str) -> Option<PathBuf> {
    let base = std::env::var_os("AGENTX_TEST_DATA")
        .map_or_else(|| workspace_root().join("../shared/data"), PathBuf::from);
    let folder = base.join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    let missing = format!("no test data {name} (set AGENTX_TEST_DATA): not run: {what}");
    if std::env::var_os("CI").is_some() {
        panic!("{missing}");
    }
    eprintln!("{missing}");
    None
}
