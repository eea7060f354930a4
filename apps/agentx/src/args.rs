//! The command line as it is typed. What is meant by it is decided where a command begins.

mod agent;
mod approvals;
mod branches;
mod files;
mod identity;
mod numbers;
mod remote;
mod sessions;
mod shortcuts;
mod upkeep;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

pub(crate) use agent::{AgentArgs, Approve, SessionArgs};
pub(crate) use approvals::{AddRuleArgs, ApprovalsCommand, TrialArgs};
pub(crate) use branches::{DiffArgs, ForkArgs, RewindArgs};
pub(crate) use files::{AgentKindArg, AgentsCommand, NewAgentArgs, ToolKindArg, ToolsCommand};
pub(crate) use identity::{IdentityCommand, TrustArg};
pub(crate) use remote::{LimitArgs, MirrorArgs, MirrorStart, ServeArgs, ShareArgs, WatchArgs};
pub(crate) use sessions::{ExportArgs, ExportFormat, ImportArgs, SessionsCommand, ShowArgs, StatsArgs};
pub(crate) use upkeep::{CompleteArg, CompletionsArgs, DoctorArgs, UsageArgs};

use agentx::runtime::View;
use clap::{ArgAction, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};

use crate::headless::{Format, Manner};

/// Runs agents: chat in a terminal, headless runs, sessions that keep every event.
#[derive(Debug, Parser)]
#[command(
    name = "agentx",
    version,
    disable_help_subcommand = true,
    disable_help_flag = true,
    max_term_width = 100
)]
#[command(
    after_help = "`agentx` alone opens a chat. `agentx help exit-codes` and `agentx help settings` list those."
)]
pub(crate) struct Cli {
    /// Options for every command.
    #[command(flatten)]
    pub(crate) global: Global,
    /// Options of the chat that `agentx` alone opens.
    #[command(flatten)]
    pub(crate) agent: AgentArgs,
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// Options for every command.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Global {
    /// Keep sessions in this directory [env: AGENTX_DATA]
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        value_name = "DIR",
        help_heading = "Options for every command"
    )]
    pub(crate) data: Option<PathBuf>,
    /// Work in this directory instead of the current one
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        value_name = "DIR",
        help_heading = "Options for every command"
    )]
    pub(crate) cwd: Option<PathBuf>,
    /// Do it on the server at this address; `local` for here [env: AGENTX_CONNECT]
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        value_name = "URL",
        help_heading = "Options for every command"
    )]
    pub(crate) connect: Option<String>,
    /// Print lists and reports as JSON
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        help_heading = "Options for every command"
    )]
    pub(crate) json: bool,
    /// Explain it on one screen; `agentx help COMMAND` says more
    #[arg(short, long, global = true, action = ArgAction::HelpShort, help_heading = "Options for every command")]
    pub(crate) help: Option<bool>,
}

impl Cli {
    /// Reads the command line of this process. `agentx --help` is one screen; `agentx help` says the rest.
    pub(crate) fn of_process() -> Result<Self, clap::Error> {
        let command = || Self::command().override_help(crate::cmd::help::screen());
        let typed: Vec<OsString> = std::env::args_os().collect();
        let is_command = |word: &str| command().find_subcommand(word).is_some();
        let words = shortcuts::with_command(&typed, is_command).unwrap_or(typed);
        let matches = command().try_get_matches_from(&words).or_else(|error| {
            match shortcuts::with_chat(&error, &words) {
                Some(words) => command().try_get_matches_from(words),
                None => Err(error),
            }
        });
        Self::from_arg_matches(&matches?)
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Chat with an agent
    Chat(ChatArgs),
    /// Give one prompt and print the answer; standard input joins the prompt
    Run(Box<RunArgs>),
    /// Go on with a session in a chat
    Resume(ResumeArgs),
    /// Look at a session that somebody else drives, as it happens
    Watch(WatchArgs),
    /// Copy a session, whole or up to an event, to try another way
    Fork(ForkArgs),
    /// Go back to before an input: the conversation in a copy, files where they are
    Rewind(RewindArgs),
    /// Compare two branches of a session: what was said, how files differ
    Diff(DiffArgs),
    /// Show what was said in a session, or go through it event by event
    Show(ShowArgs),
    /// List, show, search, name, move, count, check and delete sessions
    #[command(subcommand)]
    Sessions(SessionsCommand),
    /// Tell what was spent: tokens and money
    Usage(UsageArgs),
    /// Derive everything of a session again without a model, and compare
    Replay(IdArgs),
    /// Print the exact request that the model got at a point of a session
    Context(ContextArgs),
    /// Serve the sessions of this machine to other terminals, machines and people
    Serve(Box<ServeArgs>),
    /// Follow a session of a server as it happens
    Mirror(MirrorArgs),
    /// List the models that can be asked
    Models,
    /// List who serves what sessions want done, and how much of it waits
    Reactors,
    /// List, show, check and run tools, and write new ones
    Tools {
        /// What to do; they are listed where nothing is said
        #[command(subcommand)]
        command: Option<ToolsCommand>,
    },
    /// List, show and check agents that files describe, and write new ones
    Agents {
        /// What to do; they are listed where nothing is said
        #[command(subcommand)]
        command: Option<AgentsCommand>,
    },
    /// List, test, add and remove approval rules, and try one on past sessions
    #[command(subcommand)]
    Approvals(ApprovalsCommand),
    /// Show, change, check and trust the configuration
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Who you are to servers, and whom a server of yours trusts
    #[command(subcommand)]
    Identity(IdentityCommand),
    /// Look for what is wrong with this machine, the configuration and what is stored
    Doctor(DoctorArgs),
    /// Print what a shell needs to complete commands
    Completions(CompletionsArgs),
    /// Print what a shell completes words with
    #[command(hide = true)]
    Complete {
        /// What kind of words
        what: CompleteArg,
    },
    /// Print a page of the manual: `agentx man | man -l -`
    Man {
        /// Which command; without it the page about all
        command: Vec<String>,
    },
    /// Look inside
    #[command(subcommand)]
    Debug(DebugCommand),
    /// Explain a command, `exit-codes` or `settings`
    Help {
        /// What to explain
        topic: Vec<String>,
    },
}

/// `agentx chat`
#[derive(Args, Debug)]
pub(crate) struct ChatArgs {
    /// What to say first; the chat continues after it
    pub(crate) prompt: Vec<String>,
    /// Send this picture along, as `@FILE` in the prompt does; may be repeated
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) image: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    #[command(flatten)]
    pub(crate) agent: AgentArgs,
}

/// `agentx run`
#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    /// What to do; `-` or nothing reads it from standard input
    pub(crate) prompt: Vec<String>,
    /// Send this picture along, as `@FILE` in the prompt does; may be repeated
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) image: Vec<PathBuf>,
    /// What standard output gets
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output_format: OutputFormat,
    /// Which events stream-json prints
    #[arg(long, value_name = "VIEW", default_value = "runtime", hide_short_help = true)]
    pub(crate) view: ViewArg,
    /// Print what each agent says apart, its name before each line
    #[arg(long, hide_short_help = true)]
    pub(crate) streams: bool,
    /// Say nothing about how it goes
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// How long to wait for the operator of a server to answer a call, for example 90s
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = numbers::time, hide_short_help = true)]
    pub(crate) wait: Duration,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    #[command(flatten)]
    pub(crate) agent: AgentArgs,
}

impl RunArgs {
    /// How the run is told.
    pub(crate) fn manner(&self) -> Manner {
        Manner {
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
        }
    }
}

/// What standard output gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// The answer
    #[default]
    Text,
    /// One object with the answer, what it cost, and the error if there was one
    Json,
    /// Every event as it comes, one JSON object a line, that object last
    StreamJson,
}

/// Which events to print.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ViewArg {
    /// The facts, as they are stored
    Environment,
    /// What they mean
    #[default]
    Runtime,
}

/// `agentx resume`
#[derive(Args, Debug)]
pub(crate) struct ResumeArgs {
    /// Its id, or the beginning of it; without it you choose one
    pub(crate) id: Option<String>,
    /// The latest of this directory
    #[arg(long, conflicts_with = "id")]
    pub(crate) last: bool,
    #[command(flatten)]
    pub(crate) agent: AgentArgs,
}

/// A command about one session.
#[derive(Args, Debug)]
pub(crate) struct IdArgs {
    /// Its id, or the beginning of it
    pub(crate) id: String,
}

/// `agentx context`
#[derive(Args, Debug)]
pub(crate) struct ContextArgs {
    /// Its id, or the beginning of it
    pub(crate) id: String,
    /// The last event to look at
    #[arg(long, value_name = "SEQ", value_parser = numbers::event, allow_negative_numbers = true)]
    pub(crate) at: Option<u64>,
    /// Say what fills the window instead: instructions, tools, what was said, results
    #[arg(long, conflicts_with = "summary")]
    pub(crate) parts: bool,
    /// The summary that stands for a condensed part: the Nth, from the first
    #[arg(long, value_name = "N", value_parser = numbers::count, allow_negative_numbers = true)]
    pub(crate) summary: Option<usize>,
}

/// `agentx config`
/// How far a folder is trusted.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct TrustArgs {
    /// Show what the folder brings and what changed, and keep nothing
    #[arg(long, conflicts_with_all = ["read_only", "restricted", "revoke"])]
    pub(crate) show: bool,
    /// Load its instructions, and let nothing be changed or run
    #[arg(long, conflicts_with_all = ["restricted", "revoke"])]
    pub(crate) read_only: bool,
    /// Load nothing of it, and do not ask again
    #[arg(long, conflicts_with = "revoke")]
    pub(crate) restricted: bool,
    /// Forget what was said about it
    #[arg(long)]
    pub(crate) revoke: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show every setting and where it comes from
    Show,
    /// Show which files are read
    Path,
    /// Read the configuration and report mistakes
    Check,
    /// Trust this folder as it is now: its instructions, settings, agents and tools
    Trust(TrustArgs),
    /// Set a key in your file; what else stands there stays as it is
    Set {
        /// Which, as `agentx config show` names it
        key: String,
        /// To what
        #[arg(allow_hyphen_values = true)]
        value: String,
        /// In this workspace's file instead of yours
        #[arg(long)]
        workspace: bool,
    },
    /// Take a key out of your file; what else stands there stays as it is
    Unset {
        /// Which, as `agentx config show` names it
        key: String,
        /// Out of this workspace's file instead of yours
        #[arg(long)]
        workspace: bool,
    },
    /// Change your file in an editor; it is kept only if it is right
    Edit {
        /// This workspace's file instead of yours
        #[arg(long)]
        workspace: bool,
    },
}

/// `agentx debug`
#[derive(Debug, Subcommand)]
pub(crate) enum DebugCommand {
    /// Turn a response body of a model API into events, one JSON a line, the whole message last
    Decode {
        /// The protocol that it is in
        #[arg(long, value_name = "API")]
        api: ApiArg,
        /// The body, as it came; `-` is standard input
        file: PathBuf,
    },
}

/// The protocols that can be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ApiArg {
    /// Anthropic Messages
    Anthropic,
    /// OpenAI Chat Completions
    OpenaiChat,
}
