//! One turn of a conversation, as the API wants it: the two sides alternate.

use crate::json::BorrowedJson;

/// Successive content of one side of the conversation.
pub(super) struct MessageTurn<'a> {
    /// The role: `user` or `assistant`.
    pub(super) role: &'static str,
    /// The blocks, at least one.
    pub(super) blocks: Vec<BorrowedJson<'a>>,
}

impl MessageTurn<'_> {
    pub(super) fn has_block(&self, kind: &str) -> bool {
        self.blocks.iter().any(|block| block.kind() == Some(kind))
    }
}
