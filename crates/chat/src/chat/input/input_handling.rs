//! Handles the input of a person: keys go into the line, lines go to the agent, an open question or the chat.

use agentx::runtime::{ApprovalInput, RuntimeError, UserInput};
use agentx::types::{ApprovalDecision, ContentPart, InputMode};
use crossterm::event::KeyEvent;
use tokio::time::Instant;

use super::{menu, pasted_picture};
use crate::chat::approvals::cycle;
use crate::chat::commands::session_change::leaving_command;
use crate::chat::connection::lost_session::remedy;
use crate::chat::conversation::full_text;
use crate::chat::slash::{self, Slash};
use crate::chat::{Chat, ChatFlow, ChatInterface};
use crate::error::ChatError;
use crate::exit::exit_words::is_exit;
use crate::render::answers::is_nearly_answer;
use crate::render::approval;
use crate::render::approval_reply::ApprovalReply;
use crate::render::clean::visible;
use crate::terminal::{TerminalInput, line_filter::without_value, xterm};
use agentx_terminal::EditOutcome;

/// The note for an answer that came when its question was no longer open.
const TOO_LATE: &str = "  ignored: the question was no longer open";

/// The note for the word `clear`, which people type as in a shell.
const CLEAR: &str = "Ctrl-L clears the screen; /clear begins a new session";

/// The words of a server for a message from somebody who does not drive.
const DRIVES: &str = " drives; ask for the wheel";

/// The note for a message if the driver is another client of the same person.
const OTHER_CLIENT: &str =
    "Your other terminal controls this session; not sent (↑). `/wheel take` moves control here.";

impl Chat<'_> {
    /// Takes an input together with those that wait already, so that pasted or quickly typed text causes one
    /// change of the screen.
    pub(in crate::chat) async fn inputs(&mut self, first: TerminalInput) -> Result<ChatFlow, ChatError> {
        self.display.pace.hurry();
        let mut next = Some(first);
        while let Some(input) = next {
            let opens_list = menu::opens_list(&input);
            let flow = self.input(input).await?;
            self.refresh_menu(opens_list).await;
            if flow != ChatFlow::Continue {
                return Ok(flow);
            }
            let keys = self.display.has_editor();
            next = if keys { self.composer.inputs.ready() } else { None };
        }
        Ok(ChatFlow::Continue)
    }

    pub(in crate::chat) async fn input(&mut self, input: TerminalInput) -> Result<ChatFlow, ChatError> {
        self.display.set_hint("");
        self.approvals.note_input(&input, Instant::now());
        let edited = match input {
            TerminalInput::Key(key) if self.decides_at_once(&key) => return self.decide_at_once(&key).await,
            TerminalInput::Key(key) => self.key(key).await,
            TerminalInput::Paste(text) => self.composer.editor.paste(&text),
            TerminalInput::Line(line) => {
                self.display.prompt.answered();
                EditOutcome::Submit(line)
            }
            TerminalInput::Waited(line) => return self.submit_line(&line).await,
            TerminalInput::End => {
                self.composer.ended = true;
                EditOutcome::Nothing
            }
            TerminalInput::Background { is_light } => {
                self.background(is_light);
                EditOutcome::Nothing
            }
            TerminalInput::Named(_) => {
                self.display.queries.name = None;
                if let ChatInterface::Editor { screen, .. } = &mut self.display.face {
                    screen.tell(xterm::wishes());
                }
                EditOutcome::Nothing
            }
            TerminalInput::Resize(columns, rows) => {
                self.display.resize(columns, rows);
                EditOutcome::Nothing
            }
        };
        self.edited(edited).await
    }

    /// Handles a key; a key without a meaning for the chat goes to the line.
    pub(in crate::chat) async fn key(&mut self, key: KeyEvent) -> EditOutcome {
        let answers = self.composer.asking.is_some() || self.asks_in_line();
        self.composer.editor.set_answering(answers);
        if let Some(outcome) = self.menu_key(&key) {
            return outcome;
        }
        if self.takes_back(&key) {
            self.take_back_last().await;
        } else if let Some(wish) = full_text::wish(&key) {
            self.wished(wish).await;
        } else if cycle::is_wanted(&key) {
            self.cycle_approval().await;
        } else if pasted_picture::is_wanted(&key) {
            self.paste_picture().await;
        } else {
            let before = self.composer.editor.text().len();
            let outcome = self.composer.editor.key(key);
            if self.composer.editor.text().len() == before {
                self.hint_at_line_end(&key);
            }
            return outcome;
        }
        EditOutcome::Nothing
    }

    /// Acts on the result of a key in the line.
    async fn edited(&mut self, edited: EditOutcome) -> Result<ChatFlow, ChatError> {
        match edited {
            EditOutcome::Nothing | EditOutcome::Changed => Ok(ChatFlow::Continue),
            EditOutcome::Submit(line) => self.line(&line).await,
            EditOutcome::Steer => self.steer_at_once().await,
            EditOutcome::Elsewhere => self.write_elsewhere().await,
            EditOutcome::Interrupt | EditOutcome::Escape if self.composer.asking.is_some() => {
                self.do_not_go_back();
                Ok(ChatFlow::Continue)
            }
            EditOutcome::Interrupt if !self.composer.editor.text().is_empty() && !self.status.is_busy() => {
                self.composer.editor.discard();
                Ok(ChatFlow::Continue)
            }
            EditOutcome::Interrupt => self.interrupt().await,
            EditOutcome::Escape if self.works() && !self.status.stopping => self.stop().await,
            EditOutcome::Escape => Ok(ChatFlow::Continue),
            EditOutcome::Leave => Ok(self.leave_by_key().await),
            EditOutcome::Clear => {
                if let ChatInterface::Editor { screen, .. } = &mut self.display.face {
                    screen.clear();
                }
                Ok(ChatFlow::Continue)
            }
            EditOutcome::Suspend => self.display.suspend(),
            EditOutcome::Complete => {
                self.complete().await;
                Ok(ChatFlow::Continue)
            }
        }
    }

    /// Handles a complete line.
    pub(in crate::chat) async fn line(&mut self, line: &str) -> Result<ChatFlow, ChatError> {
        let asked = self.asks_in_line();
        self.line_was_sent();
        if asked {
            if let Some(answer) = self.reply_of(line) {
                return self.answer(answer).await;
            }
            if line.trim().is_empty() {
                return Ok(ChatFlow::Continue);
            }
            if is_nearly_answer(line) {
                let note = self.approvals.answers.wrong_in_chat(line);
                self.display.transcript.print_notice(&note);
                return Ok(ChatFlow::Continue);
            }
        }
        self.submit_line(line).await
    }

    /// Handles a line that does not answer a question about a call.
    async fn submit_line(&mut self, line: &str) -> Result<ChatFlow, ChatError> {
        if let Some(flow) = self.answer_back(line).await {
            return Ok(flow);
        }
        if line.trim().is_empty() {
            self.find_again().await?;
            self.send_held().await;
            return Ok(ChatFlow::Continue);
        }
        let command = slash::parse(line);
        if is_exit(line) {
            return Ok(self.leave_by_word().await);
        }
        if command == Some(Ok(Slash::Quit)) {
            return Ok(self.leave());
        }
        let leaves = command.as_ref().and_then(|command| command.as_ref().ok());
        let leaves = leaves.and_then(leaving_command);
        self.programs.jobs.warn_again(leaves.as_deref());
        self.composer.editor.remember(without_value(line));
        match command {
            Some(command) => {
                self.display.echo(without_value(line));
                match command {
                    Ok(command) => self.command(command).await,
                    Err(what) => return self.prompt_command(line, &what).await,
                }
                Ok(ChatFlow::Continue)
            }
            None => match line.strip_prefix('!').map(str::trim) {
                Some(command) => self.own_command(line, command).await,
                None if line.trim() == "clear" => Ok(self.display.not_sent_for_this(CLEAR)),
                None => self.say(slash::unescaped(line)).await,
            },
        }
    }

    /// Sends a message to the agent. The draft keeps it until the session or the line has it.
    pub(in crate::chat) async fn say(&mut self, text: &str) -> Result<ChatFlow, ChatError> {
        self.composer.unaccepted = Some(text.to_owned());
        self.keep_draft().await;
        let said = self.send(text).await;
        self.composer.unaccepted = None;
        said
    }

    async fn send(&mut self, text: &str) -> Result<ChatFlow, ChatError> {
        if let Err(error) = self.find_again().await {
            self.not_sent(text, Vec::new(), error)?;
            return Ok(ChatFlow::Continue);
        }
        if self.keep_from_other_server(text).await {
            return Ok(ChatFlow::Continue);
        }
        let mut content = match self.attached(text).await {
            Ok(content) => content,
            Err(what) => {
                self.display.transcript.aside(&self.display.style().bad(&what));
                self.composer.editor.bring_back(&[text.to_owned()]);
                return Ok(ChatFlow::Continue);
            }
        };
        let shared = std::mem::take(&mut self.composer.shared);
        content.extend(shared.iter().cloned());
        if self.connection.is_router() && self.status.is_busy() && self.question().is_none() {
            return self.say_at_once(text, content, shared).await;
        }
        let waits = self.status.begin_sending(text, shared.clone());
        // A message is printed for good only when the log has it. Until then a row shows it, if the terminal
        // has one.
        let has_rows = self.display.has_editor();
        let echoes_later = !waits && (has_rows || self.place.remote().is_none());
        if echoes_later {
            self.composer.sending = Some(text.to_owned());
        } else if !waits {
            self.display.echo(&self.composer.editor.folded(text));
        } else if matches!(self.display.face, ChatInterface::Lines { .. }) {
            let style = self.display.style();
            let note = if self.question().is_some() {
                "queued (the question is still open)"
            } else {
                "queued"
            };
            self.display
                .transcript
                .note(&style.dim(&format!("{note}: {}", visible(text))));
        }
        // Show it before waiting for anything.
        self.paint()?;
        let input = UserInput::new(content);
        let sent = match self.session().await {
            Ok(session) => self.wait_for(async { session.send(input).await }).await,
            Err(error) => Err(error),
        };
        self.composer.sending = None;
        match sent {
            Ok(seq) => {
                self.status.confirm_sent(seq);
                if echoes_later {
                    self.display.echo(&self.composer.editor.folded(text));
                }
            }
            Err(error) => {
                self.status.cancel_sending();
                self.not_sent(text, shared, error)?;
            }
        }
        Ok(ChatFlow::Continue)
    }

    /// Sends a message that the agent gets while it speaks.
    async fn say_at_once(
        &mut self,
        text: &str,
        content: Vec<ContentPart>,
        shared: Vec<ContentPart>,
    ) -> Result<ChatFlow, ChatError> {
        let Some(session) = self.connection.session() else {
            return Ok(ChatFlow::Continue);
        };
        let session = session.clone();
        self.composer.sending = Some(text.to_owned());
        self.paint()?;
        let input = UserInput::new(content).mode(InputMode::Steer);
        let sent = self.wait_for(async { session.send(input).await }).await;
        self.composer.sending = None;
        match sent {
            Ok(_) => self.display.echo(&self.composer.editor.folded(text)),
            Err(error) => self.not_sent(text, shared, error)?,
        }
        Ok(ChatFlow::Continue)
    }

    /// Shows an error and continues.
    pub(in crate::chat) fn complain(&mut self, error: &ChatError) {
        let text = match error {
            // The person can do something about it in this chat.
            ChatError::Runtime(RuntimeError::Denied(why))
                if why.contains(DRIVES) && self.connection.company.drives_elsewhere() =>
            {
                OTHER_CLIENT.to_owned()
            }
            ChatError::Runtime(RuntimeError::Denied(why)) => {
                format!(
                    "error: {}\nhint: {}",
                    visible(why),
                    self.connection.company.advice()
                )
            }
            error => match remedy(error, self.connection.lost.is_some()) {
                Some(hint) => format!("error: {}\nhint: {hint}", visible(&error.to_string())),
                None => error.render_at(self.place.address()),
            },
        };
        let text = self.display.style().bad(text.trim_end());
        self.display.transcript.print_notice(&text);
    }

    /// The answer to the open question that a line is, if it is one.
    pub(in crate::chat) fn reply_of(&self, line: &str) -> Option<ApprovalReply> {
        self.question()
            .and_then(|question| approval::reply_to(question, line))
    }

    pub(in crate::chat) async fn answer(&mut self, answer: ApprovalReply) -> Result<ChatFlow, ChatError> {
        let Some(question) = self.question().cloned() else {
            return Ok(ChatFlow::Continue);
        };
        let Some(session) = self.connection.session() else {
            return Ok(ChatFlow::Continue);
        };
        let session = session.clone();
        if !self.takes_answer(&question, answer.decision) {
            return Ok(ChatFlow::Continue);
        }
        let answer = self.effective_answer(&question, answer).await;
        let Some(kept) = self.rules_of(&question, &answer).await else {
            return Ok(ChatFlow::Continue);
        };
        let (rule, others) = match kept.split_last() {
            Some((last, others)) => (last.clone(), others),
            None => (question.suggested.clone(), &[][..]),
        };
        if let Err(error) = self.add_to_session(others).await {
            self.complain(&error);
            return Ok(ChatFlow::Continue);
        }
        let ended = self.end_planning(&question, &answer).await;
        let note = format!("  {}", self.answer_in_words(&question, &answer, &kept));
        let decision = ApprovalInput::new(question.tool_call_id.clone(), answer.decision)
            .note(answer.note)
            .rule(answer.pattern.is_some().then_some(rule));
        let approved = match ended {
            Ok(()) => self.wait_for(async { session.approve(decision).await }).await,
            Err(error) => Err(error),
        };
        self.display.transcript.end_question();
        match approved {
            Ok(_) => {
                self.approvals.note_answer(answer.decision);
                self.display.transcript.aside(&self.display.style().dim(&note));
                if answer.decision == ApprovalDecision::Always {
                    kept.iter().for_each(|rule| self.keep_rule(rule));
                }
            }
            Err(ChatError::Runtime(RuntimeError::Refused(_))) => {
                let note = self.display.style().warn(TOO_LATE);
                self.display.transcript.aside(&note);
            }
            Err(error) => {
                // The answer does not count: the question stays open.
                match &error {
                    ChatError::Runtime(RuntimeError::Denied(why)) => self.display.answer_denied(why),
                    error => self.complain(error),
                }
                self.ask_if_new(None).await;
                return Ok(ChatFlow::Continue);
            }
        }
        self.status.settle_question(&question.tool_call_id);
        self.ask_if_new(None).await;
        Ok(ChatFlow::Continue)
    }
}
