//! Who answers when a call needs an approval in a headless run: nobody, a person at the terminal, or `--yes`.

use agentx::runtime::ApprovalInput;
use agentx::types::{ApprovalDecision, ApprovalRequested, ToolCallId};
use tokio::sync::mpsc;

use crate::console::Console;
use crate::render::approval::{self, Answer};

/// Answers approvals.
pub(crate) enum Approver {
    /// Everything is allowed.
    Yes,
    /// Nobody can be asked, or nobody wants to be: the session refuses what it would ask.
    No {
        /// Nobody can be asked who would have been.
        alone: bool,
    },
    /// A person at the terminal is asked.
    Person(Questions),
}

/// Questions that are open, and the lines that answer them.
pub(crate) struct Questions {
    open: Vec<ApprovalRequested>,
    lines: mpsc::Receiver<String>,
    wanted: mpsc::Sender<()>,
}

/// What is said to a question that was put although the session refuses what it would ask.
const NOT_HERE: &str = "calls that need an approval are refused in this run";

impl Approver {
    /// The one for these flags.
    pub(crate) fn new(yes: bool, asks: bool, alone: bool, console: &Console) -> Self {
        match (yes, asks, console.terminal.input && console.terminal.error) {
            (true, _, _) => Self::Yes,
            (false, true, true) => Self::Person(Questions::start()),
            _ => Self::No { alone },
        }
    }

    /// Whether refusals are for want of a person.
    pub(crate) fn is_alone(&self) -> bool {
        matches!(self, Self::No { alone: true })
    }

    /// Takes a question; the answer, if there is one at once.
    pub(crate) fn asked(
        &mut self,
        request: &ApprovalRequested,
        console: &mut Console,
    ) -> Option<ApprovalInput> {
        match self {
            Self::Yes => Some(answer(&request.tool_call_id, ApprovalDecision::Once, None)),
            Self::No { .. } => Some(answer(
                &request.tool_call_id,
                ApprovalDecision::Deny,
                Some(NOT_HERE.to_owned()),
            )),
            Self::Person(questions) => {
                questions.open.push(request.clone());
                if questions.open.len() == 1 {
                    questions.ask(console);
                }
                None
            }
        }
    }

    /// A call was decided or has ended: nobody needs to answer for it any more.
    pub(crate) fn settled(&mut self, id: &ToolCallId) {
        if let Self::Person(questions) = self {
            questions.open.retain(|open| open.tool_call_id != *id);
        }
    }

    /// The next answer of a person; never, where there is nobody to answer.
    pub(crate) async fn answered(&mut self, console: &mut Console) -> ApprovalInput {
        let Self::Person(questions) = self else {
            return std::future::pending().await;
        };
        loop {
            let line = questions.lines.recv().await;
            let Some(id) = questions.open.first().map(|open| open.tool_call_id.clone()) else {
                // The question is gone; the line has no meaning any more.
                if line.is_none() {
                    return std::future::pending().await;
                }
                continue;
            };
            let parsed = match &line {
                // What is kept here is kept as it was shown.
                Some(line) => approval::parse(line).filter(|answer| answer.pattern.is_none()),
                None => Some(Answer {
                    decision: ApprovalDecision::Deny,
                    note: Some("the terminal was closed".into()),
                    pattern: None,
                }),
            };
            match parsed {
                Some(parsed) => {
                    questions.open.remove(0);
                    if !questions.open.is_empty() {
                        questions.ask(console);
                    }
                    return answer(&id, parsed.decision, parsed.note);
                }
                None => questions.ask(console),
            }
        }
    }
}

impl Questions {
    /// A thread that reads a line whenever one is wanted, so that the terminal is left alone else.
    fn start() -> Self {
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
            open: Vec::new(),
            lines,
            wanted,
        }
    }

    fn ask(&self, console: &mut Console) {
        let Some(request) = self.open.first() else { return };
        console.say(&approval::question(request, None, console.err_style()));
        console.say(approval::PROMPT);
        // A full queue means that a line is wanted already.
        let _ = self.wanted.try_send(());
    }
}

fn answer(id: &ToolCallId, decision: ApprovalDecision, note: Option<String>) -> ApprovalInput {
    ApprovalInput {
        tool_call_id: id.clone(),
        decision,
        note,
        rule: None,
        by: None,
    }
}
