//! The data that is kept outside of the project.

use std::path::{Path, PathBuf};

/// Returns this file or folder of the data; `None` if it is missing, after saying what is not run. In CI, a
/// missing one panics.
pub(crate) fn find(name: &str, what: &str) -> Option<PathBuf> {
    let root = std::env::var_os("AGENTX_TEST_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let path = root.join(name);
    if path.exists() {
        return Some(path);
    }
    assert!(
        std::env::var_os("CI").is_none(),
        "CI needs the data: set AGENTX_TEST_DATA"
    );
    println!("not run: {what} (nothing at {})", path.display());
    None
}
