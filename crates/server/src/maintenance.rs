//! The chores of a server: it resumes interrupted sessions, closes idle ones, ends runs of members whose
//! money is used up and calls of people who are no longer let in, removes blobs whose time is over, and
//! reloads settings that its operator changes.

use std::sync::Arc;
use std::time::Duration;

use agentx_runtime::{LogError, Runtime as _, RuntimeError};
use agentx_types::{OwnerId, SessionId};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use crate::mcp::agent_tasks::guard_resumed_task;
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
                    if let Err(error) = guard_resumed_task(&state, &session, &owner).await {
                        tracing::warn!(%session, %error, "cannot find out whether a session is a task");
                    }
                    waiting_calls::announce_waiting_calls(&state, &session).await;
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

/// Removes the tokens for `/mcp` of people who are no longer trusted, so that they do not count again later.
async fn remove_tokens_of_untrusted(state: &Arc<ServerState>) {
    let state = state.clone();
    let removed = tokio::task::spawn_blocking(move || state.auth().remove_mcp_tokens_of_untrusted());
    // It cannot panic, and it is not waited for if the server ends.
    let _ = removed.await;
}

/// Begins to remove what deleted sessions and calls at `/mcp` left on the disk when the time is over for
/// which it counts. Otherwise it would stay until somebody deletes a session, and count for nobody.
fn collect_expired_blobs(state: &Arc<ServerState>, collection: &mut Option<JoinHandle<()>>) {
    let is_running = collection.as_ref().is_some_and(|running| !running.is_finished());
    if is_running || !state.kept.deleted.take_expired(state.now()) {
        return;
    }
    let runtime = state.runtime();
    *collection = Some(tokio::spawn(async move {
        if let Err(error) = runtime.collect_garbage().await {
            tracing::warn!(%error, "cannot remove the files that deleted sessions and calls left on the disk");
        }
    }));
}

async fn stop_if_untrusted(state: &ServerState, session: &SessionId, owner: &OwnerId) {
    if owner == state.operator() || state.auth().known().members().contains(owner) {
        return;
    }
    let room = state.rooms().find(session).await;
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
    // At the first look, too: the list may have changed while no server ran.
    let mut people = None;
    let mut collection = None;
    loop {
        ticks.tick().await;
        state.auth().known().look();
        state.end_calls_without_login();
        let now = Some(state.auth().known().generation());
        if people != now {
            remove_tokens_of_untrusted(&state).await;
            if people.is_some() {
                stop_runs_of_untrusted(&state).await;
            }
            people = now;
        }
        collect_expired_blobs(&state, &mut collection);
        state.look_at_settings().await;
        state.keep_unlisted().await;
        if let Err(error) = state.end_runs_over_cost_quota().await {
            tracing::warn!(%error, "cannot check the members' spending");
        }
        state.page_cache().forget_unused();
        state.rooms().sweep(idle).await;
    }
}
