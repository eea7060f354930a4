//! `shell`: a bash that stays from one call to the next, on a terminal of its own.
//!
//! The shell reads its commands from a pipe and gives programs the terminal as their input, so nothing that
//! is typed for a program can become a command. It says by an escape sequence when a command has ended. A
//! call waits for that a bounded time; then the program continues, and later calls type into it, wait for it
//! or end it. The shell carries a mark like each command of `bash`, and all processes of its terminal end
//! with the session, also after this program was killed.

mod prompt_scanner;
mod running_shell;
mod screen;
mod script;
mod shell_pipe;
mod shell_report;
mod shells;
mod standing_place;
mod terminal;
mod tools;
mod typed_line;

pub(crate) use shells::LastingShells;
pub(crate) use tools::{ShellInputTool, ShellTool, ShellWaitTool};

/// The tool that runs command lines in the shell.
const SHELL: &str = "shell";
/// The tool that types into the program that runs.
const SHELL_INPUT: &str = "shell_input";
/// The tool that waits for the program that runs.
const SHELL_WAIT: &str = "shell_wait";
