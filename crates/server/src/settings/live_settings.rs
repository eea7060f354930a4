//! Settings of the operator that apply without a restart: rules, approval mode, limits and quotas. The parts
//! of a server (models, tools, addresses) stay as they were at its start.

use std::sync::{Arc, PoisonError, RwLock};

use agentx_config::{Quotas, Settings};
use agentx_node_runtime::NodeRuntime;
use agentx_runtime::Runtime as _;
use agentx_types::OwnerId;

use crate::settings::member_settings::server_rules;
use crate::settings::settings_source::{RulesOfOwner, SettingsSource};

/// The settings, and the operator's runtime, which is bound by them.
pub(crate) struct LiveSettings {
    now: RwLock<(Arc<Settings>, Arc<NodeRuntime>)>,
    source: Arc<SettingsSource>,
}

impl LiveSettings {
    pub(crate) fn new(settings: Arc<Settings>, runtime: &NodeRuntime) -> Self {
        let source = Arc::<SettingsSource>::default();
        let of_operator = RulesOfOwner {
            source: source.clone(),
            owner: runtime.owner().clone(),
        };
        let runtime = runtime.as_server().with_rules_of(Arc::new(of_operator));
        let bound = Arc::new(bound(&settings, runtime));
        Self {
            now: RwLock::new((settings, bound)),
            source,
        }
    }

    /// Returns where the settings are read again.
    pub(crate) fn source(&self) -> &Arc<SettingsSource> {
        &self.source
    }

    /// Returns the runtime of a member, bound by the rules of these settings and of later ones.
    pub(crate) fn of_member(&self, settings: &Settings, own: &NodeRuntime, member: &OwnerId) -> NodeRuntime {
        let source = RulesOfOwner {
            source: self.source.clone(),
            owner: member.clone(),
        };
        let rules = server_rules(settings, own.owner(), member, &own.tools());
        own.for_owner(member.clone())
            .bound_by(rules)
            .with_rules_of(Arc::new(source))
    }

    pub(crate) fn now(&self) -> (Arc<Settings>, Arc<NodeRuntime>) {
        self.now.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes the settings that apply without a restart. Returns whether any of them changed.
    pub(crate) fn take(&self, new: &Settings) -> bool {
        let mut now = self.now.write().unwrap_or_else(PoisonError::into_inner);
        let (settings, runtime) = &*now;
        let renewed = Settings {
            rules: new.rules.clone(),
            rule_origins: new.rule_origins.clone(),
            approval: new.approval,
            limits: new.limits,
            quotas: Quotas {
                challenges: settings.quotas.challenges,
                tokens: settings.quotas.tokens,
                idempotency_keys: settings.quotas.idempotency_keys,
                turns: settings.quotas.turns,
                ..new.quotas.clone()
            },
            ..Settings::clone(settings)
        };
        let is_same = (&renewed.rules, renewed.approval, renewed.limits, &renewed.quotas)
            == (
                &settings.rules,
                settings.approval,
                settings.limits,
                &settings.quotas,
            );
        if !is_same {
            let runtime = bound(&renewed, runtime.for_owner(runtime.owner().clone()));
            *now = (Arc::new(renewed), Arc::new(runtime));
        }
        !is_same
    }
}

/// Returns the operator's runtime, bound by these settings.
fn bound(settings: &Settings, runtime: NodeRuntime) -> NodeRuntime {
    let rules = server_rules(settings, runtime.owner(), runtime.owner(), &runtime.tools());
    runtime.bound_by(rules).asking_again(settings.approval)
}
