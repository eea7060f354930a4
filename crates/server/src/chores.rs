//! The chores of a server: it resumes interrupted sessions, closes idle ones, ends runs of members whose money is used up, and reloads
//! settings that its operator changes.

use std::sync::Arc;
use std::time::Duration;

use agentx_runtime::{LogError, RuntimeError};
use tokio::sync::Semaphore;

use crate::live::Reload;
use crate::state::ServerState;
use crate::waiting;

/// How often sessions are looked at that may be put away.
const SWEEP: Duration = Duration::from_secs(1);
/// How many sessions that were under way are opened at once.
const REOPEN: usize = 4;

/// Sessions that a server was at when it died go on. Those of other programs wait for somebody who opens them.
pub(crate) async fn reopen(state: Arc<ServerState>) {
    let sessions = match state.runtime().under_way_at_a_server().await {
        Ok(sessions) => sessions,
        Err(error) => return tracing::error!(%error, "what was under way cannot be found"),
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
                    tracing::info!(%session, "goes on");
                    waiting::say_who_waits(&state, &session, None).await;
                }
                Err(RuntimeError::Log(LogError::Busy { .. })) => {}
                Err(error) => tracing::warn!(%session, %error, "cannot go on"),
            }
            drop(slot);
        });
    }
}

pub(crate) async fn sweep(state: Arc<ServerState>, reload: Option<Reload>) {
    let idle = state.options().limits.idle;
    let mut ticks = tokio::time::interval(SWEEP.min(idle.max(Duration::from_millis(10))));
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        state.auth().known().look();
        if let Some(reload) = &reload {
            state.look_at_settings(reload).await;
        }
        if let Err(error) = state.end_what_is_too_dear().await {
            tracing::warn!(%error, "whether members have spent too much cannot be looked at");
        }
        state.shelf().forget_unused();
        state.rooms().sweep(idle).await;
    }
}
