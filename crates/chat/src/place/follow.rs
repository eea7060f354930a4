//! Follows a session from a front end with the one follower, and waits for a server that cannot be reached.

use std::sync::Arc;

use agentx::runtime::{
    Delivery, EventCursor, FollowError, Follower as Following, Runtime, RuntimeError, Session,
    SubscriptionSource, View,
};
use agentx::types::SessionId;

use crate::error::ChatError;
use crate::exit::Exit;
use crate::exit::run_failure::FOLLOWING_ENDED;

/// The time before a server that cannot be reached is asked for a session's events again.
const AGAIN: std::time::Duration = std::time::Duration::from_secs(1);

/// Follows a session, here or on a server, across every cut.
pub struct AnyFollower {
    following: Following<SubscriptionSource>,
    id: SessionId,
    /// Asked for the reason if the events end with an error.
    session: Option<Arc<dyn Session>>,
}

impl AnyFollower {
    /// Begins after `after_seq`.
    pub async fn new(session: Arc<dyn Session>, after_seq: u64, view: View) -> Result<Self, ChatError> {
        let events = SubscriptionSource::to_session(session.clone(), view);
        let following = begin(events, after_seq, view).await?;
        Ok(Self {
            following,
            id: session.id().clone(),
            session: Some(session),
        })
    }

    /// Watches a session, beginning after `after_seq`.
    pub async fn watching(
        runtime: Arc<dyn Runtime>,
        session: SessionId,
        after_seq: u64,
        view: View,
    ) -> Result<Self, ChatError> {
        let events = SubscriptionSource::to_watched(runtime, session.clone(), view);
        let following = begin(events, after_seq, view).await?;
        Ok(Self {
            following,
            id: session,
            session: None,
        })
    }

    /// The next delivery; `None` at the end. Safe to drop while it waits.
    pub async fn next(&mut self) -> Result<Option<Delivery>, ChatError> {
        loop {
            match self.following.next().await {
                Ok(delivery) => return Ok(delivery),
                // The server may come back, or the person may stop waiting.
                Err(FollowError::Runtime(RuntimeError::Unreachable { .. })) => {
                    tokio::time::sleep(AGAIN).await;
                }
                Err(FollowError::Runtime(error)) => return Err(error.into()),
                Err(FollowError::CutOff(why)) => return Err(self.complaint(&why).await),
            }
        }
    }

    /// Returns the next delivery if it has already arrived.
    pub fn ready(&mut self) -> Option<Delivery> {
        self.following.try_next()
    }

    /// The `seq` up to which everything was delivered or is being delivered.
    pub fn seq(&self) -> u64 {
        self.following.position().seq
    }

    async fn complaint(&self, why: &str) -> ChatError {
        if let Some(session) = &self.session
            && let Err(error) = session.state().await
        {
            return error.into();
        }
        ChatError::Run {
            exit: Exit::Storage,
            code: FOLLOWING_ENDED.into(),
            message: format!("cannot follow {}: {why}", self.id),
        }
    }
}

async fn begin(
    events: SubscriptionSource,
    after_seq: u64,
    view: View,
) -> Result<Following<SubscriptionSource>, ChatError> {
    let mut following = events.follow(view, EventCursor::after(after_seq));
    following.begin().await.map_err(RuntimeError::from)?;
    Ok(following)
}
