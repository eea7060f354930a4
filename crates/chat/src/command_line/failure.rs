//! Reports a command that failed: in words on standard error, and for a program that reads JSON also as an
//! object on standard output.

use serde_json::json;

use crate::error::ChatError;
use crate::exit::Exit;
use crate::run_result::RunResult;
use crate::terminal::console::Console;

/// The form of a failure on standard output, if the command has written nothing there yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureOutput {
    /// Nothing: people read it.
    Nothing,
    /// An object with `error`.
    Error,
    /// The result of a run.
    RunResult,
}

/// Says why a command failed. Returns the exit of the program.
pub fn fail(error: ChatError, output: FailureOutput, console: &mut Console) -> Exit {
    let result = RunResult::failed(error);
    let server = console.server.clone();
    let written = match (output, &result.error) {
        // A second document would break the first.
        _ if console.has_written() => Ok(()),
        (FailureOutput::RunResult, _) => console.out_json(&result.to_json(server.as_deref())),
        (FailureOutput::Error, Some(error)) => {
            console.out_pretty(&json!({ "error": error.to_json(server.as_deref()) }))
        }
        (FailureOutput::Error | FailureOutput::Nothing, _) => Ok(()),
    };
    // Standard error also has it.
    let _ = written.and_then(|()| console.flush());
    if let Some(error) = &result.error {
        console.complain(error);
    }
    result.exit()
}
