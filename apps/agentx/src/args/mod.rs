//! The command line as it is typed. Each command interprets its own arguments.

mod agent;
mod branches;
mod config;
mod debug;
mod failure;
mod first_screen;
mod identity;
mod mcp;
mod remote;
mod run;
mod sessions;
mod shortcuts;
mod upkeep;

use std::ffi::OsString;
use std::path::PathBuf;

pub(crate) use agent::{AgentArgs, Approve, SessionArgs};
pub(crate) use agentx_chat::file_arguments::{
    AgentKindArg, AgentsCommand, NewAgentArgs, ToolKindArg, ToolsCommand,
};
pub(crate) use agentx_chat::rules::{AddRuleArgs, ApprovalsCommand, TrialArgs};
pub(crate) use branches::{DiffArgs, ForkArgs, RewindArgs};
pub(crate) use config::{ConfigCommand, TrustArgs};
pub(crate) use debug::{ApiArg, DebugCommand};
pub(crate) use identity::{IdentityCommand, TrustArg};
pub(crate) use mcp::{McpCommand, TokenArgs};
pub(crate) use remote::{LimitArgs, MirrorArgs, MirrorStart, ServeArgs, ShareArgs, WatchArgs};
pub(crate) use run::{OutputFormat, RunArgs};
pub(crate) use sessions::{
    ContextArgs, ExportArgs, ExportFormat, ImportArgs, SessionsCommand, ShowArgs, StatsArgs,
};
pub(crate) use upkeep::{CacheCommand, CompleteArg, CompletionsArgs, DoctorArgs, ModelsCommand, UsageArgs};

use agentx::config::Settings;
use agentx::types::SessionId;
use clap::{ArgAction, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::error::ChatError;
use crate::exec_server::ExecServerArgs;
use crate::memory::MemoryCommand;
use crate::numbers;
use crate::place::Place;
use crate::sandbox_arguments::SandboxCommand;
use crate::secrets::SecretsCommand;
use crate::session_opening::{self, Target};
use crate::waits::{ScheduleCommand, WaitsCommand};

/// Run agents: chat in a terminal, headless runs, sessions that keep every event.
#[derive(Debug, Parser)]
#[command(
    name = "agentx",
    version,
    disable_help_subcommand = true,
    disable_help_flag = true,
    max_term_width = 100
)]
#[command(
    after_help = "Instead of a command: `-p PROMPT` runs it as `agentx run` does, `-c` continues the latest session of this directory, `-r [ID]` continues that session or lets you choose one.\n\n`agentx` without a command opens a chat. See also `agentx help exit-codes` and `agentx help settings`."
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
    /// Run the command against this server; `local` for this machine [env: AGENTX_CONNECT]
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
    /// Print short help; `agentx help COMMAND` prints all of it
    #[arg(short, long, global = true, action = ArgAction::HelpShort, help_heading = "Options for every command")]
    pub(crate) help: Option<bool>,
}

impl Cli {
    /// Reads the command line of this process. `agentx --help` is one screen; `agentx help` says the rest.
    pub(crate) fn of_process() -> Result<Self, clap::Error> {
        let command = || Self::command().override_help(first_screen::screen());
        let typed: Vec<OsString> = std::env::args_os().collect();
        let is_command = |word: &str| command().find_subcommand(word).is_some();
        let words = shortcuts::with_command(&typed, is_command).unwrap_or(typed);
        Self::from_arg_matches(&Self::matches(&words, command)?)
    }

    /// Reads these words, with a prompt in the place of a command and with flags of a command in front of it.
    fn matches(
        words: &[OsString],
        command: impl Fn() -> clap::Command,
    ) -> Result<clap::ArgMatches, clap::Error> {
        command().try_get_matches_from(words).or_else(|error| {
            let chat = shortcuts::with_chat(&error, words, &command());
            if let Some(words) = chat {
                return command().try_get_matches_from(words);
            }
            let moved = shortcuts::with_flags_behind(&error, words);
            let read = moved.and_then(|words| command().try_get_matches_from(words).ok());
            read.ok_or(error)
        })
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Chat with an agent
    Chat(ChatArgs),
    /// Run one prompt and print the answer; standard input is appended to the prompt
    Run(Box<RunArgs>),
    /// Continue a session in a chat
    Resume(ResumeArgs),
    /// Watch a session that somebody else drives, live
    Watch(WatchArgs),
    /// Copy a session, whole or up to an event, to try something else
    Fork(ForkArgs),
    /// Go back to before one of your messages: the conversation in a copy, files in place
    Rewind(RewindArgs),
    /// Compare two branches of a session: their messages and their files
    Diff(DiffArgs),
    /// Show the messages of a session, or step through its events
    Show(ShowArgs),
    /// Manage sessions: list, search, export, verify, share, delete
    Sessions {
        /// What to do; lists them by default
        #[command(subcommand)]
        command: Option<SessionsCommand>,
    },
    /// Show tokens and cost
    Usage(UsageArgs),
    /// Derive a session again from its log, without a model, and compare the results
    Replay(IdArgs),
    /// Explain why a request was not read from the provider's cache
    #[command(subcommand)]
    Cache(CacheCommand),
    /// Print the exact request sent to the model at a point of a session
    Context(ContextArgs),
    /// Serve the sessions of this machine to other terminals, machines and people
    Serve(Box<ServeArgs>),
    /// Follow a session of a server, live
    Mirror(MirrorArgs),
    /// List models, show the details of one, and update prices
    Models {
        /// What to do; lists them by default
        #[command(subcommand)]
        command: Option<ModelsCommand>,
    },
    /// List the reactors that perform actions, and how many requests wait for each
    Reactors,
    /// List, show, check and run tools, and write new ones
    Tools {
        /// What to do; lists them by default
        #[command(subcommand)]
        command: Option<ToolsCommand>,
    },
    /// List, show and check agents defined in files, and write new ones
    Agents {
        /// What to do; lists them by default
        #[command(subcommand)]
        command: Option<AgentsCommand>,
    },
    /// Manage MCP servers: add, list, show, try, remove, login, logout; serve as one
    Mcp {
        /// What to do; lists them by default
        #[command(subcommand)]
        command: Option<McpCommand>,
    },
    /// List, test, add and remove approval rules, and try a rule on past sessions
    Approvals {
        /// What to do; lists the rules by default
        #[command(subcommand)]
        command: Option<ApprovalsCommand>,
    },
    /// Show, change, check and trust the configuration
    Config {
        /// What to do; shows the settings by default
        #[command(subcommand)]
        command: Option<ConfigCommand>,
    },
    /// Manage your identity and who has access to your servers
    Identity {
        /// What to do; shows your id and key by default
        #[command(subcommand)]
        command: Option<IdentityCommand>,
    },
    /// Diagnose this machine, the configuration and the stored sessions
    Doctor(DoctorArgs),
    /// Show what the sandbox blocks, and run a command in it
    Sandbox {
        /// What to do; shows the sandbox by default
        #[command(subcommand)]
        command: Option<SandboxCommand>,
    },
    /// Execute commands and files for sessions on other machines
    ExecServer(ExecServerArgs),
    /// Review the memories that the agent proposes, and manage your own
    Memory {
        /// What to do; shows pending proposals by default
        #[command(subcommand)]
        command: Option<MemoryCommand>,
    },
    /// List sessions that wait for a time, and continue what is due
    Waits {
        /// What to do; lists them by default
        #[command(subcommand)]
        command: Option<WaitsCommand>,
    },
    /// Run prompts at set times, as cron does
    Schedule {
        /// What to do; lists the schedules by default
        #[command(subcommand)]
        command: Option<ScheduleCommand>,
    },
    /// Mark values as secret, so that they are never recorded, and list them
    Secrets {
        /// What to do; lists them by default
        #[command(subcommand)]
        command: Option<SecretsCommand>,
    },
    /// Print a shell completion script
    Completions(CompletionsArgs),
    /// Print completion words for a shell
    #[command(hide = true)]
    Complete {
        /// Kind of values to complete
        what: CompleteArg,
    },
    /// Print a manual page: `agentx man | man -l -`
    Man {
        /// The command; without it, the page about `agentx` itself
        command: Vec<String>,
    },
    /// Debugging commands
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
    /// First message of the chat
    pub(crate) prompt: Vec<String>,
    /// Send this picture along, as `@FILE` in the prompt does; may be repeated
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) image: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    #[command(flatten)]
    pub(crate) agent: AgentArgs,
}

/// `agentx resume`
#[derive(Args, Debug)]
pub(crate) struct ResumeArgs {
    /// Session id, or a prefix of it; without it, choose from a list
    pub(crate) id: Option<String>,
    /// Continue the latest session of this directory
    #[arg(long, conflicts_with = "id")]
    pub(crate) last: bool,
    #[command(flatten)]
    pub(crate) agent: AgentArgs,
}

/// The session that a command is about.
#[derive(Args, Debug)]
pub(crate) struct IdArgs {
    /// Session id, or a prefix of it
    #[arg(required_unless_present = "last")]
    id: Option<String>,
    /// The latest session of this directory
    #[arg(long, conflicts_with = "id")]
    last: bool,
}

impl IdArgs {
    /// Returns the id of the session, which exists.
    pub(crate) async fn find(&self, place: &Place, settings: &Settings) -> Result<SessionId, ChatError> {
        let target = self.id.clone().map_or(Target::Last, Target::Id);
        session_opening::find_existing(place, settings, &target).await
    }
}
