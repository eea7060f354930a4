//! The ways in which programs use their words and their input: they run other commands, read data, have
//! subcommands.

pub(super) mod data_consumers;
pub(super) mod git;
pub(super) mod indirect_programs;
pub(super) mod launchers;
pub(super) mod npm;
pub(super) mod subcommands;
pub(super) mod wrapper_commands;
