//! The words of `agentx waits` and `agentx schedule`.

use std::time::Duration;

use clap::{Args, Subcommand};

use crate::command_line::numbers;

/// `agentx waits`
#[derive(Debug, Subcommand)]
pub enum WaitsCommand {
    /// List the sessions that wait for a time, with the time and the reason
    #[command(alias = "ls")]
    List,
    /// Continue the sessions whose time has come, and run the prompts that are due
    Run {
        /// Keep watching until no session waits any more, for at most a day
        #[arg(long)]
        until_empty: bool,
        /// Keep watching for this long, such as 10m or 8h
        #[arg(long = "for", value_name = "TIME", value_parser = numbers::time)]
        time: Option<Duration>,
    },
}

/// `agentx schedule`
#[derive(Debug, Subcommand)]
pub enum ScheduleCommand {
    /// Run a prompt in this directory at set times
    Add(ScheduleArguments),
    /// List the schedules, with their next times and the sessions of their last runs
    #[command(alias = "ls")]
    List,
    /// Remove a schedule; its sessions stay
    #[command(alias = "rm")]
    Remove {
        /// Its name
        name: String,
    },
}

/// `agentx schedule add`
#[derive(Args, Debug)]
pub struct ScheduleArguments {
    /// The times, as in cron: minute, hour, day of the month, month, day of the week; or @hourly, @daily,
    /// @weekly, @monthly
    #[arg(value_name = "CRON")]
    pub(super) pattern: String,
    /// The prompt
    #[arg(required = true)]
    pub(super) prompt: Vec<String>,
    /// Its name, which is the title of its sessions; by default that of the agent, with a number if it is
    /// taken
    #[arg(long, value_name = "NAME")]
    pub(super) name: Option<String>,
    /// Use this agent from `.agentx/agents` or your own files
    #[arg(long, value_name = "NAME")]
    pub(super) agent: Option<String>,
    /// Use this model
    #[arg(short, long, value_name = "NAME")]
    pub(super) model: Option<String>,
    /// The time zone of the times, such as Europe/Berlin; by default that of this machine
    #[arg(long, value_name = "ZONE")]
    pub(super) zone: Option<String>,
}
