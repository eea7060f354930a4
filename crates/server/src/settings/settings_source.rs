//! Gives open sessions the current rules of the settings. A session asks for them before each batch of facts,
//! and changed files are read then. The server's sweep reads them too, in case no session does anything.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use agentx_config::Settings;
use agentx_runtime::{BoxFuture, ServerRulesSource};
use agentx_types::{OwnerId, ServerRules};
use tokio::sync::Mutex;

use crate::settings::reload::Reload;

/// The server that takes settings that were read again.
pub(crate) trait SettingsTaker: Send + Sync {
    /// Takes the settings that apply without a restart. Returns whether any of them changed. Open sessions
    /// ask for the rules before their next turn.
    fn take_settings(&self, settings: &Settings) -> bool;

    /// Returns the current rules for the sessions of an owner.
    fn rules_of(&self, owner: &OwnerId) -> Option<Arc<ServerRules>>;
}

/// The source from which a server reads its settings again; none until one is set.
#[derive(Default)]
pub(crate) struct SettingsSource {
    files: OnceLock<(Weak<dyn SettingsTaker>, Arc<Reload>)>,
    /// Held while settings are read, so that no session continues with the former ones meanwhile.
    reading: Mutex<()>,
    /// Whether open sessions may still have questions about calls that a rule denies by now.
    unbound: AtomicBool,
}

impl SettingsSource {
    /// Reads the settings again for `taker` as `reload` says. Only the first call counts.
    pub(crate) fn read_from(&self, taker: Weak<dyn SettingsTaker>, reload: Reload) {
        // It is set once, before the server runs.
        let _ = self.files.set((taker, Arc::new(reload)));
    }

    /// Reads the settings again if their files have changed; settings with mistakes change nothing. Returns
    /// the server that takes them, if they can change at all.
    pub(crate) async fn look(&self) -> Option<Arc<dyn SettingsTaker>> {
        let (taker, reload) = self.files.get()?;
        let taker = taker.upgrade()?;
        let _reading = self.reading.lock().await;
        if !reload.has_changed() {
            return Some(taker);
        }
        let reload = reload.clone();
        match tokio::task::spawn_blocking(move || reload.read_if_changed()).await {
            Ok(None) => {}
            Ok(Some(Ok(settings))) => {
                if taker.take_settings(&settings) {
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
        Some(taker)
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
            let server = self.source.look().await?;
            server.rules_of(&self.owner)
        })
    }
}
