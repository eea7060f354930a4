//! Spending by session, by day, by model, by both, and by cause. A log answers from its ledger of model
//! calls; the cause of a payment follows from the fact that records it.

use std::collections::BTreeSet;

use agentx_types::{EnvironmentEvent, NanoUsd, OwnerId, SessionId, StopReason, Timestamp, Usage};
use serde::{Deserialize, Serialize};

/// A query about spending.
#[derive(Clone, Debug, PartialEq)]
pub struct UsageQuery {
    /// The owner of the sessions.
    pub owner: OwnerId,
    /// The grouping of the sums.
    pub by: UsageBy,
    /// Only the spending in this session.
    pub session: Option<SessionId>,
    /// The beginning of the period; `None` for all time.
    pub since: Option<Since>,
}

/// The key by which spending is added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum UsageBy {
    /// A row for each session, the one that spent last first.
    Session,
    /// A row for each day of this machine's calendar, in order.
    #[default]
    Day,
    /// A row for each model, as `provider/id`, the dearest first.
    Model,
    /// A row for each day and model, in the order of the days and then of the names. The key has both, with a
    /// space between them.
    DayModel,
    /// A row for each [`SpendCause`], the dearest first.
    Cause,
}

/// A point in time that a person names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Since {
    /// A point in time.
    At(Timestamp),
    /// The beginning of a day of this machine's calendar, as `2026-11-21`.
    Day(String),
}

/// The cost of one kind of model calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct UsageRow {
    /// The session, day, model, day and model, or cause.
    pub key: String,
    /// The title, of a session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The number of calls.
    pub calls: u64,
    /// The tokens used.
    pub usage: Usage,
    /// The money spent.
    pub cost: NanoUsd,
    /// Models whose tokens have no known price, so that `cost` does not include them.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub unpriced_models: BTreeSet<String>,
}

impl UsageRow {
    /// A row for a key in which nothing was spent yet. The fields can be set.
    pub fn new(key: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            title: None,
            calls: 0,
            usage: Usage::default(),
            cost: NanoUsd::default(),
            unpriced_models: BTreeSet::new(),
        }
    }
}

/// The reason why a model call was paid for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpendCause {
    /// A call that answered, or began to.
    Answer,
    /// An answer that called tools.
    ToolRound,
    /// An attempt that broke off and was retried.
    Retry,
    /// A tool called a model.
    Tool,
    /// A summary of the conversation.
    Compaction,
    /// Proposals for the memory of the person.
    Learning,
}

impl SpendCause {
    /// The cause of the spending that this fact records.
    pub fn of(event: &EnvironmentEvent) -> Self {
        match event {
            EnvironmentEvent::StreamEnd(end) => match end.stop_reason {
                StopReason::ToolUse => Self::ToolRound,
                StopReason::Broken => Self::Retry,
                _ => Self::Answer,
            },
            // The first of these is of an attempt whose answer never began, the others follow an answer that
            // broke off without an end.
            EnvironmentEvent::UsageReport(_)
            | EnvironmentEvent::StreamStart(_)
            | EnvironmentEvent::AttemptFailed(_)
            | EnvironmentEvent::WriterAttached(_) => Self::Retry,
            EnvironmentEvent::EffectEnded(_) => Self::Tool,
            EnvironmentEvent::ContextCondensed(_) | EnvironmentEvent::CondensingFailed(_) => Self::Compaction,
            EnvironmentEvent::MemoriesProposed(_) => Self::Learning,
            _ => Self::Answer,
        }
    }

    /// The cause as people read it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::ToolRound => "tool round",
            Self::Retry => "retry",
            Self::Tool => "tool",
            Self::Compaction => "compaction",
            Self::Learning => "learning",
        }
    }
}

/// The stored size of one session, or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredSize {
    /// The stored size of its own facts. Facts that a fork shares with its parent count for the parent.
    pub facts: u64,
    /// The number of blobs that it names.
    pub blobs: u64,
    /// The size of the blobs in bytes.
    pub blob_bytes: u64,
    /// Bytes that scripts keep for the owner under keys (`kv`). For a single session this is zero, because
    /// the values belong to none.
    #[serde(default, skip_serializing_if = "agentx_types::is_default")]
    pub kept_bytes: u64,
    /// Bytes of the whole database on disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database: Option<u64>,
}
