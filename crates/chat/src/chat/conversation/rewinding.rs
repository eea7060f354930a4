//! Asks the questions of a rewind: which message to go back to, what to undo, and what to do with each file
//! that somebody else changed. Nothing changes before the last question is answered.

use std::collections::BTreeSet;

use agentx::history::{SessionHistory, history_of, latest_restoring};
use agentx::runtime::{PlannedFile, RestoreEffect, RestorePlan, RestoreReport, RestoreRequest};
use agentx::types::SessionId;

use super::stray_answer::{is_meant_as_answer, no_answer};
use crate::chat::slash::{self, RewindTarget};
use crate::chat::{Chat, ChatFlow, ChatInterface, ConversationSite};
use crate::error::ChatError;
use crate::exit::exit_words::leaves;
use crate::render::{clean::visible, rewind, rewind_list};

/// A question that is open.
#[derive(Debug)]
pub(crate) enum RewindQuestion {
    /// The question before which input the session goes back.
    Which,
    /// The question whether the files, the conversation or both go back.
    What(Box<PendingRewind>),
    /// The question about a file that not only the agent changed.
    File(Box<PendingRewind>),
}

/// A rewind about which questions are open.
#[derive(Debug)]
pub(crate) struct PendingRewind {
    /// The session whose files are put back.
    session: SessionId,
    /// The event before which the session goes back.
    to_seq: u64,
    /// The words of that input, to be edited; `None` if the conversation cannot go back.
    words: Option<String>,
    /// Whether to put the message into the line again.
    fork_only: bool,
    /// Whether this undoes an earlier restore.
    reverts: bool,
    plan: Option<RestorePlan>,
    conversation: bool,
    /// The files to restore after a question, and the number of questions so far.
    wanted: BTreeSet<String>,
    asked: usize,
}

impl PendingRewind {
    fn has_files(&self) -> bool {
        self.plan.as_ref().is_some_and(|plan| !plan.files.is_empty())
    }

    /// The answers to the question what goes back.
    fn choices(&self) -> &'static str {
        match (self.words.is_some(), self.has_files(), self.fork_only) {
            _ if self.reverts && self.has_files() => "y yes · d diff · n cancel",
            (_, true, true) => "k keep files · r restore files · d diff · n cancel",
            (_, false, true) => "y fork · n cancel",
            (true, true, _) => "b both · c conversation · f files · d diff · n cancel",
            (true, false, _) => "c conversation · n cancel",
            (false, true, _) => "f files · d diff · n cancel",
            (false, false, _) => "n cancel",
        }
    }

    /// Says how to undo it. A command that is typed after words in the line would be part of the message.
    fn how_to_undo(&self, has_line: bool) -> &'static str {
        if has_line && self.conversation && self.words.is_some() && !self.fork_only {
            "/rewind undo reverts this; first empty the line with Ctrl-C\n"
        } else {
            "/rewind undo reverts this\n"
        }
    }

    /// The answers to the question about a file.
    fn choices_of_file(&self) -> &'static str {
        if self.deletes() {
            "k keep it · r delete it · d diff · n cancel"
        } else {
            "k keep it · r restore it · d diff · n cancel"
        }
    }

    /// The file that is asked about next.
    fn doubted(&self) -> Option<&PlannedFile> {
        let files = self.plan.iter().flat_map(|plan| &plan.files);
        files
            .filter(|file| file.blocked.is_none() && file.doubt.is_some())
            .nth(self.asked)
    }

    /// Returns whether putting that file back deletes it.
    fn deletes(&self) -> bool {
        self.doubted()
            .is_some_and(|file| file.happens == RestoreEffect::Removed)
    }
}

impl RewindQuestion {
    /// The words before the cursor.
    pub(crate) fn prompt(&self) -> String {
        match self {
            Self::Which => "before which message? number · Enter cancels › ".into(),
            Self::What(going) => {
                let asked = if going.reverts {
                    "undo this restore?"
                } else {
                    "rewind?"
                };
                format!("{asked} {} › ", going.choices())
            }
            Self::File(going) => format!("{} › ", going.choices_of_file()),
        }
    }
}

impl Chat<'_> {
    /// Runs `/rewind`.
    pub(in crate::chat) async fn rewind(&mut self, back: RewindTarget) -> Result<String, ChatError> {
        let Some(session) = self.connection.session() else {
            return Ok("there are no messages yet".to_owned());
        };
        if self.status.is_busy() {
            return Ok("stop the run first (Esc), then /rewind".to_owned());
        }
        let (id, runtime) = (session.id().clone(), self.place.shared());
        if back == RewindTarget::Undo {
            return self.undo(&id).await;
        }
        let history = self.wait_for(history_of(&*runtime, &id)).await?;
        if history.inputs().is_empty() {
            return Ok("there are no messages yet".to_owned());
        }
        match back {
            RewindTarget::To(number) => self.consider(&history, number).await,
            _ => {
                let mut list = rewind::cut_off(history.unfinished(), None);
                list.push_str(&rewind_list::list(&history, self.display.list_look()));
                Ok(self.ask_back(list, RewindQuestion::Which))
            }
        }
    }

    /// Shows what going back to before an input would undo, and asks.
    async fn consider(&mut self, history: &SessionHistory, number: usize) -> Result<String, ChatError> {
        let Some(input) = history.input(number) else {
            let text = format!(
                "there is no input {number}; the inputs are 1 to {}\n",
                history.inputs().len()
            );
            return Ok(self.ask_back(text, RewindQuestion::Which));
        };
        let words = rewind::own_text(&input.texts);
        self.put_the_question(history, input.seq, Some(words), false)
            .await
    }

    /// Shows what going back to before an event would undo, and asks.
    pub(in crate::chat) async fn put_the_question(
        &mut self,
        history: &SessionHistory,
        to_seq: u64,
        words: Option<String>,
        fork_only: bool,
    ) -> Result<String, ChatError> {
        let Some(session) = self.connection.session() else {
            return Ok(String::new());
        };
        let (id, runtime) = (session.id().clone(), self.place.shared());
        let (plan, why) = match self.wait_for(runtime.plan_restore(&id, to_seq)).await {
            Ok(plan) => (Some(plan), String::new()),
            Err(ChatError::Runtime(error)) => (None, error.to_string()),
            Err(error) => return Err(error),
        };
        let (style, width) = (self.display.style(), self.display.width());
        let files = plan.as_ref().ok_or(why.as_str());
        let mut text = rewind::plan(history, to_seq, files, style, width);
        if let Some(plan) = &plan {
            text.insert_str(0, &rewind::cut_off(history.unfinished(), Some(to_seq)));
            text.push_str(&rewind::diffs(plan, false, style, width));
        }
        let going = PendingRewind {
            session: id,
            to_seq,
            words,
            fork_only,
            reverts: false,
            plan,
            conversation: false,
            wanted: BTreeSet::new(),
            asked: 0,
        };
        Ok(self.ask_back(text, RewindQuestion::What(Box::new(going))))
    }

    /// Runs `/rewind undo`.
    async fn undo(&mut self, id: &SessionId) -> Result<String, ChatError> {
        let runtime = self.place.shared();
        let found = self.wait_for(latest_restoring(&*runtime, id)).await?;
        let Some((session, restoring)) = found else {
            return Ok("no files were restored, so there is nothing to undo".to_owned());
        };
        let to_seq = restoring.undo_to();
        let plan = self.wait_for(runtime.plan_restore(&session, to_seq)).await?;
        let (style, width) = (self.display.style(), self.display.width());
        let mut text = rewind::before_undo(&restoring);
        text.push_str(&rewind::plan(
            &SessionHistory::default(),
            to_seq,
            Ok(&plan),
            style,
            width,
        ));
        text.push_str(&rewind::diffs(&plan, false, style, width));
        let going = PendingRewind {
            session,
            to_seq,
            words: None,
            fork_only: false,
            reverts: true,
            plan: Some(plan.clone()),
            conversation: false,
            wanted: BTreeSet::new(),
            asked: 0,
        };
        if plan.files.is_empty() {
            if restoring.unfinished {
                // A restore that was cut off after its last file counts as finished from now on.
                self.put_back(&going, &plan).await?;
            }
            return Ok(text);
        }
        Ok(self.ask_back(text, RewindQuestion::What(Box::new(going))))
    }

    /// Opens a question; without a line editor, prints it.
    fn ask_back(&mut self, mut text: String, asking: RewindQuestion) -> String {
        if matches!(self.display.face, ChatInterface::Lines { .. }) {
            text.push_str(asking.prompt().trim_end());
        }
        self.composer.asking = Some(asking);
        text
    }

    /// Cancels the rewind.
    pub(in crate::chat) fn do_not_go_back(&mut self) {
        self.composer.asking = None;
        let text = self.display.style().dim("  nothing was changed");
        self.display.transcript.aside(&text);
    }

    /// Reads a line as the answer to the open question; `None` if it is not an answer.
    pub(in crate::chat) async fn answer_back(&mut self, line: &str) -> Option<ChatFlow> {
        let asking = self.composer.asking.take()?;
        let word = line.trim();
        if word.is_empty() || matches!(word, "n" | "no") {
            self.do_not_go_back();
            return Some(ChatFlow::Continue);
        }
        if leaves(word) || matches!(slash::parse(line), Some(Ok(_))) {
            self.do_not_go_back();
            return None;
        }
        let answered = match asking {
            RewindQuestion::Which => match word.parse() {
                Ok(number) => self.rewind(RewindTarget::To(number)).await,
                Err(_) if is_meant_as_answer(word) => {
                    let text = no_answer(word, "the number of a message · Enter cancels");
                    Ok(self.ask_back(text, RewindQuestion::Which))
                }
                // The line is a message.
                Err(_) => return None,
            },
            RewindQuestion::What(going) => self.chosen(going, word).await,
            RewindQuestion::File(going) => self.decided(going, word).await,
        };
        match answered {
            Ok(text) if text.is_empty() => {}
            Ok(text) => self.display.transcript.aside(&text),
            Err(error) => self.complain(&error),
        }
        Some(ChatFlow::Continue)
    }

    async fn chosen(&mut self, mut going: Box<PendingRewind>, word: &str) -> Result<String, ChatError> {
        let files = match (word, going.fork_only) {
            ("d" | "diff", _) if going.has_files() => {
                let text = self.whole_diff(&going);
                return Ok(self.ask_back(text, RewindQuestion::What(going)));
            }
            ("b" | "both", false) if going.words.is_some() && going.has_files() => true,
            ("y" | "yes", false) if going.reverts && going.has_files() => {
                return self.next_file(going).await;
            }
            ("f" | "files", false) if going.has_files() => {
                return self.next_file(going).await;
            }
            ("c" | "conversation", false) if going.words.is_some() => false,
            // A yes can mean nothing else.
            ("y" | "yes", false) if going.words.is_some() && !going.has_files() => false,
            ("y" | "yes", true) if !going.has_files() => false,
            ("k" | "keep", true) => false,
            ("r" | "restore", true) if going.has_files() => true,
            _ => {
                let text = no_answer(word, going.choices());
                return Ok(self.ask_back(text, RewindQuestion::What(going)));
            }
        };
        going.conversation = true;
        if !files {
            going.plan = None;
        }
        self.next_file(going).await
    }

    fn whole_diff(&self, going: &PendingRewind) -> String {
        let (style, width) = (self.display.style(), self.display.width());
        let plan = going.plan.as_ref();
        plan.map_or_else(String::new, |plan| rewind::diffs(plan, true, style, width))
    }

    async fn decided(&mut self, mut going: Box<PendingRewind>, word: &str) -> Result<String, ChatError> {
        let Some(file) = going.doubted() else {
            return self.go_back(going).await;
        };
        match word {
            "k" | "keep" => {}
            "r" | "restore" | "delete" => {
                let path = file.path.clone();
                going.wanted.insert(path);
            }
            "d" | "diff" => {
                let (style, width) = (self.display.style(), self.display.width());
                let text = rewind::diff_of(file, usize::MAX, style, width);
                return Ok(self.ask_back(text, RewindQuestion::File(going)));
            }
            _ => {
                let text = no_answer(word, going.choices_of_file());
                return Ok(self.ask_back(text, RewindQuestion::File(going)));
            }
        }
        going.asked += 1;
        self.next_file(going).await
    }

    /// Asks about the next doubtful file, or rewinds if there are no more.
    async fn next_file(&mut self, going: Box<PendingRewind>) -> Result<String, ChatError> {
        let Some(file) = going.doubted() else {
            return self.go_back(going).await;
        };
        let why = file.doubt.as_ref().map(rewind::in_words).unwrap_or_default();
        const DELETES: &str = "; the file did not exist before that, so restoring deletes it";
        let deletes = if going.deletes() { DELETES } else { "" };
        let text = format!("{}: {why}{deletes}\n", visible(&file.shown));
        Ok(self.ask_back(text, RewindQuestion::File(going)))
    }

    async fn go_back(&mut self, going: Box<PendingRewind>) -> Result<String, ChatError> {
        if self.status.is_busy() {
            return Ok("a run has started: stop it first (Esc); nothing was changed".to_owned());
        }
        let mut told = String::new();
        if let Some(plan) = &going.plan {
            let report = self.put_back(&going, plan).await?;
            told.push_str(&rewind::report(&report, plan));
            if report.seq.is_some() {
                told.push_str(going.how_to_undo(self.display.has_editor()));
            }
            if !going.conversation {
                rewind::tell_the_agent(&mut self.composer.shared, &report, plan);
            }
        }
        if going.conversation {
            told.push_str(&self.switch_to_copy(Some(going.to_seq.saturating_sub(1))).await?);
            if let (Some(words), false) = (&going.words, going.fork_only) {
                self.composer.editor.clear();
                // These are the person's own words, which a paste is not.
                self.composer.editor.replace(words);
            }
        }
        Ok(told)
    }

    async fn put_back(
        &mut self,
        going: &PendingRewind,
        plan: &RestorePlan,
    ) -> Result<RestoreReport, ChatError> {
        let open = match &self.connection.site {
            ConversationSite::Open { session, .. } if *session.id() == going.session => Some(session.clone()),
            _ => None,
        };
        let wish = RestoreRequest::of(plan, |file| going.wanted.contains(&file.path));
        let runtime = self.place.shared();
        self.wait_for(runtime.restore(&going.session, open, wish)).await
    }
}
