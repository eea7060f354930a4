//! The stream on which a server of version 2026-07-28 reports that its tools have changed
//! (`subscriptions/listen`). Older versions report it without being asked. AgentX keeps no resources of a
//! server, so it subscribes to none.

use rmcp::model::{ServerNotification, SubscriptionFilter};
use rmcp::service::ServiceError;
use rmcp::{Peer, RoleClient};
use tokio::time::Instant;

use crate::limits::{LISTEN_ATTEMPTS, LISTEN_LONGEST_WAIT, LISTEN_WAIT};
use crate::listener::RunningCalls;

/// Listens until the connection ends, the server does not report changed tools, or too many streams in a row
/// ended early.
///
/// The tools may have changed while no stream was open, so each further stream counts as a change.
pub(crate) async fn listen_for_changed_tools(peer: Peer<RoleClient>, calls: RunningCalls) {
    let filter = SubscriptionFilter::builder().tools_list_changed().build();
    let mut wait = LISTEN_WAIT;
    let mut early = 0;
    while early < LISTEN_ATTEMPTS && !peer.is_transport_closed() {
        let began = Instant::now();
        if listen_once(&peer, filter.clone(), &calls).await.is_none() {
            return;
        }
        if began.elapsed() < LISTEN_LONGEST_WAIT {
            early += 1;
            wait = (wait * 2).min(LISTEN_LONGEST_WAIT);
        } else {
            (early, wait) = (0, LISTEN_WAIT);
        }
        tokio::time::sleep(wait).await;
        calls.note_changed_tools();
    }
}

/// Listens to one stream until it ends; `None` if the server does not report changed tools.
async fn listen_once(
    peer: &Peer<RoleClient>,
    filter: SubscriptionFilter,
    calls: &RunningCalls,
) -> Option<()> {
    let mut stream = match peer.listen(filter).await {
        Ok(stream) if stream.acknowledged().tools_list_changed == Some(true) => stream,
        Ok(_) => return None,
        Err(ServiceError::McpError(error)) => {
            tracing::debug!(%error, "a server refuses to report changed tools");
            return None;
        }
        Err(error) => {
            tracing::debug!(%error, "a server cannot be listened to");
            return Some(());
        }
    };
    loop {
        match stream.next().await {
            Ok(Some(ServerNotification::ToolListChangedNotification(_))) => calls.note_changed_tools(),
            Ok(Some(_)) => {}
            Ok(None) => return Some(()),
            Err(error) => {
                tracing::debug!(%error, "a stream about changed tools has ended");
                return Some(());
            }
        }
    }
}
