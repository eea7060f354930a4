//! The recorded steps of a call. After a crash, a script is run again from its start: it gets the outcomes of
//! the steps that are recorded here, and continues live after the last one.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::vocabulary::payloads;
use crate::{Api, Medium, ModelSpec, NanoUsd, ToolCallId, ToolSpec, Usage};

/// The outcome of a step of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EffectOutcome {
    /// The result.
    Done(Value),
    /// The reason for the failure.
    Failed(EffectFailure),
}

/// The failure of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EffectFailure {
    /// The stable code for programs: `denied`, `timed_out`, `unknown_outcome`, …
    pub code: String,
    /// The message for people.
    pub message: String,
}

/// The cost of a step that called a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EffectBill {
    /// The model, as `provider/id`; in older sessions only the id.
    pub model: String,
    /// Tokens.
    pub usage: Usage,
    /// Money.
    pub cost: NanoUsd,
}

impl EffectBill {
    /// Returns the bill for a model that was asked on behalf of an agent. Tokens without a known price are
    /// marked.
    ///
    /// ```
    /// use agentx_types::{Api, EffectBill, ModelSpec, Usage};
    ///
    /// let mut model: ModelSpec = serde_json::from_value(serde_json::json!({
    ///     "id": "m", "provider": "mine", "api": "openai-chat", "context_window": 1000, "max_output_tokens": 100,
    /// }))?;
    /// let usage = Usage { input_tokens: 10, output_tokens: 5, ..Usage::default() };
    /// let bill = EffectBill::of(&model, usage);
    /// assert_eq!((bill.model.as_str(), bill.usage.unpriced_tokens), ("mine/m", 15));
    /// model.prices.input = 1;
    /// assert_eq!(EffectBill::of(&model, usage).usage.unpriced_tokens, 0);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn of(model: &ModelSpec, usage: Usage) -> Self {
        let usage = if model.api == Api::Scripted {
            usage
        } else {
            model.prices.marked(usage)
        };
        Self {
            model: model.booked_as(),
            usage,
            cost: model.prices.cost(&usage),
        }
    }
}

payloads! {
    /// A running call begins a step.
    EffectStarted {
        /// The call.
        tool_call_id: ToolCallId,
        /// The number of the step, in the order in which the call begins them; 0 is the beginning of the call
        /// itself.
        step: u64,
        /// The kind of step: `generate`, `http`, `emit`, …
        kind: String,
        /// The request, without secrets.
        input: Value,
    }
    /// A step of a running call has ended.
    EffectEnded {
        /// The call.
        tool_call_id: ToolCallId,
        /// The number of the step.
        step: u64,
        /// The kind of step.
        kind: String,
        /// The request, if no `effect_started` has it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<Box<Value>>,
        /// The outcome, without secrets.
        outcome: Box<EffectOutcome>,
        /// The cost, if the step called a model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bill: Option<Box<EffectBill>>,
        /// If it called a tool that changed a file, that tool's details about the file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<Box<Value>>,
    }
    /// A running call wants to make a nested call that a person may have to decide about.
    InnerCallAsked {
        /// The id: that of the running call, `/` and the step that makes it.
        tool_call_id: ToolCallId,
        /// The tool to call. The agent itself may lack it.
        tool: Box<ToolSpec>,
        /// With these arguments, without secrets.
        input: Box<Value>,
        /// The tool that makes the call.
        by: String,
        /// The place in its file: `tools/report.luau:12`, `step fetch`; absent if unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        place: Option<String>,
        /// Whether the script's file lists the called tool by name, not only with `*`.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        named: bool,
        /// For a question to a person instead of a call: the JSON Schema of the answer. No rule and no mode
        /// answers it. If nobody can be asked, it is refused; the note of an `approval` with `once` is the
        /// answer, as text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        form: Option<Box<Value>>,
        /// For a question to a person: whether only those may answer who decide for the operator of the
        /// server, because a yes loosens what the operator's settings say.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        for_operator: bool,
    }
}

/// The decision about a call that a running call wants to make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NestedDecision {
    /// The call may run.
    Allowed {
        /// Whether the call may also touch files outside the workspace.
        outside_workspace: bool,
        /// For a question to a person: the answer, as they wrote it; empty if they only agreed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<String>,
    },
    /// The call may not run.
    Refused {
        /// The reason, for the tool and for people.
        reason: String,
    },
}

/// The kind of step by which a tool emits output for listeners of its agent.
const EMIT: &str = "emit";

/// The output of a tool for listeners of its agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Emitted {
    /// The medium of the output; `tool` if it names none.
    pub medium: Medium,
    /// The text of the chunk: the chunk itself, its `text` or `chunk`, or the `part` of a chunk of the older
    /// API.
    pub text: String,
    /// The whole of it, if it is more than words.
    pub data: Option<Value>,
}

impl EffectStarted {
    /// Returns whether the step calls a model.
    pub fn asks_model(&self) -> bool {
        matches!(
            self.kind.as_str(),
            "generate" | "generate_json" | "generate_stream"
        )
    }
}

impl EffectEnded {
    /// Returns the output of the step, if it emitted one.
    pub fn emitted(&self) -> Option<Emitted> {
        let is_said = self.kind == EMIT && matches!(*self.outcome, EffectOutcome::Done(_));
        let wanted = self.input.as_deref().filter(|_| is_said)?;
        let chunk = wanted.get("chunk").unwrap_or(wanted);
        if let Value::String(text) = chunk {
            return Some(Emitted {
                medium: Medium::Tool,
                text: text.clone(),
                data: None,
            });
        }
        let word = |key| chunk.get(key).and_then(Value::as_str);
        let part = chunk
            .get("part")
            .and_then(|part| part.get("value").unwrap_or(part).as_str());
        let text = word("text").or_else(|| word("chunk")).or(part);
        Some(Emitted {
            medium: word("medium").map_or(Medium::Tool, |name| Medium::from(name.to_owned())),
            text: text.map_or_else(|| chunk.to_string(), str::to_owned),
            data: Some(chunk.clone()),
        })
    }
}

/// A step of a call, as the log has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedEffect {
    /// The kind of step.
    pub kind: String,
    /// The request.
    pub input: Value,
    /// The outcome; `None` if the program stopped before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<EffectOutcome>,
}

/// The steps of one call, by their numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordedEffects {
    /// From 0; a step that began later may have ended earlier.
    pub steps: BTreeMap<u64, RecordedEffect>,
    /// The progress of the calls that steps of this one made, by their ids: see [`ToolCallId::inner`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inner: BTreeMap<ToolCallId, Arc<RecordedEffects>>,
    /// The time that the call had run before it runs again, in milliseconds by the times of the log. Only
    /// time in which a program was running counts.
    #[serde(default, skip_serializing_if = "no_time")]
    pub spent_ms: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
fn no_time(spent_ms: &u64) -> bool {
    *spent_ms == 0
}

impl RecordedEffects {
    /// The kind of the step in which a call waits for answers of a person and nothing happens anywhere else:
    /// the one who has the call gave it back with its state (`input_required` of MCP). The step ends before
    /// the answers are sent, so a call with such a step that has no outcome can be continued by another
    /// process.
    pub const INPUT_REQUIRED: &'static str = "input_required";

    /// Returns the step in which the call waits for answers; `None` if it does not, or if its answers are on
    /// their way.
    pub fn suspension(&self) -> Option<&RecordedEffect> {
        let mut waits = self
            .steps
            .values()
            .rev()
            .filter(|step| step.kind == Self::INPUT_REQUIRED);
        waits.next().filter(|step| step.outcome.is_none())
    }

    /// Collects the record of a call with the records of the calls that it made: `all` has one record per
    /// call.
    pub fn of(call: &ToolCallId, all: &BTreeMap<ToolCallId, Arc<Self>>) -> Arc<Self> {
        let inner: BTreeMap<_, _> = all
            .range(call.clone()..)
            .filter(|(id, _)| *id != call)
            .take_while(|(id, _)| id.as_str().starts_with(call.as_str()))
            .filter(|(id, _)| id.is_inside(call))
            .map(|(id, recorded)| (id.clone(), recorded.clone()))
            .collect();
        let own = all.get(call).cloned().unwrap_or_default();
        if inner.is_empty() {
            return own;
        }
        Arc::new(Self {
            inner,
            ..Arc::unwrap_or_clone(own)
        })
    }

    /// Returns whether no step is recorded.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.inner.is_empty()
    }

    /// Records the start of a step.
    pub fn started(&mut self, started: &EffectStarted) {
        self.steps.entry(started.step).or_insert_with(|| RecordedEffect {
            kind: started.kind.clone(),
            input: started.input.clone(),
            outcome: None,
        });
    }

    /// Records the end of a step. Only the first end of a step counts.
    pub fn ended(&mut self, ended: &EffectEnded) {
        let effect = self.steps.entry(ended.step).or_insert_with(|| RecordedEffect {
            kind: ended.kind.clone(),
            input: ended.input.as_deref().cloned().unwrap_or(Value::Null),
            outcome: None,
        });
        effect
            .outcome
            .get_or_insert_with(|| EffectOutcome::clone(&ended.outcome));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The words of a chunk that a script emitted.
    fn words(chunk: Value) -> String {
        let ended = EffectEnded {
            tool_call_id: "call_1".into(),
            step: 1,
            kind: EMIT.into(),
            input: Some(Box::new(json!({ "chunk": chunk }))),
            outcome: Box::new(EffectOutcome::Done(Value::Null)),
            bill: None,
            details: None,
        };
        ended.emitted().unwrap().text
    }

    #[test]
    fn a_call_is_suspended_until_its_answers_are_on_their_way() {
        let mut call = RecordedEffects::default();
        let started = |step, kind: &str| EffectStarted {
            tool_call_id: "call_1".into(),
            step,
            kind: kind.to_owned(),
            input: json!({ "n": step }),
        };
        call.started(&started(1, "generate"));
        assert_eq!(call.suspension(), None);
        call.started(&started(1_000, RecordedEffects::INPUT_REQUIRED));
        assert_eq!(call.suspension().unwrap().input, json!({"n": 1_000}));
        call.ended(&EffectEnded {
            tool_call_id: "call_1".into(),
            step: 1_000,
            kind: RecordedEffects::INPUT_REQUIRED.into(),
            input: None,
            outcome: Box::new(EffectOutcome::Done(Value::Null)),
            bill: None,
            details: None,
        });
        assert_eq!(call.suspension(), None);
        call.started(&started(1_001, RecordedEffects::INPUT_REQUIRED));
        assert_eq!(call.suspension().unwrap().input, json!({"n": 1_001}));
    }

    #[test]
    fn words_are_taken_from_chunks_of_every_kind() {
        assert_eq!(words(json!("words")), "words");
        assert_eq!(words(json!({"medium": "story", "text": "words"})), "words");
        assert_eq!(words(json!({"type": "dialog", "chunk": "words"})), "words");
        assert_eq!(words(json!({"part": "words", "is_bos": true})), "words");
        assert_eq!(
            words(json!({"part": {"type": "text", "value": "words"}})),
            "words"
        );
        assert_eq!(words(json!({"title": "words"})), r#"{"title":"words"}"#);
    }
}
