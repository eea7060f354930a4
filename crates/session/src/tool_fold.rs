//! The state of tools in a session: the recorded steps of calls in progress, and the values that scripts keep
//! with their agents.
//!
//! A script that was cut off is run again from its start, with the outcomes of its steps from here, so each
//! step is done once, and the time that it spent still counts (decision 019 in `issues/`). Steps are kept
//! here while their call is in progress; values that a script keeps live as long as its agent.

use std::collections::BTreeMap;
use std::sync::Arc;

use agentx_types::{
    AgentStateId, EffectEnded, EffectOutcome, Envelope, EnvironmentEvent, RecordedEffects, ScriptValues,
    Timestamp, ToolCallId,
};
use serde_json::Value;

/// The part of a session's fold that is about tools.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ToolFold {
    /// The steps of each call; a call that a step made has its own entry. The id of such a call begins with
    /// that of the call that made it (`ToolCallId::inner`), so that all entries of a call are adjacent here.
    calls: BTreeMap<ToolCallId, Arc<RecordedEffects>>,
    /// The start of each call in the process that runs it. It moves on by the time that a person took to
    /// decide: that counts against no limit of a script.
    since: BTreeMap<ToolCallId, Timestamp>,
    /// Calls that they want to make and that a person may be asked about, since then.
    asked: BTreeMap<ToolCallId, Timestamp>,
    /// The time of the last fact: until then a program was there.
    seen_at: Timestamp,
    /// Calls share the values that they were given.
    kept: BTreeMap<AgentStateId, Arc<ScriptValues>>,
}

impl ToolFold {
    /// Applies a fact.
    pub(crate) fn apply(&mut self, fact: &Envelope<EnvironmentEvent>) {
        match &fact.event {
            EnvironmentEvent::EffectStarted(started) => {
                self.decided(&started.tool_call_id.inner(started.step), fact.at);
                self.call(&started.tool_call_id, fact.at).started(started);
            }
            EnvironmentEvent::EffectEnded(ended) => {
                if let Some(agent) = &fact.agent_state_id {
                    self.keep(agent, ended);
                }
                let inner = ended.tool_call_id.inner(ended.step);
                self.decided(&inner, fact.at);
                self.call(&ended.tool_call_id, fact.at).ended(ended);
                // The outcome of a step includes everything that it did.
                self.forget(&inner);
            }
            EnvironmentEvent::InnerCallAsked(asked) => {
                self.asked.entry(asked.tool_call_id.clone()).or_insert(fact.at);
            }
            EnvironmentEvent::Approval(approval) => self.decided(&approval.tool_call_id, fact.at),
            EnvironmentEvent::ToolResult(result) => self.forget(&result.tool_call_id),
            EnvironmentEvent::AgentClosed(closed) => {
                self.kept.remove(&closed.agent_state_id);
            }
            EnvironmentEvent::WriterAttached(_) => self.on_writer_change(fact.at),
            _ => {}
        }
        self.seen_at = fact.at;
    }

    /// Handles another program that takes over the calls: their time in the old program counts, the time
    /// between the two does not. The old program is known to have been there until its last fact, or until
    /// the question that the call waited for.
    fn on_writer_change(&mut self, at: Timestamp) {
        for (id, since) in &mut self.since {
            if let Some(call) = self.calls.get_mut(id) {
                let asked = self.asked.iter().filter(|(asked, _)| asked.is_inside(id));
                let until = asked.map(|(_, at)| *at).min().unwrap_or(self.seen_at);
                let spent = until.millis_since(*since);
                let call = Arc::make_mut(call);
                call.spent_ms = call.spent_ms.saturating_add(spent);
            }
            *since = at;
        }
        self.asked.values_mut().for_each(|asked| *asked = at);
    }

    /// A person has decided, or the question is settled otherwise: the time until then counts for no call
    /// that waited for it.
    fn decided(&mut self, id: &ToolCallId, at: Timestamp) {
        let Some(asked) = self.asked.remove(id) else {
            return;
        };
        let waited = at.0.saturating_sub(asked.0).max(0);
        let waits = self.since.iter_mut().filter(|(call, _)| id.is_inside(call));
        for (_, since) in waits {
            since.0 = since.0.saturating_add(waited).min(at.0);
        }
    }

    /// Returns the recorded steps of each call in progress.
    pub(crate) fn calls(&self) -> &BTreeMap<ToolCallId, Arc<RecordedEffects>> {
        &self.calls
    }

    /// Returns whether a call did anything, or one that it made.
    pub(crate) fn has_steps(&self, call: &ToolCallId) -> bool {
        !RecordedEffects::of(call, &self.calls).is_empty()
    }

    /// Returns the values that scripts keep with an agent, if they keep any.
    pub(crate) fn kept(&self, agent: &AgentStateId) -> Option<&Arc<ScriptValues>> {
        self.kept.get(agent)
    }

    /// Returns the record of a call, to add to it; its time begins now if it has done nothing yet.
    fn call(&mut self, call: &ToolCallId, at: Timestamp) -> &mut RecordedEffects {
        if !self.since.contains_key(call) {
            self.since.insert(call.clone(), at);
        }
        // A call that is run again shares it, so it is cloned at most once for each such run.
        Arc::make_mut(self.calls.entry(call.clone()).or_default())
    }

    /// Removes a call that has its result, or whose step has, with all calls that it made.
    fn forget(&mut self, call: &ToolCallId) {
        if self.calls.is_empty() {
            return;
        }
        let gone: Vec<ToolCallId> = self
            .calls
            .range(call.clone()..)
            .map(|(id, _)| id)
            .take_while(|id| id.as_str().starts_with(call.as_str()))
            .filter(|id| *id == call || id.is_inside(call))
            .cloned()
            .collect();
        self.asked.retain(|id, _| id != call && !id.is_inside(call));
        for id in gone {
            self.calls.remove(&id);
            self.since.remove(&id);
        }
    }

    /// Applies a step that changes kept values and has succeeded: a failed step changes nothing.
    fn keep(&mut self, agent: &AgentStateId, ended: &EffectEnded) {
        if !ScriptValues::is_changed_by(&ended.kind) || matches!(*ended.outcome, EffectOutcome::Failed(_)) {
            return;
        }
        let kept = Arc::make_mut(self.kept.entry(agent.clone()).or_default());
        kept.note(&ended.kind, ended.input.as_deref().unwrap_or(&Value::Null));
    }
}
