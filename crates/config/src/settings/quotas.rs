//! Reads the quotas of a server's members, and the proxies that it trusts. Its operator has no quotas.

use agentx_types::NanoUsd;

use crate::layers::getter::SettingsGetter;
use crate::layers::keys::SettingPath;

/// The limits of a server for each person other than its operator. `None` is not a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quotas {
    /// The maximum number of sessions of a member; `None` for no limit.
    pub sessions: Option<u64>,
    /// Bytes of facts and blobs of all sessions of a member.
    pub bytes: Option<u64>,
    /// Maximum number of a member's sessions in which something runs at the same time.
    pub running: Option<u64>,
    /// Maximum number of a member's tool calls that run at the same time.
    pub calls: Option<u64>,
    /// The maximum cost of a member's sessions within 24 hours.
    pub cost: Option<NanoUsd>,
    /// WebSockets and event streams of a member at once.
    pub connections: Option<u64>,
    /// The same of all visitors of one address (of IPv6, a /64).
    pub visitor_connections: Option<u64>,
    /// The share of all connections that all visitors may have together, in percent.
    pub visitor_share: u64,
    /// Challenges over HTTP that one address may have open; a further one replaces its oldest.
    pub challenges: u64,
    /// The maximum number of tokens of one person, or of all visitors of one address; the oldest of theirs
    /// makes room.
    pub tokens: u64,
    /// The maximum number of requests of one person whose idempotency keys are remembered; the oldest is then
    /// forgotten.
    pub idempotency_keys: u64,
    /// The maximum number of slow requests of each kind that one person, or all visitors of one address, may
    /// have at once: reading history, large answers, checks and searches.
    pub turns: u64,
    /// The maximum number of agents in the configuration of a new session, the root agent included, for
    /// everybody.
    pub agents: u64,
    /// The maximum size of that configuration as JSON, in bytes, for everybody.
    pub config_bytes: u64,
    /// The maximum number of waiting messages in a session, from everybody together.
    pub queued: u64,
    /// The maximum size of all queued inputs together, in bytes.
    pub queued_bytes: u64,
}

impl Default for Quotas {
    fn default() -> Self {
        Self {
            sessions: Some(1000),
            bytes: Some(1 << 30),
            running: Some(16),
            calls: Some(16),
            cost: None,
            connections: Some(256),
            visitor_connections: Some(32),
            visitor_share: 50,
            challenges: 64,
            tokens: 256,
            idempotency_keys: 1024,
            turns: 1,
            agents: 256,
            config_bytes: 1 << 20,
            queued: 64,
            queued_bytes: 8 << 20,
        }
    }
}

pub(crate) fn quotas(get: &SettingsGetter<'_>) -> Quotas {
    let usual = Quotas::default();
    Quotas {
        sessions: get.count("quotas.sessions"),
        bytes: get.count("quotas.storage_bytes"),
        running: get.count("quotas.running_sessions"),
        calls: get.count("quotas.running_tool_calls"),
        cost: get.money(&SettingPath::dotted("quotas.daily_cost")),
        connections: get.count("quotas.connections"),
        visitor_connections: get.count("quotas.visitor_connections"),
        visitor_share: get.count("quotas.visitor_share").unwrap_or(usual.visitor_share),
        challenges: get.count("quotas.challenges").unwrap_or(usual.challenges),
        tokens: get.count("quotas.auth_tokens").unwrap_or(usual.tokens),
        idempotency_keys: get
            .count("quotas.idempotency_keys")
            .unwrap_or(usual.idempotency_keys),
        turns: get.count("quotas.turns").unwrap_or(usual.turns),
        agents: get.count("quotas.agents").unwrap_or(usual.agents),
        config_bytes: get.count("quotas.config_bytes").unwrap_or(usual.config_bytes),
        queued: get.count("quotas.queued_messages").unwrap_or(usual.queued),
        queued_bytes: get.count("quotas.queued_bytes").unwrap_or(usual.queued_bytes),
    }
}
