//! Arguments of the commands about agents and tools in files.

use clap::{Args, Subcommand, ValueEnum};

/// `agentx agents`
#[derive(Debug, Subcommand)]
pub enum AgentsCommand {
    /// List the agents defined in files
    #[command(alias = "ls")]
    List,
    /// Show an agent with its resolved instructions, model and tools
    Show {
        /// The name of the agent
        name: String,
    },
    /// Check all agent and tool files and report every mistake, without running anything
    Check,
    /// Write a starter file
    New(NewAgentArgs),
}

/// `agentx agents new`
#[derive(Args, Debug)]
pub struct NewAgentArgs {
    /// Name of the new file
    pub name: String,
    /// Type of agent
    #[arg(long = "type", value_name = "TYPE", default_value = "react")]
    pub kind: AgentKindArg,
    /// Write it to your own files, for use in every workspace
    #[arg(long)]
    pub user: bool,
}

/// The type of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AgentKindArg {
    /// Reasons and calls tools
    React,
    /// Routes messages to other agents by pattern
    Match,
}

/// `agentx tools`
#[derive(Debug, Subcommand)]
pub enum ToolsCommand {
    /// List the tools available to an agent
    #[command(alias = "ls")]
    List,
    /// Show a tool: its purpose, its arguments and what it accesses
    Show {
        /// The name of the tool
        name: String,
    },
    /// Check all agent and tool files and report every mistake, without running anything
    Check,
    /// Write a starter file
    New(NewToolArgs),
    /// Run a tool without an agent
    Run {
        /// The name of the tool
        name: String,
        /// Arguments for the tool, as JSON that fits its schema; usually an object
        #[arg(default_value = "{}")]
        arguments: String,
        /// Answer yes to every question about calls that the tool makes
        ///
        /// Rules that deny still hold. Without it such a call is refused: nobody can be asked outside of a
        /// session
        #[arg(short, long)]
        yes: bool,
    },
}

/// `agentx tools new`
#[derive(Args, Debug)]
pub struct NewToolArgs {
    /// Name of the new file
    pub name: String,
    /// Type of tool
    #[arg(long = "type", value_name = "TYPE", default_value = "luau")]
    pub kind: ToolKindArg,
    /// Write it to your own files, for use in every workspace
    #[arg(long)]
    pub user: bool,
}

/// The type of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ToolKindArg {
    /// A Luau script in its own file
    Luau,
    /// A Luau script inside a YAML file
    Yaml,
    /// One HTTP request
    Http,
}
