//! The output of a failed command for programs, by the formats that the command line names.

use agentx_chat::failure::FailureOutput;

use super::{Cli, Command, ExportFormat, OutputFormat, SessionsCommand};

impl Cli {
    /// Returns what standard output gets if the command fails.
    pub(crate) fn failure_output(&self) -> FailureOutput {
        let is_json = match &self.command {
            Some(Command::Run(args)) if self.global.json || args.output_format != OutputFormat::Text => {
                return FailureOutput::RunResult;
            }
            Some(Command::Watch(args)) => args.output_format != OutputFormat::Text,
            Some(Command::Mirror(args)) => args.output_format != OutputFormat::Text,
            Some(Command::Sessions {
                command: Some(SessionsCommand::Export(args)),
            }) => args.format == Some(ExportFormat::Json),
            _ => false,
        };
        if is_json || self.global.json {
            FailureOutput::Error
        } else {
            FailureOutput::Nothing
        }
    }
}
