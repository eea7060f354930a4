//! Applies changed settings to a running server. Rules apply in open sessions too. If the settings of parts
//! that stay as they were at the start (models, tools, addresses) differ by now, the server logs which.

use std::sync::Arc;

use agentx_config::Settings;
use agentx_runtime::{ApprovalInput, Ruling, RuntimeError, Session};
use agentx_types::{ApprovalDecision, ConfigChange, OwnerId, RuleEffect, ServerRules};

use crate::rooms::Room;
use crate::settings::settings_source::SettingsTaker;
use crate::state::ServerState;

/// Returns the changed settings that the server reads only when it starts.
fn read_at_the_start(old: &Settings, new: &Settings) -> Vec<&'static str> {
    let model = |settings: &Settings| settings.model.as_ref().map(|model| model.value.clone());
    let changed = [
        ("model", model(old) != model(new)),
        ("system_prompt", old.system_prompt != new.system_prompt),
        ("scripted_answers", old.scripted_answers != new.scripted_answers),
        ("params", old.params != new.params),
        ("context", old.context != new.context),
        ("limits.ask", old.asks_at_limits != new.asks_at_limits),
        ("condense", old.condensing != new.condensing),
        ("stuck", old.stuck != new.stuck),
        ("security", old.security != new.security),
        ("tools", old.tools != new.tools),
        ("browser", old.browser != new.browser),
        ("models", old.catalog != new.catalog),
        (
            "providers",
            (&old.providers, &old.keys) != (&new.providers, &new.keys),
        ),
        ("calls", old.calls != new.calls),
        ("webhooks", old.webhooks != new.webhooks),
        ("data_dir", old.data_dir != new.data_dir),
        ("members_dir", old.members_dir != new.members_dir),
        (
            "quotas.challenges",
            old.quotas.challenges != new.quotas.challenges,
        ),
        ("quotas.auth_tokens", old.quotas.tokens != new.quotas.tokens),
        (
            "quotas.idempotency_keys",
            old.quotas.idempotency_keys != new.quotas.idempotency_keys,
        ),
        ("quotas.turns", old.quotas.turns != new.quotas.turns),
        (
            "server.trusted_proxies",
            old.trusted_proxies != new.trusted_proxies,
        ),
        ("server.push_hosts", old.push_hosts != new.push_hosts),
        ("durability", old.durability != new.durability),
        ("log", (&old.log, &old.log_file) != (&new.log, &new.log_file)),
    ];
    changed
        .into_iter()
        .filter_map(|(name, is_changed)| is_changed.then_some(name))
        .collect()
}

impl SettingsTaker for ServerState {
    fn take_settings(&self, settings: &Settings) -> bool {
        let later = read_at_the_start(&self.settings(), settings);
        if !later.is_empty() {
            let later = later.join(", ");
            tracing::warn!("these settings have changed and apply after a restart: {later}");
        }
        if !self.live().take(settings) {
            return false;
        }
        tracing::info!("the settings have changed; their rules, approval mode, limits and quotas now apply");
        self.forget_runtimes();
        self.kept.forget_sums();
        true
    }

    fn rules_of(&self, owner: &OwnerId) -> Option<Arc<ServerRules>> {
        self.runtime_of(owner).server_rules()
    }
}

impl ServerState {
    /// Reads the settings again if they have changed, and applies changed rules to what waits in open
    /// sessions.
    pub(crate) async fn look_at_settings(&self) {
        let source = self.live().source();
        source.look().await;
        if source.take_unbound() {
            self.bind_open_rooms().await;
        }
    }

    /// Applies the rules, approval mode, limits and quotas of these settings from now on, the rules in open
    /// sessions too.
    pub async fn renew(&self, settings: &Settings) {
        if self.take_settings(settings) {
            self.bind_open_rooms().await;
        }
    }

    async fn bind_open_rooms(&self) {
        for room in self.rooms().open().await {
            if let Err(error) = self.bind(&room).await {
                tracing::warn!(session = %room.id(), %error, "the new rules apply in this session when it is opened again");
                room.note_failure(&error);
            }
        }
    }

    /// Records in an open session the rules that bind its calls from now on, if it has not taken them itself,
    /// and closes the questions that they answer.
    async fn bind(&self, room: &Room) -> Result<(), RuntimeError> {
        let Some(session) = room.session() else {
            return Ok(());
        };
        let _gate = room.gate.lock().await;
        let rules = self.runtime_of(room.owner()).server_rules();
        if session.state().await?.config.server_rules != rules {
            session.change(ConfigChange::ServerRules(rules)).await?;
        }
        self.refuse_denied_calls(session.as_ref(), room.owner()).await
    }

    /// Closes questions about calls that a rule now denies, because an answer could not allow them.
    async fn refuse_denied_calls(&self, session: &dyn Session, owner: &OwnerId) -> Result<(), RuntimeError> {
        let state = session.state().await?;
        for asked in &state.pending_approvals {
            let Some(tool) = state.config.tools.iter().find(|tool| tool.name == asked.name) else {
                continue;
            };
            let ruling = Ruling::of(&state.config, tool, &asked.input);
            let mut rules = ruling.rules.into_iter();
            let Some(denies) = rules.find(|rule| rule.effect == RuleEffect::Deny) else {
                continue;
            };
            let refusal = ApprovalInput::new(asked.tool_call_id.clone(), ApprovalDecision::Deny)
                .note(Some(format!("{}; it came while the call waited", ruling.because)))
                .rule(Some(denies))
                .by(Some(self.operator().clone()).filter(|operator| operator != owner));
            // It may have been answered in between.
            if let Err(error) = session.approve(refusal).await {
                tracing::debug!(%error, "cannot close a question");
            }
        }
        Ok(())
    }
}
