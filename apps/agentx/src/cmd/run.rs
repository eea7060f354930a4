//! `agentx run`: one prompt, one answer. Standard output is data, standard error is how it goes, the exit code is how
//! it ended.

mod approver;
mod ending;
mod headless;
mod prompt;

use crate::args::{Global, OutputFormat, RunArgs};
use crate::cmd::block_on;
use crate::console::Console;
use crate::error::CliError;
use crate::exit::Exit;
use crate::render::result::RunResult;

/// Runs the prompt. A result object ends every machine-readable output, whatever happened.
pub(crate) fn run(global: &Global, args: &mut RunArgs, console: &mut Console) -> Result<Exit, CliError> {
    if global.json && args.output_format == OutputFormat::Text {
        args.output_format = OutputFormat::Json;
    }
    let result = match block_on(headless::run(global, args, console)) {
        Err(CliError::ClosedOutput) => return Err(CliError::ClosedOutput),
        Err(error) => RunResult::failed(error),
        Ok(result) => result,
    };
    if args.output_format != OutputFormat::Text {
        console.out_json(&result.to_json())?;
        console.flush()?;
    }
    if let Some(error) = &result.error {
        console.say(&error.render());
    }
    Ok(result.exit())
}
