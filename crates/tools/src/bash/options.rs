//! Limits of `bash` and `job`. Each has a default that suits models; a runtime may set its own.

use std::time::Duration;

use agentx_sandbox::SandboxLauncher;

use super::budget::OutputBudget;
use super::command_records::CommandRecords;
use crate::command_changes::CommandRewind;
use crate::environment::ProgramEnvironment;

/// Limits of `bash` and `job`.
#[derive(Clone, Debug)]
pub struct BashOptions {
    /// The time limit of a command if the call sets none: 2 minutes.
    pub timeout: Duration,
    /// The longest time that a call may ask for: 1 hour.
    pub max_timeout: Duration,
    /// The time between SIGTERM and SIGKILL: 300 ms.
    pub grace: Duration,
    /// The time to wait for output after the shell has ended: 200 ms. Processes that still run then become a
    /// job.
    pub linger: Duration,
    /// Bytes of output per call that become events: 256 KiB.
    pub event_bytes: usize,
    /// Bytes of an event, at most: 8 KiB.
    pub chunk_bytes: usize,
    /// The delay in which output is collected before it becomes an event: 10 ms.
    pub chunk_delay: Duration,
    /// Bytes from the beginning of the output that the model sees: 16 KiB.
    pub head_bytes: usize,
    /// Bytes from the end of the output that the model sees: 16 KiB.
    pub tail_bytes: usize,
    /// Bytes of output that are kept as a blob: the first 16 MiB. The rest is only counted.
    pub kept_bytes: usize,
    /// Bytes of output that all calls together may hold for blobs before these are stored: 64 MiB. When the
    /// budget is used up, a call keeps its output so far, and the end.
    pub budget: OutputBudget,
    /// Bytes of output after which the command is killed: 2 GiB.
    pub kill_bytes: u64,
    /// Bytes of output of a background job that wait for the next poll: the last 1 MiB.
    pub backlog_bytes: usize,
    /// Background jobs that may run at once in a session: 16.
    pub max_jobs: usize,
    /// The longest time that `job` waits for news: 10 minutes.
    pub max_wait: Duration,
    /// The environment variables of commands: all but those that look like secrets.
    pub environment: ProgramEnvironment,
    /// The file that records running commands, so that they are found after this program was killed. By
    /// default `None`: then only commands that kept their environment are found.
    pub records: Option<CommandRecords>,
    /// Starts commands in a sandbox. By default `None`: they can do what this process can.
    pub sandbox: Option<SandboxLauncher>,
    /// Keeps the changes of commands to the files of the workspace for a rewind. By default `None`.
    pub rewind: Option<CommandRewind>,
}

impl Default for BashOptions {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(120),
            max_timeout: Duration::from_secs(3600),
            grace: Duration::from_millis(300),
            linger: Duration::from_millis(200),
            event_bytes: 256 << 10,
            chunk_bytes: 8 << 10,
            chunk_delay: Duration::from_millis(10),
            head_bytes: 16 << 10,
            tail_bytes: 16 << 10,
            kept_bytes: 16 << 20,
            budget: OutputBudget::new(64 << 20),
            kill_bytes: 2 << 30,
            backlog_bytes: 1 << 20,
            max_jobs: 16,
            max_wait: Duration::from_secs(600),
            environment: ProgramEnvironment::default(),
            records: None,
            sandbox: None,
            rewind: None,
        }
    }
}
