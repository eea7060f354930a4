//! The helper on Linux: it applies a policy to itself and executes the command.

mod bind_mounts;
mod bpf;
mod control_group;
mod first_process;
mod held_program;
mod helper;
mod kernel;
mod landlock;
mod mounts;
mod namespace;
mod proxy_door;
mod restrictions;
mod seccomp;
mod template;
mod template_client;
mod template_command;
mod template_request;

pub(crate) use helper::helper_main;
pub(crate) use kernel::{landlock_abi, receive_descriptor, send_bytes, send_descriptor};
pub(crate) use template_client::Templates;
