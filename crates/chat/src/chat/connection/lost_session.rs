//! A session that is closed because the disk is full, or because another program locks the database. The chat
//! stays open, the typed text stays in the line, and the next line that the person sends opens the session
//! again.

use agentx::runtime::{LogError, OpenRequest, RuntimeError};
use agentx::types::ContentPart;
use tokio::time::Instant;

use super::server_wait::GAVE_UP;
use crate::chat::{Chat, ChatInterface, ConversationSite};
use crate::error::ChatError;
use crate::session_opening;
use crate::session_status::SessionStatus;

/// The state of a session when its log could no longer be written.
#[derive(Clone, Copy, Debug)]
pub struct StateAtLoss {
    /// Whether a run was in progress.
    pub runs: bool,
    /// Whether the person had asked to stop it.
    stopping: bool,
    /// The number of waiting messages.
    pub queued: usize,
}

impl StateAtLoss {
    /// Returns the present state.
    pub(in crate::chat) fn from_status(status: &SessionStatus) -> Self {
        Self {
            runs: status.is_busy(),
            stopping: status.stopping,
            queued: status.queue.iter().count(),
        }
    }
}

impl Chat<'_> {
    /// Handles the error of a command. If nothing can be written any more, the session is lost.
    ///
    /// # Errors
    /// Returns an error for the same reasons as [`Chat::lose`].
    pub(in crate::chat) fn failed(&mut self, error: ChatError) -> Result<(), ChatError> {
        if is_passing(&error) {
            return self.lose(error);
        }
        self.complain(&error);
        Ok(())
    }

    /// Handles an error of the session. If the disk is full or the database locked, says so once, and the
    /// chat continues without a session.
    ///
    /// # Errors
    /// Returns the same error if the chat cannot continue: it is an error of another kind, or there is no
    /// person to help.
    pub(in crate::chat) fn lose(&mut self, error: ChatError) -> Result<(), ChatError> {
        if !is_passing(&error) || matches!(self.display.face, ChatInterface::Lines { eager: false }) {
            return Err(error);
        }
        let is_open = matches!(self.connection.site, ConversationSite::Open { .. });
        if is_open && self.connection.lost.is_none() {
            self.connection.lost = Some(StateAtLoss::from_status(&self.status));
            self.display.transcript.break_off();
            // They ended with the session.
            if let Some(ended) = self.programs.jobs.ended_with_their_program() {
                let note = self.display.style().dim(&format!("· {ended}"));
                self.display.transcript.print_notice(&note);
            }
            self.status.close(Instant::now());
            self.drop_questions();
        }
        self.complain(&error);
        Ok(())
    }

    /// Handles a line that could not be sent. If it can be sent later (the disk is full, the database locked,
    /// the server away or without room for more), puts it back into the input with its attachments, and
    /// prints the reason once.
    ///
    /// # Errors
    /// Returns an error for the same reasons as [`Chat::lose`].
    pub(in crate::chat) fn not_sent(
        &mut self,
        text: &str,
        shared: Vec<ContentPart>,
        error: ChatError,
    ) -> Result<(), ChatError> {
        if is_passing(&error) || is_later(&error) {
            self.composer.shared.splice(0..0, shared);
            if self.display.has_editor() {
                self.composer.editor.bring_back(&[text.to_owned()]);
            }
        }
        if is_passing(&error) {
            return self.lose(error);
        }
        self.complain(&error);
        Ok(())
    }

    /// Opens the session again if it was closed.
    ///
    /// # Errors
    /// Returns an error if it cannot be opened; then it stays closed.
    pub(in crate::chat) async fn find_again(&mut self) -> Result<(), ChatError> {
        let lost = match &self.connection.site {
            ConversationSite::Open { session, .. } => session.clone(),
            ConversationSite::New(_) => return Ok(()),
        };
        let Some(stood) = self.connection.lost else {
            return Ok(());
        };
        session_opening::leave(self.place, lost.as_ref()).await;
        let (id, runtime) = (lost.id().clone(), self.place.shared());
        drop(lost);
        let session = self
            .wait_for(async { runtime.open(OpenRequest::Resume(id, Vec::new())).await })
            .await?;
        let joined = self.join_at_end(&session).await;
        let (state, events) = session_opening::leave_if_failed(self.place, session.as_ref(), joined).await?;
        self.connection.site = ConversationSite::Open { session, events };
        self.connection.lost = None;
        self.status = SessionStatus::new(&state.config, Instant::now());
        self.switch_status(&state);
        self.apply_kept_rules(&state.config).await?;
        let note = self.display.style().dim("· the session is open again");
        self.display.transcript.print_notice(&note);
        if stood.stopping && self.status.is_busy() {
            // The person already asked for that, but the log could not record it.
            return self.stop().await.map(drop);
        }
        Ok(())
    }
}

/// Returns whether the same line may be sent later: the server cannot be reached, or has no room for more at
/// the moment.
fn is_later(error: &ChatError) -> bool {
    const NO_ROOM: [&str; 5] = [
        "queue_full",
        "quota_usage",
        "quota_storage",
        "rate_limited",
        "too_many",
    ];
    match error {
        ChatError::Runtime(RuntimeError::Unreachable { .. }) => true,
        ChatError::Run { code, .. } => code == GAVE_UP,
        ChatError::Runtime(RuntimeError::Remote { code, .. }) => NO_ROOM.contains(&code.as_str()),
        _ => false,
    }
}

/// Returns whether nothing can be written for a reason that passes: no space is left, or another program
/// keeps the database locked.
pub(in crate::chat) fn is_passing(error: &ChatError) -> bool {
    remedy(error, false).is_some()
}

/// Returns advice for a log that cannot be written at the moment; `is_lost` means that the session was closed
/// because of it.
pub(in crate::chat) fn remedy(error: &ChatError, is_lost: bool) -> Option<&'static str> {
    let is_full = match error {
        ChatError::Runtime(RuntimeError::Log(LogError::Full { .. })) => true,
        ChatError::Runtime(RuntimeError::Log(LogError::Locked { .. })) => false,
        ChatError::Runtime(RuntimeError::Remote { code, .. }) if code == "disk_full" => true,
        ChatError::Runtime(RuntimeError::Remote { code, .. }) if code == "store_locked" => false,
        _ => return None,
    };
    Some(match (is_full, is_lost) {
        (true, false) => "free some disk space, then send it again",
        (true, true) => {
            "free some disk space, then press Enter to reopen the session; everything up to the last step is \
             saved"
        }
        (false, false) => {
            "end the program that locks it, such as a database tool or a backup, then send it again"
        }
        (false, true) => {
            "end the program that locks it, such as a database tool or a backup, then press Enter to reopen \
             the session; everything up to the last step is saved"
        }
    })
}
