//! The start of a headless run: with a prompt, or with the run that is already in progress.

use std::sync::Arc;

use agentx::runtime::{RunState, Session, SessionState, UserInput};
use agentx::types::{
    AgentConfig, ApprovalMode, InputMode, MessageId, RunId, RunStatus, RuntimeEvent, SessionId,
};

use super::{Format, OutputOptions};
use crate::error::ChatError;
use crate::exit::Exit;
use crate::exit::run_failure::ANSWER_NEEDED;
use crate::render::conversation;
use crate::session_opening::{self, ASKS_NOBODY};
use crate::terminal::console::Console;

/// Returns the event after which to read, and the event after which to print. The events between them name
/// the participants. `there` is the last event from before the session was opened: opening it continues
/// unfinished work, which may have ended by now.
pub(super) fn places(before: &SessionState, has_prompt: bool, there: u64) -> (u64, u64) {
    let begins = |run: &RunState| run.run_id.input().unwrap_or_default().saturating_sub(1);
    let shown_from = match &before.run {
        // A new session has begun with events that belong to this run's output too.
        None if has_prompt && before.context_tokens == 0 => 0,
        // A run that is already over is shown from its beginning.
        Some(run) if !has_prompt && run.status.is_final() => begins(run),
        _ => there.min(before.last_seq),
    };
    let after = before.run.as_ref().map_or(shown_from, begins);
    (after.min(shown_from), shown_from)
}

/// Sends the prompt and returns its run. Without a prompt, returns the run of the messages that were still
/// queued when the session was closed, otherwise the last run.
pub(super) async fn run(
    session: &Arc<dyn Session>,
    prompt: Option<UserInput>,
    before: &SessionState,
) -> Result<RunId, ChatError> {
    let Some(input) = prompt else {
        if let Some((first, _)) = before.queued.first().filter(|_| before.held) {
            session.revise(first.clone(), Some(InputMode::Steer)).await?;
            let opened = first
                .as_str()
                .strip_prefix("msg_")
                .and_then(|seq| seq.parse().ok());
            return Ok(RunId::of_input(opened.unwrap_or_default()));
        }
        let run = before.run.as_ref().map(|run| run.run_id.clone());
        return run.ok_or_else(|| {
            ChatError::usage(
                "nothing is running in this session, and there is no prompt",
                "give one, or write it to standard input",
            )
        });
    };
    Ok(RunId::of_input(session.send(input).await?))
}

/// Takes the input of this run back if it still waits and nothing runs, so that the next person who continues
/// the session does not send it. Returns whether it did.
pub(super) async fn take_back(session: &Arc<dyn Session>, run_id: &RunId) -> Result<bool, ChatError> {
    let Some(input) = run_id.input() else {
        return Ok(false);
    };
    let input = MessageId::with_suffix(input);
    let state = session.state().await?;
    let waits = state.held && state.queued.iter().any(|(queued, _)| *queued == input);
    if !waits || state.run.is_some_and(|run| !run.status.is_final()) {
        return Ok(false);
    }
    session.revise(input, None).await?;
    Ok(true)
}

/// The stream on which the words of an answer are printed, and the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnswerOutput {
    /// They are shown to a person on standard error, so that an attempt that breaks off is never on standard
    /// output.
    Shown,
    /// The same on a terminal that can show more than lines, which renders the Markdown of the answer.
    Rendered,
    /// The answer goes to standard output, each message when it has ended.
    Printed,
    /// The last answer goes to standard output when the run has ended.
    AtTheEnd,
}

impl AnswerOutput {
    /// Returns the output that the person wants, or the default of a terminal.
    pub(super) fn choose(manner: OutputOptions, console: &Console) -> Self {
        let is_seen = console.terminal.output && console.terminal.error && !manner.quiet;
        match manner.format {
            Format::Text if manner.typed => Self::AtTheEnd,
            Format::Text if is_seen && console.terminal.capable && !manner.streams => Self::Rendered,
            Format::Text if is_seen => Self::Shown,
            Format::Text if manner.streams => Self::Printed,
            _ => Self::AtTheEnd,
        }
    }
}

/// Prints what a person should know about the session before the first message.
pub(super) fn notes(before: &SessionState, console: &mut Console) {
    let notes = [
        session_opening::note_of_cost(&before.config),
        session_opening::note_of_tools(&before.tools_change),
    ];
    notes.into_iter().flatten().for_each(|note| console.say(&note));
}

/// Describes the state before the prompt: commands that a killed program had left running, and the end of the
/// run in progress, whose id is `earlier`.
pub(super) fn of_before(event: &RuntimeEvent, earlier: Option<&RunId>) -> Option<String> {
    match event {
        RuntimeEvent::SessionResumed(resumed) => conversation::ended_commands_notice(&resumed.ended),
        RuntimeEvent::RunFinished(end) if earlier == Some(&end.run_id) => {
            let how = match end.status {
                RunStatus::Completed => "has finished",
                RunStatus::Interrupted => "was stopped",
                RunStatus::TimedOut => "has reached a limit",
                _ => "has failed",
            };
            let why = end.reason.as_ref().map(|why| format!(" ({why})"));
            let why = why.unwrap_or_default();
            Some(format!("the earlier run {how}{why}; answering your prompt now"))
        }
        _ => None,
    }
}

/// Returns whether calls of this agent run without a question. In text a line says so, also with `--quiet`;
/// JSON has a field for it.
pub(super) fn asks_nobody(agent: &AgentConfig, manner: OutputOptions, console: &mut Console) -> bool {
    let is_read_only = agent.guard.as_ref().is_some_and(|guard| guard.read_only);
    let asks_nobody = agent.approval == ApprovalMode::Auto;
    if asks_nobody && is_read_only && manner.format == Format::Text {
        let note = "note: this folder is read-only: changes and commands are refused, even with --yes\n";
        console.say(&console.err_style().dim(note));
    } else if asks_nobody && manner.format == Format::Text {
        let note = format!("note: {ASKS_NOBODY}\n");
        console.say(&console.err_style().dim(&note));
    } else if agent.approval == ApprovalMode::AcceptEdits && !is_read_only && manner.format == Format::Text {
        let note = "note: files of the workspace are changed without asking\n";
        console.say(&console.err_style().dim(note));
    }
    asks_nobody
}

/// The refusal of a prompt for a session whose model waits for an answer: it would wait behind the question.
pub(super) fn not_sent(session: &SessionId) -> ChatError {
    ChatError::Run {
        exit: Exit::Denied,
        code: ANSWER_NEEDED.into(),
        message: format!(
            "the model asked a question that waits for an answer, so your prompt was not sent; `agentx chat --resume {session}` shows the question"
        ),
    }
}

/// The end of a run whose model asks something that waits for an answer (`tools.ask_user: wait`): the session
/// keeps the question.
pub(super) fn left_waiting(session: &SessionId) -> ChatError {
    ChatError::Run {
        exit: Exit::Denied,
        code: ANSWER_NEEDED.into(),
        message: format!(
            "the model asks a question, and nobody is here to answer it; `agentx chat --resume {session}` shows it again"
        ),
    }
}
