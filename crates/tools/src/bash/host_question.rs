//! The question whether a command in a sandbox may reach a host, put to the person in the middle of the call.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use agentx_runtime::{BoxFuture, Journal, ToolContext};
use agentx_types::{Access, InnerCallAsked, NestedDecision, ToolSpec};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::outside::{ASKS, asks_about_sandbox};
use crate::host_proxy::{AnswerAboutHost, AskAboutHost};

/// The number of the first question among the steps of the call; the offer to run the command outside has the
/// number before.
const FIRST: u64 = 2;

/// The longest time that a connection waits for the answer.
const PATIENCE: Duration = Duration::from_secs(600);

/// Asks about the hosts of one command.
pub(super) struct HostQuestion {
    journal: Journal,
    cancel: CancellationToken,
    command: String,
    next: AtomicU64,
}

impl HostQuestion {
    pub(super) fn new(context: &ToolContext, command: &str) -> Self {
        Self {
            journal: context.journal.clone(),
            cancel: context.cancel.clone(),
            command: command.to_owned(),
            next: AtomicU64::new(FIRST),
        }
    }

    async fn answer(&self, host: &str) -> AnswerAboutHost {
        let config = self.journal.config_now();
        let may_ask =
            config.is_some_and(|config| asks_about_sandbox(config.approval, config.server_rules.as_deref()));
        if self.journal.session().is_none() || !may_ask {
            return AnswerAboutHost::NotAsked;
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let asked = InnerCallAsked {
            tool_call_id: self.journal.tool_call_id().inner(number),
            tool: Box::new(ToolSpec::new(ASKS, "", json!({"type": "object"}), Access::Run)),
            input: Box::new(json!({
                "message": format!("May the commands of this session reach {host}?"),
                "command": self.command,
                "host": host,
                "answer": "y allows it for this session; n refuses it",
            })),
            by: ASKS.to_owned(),
            place: None,
            named: false,
            form: Some(Box::new(json!({"type": "object"}))),
            for_operator: true,
        };
        let decision = tokio::select! {
            decision = self.journal.ask(asked) => decision,
            () = self.cancel.cancelled() => None,
            () = tokio::time::sleep(PATIENCE) => return AnswerAboutHost::Missing,
        };
        match decision {
            Some(NestedDecision::Allowed { .. }) => AnswerAboutHost::Given(true),
            Some(NestedDecision::Refused { .. }) => AnswerAboutHost::Given(false),
            None => AnswerAboutHost::NotAsked,
        }
    }
}

impl AskAboutHost for HostQuestion {
    fn ask<'a>(&'a self, host: &'a str) -> BoxFuture<'a, AnswerAboutHost> {
        Box::pin(self.answer(host))
    }
}
