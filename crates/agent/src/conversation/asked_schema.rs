//! The schema of a run's answer as part of the beginning of requests. For most models it stands as words
//! behind the standing instructions, so thinking that was made beside another schema, or none, is refused
//! later.

use std::sync::Arc;

use agentx_types::{AgentConfig, AnswerSchema, since};

use super::Conversation;

impl Conversation {
    /// Sets the schema of the next request. If the last request had another one, earlier thinking is left out
    /// from now on. From version 9 of the rules on.
    pub(crate) fn set_asked_schema(&mut self, schema: Option<&Arc<AnswerSchema>>, config: &AgentConfig) {
        if config.rules_version < since::SCHEMAS_BEGIN_REQUESTS || self.asked_schema.as_ref() == schema {
            return;
        }
        self.asked_schema = schema.cloned();
        self.beginning_changed(config);
    }
}
