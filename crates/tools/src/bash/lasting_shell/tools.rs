//! The tools of the shell: `shell` runs command lines, `shell_input` types into the program that runs, and
//! `shell_wait` waits for its output or ends it.
//!
//! They are three tools because they touch three things. A command line is judged as one of `bash`. Input of
//! a program is judged both as a text and as a command line, because the program may be a shell. Waiting and
//! ending touch nothing that was not allowed before, like the tool `job`.

use std::time::Duration;

use agentx_runtime::{ToolContext, ToolOutcome};
use agentx_types::{Access, ContentPart};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::running_shell::RunningShell;
use super::shell_report::ShellState;
use super::shells::LastingShells;
use super::standing_place::StandingPlace;
use super::{SHELL, SHELL_INPUT, SHELL_WAIT};
use crate::bash::links::{self, LineToRun};
use crate::bash::options::BashOptions;
use crate::{ToolAbout, ToolFailure, TypedTool, text};

/// The time that a call waits if it sets none.
const WAIT: Duration = Duration::from_secs(10);
/// Longest command line, in bytes.
const LONGEST_LINE: usize = 100_000;
/// Longest text to type, in bytes. A terminal takes no longer line.
const LONGEST_INPUT: usize = 4_000;

/// The arguments of `shell`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShellInput {
    /// The command line.
    command: String,
    /// Milliseconds to wait for its end; then it continues to run. 10000 if left out.
    wait_ms: Option<u64>,
    /// A short description of the command for the user.
    #[expect(dead_code, reason = "people read it in the call itself")]
    description: Option<String>,
}

/// The arguments of `shell_input`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShellInputText {
    /// The text to type.
    text: String,
    /// Press Enter after it; true if left out.
    enter: Option<bool>,
    /// Milliseconds to wait for output. 10000 if left out.
    wait_ms: Option<u64>,
}

/// The arguments of `shell_wait`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShellWait {
    /// A key to press first: C-c interrupts the program, C-d ends its input, C-z suspends it, C-\ quits it.
    key: Option<ControlKey>,
    /// Milliseconds to wait for its end. 10000 if left out.
    wait_ms: Option<u64>,
    /// End the shell and everything that runs in it.
    end: Option<bool>,
}

/// A key that ends or suspends a program.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
enum ControlKey {
    #[serde(rename = "C-c")]
    Interrupt,
    #[serde(rename = "C-d")]
    EndOfInput,
    #[serde(rename = "C-z")]
    Suspend,
    #[serde(rename = "C-\\")]
    Quit,
}

impl ControlKey {
    /// The character that the key sends.
    fn sent(self) -> &'static str {
        match self {
            Self::Interrupt => "\u{3}",
            Self::EndOfInput => "\u{4}",
            Self::Suspend => "\u{1a}",
            Self::Quit => "\u{1c}",
        }
    }
}

/// The tool `shell`.
pub(crate) struct ShellTool(pub(crate) LastingShells);

/// The tool `shell_input`.
pub(crate) struct ShellInputTool(pub(crate) LastingShells);

/// The tool `shell_wait`.
pub(crate) struct ShellWaitTool(pub(crate) LastingShells);

impl TypedTool for ShellTool {
    type Input = ShellInput;

    fn about(&self) -> ToolAbout {
        let description = "Runs a command line in a bash that stays: its directory, variables, functions and activated \
                           environments are there in the next call. It has a terminal, so programs may ask questions. What still runs \
                           after wait_ms continues: see shell_input and shell_wait. For a command that needs none of this use bash.";
        ToolAbout::new(SHELL, description, Access::Run)
            .command("command")
            .only_by_name()
    }

    async fn run(&self, input: ShellInput, context: ToolContext) -> Result<ToolOutcome, ToolFailure> {
        let wait = wait_of(&self.0, input.wait_ms)?;
        let line = input.command.as_str();
        if line.trim().is_empty() {
            return Err(ToolFailure::invalid("The command is empty."));
        }
        if line.contains('\0') {
            return Err(ToolFailure::invalid("The command has a NUL in it."));
        }
        if line.len() > LONGEST_LINE {
            let why = "The command is too long to run; write it to a file and run that.";
            return Err(ToolFailure::invalid(why));
        }
        let mut slot = self.0.take(&context).await?;
        let is_unasked = context.is_unasked(SHELL, &json!({ "command": line }));
        let options = self.0.options().for_call(is_unasked);
        let is_new = self.end_unheld(&mut slot, &options, &context).await;
        let shell = self.0.started(&mut slot, &options, &context).await?;
        let Some(prompt) = shell.screen.prompt() else {
            return Err(ToolFailure::failed(occupied(shell)));
        };
        let place = StandingPlace::of(&prompt.directory, &context.workspace);
        if let Some(why) = place.refusal(line, &context) {
            return Err(ToolFailure::denied(format!("The command was not run: {why}.")));
        }
        let run = LineToRun {
            tool: SHELL,
            line,
            directory: place.directory_in(&context.workspace),
        };
        if let Some(why) = links::refusal(run, &context).await {
            return Err(ToolFailure::denied(format!("The command was not run: {why}.")));
        }
        let sent = shell.begin(line).await;
        if let Err(error) = sent {
            *slot = None;
            return Err(ToolFailure::failed(format!(
                "The shell took no command and was ended: {error}."
            )));
        }
        let report = self.0.watch(shell, &context, wait).await;
        if report.state != ShellState::Interrupted {
            let mut outcome = report.outcome(shell, &context).await;
            if is_new {
                outcome.content.insert(0, ContentPart::text(NEW_SHELL));
            }
            return Ok(outcome);
        }
        // Everything that a cancelled call started ends with it.
        self.interrupt(shell).await;
        let outcome = report.outcome(shell, &context).await;
        if shell.screen.prompt().is_none()
            && let Some(shell) = slot.take()
        {
            shell.stop().await;
        }
        Ok(outcome)
    }
}

impl ShellTool {
    /// Ends a shell that waits for a command and that nothing holds, if these options hold one: it began when
    /// somebody was asked. Returns whether it did.
    async fn end_unheld(
        &self,
        slot: &mut Option<RunningShell>,
        options: &BashOptions,
        context: &ToolContext,
    ) -> bool {
        let is_unheld = |shell: &RunningShell| shell.sandbox().is_none() && shell.screen.prompt().is_some();
        if !slot.as_ref().is_some_and(is_unheld) || !options.holds(&context.workspace) {
            return false;
        }
        if let Some(shell) = slot.take() {
            shell.stop().await;
        }
        true
    }

    /// Interrupts the program that runs, and gives it a moment to end.
    async fn interrupt(&self, shell: &mut RunningShell) {
        let pressed = shell.press(ControlKey::Interrupt.sent()).await;
        if pressed.is_ok() {
            // The caller sees whether it has ended.
            let _ = tokio::time::timeout(self.0.options().grace, shell.screen.rest()).await;
        }
    }
}

impl TypedTool for ShellInputTool {
    type Input = ShellInputText;

    fn about(&self) -> ToolAbout {
        let description = "Types into the program that runs in the shell, such as an answer to its question, and shows \
                           what it says to that.";
        ToolAbout::new(SHELL_INPUT, description, Access::Run)
            .command("text")
            .only_by_name()
    }

    async fn run(&self, input: ShellInputText, context: ToolContext) -> Result<ToolOutcome, ToolFailure> {
        let wait = wait_of(&self.0, input.wait_ms)?;
        if input.text.len() > LONGEST_INPUT {
            return Err(ToolFailure::invalid(format!(
                "The text has {} bytes; at most {LONGEST_INPUT} can be typed at once. Let the program read a file.",
                input.text.len()
            )));
        }
        let mut slot = self.0.take(&context).await?;
        let shell = running(&mut slot)?;
        if let Some(why) = shell.typed_line().refusal(&input.text, &context) {
            return Err(ToolFailure::denied(format!("Nothing was typed: {why}.")));
        }
        let is_unasked = context.is_unasked(SHELL_INPUT, &json!({ "text": input.text }));
        let options = self.0.options().for_call(is_unasked);
        if shell.sandbox().is_none() && options.holds(&context.workspace) {
            return Err(ToolFailure::denied(UNHELD_PROGRAM));
        }
        let mut keys = input.text;
        if input.enter != Some(false) {
            keys.push('\n');
        }
        type_keys(shell, &keys).await?;
        let report = self.0.watch(shell, &context, wait).await;
        Ok(report.outcome(shell, &context).await)
    }
}

impl TypedTool for ShellWaitTool {
    type Input = ShellWait;

    fn about(&self) -> ToolAbout {
        let description = "Waits for the program that runs in the shell and shows its new output; first presses a key \
                           that ends or suspends it, if told to. It also ends the shell itself.";
        ToolAbout::new(SHELL_WAIT, description, Access::Internal).only_by_name()
    }

    async fn run(&self, input: ShellWait, context: ToolContext) -> Result<ToolOutcome, ToolFailure> {
        let wait = wait_of(&self.0, input.wait_ms)?;
        let mut slot = self.0.take(&context).await?;
        if input.end == Some(true) {
            let Some(shell) = slot.take() else {
                return Ok(ToolOutcome::success("[no shell runs]"));
            };
            shell.stop().await;
            return Ok(ToolOutcome::success(
                "[the shell was ended; the next command starts a new one in the workspace]",
            ));
        }
        let shell = slot.as_mut().ok_or_else(|| ToolFailure::failed(NOTHING_RUNS))?;
        match input.key {
            Some(key) if shell.screen.prompt().is_none() => type_keys(shell, key.sent()).await?,
            Some(_) => return Err(ToolFailure::failed(NOTHING_RUNS)),
            None => {}
        }
        let report = self.0.watch(shell, &context, wait).await;
        Ok(report.outcome(shell, &context).await)
    }
}

/// The words to a call that types into a program without a sandbox although nobody is asked about it.
const UNHELD_PROGRAM: &str = "Nothing was typed: the program began without a sandbox, when somebody was \
                              asked about it, and nobody is asked now. End it with shell_wait, and start it \
                              again with shell.";

/// The beginning of the outcome of a call that replaced a shell without a sandbox.
const NEW_SHELL: &str = "[a new shell in a sandbox began, because nobody is asked about commands now; the \
                         directory and the variables of the earlier one are gone]\n";

/// The words to a call that needs a program in the shell.
const NOTHING_RUNS: &str = "No program runs in the shell; start one with shell.";

/// Returns the shell, if a program runs in it.
fn running(slot: &mut Option<RunningShell>) -> Result<&mut RunningShell, ToolFailure> {
    let busy = slot.as_mut().filter(|shell| shell.screen.prompt().is_none());
    busy.ok_or_else(|| ToolFailure::failed(NOTHING_RUNS))
}

async fn type_keys(shell: &mut RunningShell, keys: &str) -> Result<(), ToolFailure> {
    let typed = shell.press(keys).await;
    typed.map_err(|error| ToolFailure::failed(format!("The program did not take the input: {error}.")))
}

/// Returns the words to a call that wants to run a command while another one runs.
fn occupied(shell: &RunningShell) -> String {
    let (line, age) = shell.last_command();
    format!(
        "A command still runs in the shell, for {} s: {}\nType into it with shell_input, wait for it or end it with shell_wait.",
        age.as_secs(),
        text::cut_line(line, 200)
    )
}

/// Returns the time that a call waits.
fn wait_of(shells: &LastingShells, wait_ms: Option<u64>) -> Result<Duration, ToolFailure> {
    let most = shells.options().max_wait;
    match wait_ms.map(Duration::from_millis) {
        Some(asked) if asked > most => Err(ToolFailure::invalid(format!(
            "wait_ms is {}; it has to be at most {}. A command continues after that.",
            asked.as_millis(),
            most.as_millis()
        ))),
        asked => Ok(asked.unwrap_or(WAIT).min(most)),
    }
}
