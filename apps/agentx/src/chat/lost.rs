//! A session that is closed because the disk is full: the chat stays, what was typed stays in the line, and the next line that is
//! sent opens the session again.

use agentx::runtime::{LogError, OpenRequest, RuntimeError, View};
use agentx::types::ContentPart;
use tokio::time::Instant;

use super::desk::Desk;
use super::jobs::Jobs;
use super::progress::Progress;
use super::{Chat, Face, Seat};
use crate::error::CliError;
use crate::follow::Follower;
use crate::seat;

/// What to do where a session that exists is closed.
pub(super) const FREE_SPACE: &str = "free some space, then press Enter to go on: it opens the session again; \
                                     everything up to the last step is safe";

impl Chat<'_> {
    /// Takes an error of the session. Where the disk is full it says so once, and the chat goes on without a session.
    ///
    /// # Errors
    /// The same error, where the chat cannot go on: it is another one, or nobody is there to free space.
    pub(super) fn lose(&mut self, error: CliError) -> Result<(), CliError> {
        let is_full = is_full(&error);
        if !is_full || matches!(self.face, Face::Lines { eager: false }) {
            return Err(error);
        }
        let is_open = matches!(self.seat, Seat::Open { .. });
        if is_open && !self.is_lost {
            self.is_lost = true;
            self.transcript.break_off();
            self.desk = Desk::default();
            self.progress.stopped(Instant::now());
        }
        self.complain(&error);
        Ok(())
    }

    /// A line could not be sent. Where the disk is full it is in the input again, with what went along; why is said once.
    ///
    /// # Errors
    /// As [`Chat::lose`].
    pub(super) fn not_sent(
        &mut self,
        text: &str,
        shared: Vec<ContentPart>,
        error: CliError,
    ) -> Result<(), CliError> {
        if is_full(&error) {
            self.shared.splice(0..0, shared);
            if matches!(self.face, Face::Editor { .. }) {
                self.editor.bring_back(&[text.to_owned()]);
            }
            return self.lose(error);
        }
        self.complain(&error);
        Ok(())
    }

    /// Opens the session again where it was closed.
    ///
    /// # Errors
    /// Where it cannot be opened; then it is as closed as before.
    pub(super) async fn find_again(&mut self) -> Result<(), CliError> {
        let lost = match &self.seat {
            Seat::Open { session, .. } if self.is_lost => session.clone(),
            _ => return Ok(()),
        };
        seat::leave(self.place, lost.as_ref()).await;
        let (id, runtime) = (lost.id().clone(), self.place.shared());
        drop(lost);
        let session = self
            .wait_for(async { runtime.open(OpenRequest::Resume(id, Vec::new())).await })
            .await?;
        let state = session.state().await?;
        let events = Follower::new(session.clone(), state.last_seq, View::Runtime).await?;
        self.company.join(session.id()).await?;
        self.seat = Seat::Open { session, events };
        self.is_lost = false;
        self.desk = Desk::of(&state);
        // Those of before ended with the session.
        self.jobs = Jobs::default();
        self.progress = Progress::new(&state.config, Instant::now());
        self.progress.stands(&state);
        let note = self.console.out_style().dim("· the session is open again");
        self.transcript.in_passing(&note);
        Ok(())
    }
}

/// Whether nothing can be written because no space is left.
pub(super) fn is_full(error: &CliError) -> bool {
    match error {
        CliError::Runtime(RuntimeError::Log(LogError::Full { .. })) => true,
        CliError::Runtime(RuntimeError::Remote { code, .. }) => code == "disk_full",
        _ => false,
    }
}
