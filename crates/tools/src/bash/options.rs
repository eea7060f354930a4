//! Limits of `bash` and `job`. Each has a default that suits models; a runtime may set its own.

use std::path::Path;
use std::time::Duration;

use agentx_sandbox::{SandboxLauncher, SandboxStep};
use serde_json::{Value, json};

use super::budget::OutputBudget;
use super::command_records::CommandRecords;
use crate::command_changes::CommandRewind;
use crate::environment::ProgramEnvironment;
use crate::host_proxy::MaskedCredentials;

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
    /// Starts, in place of `sandbox`, commands about which nobody is asked: the approval mode `auto` or a
    /// judge let them run, or they only read. By default `None`: they start as all others.
    pub unasked_sandbox: Option<SandboxLauncher>,
    /// Credentials that commands get through the proxy of their sandbox. By default none, and without the
    /// feature `masking` never any. Their variables have to be hidden in `environment`.
    pub credentials: MaskedCredentials,
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
            unasked_sandbox: None,
            credentials: MaskedCredentials::default(),
            rewind: None,
        }
    }
}

impl BashOptions {
    /// Returns the options for one call: `sandbox` starts its command, and `unasked_sandbox` is there only if
    /// it does so because nobody is asked.
    pub(super) fn for_call(&self, is_unasked: bool) -> Self {
        let unasked_sandbox = self.unasked_sandbox.clone().filter(|_| is_unasked);
        Self {
            sandbox: unasked_sandbox.clone().or_else(|| self.sandbox.clone()),
            unasked_sandbox,
            ..self.clone()
        }
    }

    /// Returns the options for a call whose command only reads. If no sandbox works, it
    /// runs without a notice: its text was judged, and the files that it names were checked.
    pub(super) fn for_reading(&self, workspace: &Path) -> Self {
        if self.unasked_sandbox.is_none() || self.holds(workspace) {
            return self.clone();
        }
        Self {
            sandbox: None,
            unasked_sandbox: None,
            ..self.clone()
        }
    }

    /// Returns whether something holds a command that these options start in this directory, or the command
    /// does not run because it has to be held.
    pub(super) fn holds(&self, workspace: &Path) -> bool {
        let launcher = self.sandbox.as_ref();
        launcher.is_some_and(|launcher| launcher.step_in(workspace) != Ok(SandboxStep::None))
    }

    /// Returns the field `sandbox` in the details of a command that ran without a sandbox, although the
    /// settings ask for one; `None` if they ask for none.
    pub(super) fn unheld(&self, workspace: &Path) -> Option<Value> {
        let launcher = self.sandbox.as_ref()?;
        let mut details = json!({ "step": SandboxStep::None.as_str() });
        if let Some(why) = launcher.why_not_held(workspace) {
            details["why"] = json!(why);
        }
        Some(details)
    }
}

#[cfg(test)]
mod tests {
    use agentx_sandbox::{SandboxMode, SandboxProfile};

    use super::*;

    /// A launcher in a program that is not its own helper, so that no step works.
    fn launcher(mode: SandboxMode) -> SandboxLauncher {
        SandboxLauncher::of_this_program(mode, SandboxProfile::default())
    }

    #[test]
    fn the_sandbox_for_unasked_commands_takes_the_place_of_the_other_one_for_them_alone() {
        let (auto, everyday) = (launcher(SandboxMode::Auto), launcher(SandboxMode::Everyday));
        let place = Path::new("/made-up");
        for (sandbox, unasked_sandbox, is_unasked, holds, is_told) in [
            (None, None, false, false, false),
            (None, None, true, false, false),
            (None, Some(&everyday), false, false, false),
            (None, Some(&everyday), true, false, true),
            (None, Some(&auto), true, true, true),
            (Some(&auto), None, true, true, true),
            (Some(&auto), Some(&everyday), false, true, true),
            (Some(&auto), Some(&everyday), true, false, true),
        ] {
            let options = BashOptions {
                sandbox: sandbox.cloned(),
                unasked_sandbox: unasked_sandbox.cloned(),
                ..BashOptions::default()
            };
            let options = options.for_call(is_unasked);
            let case = format!("{sandbox:?} {unasked_sandbox:?} {is_unasked}");
            assert_eq!(options.holds(place), holds, "{case}");
            assert_eq!(options.unheld(place).is_some(), is_told, "{case}");
            let is_default = is_unasked && unasked_sandbox.is_some();
            assert_eq!(options.unasked_sandbox.is_some(), is_default, "{case}");
        }
    }

    /// It runs without a sandbox and without a notice if none works.
    #[test]
    fn a_command_that_only_reads_is_held_where_that_works_and_refused_where_it_has_to_be() {
        let place = Path::new("/made-up");
        for (mode, is_held) in [(SandboxMode::Everyday, false), (SandboxMode::Auto, true)] {
            let options = BashOptions {
                unasked_sandbox: Some(launcher(mode)),
                ..BashOptions::default()
            };
            let reading = options.for_call(true).for_reading(place);
            assert_eq!(reading.sandbox.is_some(), is_held, "{mode:?}");
            assert_eq!(reading.holds(place), is_held, "{mode:?}");
            assert_eq!(reading.unheld(place).is_some(), is_held, "{mode:?}");
        }
        let chosen = BashOptions {
            sandbox: Some(launcher(SandboxMode::Everyday)),
            ..BashOptions::default()
        };
        assert!(
            chosen.for_call(true).for_reading(place).sandbox.is_some(),
            "the person chose it"
        );
    }

    #[test]
    fn a_command_that_nothing_holds_says_why() {
        let options = BashOptions {
            unasked_sandbox: Some(launcher(SandboxMode::Everyday)),
            ..BashOptions::default()
        };
        assert_eq!(options.unheld(Path::new("/made-up")), None);
        let details = options.for_call(true).unheld(Path::new("/made-up")).unwrap();
        assert_eq!(details["step"], "none");
        assert!(details["why"].is_string(), "{details}");
    }
}
