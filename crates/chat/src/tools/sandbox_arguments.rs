//! The words of `agentx sandbox`.

use std::ffi::OsString;

use clap::Subcommand;

/// `agentx sandbox`
#[derive(Debug, Subcommand)]
pub enum SandboxCommand {
    /// Show what works here, what each step stops, and what commands in this directory may reach
    Show,
    /// Say for each step whether it works here, and what to do if it does not
    Doctor,
    /// Run a command as the agent would run it, in the sandbox
    Run {
        /// The step: landlock, namespace, or auto; by default that of the settings, or else auto
        #[arg(long, value_name = "STEP")]
        step: Option<String>,
        /// The program and its arguments
        #[arg(required = true, last = true)]
        command: Vec<OsString>,
    },
}
