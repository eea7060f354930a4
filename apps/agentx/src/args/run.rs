//! Arguments of `agentx run`.

use std::path::PathBuf;
use std::time::Duration;

use agentx::runtime::View;
use agentx_schedule::BegunRunRecord;
use clap::{Args, ValueEnum};

use super::{AgentArgs, SessionArgs};
use crate::headless::{Format, OutputOptions};
use crate::numbers;

/// `agentx run`
#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    /// The prompt; `-` or nothing reads it from standard input
    pub(crate) prompt: Vec<String>,
    /// Send this picture along, as `@FILE` in the prompt does; may be repeated
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) image: Vec<PathBuf>,
    /// JSON Schema or type (`string[]`) that the answer must match; standard output is then one JSON document
    #[arg(long, value_name = "FILE|TYPE", hide_short_help = true)]
    pub(crate) schema: Option<PathBuf>,
    /// Format of standard output
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output_format: OutputFormat,
    /// Title of a new session; by default the beginning of the prompt
    #[arg(long, value_name = "TITLE", hide_short_help = true, conflicts_with_all = ["session", "resume", "last"])]
    pub(crate) title: Option<String>,
    /// Which events stream-json prints
    #[arg(long, value_name = "VIEW", default_value = "runtime", hide_short_help = true)]
    pub(crate) view: ViewArg,
    /// Print the text of each agent separately, with its name before each line
    #[arg(long, hide_short_help = true)]
    pub(crate) streams: bool,
    /// Do not print progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// How long to wait for a server's operator to decide about a call, for example 90s
    #[arg(long, alias = "wait", value_name = "TIME", default_value = "10m", value_parser = numbers::time, hide_short_help = true)]
    pub(crate) approval_timeout: Duration,
    /// How long it waits in place for a time that the agent names; set by a watch.
    #[arg(skip)]
    pub(crate) longest_wait: Option<Duration>,
    /// The record of the schedule that it runs; set by a watch.
    #[arg(skip)]
    pub(crate) record: Option<BegunRunRecord>,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    #[command(flatten)]
    pub(crate) agent: AgentArgs,
}

impl RunArgs {
    /// Whether to stay silent while waiting for a server, because no person wants or reads progress.
    pub(crate) fn tells_nothing(&self) -> bool {
        self.quiet || self.output_format != OutputFormat::Text
    }

    /// Returns the options of the output.
    pub(crate) fn manner(&self) -> OutputOptions {
        OutputOptions {
            format: match self.output_format {
                OutputFormat::Text => Format::Text,
                OutputFormat::Json => Format::Json,
                OutputFormat::StreamJson => Format::StreamJson,
            },
            view: match self.view {
                ViewArg::Environment => View::Environment,
                ViewArg::Runtime => View::Runtime,
            },
            streams: self.streams,
            quiet: self.quiet,
            typed: self.schema.is_some(),
            longest_wait: self.longest_wait,
        }
    }
}

/// Format of standard output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// The answer
    #[default]
    Text,
    /// One object with the answer, its cost, and the error if there was one
    Json,
    /// Every event as it arrives, one JSON object per line; the last line is the object of `json`
    StreamJson,
}

/// The events to print.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ViewArg {
    /// The stored events
    Environment,
    /// Events derived from the stored ones
    #[default]
    Runtime,
}
