//! The approver of a headless run: `--yes`, a person at the terminal, the operator of a server, or none.

use std::collections::VecDeque;
use std::sync::Arc;

use agentx::runtime::{ApprovalInput, Runtime, Session, SessionState, always_asked, is_useless_rule};
use agentx::types::{
    ApprovalDecision, ApprovalMode, ApprovalRequested, ConfigChange, NOBODY_ANSWERS, ToolCallId,
};
use tokio::sync::mpsc;

use super::operator::RemoteApprovals;
use crate::error::ChatError;
use crate::pending_change;
use crate::render::agents::LiveAgents;
use crate::render::answers::Answers;
use crate::render::approval;
use crate::render::approval_reply::ApprovalReply;
use crate::render::hidden_words;
use crate::sessions::refused_calls::NOT_HERE;
use crate::terminal::console::Console;

/// Answers the approvals of a run without a chat.
pub enum Approver {
    /// Allows everything.
    Yes,
    /// Refuses calls that need approval, because nobody can be asked.
    Refuse {
        /// The session would ask, but there is no terminal at which a person could answer.
        no_terminal: bool,
    },
    /// Asks the person at the terminal.
    Person(Questions),
    /// Leaves the decision to the operator of the server.
    Elsewhere(RemoteApprovals),
}

/// Questions that are open, and the lines that answer them.
pub struct Questions {
    open: VecDeque<ApprovalRequested>,
    /// The question that the person reads now, and its text.
    put: Option<(ToolCallId, String)>,
    /// The answers to it that count.
    answers: Answers,
    /// The runtime that has the files that calls would change.
    runtime: Arc<dyn Runtime>,
    lines: mpsc::Receiver<String>,
    wanted: mpsc::Sender<()>,
}

impl Approver {
    /// Creates the approver for a run. `yes` means that `--yes` was given; `no_terminal` means that the
    /// session would ask a person, and there is no terminal.
    pub fn new(yes: bool, no_terminal: bool, runtime: Arc<dyn Runtime>, console: &Console) -> Self {
        match (yes, console.terminal.input && console.terminal.error) {
            (true, _) => Self::Yes,
            (false, true) => Self::Person(Questions::start(runtime)),
            (false, false) => Self::Refuse { no_terminal },
        }
    }

    /// Returns true if calls are refused because there is no terminal.
    pub(crate) fn lacks_terminal(&self) -> bool {
        matches!(self, Self::Refuse { no_terminal: true })
    }

    /// Handles a question. Returns the answer if it is known immediately.
    pub(crate) fn asked(&mut self, request: &ApprovalRequested) -> Option<ApprovalInput> {
        let nobody = || {
            answer(
                &request.tool_call_id,
                ApprovalDecision::Deny,
                Some(NOBODY_ANSWERS.to_owned()),
            )
        };
        match self {
            Self::Person(_) => {}
            _ if request.question.is_some() => return Some(nobody()),
            _ => {}
        }
        match self {
            Self::Yes if request.form.is_none() => {
                Some(answer(&request.tool_call_id, ApprovalDecision::Once, None))
            }
            Self::Yes | Self::Refuse { .. } => Some(answer(
                &request.tool_call_id,
                ApprovalDecision::Deny,
                Some(NOT_HERE.to_owned()),
            )),
            Self::Person(questions) => {
                questions.open.push_back(request.clone());
                None
            }
            Self::Elsewhere(_) => None,
        }
    }

    /// Returns whether there is no person here to answer a question of the model.
    pub(crate) fn is_unattended(&self) -> bool {
        matches!(self, Self::Yes | Self::Refuse { .. })
    }

    /// Returns the note about a question that another person answers.
    pub(crate) fn asked_elsewhere(&mut self, request: &ApprovalRequested) -> Option<String> {
        match self {
            Self::Elsewhere(calls) if request.question.is_none() => Some(calls.asked(request)),
            _ => None,
        }
    }

    /// Prints the next question with its change, unless the person already reads it. One about a call of
    /// another agent of the `cast` names that agent.
    pub(crate) async fn put_next(
        &mut self,
        session: &Arc<dyn Session>,
        cast: &LiveAgents,
        console: &mut Console,
    ) {
        if let Self::Person(questions) = self {
            questions.put_next(session, cast, console).await;
        }
    }

    /// A call was decided or has ended: it needs no answer any more.
    pub(crate) fn settled(&mut self, id: &ToolCallId) {
        match self {
            Self::Person(questions) => questions.open.retain(|open| open.tool_call_id != *id),
            Self::Elsewhere(calls) => calls.settled(id),
            Self::Yes | Self::Refuse { .. } => {}
        }
    }

    /// Returns the next answer of a person; waits forever if there is no person.
    ///
    /// # Errors
    /// Returns an error if the other person has not answered in time.
    pub(crate) async fn answered(&mut self, console: &mut Console) -> Result<ApprovalInput, ChatError> {
        let questions = match self {
            Self::Person(questions) => questions,
            Self::Elsewhere(calls) => return Err(calls.wait_for_timeout().await),
            Self::Yes | Self::Refuse { .. } => return std::future::pending().await,
        };
        loop {
            let line = questions.lines.recv().await;
            let Some(request) = questions.open.front().cloned() else {
                // The question is gone; the line has no meaning any more.
                if line.is_none() {
                    return std::future::pending().await;
                }
                continue;
            };
            let parsed = match &line {
                // The rule is kept exactly as it was shown.
                Some(line) => approval::reply_to(&request, line)
                    .filter(|answer| answer.pattern.is_none() && questions.answers.has(answer.decision)),
                None => Some(ApprovalReply {
                    decision: ApprovalDecision::Deny,
                    note: Some("the terminal was closed".into()),
                    pattern: None,
                }),
            };
            match parsed {
                Some(parsed) => {
                    questions.open.pop_front();
                    return Ok(answer(&request.tool_call_id, parsed.decision, parsed.note));
                }
                None => {
                    let given = line.unwrap_or_default();
                    if !given.trim().is_empty() && request.question.is_none() {
                        console.say(&format!("{}\n", why_not(&request, &questions.answers, &given)));
                    }
                    questions.ask(console);
                }
            }
        }
    }
}

impl Questions {
    /// Starts a thread that reads a line on request, and leaves the terminal alone at other times.
    fn start(runtime: Arc<dyn Runtime>) -> Self {
        let (wanted, mut wants) = mpsc::channel::<()>(8);
        let (sender, lines) = mpsc::channel(1);
        std::thread::spawn(move || {
            while wants.blocking_recv().is_some() {
                let mut line = String::new();
                match std::io::stdin().read_line(&mut line) {
                    Ok(read) if read > 0 && sender.blocking_send(line).is_ok() => {}
                    _ => return,
                }
            }
        });
        Self {
            open: VecDeque::new(),
            put: None,
            answers: Answers::default(),
            runtime,
            lines,
            wanted,
        }
    }

    async fn put_next(&mut self, session: &Arc<dyn Session>, cast: &LiveAgents, console: &mut Console) {
        let Some(request) = self.open.front() else { return };
        let is_put = |(put, _): &(ToolCallId, String)| *put == request.tool_call_id;
        if self.put.as_ref().is_some_and(is_put) {
            return;
        }
        let open = Some(session.clone());
        let file = pending_change::file_now(&*self.runtime, session.id(), open, request).await;
        let asked_each_time = |state: SessionState| {
            let (config, tool, input) = (&state.config, &request.name, &request.input);
            always_asked(config, tool, input).is_some()
                || is_useless_rule(config, &request.suggested, tool, input)
        };
        let keeps = file.refused.is_none()
            && hidden_words::hidden_names(&request.input).is_empty()
            && !session.state().await.is_ok_and(asked_each_time);
        self.answers = Answers::default().to(request);
        if !keeps {
            self.answers = self.answers.clone().without_rules();
        }
        let text = approval::question(request, &file, keeps, console.err_style());
        let text = cast.question_of(&request.tool_call_id, text);
        self.put = Some((request.tool_call_id.clone(), text));
        self.ask(console);
    }

    fn ask(&self, console: &mut Console) {
        let Some((_, text)) = &self.put else { return };
        console.say(text);
        console.say(&self.answers.prompt_in(console.terminal.width));
        // A full queue means that a line is wanted already.
        let _ = self.wanted.try_send(());
    }
}

/// The reason why a typed line does not answer the question.
fn why_not(asked: &ApprovalRequested, answers: &Answers, given: &str) -> String {
    match approval::reply_to(asked, given) {
        Some(reply) if !answers.has(reply.decision) => answers.not_counted(),
        Some(_) => "to give a pattern, use a chat (`agentx chat`) or `agentx approvals add`; here the rule \
                    is saved as shown above"
            .to_owned(),
        None => answers.wrong(given),
    }
}

fn answer(id: &ToolCallId, decision: ApprovalDecision, note: Option<String>) -> ApprovalInput {
    ApprovalInput::new(id.clone(), decision).note(note)
}

/// Lets a session refuse calls instead of asking, because nobody can be asked: it then records no question
/// and no decision of a person. Returns whether the session would have asked.
pub async fn deny_instead_of_asking(session: &Arc<dyn Session>, told_now: bool) -> Result<bool, ChatError> {
    match session.state().await?.config.approval {
        ApprovalMode::Ask => {
            session.change(ConfigChange::Approval(ApprovalMode::Deny)).await?;
            Ok(true)
        }
        ApprovalMode::Deny => Ok(told_now),
        // Both answer some calls by themselves; the approver refuses the others.
        ApprovalMode::Auto | ApprovalMode::AcceptEdits => Ok(false),
    }
}
