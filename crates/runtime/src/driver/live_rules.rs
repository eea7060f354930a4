//! Keeps the rules of a server current in its open sessions: a batch of the sequencer begins with them, so
//! that no call is decided by rules that are no longer in the server's settings.

use std::collections::VecDeque;

use agentx_types::{ConfigChange, ConfigChanged, EventDraft, Source};

use super::SessionDriver;
use super::pending_fact::PendingFact;

impl SessionDriver {
    /// Returns the facts of a batch. If the server's rules have changed, the change comes first.
    pub(super) async fn after_current_rules(&self, items: Vec<PendingFact>) -> VecDeque<PendingFact> {
        let mut queue = VecDeque::from(items);
        let Some(source) = &self.parts.server_rules_source else {
            return queue;
        };
        let now = source.now().await;
        let bound_by = self.fold.root_agent().map(|root| &root.config().server_rules);
        if now.is_some() && bound_by.is_some_and(|rules| *rules != now) {
            let change = ConfigChange::ServerRules(now);
            let root = self.fold.root().cloned();
            let draft = EventDraft::new(Source::System, root, ConfigChanged { change, by: None });
            queue.push_front(PendingFact::fact(draft));
        }
        queue
    }
}
