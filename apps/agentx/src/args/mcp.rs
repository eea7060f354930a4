//! Arguments of the commands about MCP servers.

use clap::{Args, Subcommand};

/// `agentx mcp`
#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// List the servers with their state and number of tools
    #[command(alias = "ls")]
    List,
    /// Show one server: its command, its variables and its tools
    Show {
        /// The server
        name: String,
    },
    /// Serve the tools, agents and sessions of this machine over standard input and output
    Serve,
    /// Start a server once to list its tools, and add it to your file if it starts
    Add(AddServerArgs),
    /// Remove a server from your file
    #[command(alias = "rm")]
    Remove {
        /// The server
        name: String,
    },
    /// Log in to a server over HTTP, in a browser (OAuth)
    Login {
        /// The server
        name: String,
    },
    /// Remove the login to a server from this machine
    Logout {
        /// The server
        name: String,
    },
    /// Create a token with which another program uses the /mcp of a server as you
    Token(TokenArgs),
    /// Start a server once, list its tools and store the list
    Try {
        /// The server
        name: String,
        /// Accept its tools as they are now
        #[arg(long)]
        accept: bool,
    },
}

/// `agentx mcp token`
#[derive(Args, Debug)]
pub(crate) struct TokenArgs {
    /// The server's address, such as http://127.0.0.1:5200
    pub(crate) url: String,
    /// The name of the program
    #[arg(long, default_value = "mcp-client")]
    pub(crate) name: String,
    /// How long it counts, such as 12h or 90d
    #[arg(long, value_name = "TIME", default_value = "720h", value_parser = super::numbers::time)]
    pub(crate) lifetime: std::time::Duration,
    /// List your tokens there instead
    #[arg(long, conflicts_with = "revoke")]
    pub(crate) list: bool,
    /// Revoke the token with this id instead
    #[arg(long, value_name = "ID")]
    pub(crate) revoke: Option<String>,
}

/// `agentx mcp add`
#[derive(Args, Debug)]
pub(crate) struct AddServerArgs {
    /// The name of the server: letters, digits, `-` and `_`
    pub(crate) name: String,
    /// A variable that the program gets: NAME, or NAME=VARIABLE for the value of another one; may be repeated
    #[arg(short, long, value_name = "NAME")]
    pub(crate) env: Vec<String>,
    /// A header for the address: NAME=VARIABLE, where the variable has its value; may be repeated
    #[arg(long, value_name = "NAME=VARIABLE")]
    pub(crate) header: Vec<String>,
    /// `stdio` or `http`; the target says which
    #[arg(short, long, value_name = "NAME")]
    pub(crate) transport: Option<String>,
    /// Only `user`, your own file, is supported
    ///
    /// The servers of a project belong in its .mcp.json.
    #[arg(short, long, value_name = "NAME")]
    pub(crate) scope: Option<String>,
    /// Believe the server that a tool only reads or may be repeated
    #[arg(long)]
    pub(crate) trust_annotations: bool,
    /// Add it without starting it; its tools stay unknown until `agentx mcp try`
    #[arg(long)]
    pub(crate) no_try: bool,
    /// The program and its arguments, or the address
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "COMMAND|URL"
    )]
    pub(crate) target: Vec<String>,
}
