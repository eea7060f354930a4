//! The input line while a question is open. Decides whether the line is for the question, and handles the
//! keys that answer the question without a line.

use std::collections::BTreeSet;

use agentx::node::known_secrets;
use agentx::runtime::{ApprovalInput, RuntimeError, still_asked};
use agentx::secrets::Origin;
use agentx::types::{ApprovalDecision, ApprovalMode, ApprovalRequested, RuntimeEvent, ToolCallId};
use crossterm::event::KeyEvent;
use tokio::time::Instant;

use super::question_timing;
use crate::chat::{Chat, ChatFlow, ChatInterface};
use crate::error::ChatError;
use crate::render::answers::Answers;
use crate::render::approval::{self, QuestionForm};
use crate::render::approval_reply::ApprovalReply;
use crate::render::asked::PlanLook;
use crate::render::hidden_words;
use crate::rules;

/// The note for a key that came too early to be an answer.
const TOO_EARLY: &str = "this question just appeared; press the key again to answer";

/// The note for a key that answers no question of the model.
const NEEDS_WORDS: &str = "the model asks for words: type the answer, then press Enter";

impl Chat<'_> {
    /// Refuses the call.
    pub(in crate::chat) async fn refuse(&mut self, why: &str) -> Result<ChatFlow, ChatError> {
        self.answer(ApprovalReply {
            decision: ApprovalDecision::Deny,
            note: Some(why.to_owned()),
            pattern: None,
        })
        .await
    }

    /// Prints the open question if it was not open before, even for people who may not answer. With `--yes`
    /// the chat answers it in the person's place.
    pub(in crate::chat) async fn ask_if_new(&mut self, before: Option<&ToolCallId>) {
        self.say_yes().await;
        let may_answer = self.question().is_some();
        match self.status.question().cloned() {
            Some(question) if Some(&question.tool_call_id) != before => {
                let text = self.text_of_question(&question, may_answer).await;
                self.display.transcript.question(&text);
                if !may_answer {
                    return;
                }
                if matches!(self.display.face, ChatInterface::Lines { .. }) {
                    let prompt = self.approvals.answers.prompt_of_lines(self.display.style());
                    self.display.transcript.aside(&prompt);
                }
                self.ask_in_line();
            }
            Some(_) => {}
            None => self.take_line_back(),
        }
    }

    /// Returns the text of a question, with the change of a file as it is now, and keeps the answers that
    /// count.
    async fn text_of_question(&mut self, question: &ApprovalRequested, may_answer: bool) -> String {
        let file = self.file_before_change(question).await;
        let mut answers = self.answers_to(question).await.to(question);
        let hidden = hidden_words::hidden_names(&question.input);
        // A rule could not let a call run that the tool refuses, and replaced words are not the person's.
        let keeps_rule = file.refused.is_none()
            && hidden.is_empty()
            && !self.is_asked_each_time(question).await
            && !self.offers_useless_rule(question).await;
        if !keeps_rule {
            answers = answers.without_rules();
        }
        self.approvals.answers = answers.clone();
        let keeps = answers.has(ApprovalDecision::Always) && question.question.is_none();
        let still_asked = if may_answer && keeps {
            self.still_asked(question).await
        } else {
            None
        };
        let other_answer = if may_answer && keeps {
            self.other_answer(question).await
        } else {
            None
        };
        let accepts_edits = if may_answer && self.accepts_edit(question).await {
            Some(match self.display.face {
                ChatInterface::Editor { .. } => "Shift-Tab",
                ChatInterface::Lines { .. } => "/approve-mode accept-edits",
            })
        } else {
            None
        };
        let how = QuestionForm {
            answers: may_answer.then_some(&answers),
            keeps_rule,
            still_asked: still_asked.as_deref(),
            other_answer: other_answer.as_deref(),
            accepts_edits,
            shows_all: match self.display.face {
                ChatInterface::Editor { .. } => "Ctrl-O",
                ChatInterface::Lines { .. } => "/output",
            },
            plan: match &self.display.face {
                ChatInterface::Editor { screen, .. } => Some(PlanLook {
                    theme: screen.theme(),
                    columns: self.display.width(),
                }),
                ChatInterface::Lines { .. } => None,
            },
            is_brief: self.display.is_small(),
        };
        let mut text = approval::question_text(question, &file, how, self.display.style());
        if !hidden.is_empty()
            && let Some(words) = hidden_words::folder_note(&question.input, &self.names_of_env_files())
        {
            text.push_str(&format!("{}\n", self.display.style().warn(&words)));
        }
        self.display.cast.question_of(&question.tool_call_id, text)
    }

    /// Returns the names of the secrets that only `.env` files of the folder name.
    fn names_of_env_files(&self) -> BTreeSet<String> {
        let known = known_secrets(self.settings);
        let of_files = known.iter().filter(|secret| secret.origin() == Origin::EnvFile);
        of_files.map(|secret| secret.name().to_owned()).collect()
    }

    /// Shows the open question `before` once more with the file as it is now, if this event ends a call,
    /// which may have changed the file meanwhile.
    pub(in crate::chat) async fn renew_question(
        &mut self,
        event: &RuntimeEvent,
        before: Option<&ToolCallId>,
    ) {
        let ends_call = matches!(
            event,
            RuntimeEvent::ToolCompleted(_) | RuntimeEvent::ToolFailed(_)
        );
        if !ends_call || !self.display.has_editor() {
            return;
        }
        let shown = |asked: &&ApprovalRequested| Some(&asked.tool_call_id) == before;
        let question = self.status.question().filter(shown).cloned();
        let Some(question) = question.filter(|asked| approval::edited_path(asked).is_some()) else {
            return;
        };
        let may_answer = self.question().is_some();
        let text = self.text_of_question(&question, may_answer).await;
        self.display.transcript.change_question(&text);
    }

    /// Answers with yes if `--yes` was given and the approval mode of the session is still that of `--yes`:
    /// `/approve-mode` ends it.
    async fn say_yes(&mut self) {
        if !self.approvals.auto_approve || self.status.activity.approval() != ApprovalMode::Auto {
            return;
        }
        let Some(session) = self.connection.session() else {
            return;
        };
        // A question that asks for words is for the person, who is present.
        let is_about_call = |asked: &&ApprovalRequested| asked.question.is_none() && asked.form.is_none();
        while let Some(question) = self.status.question().filter(is_about_call) {
            let yes = ApprovalInput::new(question.tool_call_id.clone(), ApprovalDecision::Once);
            let id = yes.tool_call_id.clone();
            // One that was answered elsewhere is settled too; any other failure leaves the question to the
            // person.
            match session.approve(yes).await {
                Ok(_) | Err(RuntimeError::Refused(_)) => self.status.settle_question(&id),
                Err(_) => return,
            }
        }
    }

    /// Returns the answers that count: a server lists them for each person, elsewhere all answers count.
    async fn answers_to(&self, question: &ApprovalRequested) -> Answers {
        if question.form.is_some() {
            return Answers::default().to(question);
        }
        let Some(session) = self.connection.session() else {
            return Answers::default();
        };
        if self.place.remote().is_none() {
            return Answers::default();
        }
        let state = session.state().await;
        let waiting = state.map(|state| state.pending_approvals).unwrap_or_default();
        let asked = waiting
            .iter()
            .find(|asked| asked.tool_call_id == question.tool_call_id);
        asked.map(Answers::from_pending).unwrap_or_default()
    }

    /// Returns another answer that keeps wider rules: a pattern for each command of a line, or any arguments
    /// of a server's tool.
    async fn other_answer(&mut self, question: &ApprovalRequested) -> Option<String> {
        let config = self.agent_config().await.ok()?;
        rules::other_answer(question, &config)
    }

    /// Returns whether the mode `accept-edits`, which comes after `ask`, would make the edit of this
    /// question.
    async fn accepts_edit(&mut self, question: &ApprovalRequested) -> bool {
        let is_asking = self.status.activity.approval() == ApprovalMode::Ask;
        if !is_asking || approval::edited_path(question).is_none() {
            return false;
        }
        let config = self.agent_config().await;
        config.is_ok_and(|config| rules::is_allowed_in(ApprovalMode::AcceptEdits, question, &config))
    }

    /// Returns the reason why similar calls would cause a question even with the offered rule.
    async fn still_asked(&mut self, question: &ApprovalRequested) -> Option<String> {
        let config = self.agent_config().await.ok()?;
        still_asked(&config, &question.suggested, &question.name, &question.input)
    }

    /// Returns whether the text in the line is the answer to a question.
    pub(in crate::chat) fn asks_in_line(&self) -> bool {
        self.question().is_some() && !self.approvals.attention.waits()
    }

    /// Handles a new question: it takes the line, or waits until the person who writes there pauses.
    pub(in crate::chat) fn ask_in_line(&mut self) {
        self.composer.drop_answer();
        let keys = self.display.has_editor();
        if self.approvals.attention.asked(Instant::now()) || !keys {
            self.composer.editor.stash();
        }
    }

    /// The pause has come that a question waits for.
    pub(in crate::chat) fn give_line_to_question(&mut self) {
        if self.approvals.attention.takes_line(Instant::now()) {
            self.composer.editor.stash();
            self.display.pace.hurry();
        }
    }

    /// Notes that the line was sent; a waiting question may now take the line.
    pub(in crate::chat) fn line_was_sent(&mut self) {
        if self.approvals.attention.sent() {
            self.composer.editor.stash();
        }
    }

    /// Restores the line after a question: its earlier text, and any text typed since that was not an answer.
    pub(in crate::chat) fn take_line_back(&mut self) {
        self.approvals.attention.settled();
        if self.composer.editor.is_stashed() {
            self.composer.drop_answer();
            self.composer.editor.stash();
            self.composer.editor.unstash();
        }
    }

    /// Returns whether a key answers the open question, whatever is in the line. With vi keys only on an
    /// empty line, because Esc and a letter, typed fast, look like the letter with Alt.
    pub(in crate::chat) fn decides_at_once(&self, key: &KeyEvent) -> bool {
        question_timing::decision(key).is_some()
            && self.display.has_editor()
            && self.question().is_some()
            && self.composer.editor.wanted().is_none()
            && (self.composer.editor.text().is_empty() || !self.composer.editor.is_vi())
    }

    /// Answers with this key, unless it comes before the person can have read the question.
    pub(in crate::chat) async fn decide_at_once(&mut self, key: &KeyEvent) -> Result<ChatFlow, ChatError> {
        let Some(decision) = question_timing::decision(key) else {
            return Ok(ChatFlow::Continue);
        };
        let is_of_model = self.question().is_some_and(|asked| asked.question.is_some());
        if is_of_model && decision != ApprovalDecision::Deny {
            self.display.set_hint(NEEDS_WORDS);
            return Ok(ChatFlow::Continue);
        }
        if !self.approvals.attention.pressed(Instant::now()) {
            self.display.set_hint(TOO_EARLY);
            return Ok(ChatFlow::Continue);
        }
        self.answer(ApprovalReply {
            decision,
            note: None,
            pattern: None,
        })
        .await
    }
}
