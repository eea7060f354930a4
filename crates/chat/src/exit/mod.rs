//! Exit codes: one for each kind of end, so that a script knows what happened without reading words.

pub(crate) mod config_error;
pub(crate) mod exit_words;
pub(crate) mod http_status;
pub(crate) mod in_use;
pub(crate) mod keyring_error;
pub mod run_failure;
pub(crate) mod runtime_error;

use std::process::ExitCode;

/// The exit code of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The program did what it was asked.
    Ok,
    /// The run failed.
    Failed,
    /// The command line makes no sense.
    Usage,
    /// The configuration has mistakes, or a file of agents or tools.
    Config,
    /// A key is missing or was refused.
    Credentials,
    /// The model cannot be reached, answers with an error, declines, or gives no complete answer.
    Provider,
    /// A limit of the run was reached, or the agent repeats itself.
    Limit,
    /// An approval was needed and nobody could give it.
    Denied,
    /// The session does not exist, or another process writes it.
    Session,
    /// Sessions cannot be read or written, or are damaged.
    Storage,
    /// The server cannot be reached, or refuses.
    Server,
    /// The run waits for a time, and another program continues it.
    Waits,
    /// Ctrl-C stopped the program.
    Interrupted,
    /// The terminal was closed.
    HungUp,
    /// Ctrl-\ ended the program immediately.
    Quit,
    /// The reader of the output is gone.
    BrokenPipe,
    /// A signal to terminate stopped the program.
    Terminated,
}

/// Every code with its meaning, in order; this table is what `agentx help exit-codes` prints.
pub const TABLE: &[(Exit, u8, &str)] = &[
    (Exit::Ok, 0, "success"),
    (Exit::Failed, 1, "the run failed"),
    (Exit::Usage, 2, "invalid command line"),
    (
        Exit::Config,
        3,
        "errors in the configuration, or in an agent or tool file",
    ),
    (Exit::Credentials, 4, "an API key is missing or was rejected"),
    (
        Exit::Provider,
        5,
        "the model is unreachable, answers with an error, declines, or does not finish its answer",
    ),
    (
        Exit::Limit,
        6,
        "a limit of the run was reached (iterations, tokens, cost, time), or the agent is stuck",
    ),
    (Exit::Denied, 7, "a call needed approval and nobody could give it"),
    (
        Exit::Session,
        8,
        "no such session, or another process is writing it",
    ),
    (
        Exit::Storage,
        9,
        "sessions cannot be read or written, or are damaged",
    ),
    (
        Exit::Server,
        10,
        "the server is unreachable or refused the request",
    ),
    (
        Exit::Waits,
        11,
        "the run waits for a time that is further away than this command waits",
    ),
    (
        Exit::HungUp,
        129,
        "stopped because the terminal was closed (SIGHUP)",
    ),
    (Exit::Interrupted, 130, "stopped by Ctrl-C"),
    (
        Exit::Quit,
        131,
        "stopped immediately by Ctrl-\\ (SIGQUIT), together with running commands",
    ),
    (
        Exit::BrokenPipe,
        141,
        "the run was stopped because the program that read its output exited",
    ),
    (Exit::Terminated, 143, "stopped by a termination signal"),
];

impl Exit {
    /// The number that the shell sees.
    pub(crate) fn code(self) -> u8 {
        TABLE
            .iter()
            .find(|(exit, _, _)| *exit == self)
            .map_or(1, |(_, code, _)| *code)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// The table as people read it.
pub fn table() -> String {
    TABLE
        .iter()
        .map(|(_, code, meaning)| format!("  {code:>3}  {meaning}\n"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_exit_has_its_own_code() {
        let mut codes: Vec<u8> = TABLE.iter().map(|(_, code, _)| *code).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), TABLE.len());
        assert_eq!(Exit::Interrupted.code(), 130);
    }
}
