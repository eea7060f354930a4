//! What tools keep in a session: what calls that are under way did step by step, and the state that scripts keep with their
//! agents.

use std::collections::BTreeMap;
use std::sync::Arc;

use agentx_types::{
    AgentStateId, EffectEnded, EffectOutcome, Envelope, EnvironmentEvent, RecordedEffects, ToolCallId,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The kind of step by which a script keeps a value with its agent: its input is `{key, value}`, and null takes the key away.
const STATE_SET: &str = "state_set";

/// The part of a session's fold that is about tools.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Flows {
    /// By call; a call that a step made has its own entry.
    #[serde(default)]
    calls: BTreeMap<ToolCallId, Arc<RecordedEffects>>,
    #[serde(default)]
    states: BTreeMap<AgentStateId, Map<String, Value>>,
}

impl Flows {
    /// Takes note of a fact about a call or an agent.
    pub(crate) fn note(&mut self, fact: &Envelope<EnvironmentEvent>) {
        match &fact.event {
            EnvironmentEvent::EffectStarted(started) => self.call(&started.tool_call_id).started(started),
            EnvironmentEvent::EffectEnded(ended) => {
                if let Some(agent) = fact.agent_state_id.as_ref().filter(|_| ended.kind == STATE_SET) {
                    self.keep(agent, ended);
                }
                self.call(&ended.tool_call_id).ended(ended);
                // The outcome of a step stands for all that it did.
                self.forget(&ended.tool_call_id.inner(ended.step));
            }
            EnvironmentEvent::ToolResult(result) => self.forget(&result.tool_call_id),
            EnvironmentEvent::AgentClosed(closed) => {
                self.states.remove(&closed.agent_state_id);
            }
            _ => {}
        }
    }

    /// What a call did, and what the calls did that it made.
    pub(crate) fn recorded(&self, call: &ToolCallId) -> Arc<RecordedEffects> {
        let inner: BTreeMap<_, _> = self
            .calls
            .range(call.clone()..)
            .filter(|(id, _)| *id != call)
            .take_while(|(id, _)| id.as_str().starts_with(call.as_str()))
            .filter(|(id, _)| id.is_inside(call))
            .map(|(id, recorded)| (id.clone(), recorded.clone()))
            .collect();
        let own = self.calls.get(call).cloned().unwrap_or_default();
        if inner.is_empty() {
            return own;
        }
        let mut whole = Arc::unwrap_or_clone(own);
        whole.inner = inner;
        Arc::new(whole)
    }

    /// What scripts keep with an agent.
    pub(crate) fn state(&self, agent: &AgentStateId) -> Map<String, Value> {
        self.states.get(agent).cloned().unwrap_or_default()
    }

    fn call(&mut self, call: &ToolCallId) -> &mut RecordedEffects {
        // Whoever runs the call again shares it; it is cloned at most once for each time that this happens.
        Arc::make_mut(self.calls.entry(call.clone()).or_default())
    }

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
        for id in gone {
            self.calls.remove(&id);
        }
    }

    fn keep(&mut self, agent: &AgentStateId, ended: &EffectEnded) {
        let asked = ended.input.as_deref();
        let key = asked.and_then(|input| input.get("key")).and_then(Value::as_str);
        let (Some(key), EffectOutcome::Done(_)) = (key, &*ended.outcome) else {
            return;
        };
        let value = asked
            .and_then(|input| input.get("value"))
            .cloned()
            .unwrap_or(Value::Null);
        let state = self.states.entry(agent.clone()).or_default();
        if value.is_null() {
            state.shift_remove(key);
        } else {
            state.insert(key.to_owned(), value);
        }
    }
}
