//! Names, once, the variables that commands do not get because they look like secrets. A command that needs
//! such a variable fails without naming the cause.

use agentx::config::Settings;
use agentx::node::program_environment;
use agentx::tools::WithheldVariable;
use agentx::types::{Envelope, RuntimeEvent, ToolCallId, ToolStatus};
use serde_json::Value;

use crate::chat::Chat;
use crate::render::clean::visible;
use crate::render::conversation::ended_commands_notice;
use crate::render::unheld_commands::UnheldNotice;

/// Maximum number of variables to name at once.
const NAMED: usize = 5;

/// The notice about variables that commands do not get, and whether it was printed.
#[derive(Debug)]
pub(in crate::chat) struct WithheldNotice {
    variables: Vec<WithheldVariable>,
    /// The names of those of which commands in a sandbox may get a placeholder (`sandbox.credentials`).
    masked: Vec<String>,
    /// The running commands of the agent.
    called: Vec<(ToolCallId, String)>,
    told_of_own: bool,
    told_of_agent: bool,
}

impl WithheldNotice {
    /// Creates the notice for the variables that these settings withhold.
    pub(in crate::chat) fn new(settings: &Settings) -> Self {
        Self {
            variables: program_environment(settings).withheld(),
            masked: settings
                .sandbox
                .credentials
                .iter()
                .map(|masked| masked.variable.clone())
                .collect(),
            called: Vec::new(),
            told_of_own: false,
            told_of_agent: false,
        }
    }

    /// Returns the notice for the person's own command, the first time that its environment lacks a variable.
    pub(in crate::chat) fn note_own_command(&mut self, command: &str) -> Option<String> {
        let note = self.note(command).filter(|_| !self.told_of_own)?;
        self.told_of_own = true;
        Some(note)
    }

    /// Handles an event. Returns the note about withheld variables after the agent's first command that
    /// failed, or that named a withheld variable without a placeholder.
    pub(in crate::chat) fn event(&mut self, event: &RuntimeEvent) -> Option<String> {
        let (id, failed) = match event {
            RuntimeEvent::ToolExecuting(call) => {
                let command = call.input.get("command").and_then(Value::as_str);
                let command = command.map(|command| (call.tool_call_id.clone(), command.to_owned()));
                self.called.extend(command);
                return None;
            }
            RuntimeEvent::ToolCompleted(done) => (&done.tool_call_id, false),
            RuntimeEvent::ToolFailed(failed) => (&failed.tool_call_id, failed.status == ToolStatus::Failed),
            RuntimeEvent::RunFinished(_) => {
                self.called.clear();
                return None;
            }
            _ => return None,
        };
        let at = self.called.iter().position(|(called, _)| called == id)?;
        let (_, command) = self.called.swap_remove(at);
        let names_one = self
            .variables
            .iter()
            .any(|left_out| names(&command, &left_out.name) && !self.masked.contains(&left_out.name));
        if self.told_of_agent || !(failed || names_one) {
            return None;
        }
        let note = self.note(&command)?;
        self.told_of_agent = true;
        Some(note)
    }

    /// Describes the variables that a command does not get. Keys of providers are named only if the command
    /// names them.
    fn note(&self, command: &str) -> Option<String> {
        let may: Vec<String> = (self.variables.iter().filter(|left_out| left_out.may_be_kept))
            .map(|left_out| visible(&left_out.name))
            .collect();
        let never = self
            .variables
            .iter()
            .find(|left_out| !left_out.may_be_kept && names(command, &left_out.name));
        let mut told = Vec::new();
        if let Some(first) = may.first() {
            let more = match may.len().saturating_sub(NAMED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let shown = may.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
            told.push(format!(
                "commands run without {shown}{more}, which look like secrets by their names or values; to \
                 pass one on, set `tools.environment: [{first}]` in the configuration"
            ));
        }
        if let Some(never) = never {
            let name = visible(&never.name);
            told.push(if self.masked.contains(&never.name) {
                format!(
                    "{name} is never passed to commands; in a sandbox they may get a placeholder (see \
                     `agentx sandbox show`)"
                )
            } else {
                format!("{name} holds a provider's API key, which is never passed to commands")
            });
        }
        (!told.is_empty()).then(|| told.join("; "))
    }
}

/// Returns whether a command line names a variable.
fn names(command: &str, variable: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    command.split(|c| !is_part(c)).any(|word| word == variable)
}

impl Chat<'_> {
    /// Prints notices about the agent's commands: that nothing holds them, withheld variables if they may be
    /// the cause of a failure, background commands that have ended, and commands that a restarted server
    /// ended. A server's commands have the server's environment.
    pub(in crate::chat) fn tell_of_commands(&mut self, envelope: &Envelope<RuntimeEvent>) {
        let is_here = self.place.remote().is_none();
        let left_out = self.programs.withheld.event(&envelope.event).filter(|_| is_here);
        let unheld = self.programs.unheld.event(&envelope.event);
        let ended = self.programs.jobs.event(&envelope.event, envelope.at);
        let left_running = match &envelope.event {
            RuntimeEvent::SessionResumed(resumed) => ended_commands_notice(&resumed.ended),
            _ => None,
        };
        let notes = unheld.into_iter().chain(left_out);
        for note in notes.chain(ended).chain(left_running) {
            self.display
                .transcript
                .aside(&self.display.style().dim(&format!("· {note}")));
        }
    }

    /// Notes whether the person was told before this chat that nothing holds its commands.
    pub(crate) fn note_told_of_unheld(&mut self, is_told: bool) {
        self.programs.unheld = UnheldNotice::given(is_told);
    }

    /// Prints which jobs of the user have ended.
    pub(in crate::chat) fn tell_of_own_jobs(&mut self) {
        for note in self.programs.jobs.take_ended_names() {
            let note = self.display.style().dim(&format!("· {note}"));
            self.display.transcript.print_notice(&note);
        }
    }
}

#[cfg(test)]
mod tests {
    use agentx::types::{ToolCompleted, ToolExecuting, ToolFailed};
    use serde_json::json;

    use super::*;

    fn left_out() -> WithheldNotice {
        let variable = |name: &str, may_be_kept| WithheldVariable {
            name: name.into(),
            may_be_kept,
        };
        WithheldNotice {
            variables: vec![
                variable("GITHUB_TOKEN", true),
                variable("OPAL_KEY", false),
                variable("MASKED", false),
            ],
            masked: vec!["MASKED".into()],
            called: Vec::new(),
            told_of_own: false,
            told_of_agent: false,
        }
    }

    const NOTE: &str = "commands run without GITHUB_TOKEN, which look like secrets by their names or values; to pass one on, set \
                        `tools.environment: [GITHUB_TOKEN]` in the configuration";

    #[test]
    fn a_command_of_ones_own_says_once_what_it_goes_without() {
        let mut left_out = left_out();
        let told = left_out.note_own_command("echo $OPAL_KEY").unwrap_or_default();
        assert_eq!(
            told,
            format!("{NOTE}; OPAL_KEY holds a provider's API key, which is never passed to commands")
        );
        assert_eq!(left_out.note_own_command("echo $GITHUB_TOKEN"), None);
        let mut nothing = WithheldNotice {
            variables: Vec::new(),
            ..left_out
        };
        nothing.told_of_own = false;
        assert_eq!(nothing.note_own_command("ls"), None);
    }

    #[test]
    fn a_masked_variable_is_not_said_to_be_a_key_of_a_provider_and_only_after_a_failure() {
        let mut left_out = left_out();
        let mut ends = |event: &dyn Fn() -> RuntimeEvent| {
            let began = ToolExecuting {
                tool_call_id: "c1".into(),
                name: "bash".into(),
                input: json!({ "command": "curl -H \"Authorization: $MASKED\" https://api.example" }),
            };
            assert_eq!(left_out.event(&began.into()), None);
            left_out.event(&event())
        };
        let completed = || {
            let done = ToolCompleted {
                tool_call_id: "c1".into(),
                name: "bash".into(),
                duration_ms: 5,
                details: None,
            };
            RuntimeEvent::from(done)
        };
        let failed = || {
            let failed = ToolFailed {
                tool_call_id: "c1".into(),
                name: "bash".into(),
                status: ToolStatus::Failed,
                error: "exit 6".into(),
                duration_ms: 5,
                details: None,
            };
            RuntimeEvent::from(failed)
        };
        assert_eq!(ends(&completed), None);
        let told = ends(&failed).unwrap_or_default();
        assert!(
            told.contains("MASKED is never passed to commands; in a sandbox"),
            "{told}"
        );
        assert!(!told.contains("API key"), "{told}");
    }

    #[test]
    fn a_command_of_the_agent_says_it_the_first_time_that_one_failed() {
        let mut left_out = left_out();
        let mut fails = |status| {
            let began = ToolExecuting {
                tool_call_id: "c1".into(),
                name: "bash".into(),
                input: json!({ "command": "gh pr list" }),
            };
            assert_eq!(left_out.event(&began.into()), None);
            let failed = ToolFailed {
                tool_call_id: "c1".into(),
                name: "bash".into(),
                status,
                error: "exit 4".into(),
                duration_ms: 5,
                details: None,
            };
            left_out.event(&failed.into())
        };
        assert_eq!(fails(ToolStatus::Interrupted), None);
        assert_eq!(fails(ToolStatus::Failed).as_deref(), Some(NOTE));
        assert_eq!(fails(ToolStatus::Failed), None, "it is said once");
    }
}
