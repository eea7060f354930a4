//! Forks the session to try something else, and compares two branches.

use std::sync::Arc;

use agentx::history::{branches_of, changes_of, history_of};
use agentx::runtime::{OpenRequest, Session, SessionState, View};

use crate::chat::commands::session_change::session_command;
use crate::chat::{Chat, ConversationSite};
use crate::error::ChatError;
use crate::place::follow::AnyFollower;
use crate::render::branches;
use crate::render::units::counted;
use crate::session_opening;

impl Chat<'_> {
    /// Runs `/fork`: from here without a question; from an earlier event after the person has decided about
    /// the files that differ now.
    pub(in crate::chat) async fn fork(&mut self, at: Option<u64>) -> Result<String, ChatError> {
        if let Some(warning) = self.warning_of_jobs(&session_command("fork", at)) {
            return Ok(warning);
        }
        let (Some(at), ConversationSite::Open { session, .. }) = (at, &self.connection.site) else {
            return self.switch_to_copy(None).await;
        };
        if self.status.is_busy() {
            return Ok(BUSY.to_owned());
        }
        let (id, runtime) = (session.id().clone(), self.place.shared());
        let history = self.wait_for(history_of(&*runtime, &id)).await?;
        if at == 0 || at > history.last_seq() || history.undone(at + 1).files.is_empty() {
            return self.switch_to_copy(Some(at)).await;
        }
        self.put_the_question(&history, at + 1, None, true).await
    }

    /// Continues in a copy of the session, complete or up to an event.
    pub(in crate::chat) async fn switch_to_copy(&mut self, at: Option<u64>) -> Result<String, ChatError> {
        let Some(session) = self.connection.session() else {
            return Ok("there is nothing to fork yet".to_owned());
        };
        if self.status.is_busy() {
            return Ok(BUSY.to_owned());
        }
        let parent = session.id().clone();
        let runtime = self.place.shared();
        let fork = self
            .wait_for(async { runtime.fork(&parent, at).await })
            .await
            .map_err(|error| about(error, at))?;
        let opened = self
            .wait_for(async { runtime.open(OpenRequest::Resume(fork.clone(), Vec::new())).await })
            .await?;
        let joined = self.join_at_end(&opened).await;
        let (state, events) =
            match session_opening::leave_if_failed(self.place, opened.as_ref(), joined).await {
                Ok(joined) => joined,
                Err(error) => {
                    // The chat continues in its session; the participants are known again with the
                    // connection.
                    let _ = self.connection.company.join(&parent).await;
                    return Err(error);
                }
            };
        let is_at_rest = self.session_at_rest().is_some();
        let (planned, mode) = (
            self.status.activity.is_planning(),
            self.status.activity.approval(),
        );
        let before = std::mem::replace(
            &mut self.connection.site,
            ConversationSite::Open {
                session: opened,
                events,
            },
        );
        if let ConversationSite::Open { session, .. } = before {
            self.give_back(session.as_ref(), is_at_rest).await;
        }
        if let Ok(info) = runtime.info(&fork).await {
            self.display.title.rename(&info.title);
        }
        // Those of the session before ended with it.
        let ended = self.programs.jobs.ended_with_their_program();
        // The copy may end before the answer that was the last one.
        self.display.last_answer = None;
        self.switch_status(&state);
        self.keep_stricter_mode(planned, mode).await;
        self.apply_kept_rules(&state.config).await?;
        Ok(format!(
            "you are now in {fork}, a copy of {parent}{}; /diff {parent} compares the two{}",
            at.map(|at| format!(" up to event {at}")).unwrap_or_default(),
            ended.map(|ended| format!("\n{ended}")).unwrap_or_default()
        ))
    }

    /// Joins the participants of a session, and follows it from its end.
    pub(in crate::chat) async fn join_at_end(
        &mut self,
        session: &Arc<dyn Session>,
    ) -> Result<(SessionState, AnyFollower), ChatError> {
        // A server opens a copy when a client joins it, and ends a run that the copy cut in the middle. The
        // state of the copy is known only after that.
        self.connection.company.join(session.id()).await?;
        let state = session.state().await?;
        let events = AnyFollower::new(session.clone(), state.last_seq, View::Runtime).await?;
        Ok((state, events))
    }

    /// Runs `/diff`: the changes that this session made to files, or the differences to another branch.
    pub(in crate::chat) async fn diff(&mut self, other: Option<String>) -> Result<String, ChatError> {
        let Some(session) = self.connection.session() else {
            return Ok("there is nothing to compare yet".to_owned());
        };
        let (id, runtime) = (session.id().clone(), self.place.shared());
        let Some(other) = other else {
            let changed = self.wait_for(changes_of(&*runtime, &id)).await?;
            if changed.files.is_empty() {
                return Ok(NO_CHANGES.to_owned());
            }
            let style = self.display.style();
            let mut text = branches::changes(&changed.files, style);
            if changed.unwatched_commands > 0 {
                let commands = counted(changed.unwatched_commands, "command");
                let note = format!("not listed: what {commands} changed; `!git diff` shows it");
                text = format!("{}\n{}\n", text.trim_end(), style.dim(&note));
            }
            return Ok(text);
        };
        let other = self.wait_for(runtime.resolve(&other)).await?;
        let found = self.wait_for(branches_of(&*runtime, &other, &id)).await?;
        Ok(branches::render(
            &found,
            self.display.style(),
            self.display.width(),
        ))
    }
}

/// The tools whose changes are in the log; what commands changed is not.
const NO_CHANGES: &str =
    "`edit` and `write` changed no file in this session; `!git diff` shows what commands changed";

const BUSY: &str = "stop the run first (Esc), then /fork";

fn about(error: ChatError, at: Option<u64>) -> ChatError {
    match error {
        ChatError::Runtime(error) => ChatError::about_event(
            error,
            at,
            "give the number of one of its events, or none to copy all of it",
        ),
        other => other,
    }
}
