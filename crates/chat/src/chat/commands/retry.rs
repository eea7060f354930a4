//! `/retry`: repeats the model call, or sends the last message again.

use std::sync::Arc;

use agentx::history::history_of;
use agentx::runtime::Session;
use agentx::types::RunStatus;

use crate::chat::{Chat, ConversationSite};
use crate::error::ChatError;
use crate::render::rewind;

impl Chat<'_> {
    /// Makes a waiting attempt immediately. After a failed run, sends the conversation again. After an
    /// answer, asks for another one: in a copy of the session that ends before the last message, so the first
    /// answer stays in the original.
    pub(super) async fn retry(&mut self) -> Result<String, ChatError> {
        let ConversationSite::Open { session, .. } = &self.connection.site else {
            return Ok("nothing to retry: there are no messages yet".to_owned());
        };
        let session = session.clone();
        if self.status.is_busy() {
            if !self.status.activity.waits_for_an_attempt() {
                return Ok("stop what runs first (Esc); then /retry".to_owned());
            }
            self.wait_for(async { session.retry().await }).await?;
            return Ok(String::new());
        }
        let run = session.state().await?.run;
        match run.map(|run| run.status) {
            Some(RunStatus::Completed) => match self.warning_of_jobs("/retry") {
                Some(warning) => Ok(warning),
                None => self.ask_for_another_answer(&session).await,
            },
            Some(status) if status.is_final() => self.ask_again(&session).await,
            Some(_) => Ok("nothing to retry: the last run has not ended".to_owned()),
            None => Ok("nothing to retry: the agent has not answered yet".to_owned()),
        }
    }

    /// Begins a run without a new message, if the last one ended without an answer.
    async fn ask_again(&mut self, session: &Arc<dyn Session>) -> Result<String, ChatError> {
        self.status.begin_sending("", Vec::new());
        match self.wait_for(async { session.retry().await }).await {
            Ok(seq) => {
                self.status.confirm_sent(seq);
                Ok("asked again".to_owned())
            }
            Err(error) => {
                self.status.cancel_sending();
                Err(error)
            }
        }
    }

    /// Sends the last message again in a copy that ends before it. Files stay as they are; `@FILE` in it is
    /// read again.
    async fn ask_for_another_answer(&mut self, session: &Arc<dyn Session>) -> Result<String, ChatError> {
        let (id, runtime) = (session.id().clone(), self.place.shared());
        let history = self.wait_for(history_of(&*runtime, &id)).await?;
        // A run that was retried has an input without words.
        let said = history
            .inputs()
            .iter()
            .rev()
            .map(|input| (input, rewind::own_text(&input.texts)));
        let Some((last, words)) = { said }.find(|(_, words)| !words.trim().is_empty()) else {
            return Ok("nothing to retry: no message of this session has text to send again".to_owned());
        };
        let before = last.seq.saturating_sub(1);
        self.switch_to_copy(Some(before)).await?;
        let note = format!("· asked again in a copy; the first answer stays in {id} (/resume {id})");
        self.display.transcript.aside(&self.display.style().dim(&note));
        // A message never leaves the chat.
        let _ = self.say(&words).await?;
        Ok(String::new())
    }
}
