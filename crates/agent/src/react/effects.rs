//! What the tools of this agent do step by step: what they spend is the agent's, what they emit is heard with the agent.

use agentx_types::{EffectEnded, EffectOutcome, Envelope, EnvironmentEvent, Medium, StreamOutput};
use serde_json::Value;

use super::ReactAgent;
use crate::course::Step;

/// The kind of step by which a tool says something to whoever listens to its agent.
const EMIT: &str = "emit";

impl ReactAgent {
    pub(super) fn on_effect_ended(
        &mut self,
        fact: &Envelope<EnvironmentEvent>,
        ended: &EffectEnded,
        step: &mut Step<'_>,
    ) {
        if !fact.cause.as_ref().is_some_and(|cause| self.ledger.runs(cause)) {
            return;
        }
        if let Some(bill) = &ended.bill {
            self.course.pay_for_tool(bill, step);
        }
        let emitted = ended.input.as_deref().filter(|_| {
            ended.kind == EMIT && matches!(*ended.outcome, EffectOutcome::Done(_)) && !step.out.state_only
        });
        if let Some(chunk) = emitted {
            let (medium, text, data) = spoken(chunk.get("chunk").unwrap_or(chunk));
            step.stream(StreamOutput::Emitted {
                tool_call_id: ended.tool_call_id.clone(),
                medium,
                text,
                data,
            });
        }
    }
}

/// What was emitted, as a chunk: its medium (`medium`, or `tool` where it names none), its words (itself, or its `text` or
/// `chunk`), and the whole of it where it is more than words.
fn spoken(chunk: &Value) -> (Medium, String, Option<Value>) {
    if let Value::String(text) = chunk {
        return (Medium::Tool, text.clone(), None);
    }
    let word = |key| chunk.get(key).and_then(Value::as_str);
    let medium = word("medium").map_or(Medium::Tool, |name| Medium::from(name.to_owned()));
    let text = word("text").or_else(|| word("chunk"));
    let text = text.map_or_else(|| chunk.to_string(), str::to_owned);
    (medium, text, Some(chunk.clone()))
}
