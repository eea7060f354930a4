//! Steering: changes the queue, and sends messages into the middle of a run.

use agentx::runtime::{RuntimeError, UserInput};
use agentx::types::{ContentPart, InputMode, MessageId};
use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::chat::slash::QueueCommand;
use crate::chat::{Chat, ChatFlow, ChatInterface};
use crate::error::ChatError;
use crate::render::clean::visible;
use crate::session_status::queue::QueuedInput;

/// The note if there is no run to steer.
const IDLE: &str = "nothing is running; send it as a normal message";

impl Chat<'_> {
    /// Returns whether a key takes the last queued message back: Alt-Up, or Up on an empty line.
    pub(in crate::chat) fn takes_back(&self, key: &KeyEvent) -> bool {
        let plain = key.modifiers.is_empty()
            && self.composer.editor.text().is_empty()
            && self.composer.editor.wanted().is_none();
        self.display.has_editor()
            && key.kind != KeyEventKind::Release
            && key.code == KeyCode::Up
            && (key.modifiers == KeyModifiers::ALT || plain)
            && !self.status.queue.is_empty()
            && !self.composer.editor.is_stashed()
            && self.composer.asking.is_none()
    }

    /// Takes the last queued message back into the line.
    pub(in crate::chat) async fn take_back_last(&mut self) {
        let last = self
            .status
            .queue
            .iter()
            .next_back()
            .and_then(|waiting| waiting.id.clone());
        if let Some(last) = last
            && let Err(error) = self.take_back(vec![last]).await
        {
            self.complain(&error);
        }
    }

    /// Takes inputs back into the line, before its text. An input that the agent has already received stays.
    async fn take_back(&mut self, ids: Vec<MessageId>) -> Result<(), ChatError> {
        let mut texts = Vec::new();
        let mut outcome = Ok(());
        for id in ids {
            match self.revise(&id, None).await {
                Ok(Some(mut waiting)) => {
                    self.composer.shared.append(&mut waiting.shared);
                    texts.push(waiting.text);
                }
                Ok(None) => {}
                Err(error) => {
                    outcome = Err(error);
                    break;
                }
            }
        }
        if !texts.is_empty() {
            self.composer.editor.bring_back(&texts);
        }
        outcome
    }

    /// Takes all queued messages of the person back before a run is stopped, because the first of them would
    /// start the next run. Messages of other people stay.
    ///
    /// # Errors
    /// Returns an error if one could not be withdrawn.
    pub(in crate::chat) async fn take_all_back(&mut self) -> Result<(), ChatError> {
        if !self.display.has_editor() {
            return Ok(());
        }
        let others = self.connection.company.has_others();
        let mine = self.status.queue.iter().filter(|waiting| waiting.own || !others);
        let ids: Vec<MessageId> = mine.filter_map(|waiting| waiting.id.clone()).collect();
        self.take_back(ids).await
    }

    /// Sends the messages that were held back since the session was closed: the first begins, the others
    /// follow.
    pub(in crate::chat) async fn send_held(&mut self) {
        let wanted = !matches!(self.display.face, ChatInterface::Lines { eager: false });
        let first = self
            .status
            .queue
            .iter()
            .next()
            .and_then(|waiting| waiting.id.clone());
        let first = first.filter(|_| wanted && self.status.is_held());
        if let Some(first) = first
            && let Err(error) = self.revise(&first, Some(InputMode::Steer)).await
        {
            self.complain(&error);
        }
    }

    /// Changes a queued input. Returns the earlier one, or `None` if it is no longer queued.
    async fn revise(
        &mut self,
        id: &MessageId,
        mode: Option<InputMode>,
    ) -> Result<Option<QueuedInput>, ChatError> {
        let Some(session) = self.connection.session() else {
            return Ok(None);
        };
        let session = session.clone();
        let wish = id.clone();
        match self.wait_for(async { session.revise(wish, mode).await }).await {
            Ok(_) => Ok(self.status.revise(id, mode)),
            Err(ChatError::Runtime(RuntimeError::Refused(_))) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Does what `/queue` asks for.
    pub(in crate::chat) async fn queue_wish(&mut self, wish: QueueCommand) -> Result<String, ChatError> {
        if self.status.queue.is_empty() {
            return Ok("nothing is queued".to_owned());
        }
        let ids: Vec<Option<MessageId>> = self
            .status
            .queue
            .iter()
            .map(|waiting| waiting.id.clone())
            .collect();
        let (number, mode) = match wish {
            QueueCommand::List => {
                let names = self.connection.company.names();
                return Ok(self.status.queue.list(names, self.display.width()));
            }
            QueueCommand::Edit(None) => {
                self.take_back(ids.into_iter().flatten().collect()).await?;
                return Ok(self.composer.location_notice());
            }
            QueueCommand::Edit(Some(number)) | QueueCommand::Remove(number) => (number, None),
            QueueCommand::Steer(number) => (number, Some(InputMode::Steer)),
        };
        let Some(id) = number
            .checked_sub(1)
            .and_then(|at| ids.get(at))
            .cloned()
            .flatten()
        else {
            return Ok(format!(
                "there is no message {number} in the queue; it has 1 to {}",
                ids.len()
            ));
        };
        if let QueueCommand::Edit(_) = wish {
            self.take_back(vec![id]).await?;
            return Ok(self.composer.location_notice());
        }
        Ok(match self.revise(&id, mode).await? {
            Some(waiting) if mode.is_none() => format!("taken out: {}", visible(&waiting.text)),
            Some(_) => String::new(),
            None => "it was already sent".to_owned(),
        })
    }

    /// Handles Ctrl-S: sends the written text in the middle of the run, or the last queued message if nothing
    /// is written.
    pub(in crate::chat) async fn steer_at_once(&mut self) -> Result<ChatFlow, ChatError> {
        let text = self.composer.editor.whole();
        if text.trim().is_empty() {
            let last = self.status.queue.iter().rfind(|waiting| !waiting.joins);
            if let Some(id) = last.and_then(|waiting| waiting.id.clone())
                && let Err(error) = self.revise(&id, Some(InputMode::Steer)).await
            {
                self.complain(&error);
            }
            return Ok(ChatFlow::Continue);
        }
        let is_words = !text.starts_with(['/', '!']) || text.starts_with("//");
        let text = self.composer.editor.take();
        if !(is_words && self.status.is_busy() && self.question().is_none()) {
            return self.line(&text).await;
        }
        self.composer.editor.remember(&text);
        match self.join(crate::chat::slash::unescaped(&text)).await {
            Ok(None) => {}
            Ok(Some(note)) => self.display.transcript.note(&note),
            Err(error) => {
                self.complain(&error);
                self.composer.editor.bring_back(&[text]);
            }
        }
        Ok(ChatFlow::Continue)
    }

    /// Runs `/steer`, which sends a message to the agent in the middle of its work.
    pub(in crate::chat) async fn steer(&mut self, text: &str) -> Result<String, ChatError> {
        match self.join(text).await? {
            Some(note) => Ok(note),
            None if self.display.has_editor() => Ok(String::new()),
            None => Ok("it will be sent with the next model call".to_owned()),
        }
    }

    /// Sends words that join the run. Returns a notice if they did not.
    async fn join(&mut self, text: &str) -> Result<Option<String>, ChatError> {
        let Some(session) = self.connection.session() else {
            return Ok(Some(IDLE.to_owned()));
        };
        if !self.status.is_busy() {
            return Ok(Some(IDLE.to_owned()));
        }
        let session = session.clone();
        let mut content = match self.attached(text).await {
            Ok(content) => content,
            Err(what) => {
                self.composer.editor.bring_back(&[text.to_owned()]);
                return Ok(Some(self.display.style().bad(&what)));
            }
        };
        let shared: Vec<ContentPart> = self.composer.shared.drain(..).collect();
        content.extend(shared.iter().cloned());
        let shows = self.display.has_editor();
        if shows {
            self.status
                .queue
                .put(QueuedInput::new(text, shared.clone(), true));
            self.paint()?;
        }
        let input = UserInput::new(content).mode(InputMode::Steer);
        self.composer.unaccepted = Some(text.to_owned());
        let sent = self.wait_for(async { session.send(input).await }).await;
        self.composer.unaccepted = None;
        match sent {
            Ok(seq) => {
                self.status.queue.confirm(seq);
                Ok(None)
            }
            Err(error) => {
                self.status.queue.drop_unconfirmed();
                self.composer.shared.splice(0..0, shared);
                Err(error)
            }
        }
    }
}
