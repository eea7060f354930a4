//! The sandbox policy of a command, as data; and on Linux the helper that enforces it.
//!
//! Rules decide whether a command may start. This crate limits what it can do after that: a [`SandboxPolicy`]
//! names the directories that it may read and write, whether it has a network, and the [`SandboxStep`] that
//! enforces this. The steps make different promises; [`promises`] lists them as a table.
//!
//! A program that starts commands starts its own executable as a helper instead (see [`SandboxLauncher`]).
//! The helper applies the policy to itself and executes the command, so that nothing happens between `fork`
//! and `exec` in a program with many threads. The sandbox is never weaker than requested: if a step does not
//! work, the helper exits with [`HELPER_FAILED`] and the reason, unless the policy is best effort.

mod caches;
mod command_place;
mod diagnosis;
mod found_paths;
mod git_settings;
#[cfg(unix)]
mod held_process;
mod helper;
mod helper_words;
mod landlock_version;
mod launcher;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod linux;
mod network;
mod path_access;
mod policy;
mod probe;
mod probe_failure;
mod profile;
mod promises;
#[cfg(unix)]
mod proxy_listener;
mod refusal;
mod repository;
mod repository_around;
mod secrets;
mod step;
mod temporary;
mod tool_settings;

pub use caches::{NamedCaches, OWN_CACHES, caches_in_variables};
pub use command_place::CommandPlace;
pub use diagnosis::{SandboxFinding, diagnose};
#[cfg(unix)]
pub use held_process::{HeldProcess, TemplateStart};
pub use helper::{HELPER, act_as_helper};
pub use launcher::{SandboxLauncher, SandboxedCommand};
pub use network::{HostPattern, SandboxNetwork, host_and_port, normal_host};
pub use path_access::{PathAccess, RefusedPath};
pub use policy::{SandboxLimits, SandboxPaths, SandboxPolicy, SymbolicLink};
pub use probe::SandboxSupport;
pub use profile::{SandboxProfile, hidden_variables};
pub use promises::{Promise, promises};
#[cfg(unix)]
pub use proxy_listener::{ProxyListener, receive_listener, send_input};
pub use refusal::SandboxRefusal;
pub use step::{SandboxError, SandboxMode, SandboxStep};
pub use temporary::remove_temporary_directories;

/// The exit code of the helper if it could not hold the command, and so did not start it.
pub const HELPER_FAILED: u8 = 125;
