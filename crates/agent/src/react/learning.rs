//! Learning: after a number of inputs of the owner, a model is asked what to remember of them.
//!
//! ```text
//! start_run ── enough inputs since the last time ──▶ propose_memories ──▶ memories_proposed
//!     └───────────▶ the run, which does not wait
//! ```
//!
//! The request goes out with the run of the next input, and not when a run ends: a program may close its
//! session then, and the answer of the model would be lost after it was paid. It belongs to no run, so an
//! interrupt leaves it alone. Inputs are counted as their facts come, and the configuration says how many are
//! enough; so a replay asks at the same place. A proposal is stored by the service that answers, and the
//! machine does nothing with it.

use std::sync::Arc;

use agentx_types::{
    ActionBody, ActionId, ContentPart, ContextChange, Envelope, EnvironmentEvent, LearningSettings,
    MAX_LEARNED_INPUTS, MemoriesProposed, Message, MessageId, ProposeMemories, Role, Source, StateOutput,
    UserMessage, WEBHOOK_END, since,
};
use serde::{Deserialize, Serialize};

use super::ReactAgent;
use crate::learning_request::{SaidLine, Speaker, request};
use crate::run_lifecycle::RunStep;

/// The number of requests about the same inputs that may be lost with their programs. Each was paid.
const LOST: u32 = 3;

/// The owner's inputs that no model was asked about yet, and the request that is not answered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LearningWatch {
    /// The inputs, each with its event; the latest stay if there are too many.
    inputs: Vec<(u64, MessageId)>,
    /// The number of inputs since the last reflection.
    talked: usize,
    /// The request that is awaited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    under_way: Option<OpenLearning>,
    /// The number of requests whose programs ended before the answer, since the last answer.
    #[serde(default, skip_serializing_if = "agentx_types::is_default")]
    lost: u32,
}

/// A request that is awaited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct OpenLearning {
    action_id: ActionId,
    /// The events of the inputs that it is about.
    inputs: Vec<u64>,
    /// Whether the model reflects, too.
    reflect: bool,
}

impl LearningWatch {
    /// Forgets the request of another process, whose answer cannot come any more. The next run asks about its
    /// inputs again, unless that was lost several times.
    pub(super) fn forget_request(&mut self) {
        let Some(open) = self.under_way.take() else {
            return;
        };
        self.lost += 1;
        if self.lost >= LOST {
            self.settle(&open);
        }
    }

    /// Notes that the awaited request has its answer.
    fn settle(&mut self, open: &OpenLearning) {
        self.inputs.retain(|(seq, _)| !open.inputs.contains(seq));
        if open.reflect {
            self.talked = self.inputs.len();
        }
        self.lost = 0;
    }

    /// Returns the event of an input, if nothing was asked about it yet.
    fn event_of(&self, message: &MessageId) -> Option<u64> {
        let mut inputs = self.inputs.iter();
        inputs.find(|(_, id)| id == message).map(|(seq, _)| *seq)
    }
}

/// The parts of a conversation about which a model may be asked.
struct LearnablePart {
    /// The events of the owner's inputs.
    inputs: Vec<u64>,
    /// The words of the owner and of the agent.
    lines: Vec<SaidLine>,
}

impl ReactAgent {
    /// The settings; `None` if nothing is proposed, as under older rules.
    fn learning_settings(&self) -> Option<LearningSettings> {
        let learning = self.config.learning;
        learning.filter(|_| self.config.rules_version >= since::MEMORIES_ARE_PROPOSED)
    }

    /// Notes an input of the owner. Inputs of other people, of agents, of webhooks, and without words teach
    /// nothing.
    pub(super) fn note_learnable(&mut self, fact: &Envelope<EnvironmentEvent>, said: &UserMessage) {
        let words = first_words(&said.content);
        let is_owners = fact.source != Source::Agent && said.by.is_none() && !words.contains(WEBHOOK_END);
        if self.learning_settings().is_none() || !is_owners || words.is_empty() {
            return;
        }
        let watch = &mut self.learning;
        watch.inputs.push((fact.seq, said.message_id.clone()));
        watch
            .inputs
            .drain(..watch.inputs.len().saturating_sub(MAX_LEARNED_INPUTS));
        watch.talked = watch.talked.saturating_add(1);
    }

    /// Asks what to remember if there were enough inputs since the last time. Only the start of a run calls
    /// it, before its input joins the conversation; the run does not wait for the answer.
    ///
    /// Agents below others do not learn, and nothing is asked beyond a limit.
    pub(super) fn learn_if_due(&mut self, step: &mut RunStep<'_>) {
        let Some(settings) = self.learning_settings() else {
            return;
        };
        let watch = &self.learning;
        let may_be_due = is_due(watch.inputs.len(), watch.talked, settings) != (false, false);
        if step.context.depth > 0 || watch.under_way.is_some() || !may_be_due {
            return;
        }
        let part = self.learnable_part();
        // The input of this run, and those that wait, are not answered yet.
        let waiting = self.learning.inputs.len().saturating_sub(part.inputs.len());
        let talked = self.learning.talked.saturating_sub(waiting);
        let (learn, reflect) = is_due(part.inputs.len(), talked, settings);
        if part.inputs.is_empty() || !(learn || reflect) {
            return;
        }
        if self.lifecycle.used_up(&self.config.limits, step).is_some() {
            return;
        }
        let propose = ProposeMemories {
            inputs: part.inputs.clone(),
            reflect,
            workspace: self.config.workspace.clone(),
            request: Arc::new(request(&self.config, &part.lines, reflect)),
        };
        let action_id = step.act_in(None, ActionBody::ProposeMemories(propose));
        self.learning.under_way = Some(OpenLearning {
            action_id,
            inputs: part.inputs,
            reflect,
        });
    }

    /// Returns whether the answer to this request for proposals is awaited.
    pub fn awaits_proposals(&self, action: &ActionId) -> bool {
        let open = self.learning.under_way.as_ref();
        open.is_some_and(|open| open.action_id == *action)
    }

    /// Takes the answer to an awaited request: its cost is counted, and its proposals are shown. Whatever
    /// came of it, the same inputs are not asked about again.
    pub(super) fn on_memories_proposed(
        &mut self,
        fact: &Envelope<EnvironmentEvent>,
        said: &MemoriesProposed,
        step: &mut RunStep<'_>,
    ) {
        let is_awaited = |open: &mut OpenLearning| fact.cause.as_ref() == Some(&open.action_id);
        let Some(open) = self.learning.under_way.take_if(is_awaited) else {
            return;
        };
        self.learning.settle(&open);
        if let Some(bill) = &said.bill {
            self.lifecycle.pay_for_tool(bill, step);
        }
        if !said.items.is_empty() || said.problem.is_some() {
            let change = ContextChange::Proposed {
                items: said.items.clone(),
                problem: said.problem.clone(),
            };
            step.state(StateOutput::Context { change });
        }
    }

    /// The conversation from the first input on that nothing was asked about: the words of the owner and of
    /// the agent, without results of tools and other people's words.
    fn learnable_part(&self) -> LearnablePart {
        let mut part = LearnablePart {
            inputs: Vec::new(),
            lines: Vec::new(),
        };
        for (_, message) in self.conversation.unabridged() {
            let event = self.learning.event_of(&message.message_id);
            let (speaker, text) = match (message.role, event) {
                (Role::User, Some(seq)) => (Speaker::Owner(seq), first_words(&message.content).to_owned()),
                (Role::Assistant, _) if !part.inputs.is_empty() => (Speaker::Agent, words_of(message)),
                _ => continue,
            };
            part.inputs.extend(event);
            if !text.is_empty() {
                part.lines.push(SaidLine { speaker, text });
            }
        }
        part
    }
}

/// Returns whether so many inputs, and so many since the last reflection, are enough to ask and to reflect.
fn is_due(inputs: usize, talked: usize, settings: LearningSettings) -> (bool, bool) {
    let enough = |count: usize, least: u32| {
        let least = usize::try_from(least)
            .unwrap_or(usize::MAX)
            .min(MAX_LEARNED_INPUTS);
        least > 0 && count >= least
    };
    (
        enough(inputs, settings.threshold_turns),
        enough(talked, settings.reflect_turns),
    )
}

/// The text that a person typed: the first part of an input. Later parts are files and outputs.
fn first_words(content: &[ContentPart]) -> &str {
    content
        .first()
        .and_then(ContentPart::as_text)
        .unwrap_or_default()
        .trim()
}

/// The words of an answer, without thinking and calls.
fn words_of(message: &Message) -> String {
    message.text().trim().to_owned()
}
