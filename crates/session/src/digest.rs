//! The digest of the derived events, with which a replay is compared. It starts again with each writer and
//! each fork, so that a session can be opened without deriving its frames again.
//!
//! The driver adds each fact with its derived events, and commits the value with each batch. A replay with
//! another value at the same `seq` was derived by other code, or from another log: so recorded sessions keep
//! the rules of agents from changing (`crates/history/tests/recorded.rs`). The reason for that is in decision
//! 005 in `issues/`.

use agentx_types::{ActionBody, Envelope, EnvironmentEvent};

use crate::Derived;

/// A BLAKE3 hash.
/// 32 bytes, as they are stored.
pub type Digest = [u8; 32];

/// Hashes all derived events since the last writer took over.
#[derive(Clone, Debug, Default)]
pub struct DerivedDigest {
    hasher: blake3::Hasher,
    buffer: Vec<u8>,
}

impl DerivedDigest {
    /// Adds the output that was derived from `fact`.
    ///
    /// The complete JSON of every event counts, and so does the order. Read models do not count: they follow
    /// from events and outputs, and each store has its own form of them. Add each fact once, in order; a
    /// `writer_attached` or `session_forked` starts the digest again with that fact.
    pub fn add(&mut self, fact: &Envelope<EnvironmentEvent>, derived: &Derived) {
        if matches!(
            fact.event,
            EnvironmentEvent::WriterAttached(_) | EnvironmentEvent::SessionForked(_)
        ) {
            self.hasher = blake3::Hasher::new();
        }
        self.buffer.clear();
        for event in &derived.events {
            // Frames are plain data with string keys; writing them to memory has no way to fail.
            let _ = serde_json::to_writer(&mut self.buffer, event);
            self.buffer.push(b'\n');
        }
        for action in &derived.actions {
            self.add_action(action);
        }
        self.hasher.update(&self.buffer);
    }

    /// Adds an action. For a model call only the ids of the messages count: the messages were derived before
    /// and are in the digest.
    fn add_action(&mut self, action: &agentx_types::Action) {
        match &action.body {
            ActionBody::CallModel(call) => {
                let ids: Vec<&str> = call
                    .request
                    .messages
                    .iter()
                    .map(|message| message.message_id.as_str())
                    .collect();
                let _ = serde_json::to_writer(
                    &mut self.buffer,
                    &(&action.action_id, &call.request.model.id, ids),
                );
            }
            // Only its range counts: the wording of the request may improve, and the messages were derived
            // before.
            ActionBody::Condense(condense) => {
                let about = (condense.from_seq, condense.to_seq, &condense.kept);
                let _ = serde_json::to_writer(
                    &mut self.buffer,
                    &(&action.action_id, &condense.request.model.id, about),
                );
            }
            // The same holds for the request to propose memories.
            ActionBody::ProposeMemories(propose) => {
                let about = (&propose.inputs, propose.reflect);
                let _ = serde_json::to_writer(
                    &mut self.buffer,
                    &(&action.action_id, &propose.request.model.id, about),
                );
            }
            body => {
                let _ = serde_json::to_writer(&mut self.buffer, &(&action.action_id, body));
            }
        }
        self.buffer.push(b'\n');
    }

    /// The digest so far.
    /// More may be added after it.
    pub fn value(&self) -> Digest {
        *self.hasher.finalize().as_bytes()
    }
}
