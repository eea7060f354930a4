//! `agentx run`: one prompt, one answer. Standard output carries the data, standard error the progress, the
//! exit code the outcome.

mod opening;
mod prompt;
pub(crate) mod session;

use agentx::types::SessionId;

use crate::args::{Global, OutputFormat, RunArgs};
use crate::cmd::block_on;
use crate::console::Console;
use crate::error::ChatError;
use crate::exit::Exit;
use crate::run_result::RunResult;

/// Runs the prompt. Every machine-readable output ends with a result object.
pub(crate) fn run(global: &Global, args: &mut RunArgs, console: &mut Console) -> Result<Exit, ChatError> {
    if global.json && args.output_format == OutputFormat::Text {
        args.output_format = OutputFormat::Json;
    }
    untangle(args, console.terminal.input);
    let result = match block_on(session::run(global, args, console)) {
        Err(ChatError::ClosedOutput) => return Ok(Exit::BrokenPipe),
        Err(error) => RunResult::failed(error),
        Ok(result) => result,
    };
    if args.output_format != OutputFormat::Text {
        let object = result.to_json(console.server.as_deref());
        match console.out_json(&object) {
            Err(ChatError::ClosedOutput) => return Ok(Exit::BrokenPipe),
            written => written?,
        }
    }
    match console.finish() {
        Err(ChatError::ClosedOutput) => return Ok(Exit::BrokenPipe),
        written => written?,
    }
    if let Some(error) = &result.error {
        console.complain(error);
    }
    Ok(result.exit())
}

/// `--resume "go on"` means the latest session and a prompt: a value that is not an id becomes the prompt if
/// the run would have none.
fn untangle(args: &mut RunArgs, no_input: bool) {
    let Some(value) = &mut args.session.resume else {
        return;
    };
    let is_id = value.is_empty() || value.starts_with(SessionId::PREFIX) || !args.prompt.is_empty();
    if !is_id && (no_input || value.contains(char::is_whitespace)) {
        args.prompt.push(std::mem::take(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use clap::Parser as _;

    #[test]
    fn a_prompt_after_resume_is_no_id() {
        for (typed, resume, prompt) in [
            (&["--resume", "go on"][..], "", "go on"),
            (&["--resume", "hello"], "", "hello"),
            (&["--resume", "ses_1", "hello"], "ses_1", "hello"),
            (&["--resume", "1abc", "hello"], "1abc", "hello"),
            (&["hello", "--resume"], "", "hello"),
        ] {
            let line = ["agentx", "run"].iter().chain(typed);
            let Some(Command::Run(mut args)) = Cli::try_parse_from(line).unwrap().command else {
                panic!("no run")
            };
            untangle(&mut args, true);
            assert_eq!(
                (args.session.resume.as_deref(), args.prompt.join(" ").as_str()),
                (Some(resume), prompt)
            );
        }
    }
}
