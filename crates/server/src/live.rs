//! Settings of the operator that hold without a restart: rules, approval mode and limits, as they are now. Rules hold in sessions that are
//! open, too. What a server is made of (models, tools, addresses) is as it was when it started.

use std::sync::{Arc, PoisonError, RwLock};

use agentx_config::Settings;
use agentx_node_runtime::NodeRuntime;
use agentx_runtime::{Runtime as _, RuntimeError};
use agentx_types::ConfigChange;

use crate::members::server_rules;
use crate::rooms::Room;
use crate::state::ServerState;

/// Reads the settings again. `None` where nothing has changed since the last time; an error says what is wrong with them.
pub type Reload = Arc<dyn Fn() -> Option<Result<Settings, String>> + Send + Sync>;

/// The settings, and the operator's runtime, which is bound by them.
pub(crate) struct Live {
    now: RwLock<(Arc<Settings>, Arc<NodeRuntime>)>,
}

impl Live {
    pub(crate) fn new(settings: Arc<Settings>, runtime: &NodeRuntime) -> Self {
        let bound = Arc::new(bound(&settings, runtime.as_server()));
        Self {
            now: RwLock::new((settings, bound)),
        }
    }

    pub(crate) fn now(&self) -> (Arc<Settings>, Arc<NodeRuntime>) {
        self.now.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes over what holds without a restart. Returns whether that is anything.
    fn take(&self, new: &Settings) -> bool {
        let mut now = self.now.write().unwrap_or_else(PoisonError::into_inner);
        let (settings, runtime) = &*now;
        let renewed = Settings {
            rules: new.rules.clone(),
            approval: new.approval,
            limits: new.limits,
            ..Settings::clone(settings)
        };
        let is_same = (&renewed.rules, renewed.approval, renewed.limits)
            == (&settings.rules, settings.approval, settings.limits);
        if !is_same {
            let runtime = bound(&renewed, runtime.for_owner(runtime.owner().clone()));
            *now = (Arc::new(renewed), Arc::new(runtime));
        }
        !is_same
    }
}

/// The operator's runtime, bound by these settings.
fn bound(settings: &Settings, runtime: NodeRuntime) -> NodeRuntime {
    let rules = server_rules(settings, runtime.owner(), runtime.owner(), &runtime.tools());
    runtime.bound_by(rules).asking_again(settings.approval)
}

impl ServerState {
    /// Reads the settings again, where they have changed; those that have mistakes change nothing.
    pub(crate) async fn look_at_settings(&self, reload: &Reload) {
        let reload = reload.clone();
        match tokio::task::spawn_blocking(move || reload()).await {
            Ok(None) => {}
            Ok(Some(Ok(settings))) => self.renew(&settings).await,
            Ok(Some(Err(mistakes))) => {
                tracing::error!(
                    "the settings have changed and have mistakes; what held before still holds: {mistakes}"
                );
            }
            Err(error) => tracing::error!(%error, "the settings cannot be read again"),
        }
    }

    /// From now on the rules, the approval mode and the limits of these settings hold, the rules in open sessions too.
    pub async fn renew(&self, settings: &Settings) {
        if !self.live().take(settings) {
            return;
        }
        tracing::info!("the settings have changed; their rules, approval mode and limits hold from now on");
        self.forget_runtimes();
        for room in self.rooms().open().await {
            if let Err(error) = self.bind(&room).await {
                tracing::warn!(session = %room.id(), %error, "the new rules hold in this session when it is opened again");
                room.note_failure(&error);
            }
        }
    }

    /// Puts on record in an open session what binds its calls from now on.
    async fn bind(&self, room: &Room) -> Result<(), RuntimeError> {
        let Some(session) = room.session() else {
            return Ok(());
        };
        let _gate = room.gate.lock().await;
        let rules = self.runtime_of(room.owner()).server_rules();
        if session.state().await?.config.server_rules != rules {
            session.change(ConfigChange::ServerRules(rules)).await?;
        }
        Ok(())
    }
}
