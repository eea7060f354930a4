//! Gives open sessions the current rules of the settings. A session asks for them before each batch of facts, and
//! changed files are read then. The server's sweep reads them too, in case no session does anything.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use agentx_runtime::{BoxFuture, ServerRulesSource};
use agentx_types::{OwnerId, ServerRules};
use tokio::sync::Mutex;

use crate::settings::reload::Reload;
use crate::state::ServerState;

/// The source from which a server reads its settings again; none until one is set.
#[derive(Default)]
pub(crate) struct SettingsSource {
    files: OnceLock<(Weak<ServerState>, Arc<Reload>)>,
    /// Held while settings are read, so that no session continues with the former ones meanwhile.
    reading: Mutex<()>,
    /// Whether open sessions may still have questions about calls that a rule denies by now.
    unbound: AtomicBool,
}

impl SettingsSource {
    /// Reads the settings of `state` again as `reload` says. Only the first call counts.
    pub(crate) fn read_from(&self, state: &Arc<ServerState>, reload: Reload) {
        // It is set once, before the server runs.
        let _ = self.files.set((Arc::downgrade(state), Arc::new(reload)));
    }

    /// Reads the settings again if their files have changed; settings with mistakes change nothing. Returns
    /// the state of the server, if it can change at all.
    pub(crate) async fn look(&self) -> Option<Arc<ServerState>> {
        let (state, reload) = self.files.get()?;
        let state = state.upgrade()?;
        let _reading = self.reading.lock().await;
        if !reload.has_changed() {
            return Some(state);
        }
        let reload = reload.clone();
        match tokio::task::spawn_blocking(move || reload.read_if_changed()).await {
            Ok(None) => {}
            Ok(Some(Ok(settings))) => {
                if state.take_settings(&settings) {
                    self.unbound.store(true, Ordering::Release);
                }
            }
            Ok(Some(Err(mistakes))) => {
                tracing::error!(
                    "the changed settings have errors; the previous settings still apply: {mistakes}"
                );
            }
            Err(error) => tracing::error!(%error, "cannot reload the settings"),
        }
        Some(state)
    }

    /// Returns whether rules have changed since the last call.
    pub(crate) fn take_unbound(&self) -> bool {
        self.unbound.swap(false, Ordering::AcqRel)
    }
}

/// The rules for the sessions of one owner.
pub(crate) struct RulesOfOwner {
    pub(crate) source: Arc<SettingsSource>,
    pub(crate) owner: OwnerId,
}

impl ServerRulesSource for RulesOfOwner {
    fn now(&self) -> BoxFuture<'_, Option<Arc<ServerRules>>> {
        Box::pin(async {
            let state = self.source.look().await?;
            state.runtime_of(&self.owner).server_rules()
        })
    }
}
