//! The way into the helper: the first line of a `main`.

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

/// The word on the command line with which a program becomes the helper.
pub const HELPER: &str = "__sandbox";
/// Whether this program checked at its start that it is the helper. A program that did not would do its own
/// work instead of the helper's.
static ASKED: AtomicBool = AtomicBool::new(false);

/// Acts as the helper if this process was started as one; `None` if it was not. Make it the first line of
/// `main`, before anything starts a thread, and return what it returns:
///
/// ```
/// use std::process::ExitCode;
///
/// fn main() -> ExitCode {
///     if let Some(ended) = agentx_sandbox::act_as_helper() {
///         return ended;
///     }
///     // The program itself.
///     ExitCode::SUCCESS
/// }
/// ```
///
/// Only then can a [`SandboxLauncher`](crate::SandboxLauncher) use this program as its helper. On systems
/// other than Linux it always returns `None`.
pub fn act_as_helper() -> Option<ExitCode> {
    ASKED.store(true, Ordering::Relaxed);
    let mut words = std::env::args_os().skip(1);
    let is_helper = words.next().is_some_and(|word| word == HELPER);
    is_helper.then(|| run(words)).flatten()
}

/// Returns whether this program can be its own helper.
pub(crate) fn can_be_helper() -> bool {
    ASKED.load(Ordering::Relaxed)
}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
fn run(words: impl Iterator<Item = std::ffi::OsString>) -> Option<ExitCode> {
    Some(crate::linux::helper_main(words))
}

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
fn run(_: impl Iterator<Item = std::ffi::OsString>) -> Option<ExitCode> {
    None
}
