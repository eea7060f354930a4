//! Condenses by count and without a model, if the settings say so: older results of tools are masked, and the
//! older half of the messages is left out. Each is one action `condense` and one `context_condensed`, so the
//! log has it and a person can undo it.
//!
//! It comes before any summary, the cheapest first: web pages, all results, messages. A conversation that is
//! short enough after that needs no summary.

use std::sync::Arc;

use agentx_types::{ActionBody, Condense, ContextRange, MessageId, ModelParams, ModelRequest};

use super::ReactAgent;
use super::condense::Why;
use crate::run_lifecycle::RunStep;

/// The summary of messages that are left out.
const NOT_SUMMARIZED: &str = "(The older half of the conversation is left out here without a summary.)";

impl ReactAgent {
    /// Requests what is due by count, if anything is. Returns whether the next model call has to wait for it.
    ///
    /// After a failure, and after a person undid it, that rests.
    pub(super) fn condense_by_count(&mut self, step: &mut RunStep<'_>) -> bool {
        let Some(condensing) = self.config.condensing.as_deref() else {
            return false;
        };
        let (web, results, recent) = (condensing.masks_web, condensing.masks, condensing.recent);
        if web.is_none() && results.is_none() && recent.is_none() {
            return false;
        }
        if self.condenser.rounds_to_rest > 0 || self.conversation.rests_after_undo(&self.config) {
            return false;
        }
        for (keep, only_web) in [(web, true), (results, false)] {
            let Some(keep) = keep else { continue };
            if let Some(part) = self.conversation.results_to_mask(keep, only_web) {
                let of = if only_web { "web pages" } else { "tools" };
                let written = format!(
                    "This output is left out, because it is older than the latest {keep} results of {of}."
                );
                self.condense_as_written(part.range, Vec::new(), written, part.tools, step);
                return true;
            }
        }
        let input = self.lifecycle.active().map(|run| run.input_id.clone());
        let older = recent.and_then(|most| self.conversation.older_half(most, input.as_ref()));
        let Some(part) = older else { return false };
        self.condense_as_written(part.range, part.kept, NOT_SUMMARIZED.to_owned(), Vec::new(), step);
        true
    }

    /// Requests a range to be replaced by this text, which no model writes.
    fn condense_as_written(
        &mut self,
        range: ContextRange,
        kept: Vec<MessageId>,
        written: String,
        masked: Vec<String>,
        step: &mut RunStep<'_>,
    ) {
        let request = ModelRequest {
            model: self.config.model.clone(),
            params: ModelParams::default(),
            system: Vec::new(),
            messages: Vec::new(),
            tools: Arc::from([]),
            plain: false,
            turns: false,
            without: Vec::new(),
            answer_schema: None,
        };
        let body = ActionBody::Condense(Condense {
            from_seq: range.from_seq,
            to_seq: range.to_seq,
            kept,
            tokens: range.tokens,
            request: Arc::new(request),
            brief: true,
            written: Some(written),
            masked,
        });
        self.await_condensing(body, range, Why::Counted, step);
    }
}
