//! Changes of a session by a person: of its configuration, its queue, its conversation, its title, and the
//! rights of other people.

use std::sync::Arc;

use agentx_runtime::{ContextRequest, RuntimeError};
use agentx_types::{ConfigChange, InputMode, MessageId, OwnerId, SessionId, SessionRole};

use crate::actions::authorized_session::AuthorizedSession;
use crate::actions::request_terms::RequestTerms;
use crate::actions::session_actions::whole;
use crate::auth::caller::Caller;
use crate::limits::size_limits::{TITLE_CHARS, WORD_CHARS, bounded, bounded_id};
use crate::state::ServerState;

impl ServerState {
    /// Changes the agent's configuration.
    ///
    /// # Errors
    /// Returns an error if the caller may not, or does not drive, or the change would let the agent do more
    /// than the server allows.
    pub async fn change(
        self: &Arc<Self>,
        caller: &Caller,
        session: &SessionId,
        change: ConfigChange,
        terms: RequestTerms,
    ) -> Result<u64, RuntimeError> {
        self.perform_once(caller, session, terms, move |hand, terms| async move {
            hand.change(change, terms).await
        })
        .await
    }

    /// Removes a queued input, or changes when it is handled.
    ///
    /// # Errors
    /// Returns an error if the caller may not, or does not drive, or the input no longer waits.
    pub async fn revise(
        self: &Arc<Self>,
        caller: &Caller,
        session: &SessionId,
        (input, mode): (MessageId, Option<InputMode>),
        terms: RequestTerms,
    ) -> Result<u64, RuntimeError> {
        bounded_id("a message", input.as_str())?;
        self.perform_once(caller, session, terms, move |hand, terms| async move {
            if mode.is_some() {
                hand.check_storage().await?;
            }
            // If inputs are held back, an urgent one starts a run.
            let _counted = match mode {
                Some(InputMode::Steer | InputMode::Interrupt) => hand.check_run().await?,
                Some(InputMode::Queue) | None => None,
            };
            let waiting = hand.session.state().await?.queued;
            let waits = waiting.iter().any(|(waiting, _)| *waiting == input);
            hand.drive_once(terms, waits, |session| async move {
                session.revise(input, mode).await
            })
            .await
        })
        .await
    }

    /// Condenses the conversation, removes a summary, or pins an input.
    ///
    /// # Errors
    /// Returns an error if the caller may not, or does not drive, or there is nothing to take out.
    pub async fn context(
        self: &Arc<Self>,
        caller: &Caller,
        frame: (SessionId, RequestTerms),
        wish: ContextRequest,
    ) -> Result<u64, RuntimeError> {
        match &wish {
            ContextRequest::Condense { instructions } => {
                let what = "what the summary must not leave out";
                bounded(what, instructions.as_deref(), WORD_CHARS)?;
            }
            ContextRequest::Pin { message_id, .. } => bounded_id("a message", message_id.as_str())?,
            ContextRequest::Restore {} => {}
        }
        let (session, terms) = frame;
        self.perform_once(caller, &session, terms, move |hand, terms| async move {
            let _counted = hand.check_run().await?;
            hand.drive_once(terms, false, |session| async move { session.context(wish).await })
                .await
        })
        .await
    }

    /// Sets the title of a session.
    ///
    /// # Errors
    /// Returns an error if the caller may not, or does not drive.
    pub async fn rename(
        self: &Arc<Self>,
        caller: &Caller,
        session: &SessionId,
        title: String,
        terms: RequestTerms,
    ) -> Result<u64, RuntimeError> {
        bounded("the title", Some(&title), TITLE_CHARS)?;
        self.perform_once(caller, session, terms, move |hand, terms| async move {
            hand.check_storage().await?;
            hand.drive_once(terms, false, |session| async move { session.rename(title).await })
                .await
        })
        .await
    }

    /// Sets the role of a person in a session; `None` removes it. Readers who lose access are notified.
    ///
    /// # Errors
    /// Returns an error if the session is not the caller's.
    pub async fn share(
        self: &Arc<Self>,
        caller: &Caller,
        session: &SessionId,
        person: OwnerId,
        role: Option<SessionRole>,
        terms: RequestTerms,
    ) -> Result<u64, RuntimeError> {
        let (state, caller, session) = (self.clone(), caller.clone(), session.clone());
        whole(async move {
            AuthorizedSession::new(&state, &caller, &session)
                .await?
                .share(person, role, terms)
                .await
        })
        .await
    }
}
