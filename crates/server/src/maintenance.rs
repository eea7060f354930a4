//! The chores of a server: it resumes interrupted sessions, closes idle ones, ends runs of members whose
//! money is used up, and reloads settings that its operator changes.

use std::sync::Arc;
use std::time::Duration;

use agentx_runtime::{LogError, RuntimeError};
use agentx_types::{OwnerId, SessionId};
use tokio::sync::Semaphore;

use crate::members::waiting_calls;
use crate::state::ServerState;

/// The interval between checks for idle sessions.
const SWEEP: Duration = Duration::from_secs(1);
/// The reason why a run of a removed person ends.
const UNTRUSTED: &str = "the owner of this session is no longer trusted by this server";
/// The number of interrupted sessions that are opened at once.
const REOPEN: usize = 4;

/// Continues sessions with a run that was in progress when a server died. Sessions of other programs wait
/// until they are opened.
pub(crate) async fn reopen(state: Arc<ServerState>) {
    let sessions = match state.runtime().interrupted_server_sessions().await {
        Ok(sessions) => sessions,
        Err(error) => return tracing::error!(%error, "cannot find unfinished runs"),
    };
    let slots = Arc::new(Semaphore::new(REOPEN));
    for (session, owner) in sessions {
        let Ok(slot) = slots.clone().acquire_owned().await else {
            return;
        };
        let state = state.clone();
        tokio::spawn(async move {
            let runtime = state.runtime_of(&owner);
            match state.rooms().enter(&session, &owner, &runtime).await {
                Ok(_) => {
                    tracing::info!(%session, "session resumed");
                    stop_if_untrusted(&state, &session, &owner).await;
                    waiting_calls::say_who_waits(&state, &session).await;
                }
                Err(RuntimeError::Log(LogError::Busy { .. })) => {}
                Err(error) => tracing::warn!(%session, %error, "cannot resume session"),
            }
            drop(slot);
        });
    }
}

/// Ends the runs of people who are no longer trusted, and the questions about their calls.
async fn stop_runs_of_untrusted(state: &ServerState) {
    match state.runtime().under_way().await {
        Ok(sessions) => {
            for (session, owner) in sessions {
                stop_if_untrusted(state, &session, &owner).await;
            }
        }
        Err(error) => {
            tracing::warn!(%error, "cannot find runs of people who are no longer trusted")
        }
    }
}

async fn stop_if_untrusted(state: &ServerState, session: &SessionId, owner: &OwnerId) {
    if owner == state.operator() || state.auth().known().members().contains(owner) {
        return;
    }
    let room = state.rooms().there(session).await;
    let Some(open) = room.as_ref().and_then(|room| room.session()) else {
        return;
    };
    match open.halt(Some(UNTRUSTED.to_owned())).await {
        Ok(_) => tracing::info!(%session, %owner, "session stopped: {UNTRUSTED}"),
        Err(error) => tracing::debug!(%session, %error, "cannot stop session"),
    }
}

pub(crate) async fn sweep(state: Arc<ServerState>) {
    let idle = state.options().limits.idle;
    let mut ticks = tokio::time::interval(SWEEP.min(idle.max(Duration::from_millis(10))));
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    state.auth().known().look();
    let mut people = state.auth().known().generation();
    loop {
        ticks.tick().await;
        state.auth().known().look();
        let now = state.auth().known().generation();
        if std::mem::replace(&mut people, now) != now {
            stop_runs_of_untrusted(&state).await;
        }
        state.look_at_settings().await;
        state.keep_unlisted().await;
        if let Err(error) = state.end_runs_over_cost_quota().await {
            tracing::warn!(%error, "cannot check the members' spending");
        }
        state.page_cache().forget_unused();
        state.rooms().sweep(idle).await;
    }
}
