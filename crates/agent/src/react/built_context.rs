//! Context that services build for a run: the memories of a person, for example.
//!
//! An agent that people talk to asks each source of its configuration once for each run, after the input and
//! before the first model call. The answer is a fact (`context_built`), so a replay reads the same context
//! without the service. If a source fails, or no service answers, the run only lacks its context.
//!
//! ```text
//! start_run ─▶ BuildContext, one for each source ─▶ context_built ─▶ note for the model ─▶ call_model
//! ```

use std::sync::Arc;

use agentx_types::{
    ActionBody, AskingAgent, BuildContext, ContentPart, ContextBuilt, ContextChange, Envelope,
    EnvironmentEvent, InputWrapping, Message, MessageId, Role, RunStatus, StateOutput, since,
};
use serde::{Deserialize, Serialize};

use super::ReactAgent;
use crate::other_authors::plain_since;
use crate::run_lifecycle::{PendingContext, RunStep};

/// Maximum number of remembered items; the latest stay.
const MAX_KNOWN: usize = 1_024;

/// The items of built contexts that the conversation has, so that no source gives one twice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct GivenItems(Vec<GivenItem>);

/// An item in the conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct GivenItem {
    /// The event with which it came.
    seq: u64,
    /// The name of the source that gave it.
    source: String,
    /// The id of the item in its source.
    id: String,
}

impl GivenItems {
    /// Returns whether nothing was given: then nothing is serialized.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A summary now represents these events: their items may be given again.
    pub(super) fn forget(&mut self, from_seq: u64, to_seq: u64) {
        self.0.retain(|item| !(from_seq..=to_seq).contains(&item.seq));
    }

    /// Records the items of a context that came with the event `seq`.
    fn add(&mut self, seq: u64, built: &ContextBuilt) {
        self.0.extend(built.items.iter().map(|item| GivenItem {
            seq,
            source: built.source.clone(),
            id: item.id.clone(),
        }));
        self.0.drain(..self.0.len().saturating_sub(MAX_KNOWN));
    }

    /// The ids that a source has given, the oldest first.
    fn of_source(&self, name: &str) -> Vec<String> {
        let of_source = self.0.iter().filter(|item| item.source == name);
        of_source.map(|item| item.id.clone()).collect()
    }
}

impl ReactAgent {
    /// Requests the context of every source for the run that `input` opens, and calls the model at once if
    /// there is none.
    ///
    /// Agents that another agent made request nothing: their maker gives them what they need. Nor does an
    /// input without content, which only asks again; before version 9 of the rules, nor did one without text.
    pub(super) fn build_context(&mut self, input: &Message, step: &mut RunStep<'_>) {
        let text = input.text();
        let takes_media = self.config.rules_version >= since::INPUTS_WITHOUT_TEXT_HAVE_CONTEXT;
        let is_new = !text.trim().is_empty() || (takes_media && !input.content.is_empty());
        if step.context.depth == 0 && is_new && !self.config.context_sources.is_empty() {
            self.lifecycle.set_status(RunStatus::BuildingContext, step);
            for source in self.config.context_sources.clone() {
                let request = BuildContext {
                    known: self.given_items.of_source(&source.name),
                    source,
                    text: text.clone(),
                    by: input.by.clone(),
                    workspace: self.config.workspace.clone(),
                    agent: AskingAgent::default(),
                };
                self.request_context(request, step);
            }
        }
        self.call_model(step);
    }

    /// Requests one context; the run waits for its answer, which names the action as its cause. The service
    /// gets the agent as it is now; the run keeps the request without it.
    fn request_context(&mut self, request: BuildContext, step: &mut RunStep<'_>) {
        let totals = self.lifecycle.totals;
        let agent = AskingAgent {
            config: Some(self.config.clone()),
            usage: totals.usage,
            cost: totals.cost,
        };
        let Some(run) = self.lifecycle.active() else {
            return;
        };
        let asked = BuildContext {
            agent,
            ..request.clone()
        };
        let action_id = step.request_action(&run.id, ActionBody::BuildContext(asked));
        run.pending.context.push(PendingContext { action_id, request });
    }

    /// Repeats the requests of another process. Its answers, if any come, are no longer
    /// awaited.
    pub(super) fn build_context_again(&mut self, step: &mut RunStep<'_>) {
        let Some(run) = self.lifecycle.active() else {
            return;
        };
        for open in std::mem::take(&mut run.pending.context) {
            self.request_context(open.request, step);
        }
    }

    /// Adds a built context to the conversation; the model is called once none is awaited any more. A fact
    /// that nobody waits for is ignored.
    ///
    /// The text follows the input, so the first message of the conversation stays that of the person. Nothing
    /// in it can pretend to be of another person: the tags that mark their words are taken out.
    pub(super) fn on_context_built(
        &mut self,
        fact: &Envelope<EnvironmentEvent>,
        built: &ContextBuilt,
        step: &mut RunStep<'_>,
    ) {
        let Some(run) = self.lifecycle.active() else {
            return;
        };
        let awaited = |open: &PendingContext| Some(&open.action_id) == fact.cause.as_ref();
        let Some(place) = run.pending.context.iter().position(awaited) else {
            return;
        };
        run.pending.context.remove(place);
        let input = run.input_id.clone();
        if let Some(text) = &built.instructions {
            let text = plain_since(text, self.config.rules_version);
            self.conversation.instruct(&built.source, &text, &self.config);
        }
        if let Some(wrapping) = &built.wrapping {
            let [before, after] =
                [&wrapping.before, &wrapping.after].map(|text| plain_since(text, self.config.rules_version));
            self.conversation
                .wrap_input(&input, InputWrapping { before, after });
        }
        self.given_items.add(step.seq, built);
        if !built.text.is_empty() {
            let message = Message {
                message_id: MessageId::with_suffix(format_args!("context_{}", step.seq)),
                role: Role::User,
                content: vec![ContentPart::text(plain_since(
                    &built.text,
                    self.config.rules_version,
                ))],
                by: None,
            };
            self.say(Arc::new(message), step);
        }
        if !built.items.is_empty() || built.problem.is_some() {
            let change = ContextChange::Built {
                source: built.source.clone(),
                items: built.items.clone(),
                problem: built.problem.clone(),
            };
            step.state(StateOutput::Context { change });
        }
        self.call_model(step);
    }

    /// Returns whether the run waits for a context.
    pub(super) fn awaits_context(&self) -> bool {
        self.run().is_some_and(|run| !run.pending.context.is_empty())
    }
}
