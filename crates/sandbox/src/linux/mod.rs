//! The helper on Linux: it applies a policy to itself and executes the command.

mod held_program;
mod helper;
mod kernel;
mod landlock;
mod mounts;
mod namespace;
mod restrictions;
mod seccomp;

pub(crate) use helper::helper_main;
pub(crate) use kernel::landlock_abi;
