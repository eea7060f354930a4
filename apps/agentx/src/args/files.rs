//! The part of the command line that is about agents and tools in files.

use clap::{Args, Subcommand, ValueEnum};

/// `agentx agents`
#[derive(Debug, Subcommand)]
pub(crate) enum AgentsCommand {
    /// List the agents that files describe
    List,
    /// Show an agent, resolved: its instructions, its model, its tools
    Show {
        /// Its name
        name: String,
    },
    /// Read all agent and tool files and report every mistake, without running anything
    Check,
    /// Write a file to begin with
    New(NewAgentArgs),
}

/// `agentx agents new`
#[derive(Args, Debug)]
pub(crate) struct NewAgentArgs {
    /// What it is to be called
    pub(crate) name: String,
    /// What drives it
    #[arg(long = "type", value_name = "TYPE", default_value = "react")]
    pub(crate) kind: AgentKindArg,
    /// Write it where it is there in every workspace
    #[arg(long)]
    pub(crate) user: bool,
}

/// What drives an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AgentKindArg {
    /// It thinks and calls tools
    React,
    /// It sends what is said to other agents
    Match,
}

/// `agentx tools`
#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// List the tools that an agent has
    List,
    /// Show a tool: what it does, its arguments, what it touches
    Show {
        /// Its name
        name: String,
    },
    /// Read all agent and tool files and report every mistake, without running anything
    Check,
    /// Write a file to begin with
    New(NewToolArgs),
    /// Run a tool, without any agent
    Run {
        /// Its name
        name: String,
        /// Its arguments, as a JSON object
        #[arg(default_value = "{}")]
        arguments: String,
    },
}

/// `agentx tools new`
#[derive(Args, Debug)]
pub(crate) struct NewToolArgs {
    /// What it is to be called
    pub(crate) name: String,
    /// What it is made of
    #[arg(long = "type", value_name = "TYPE", default_value = "luau")]
    pub(crate) kind: ToolKindArg,
    /// Write it where it is there in every workspace
    #[arg(long)]
    pub(crate) user: bool,
}

/// What a tool is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ToolKindArg {
    /// A script in a file of its own
    Luau,
    /// A script inside a YAML file
    Yaml,
    /// One HTTP request
    Http,
}
