//! Permission to call another tool, before the step is recorded as begun: by the rules of its agent, and by a
//! person if the rules ask.

use std::sync::Arc;

use agentx_luau_tools::{BoxFuture, EffectError, HostEffect};
use agentx_runtime::{CallInQuestion, Tool, Verdict};
use agentx_types::{InnerCallAsked, NestedDecision, ToolSpec};
use serde_json::{Map, Value};

use super::file_tool_call::FileToolCall;
use super::request_text::text;

/// A requested call of another tool.
pub(super) struct WantedCall {
    pub(super) tool: Arc<dyn Tool>,
    pub(super) spec: ToolSpec,
    pub(super) args: Value,
}

impl WantedCall {
    pub(super) fn of(call: &FileToolCall, asked: &Value) -> Result<Self, EffectError> {
        let name = text(asked, "tool");
        call.grants.tool(name)?;
        let tool = call
            .shared
            .tool(name)
            .ok_or_else(|| EffectError::new("not_found", format!("there is no tool {name:?}")))?;
        let args = match asked.get("args") {
            // A table without entries may be either.
            Some(Value::Array(items)) if items.is_empty() => Value::Object(Map::new()),
            Some(args) => args.clone(),
            None => Value::Object(Map::new()),
        };
        let spec = tool.spec();
        Ok(Self { tool, spec, args })
    }

    fn judge(&self, call: &FileToolCall) -> Verdict {
        let named = call.grants.names_tool(&self.spec.name);
        call.context.decide_nested(&self.spec, &self.args, named)
    }

    /// Checks that step `step` may make this call. Returns whether the call may touch files outside the
    /// workspace.
    pub(super) fn permitted(&self, call: &FileToolCall, step: u64) -> Result<bool, EffectError> {
        if let Some(outside_workspace) = call.permits.take(step) {
            return Ok(outside_workspace);
        }
        match self.judge(call) {
            Verdict::Allow { outside_workspace } => Ok(outside_workspace),
            Verdict::Ask(question) => Err(denied(question.reason)),
            Verdict::Deny { reason } => Err(denied(reason)),
        }
    }
}

fn denied(reason: String) -> EffectError {
    EffectError::new("denied", reason)
}

/// Applies the decision about a step. Without one, the step fails with `undecided`.
fn apply(
    call: &FileToolCall,
    step: u64,
    decision: Option<NestedDecision>,
    undecided: EffectError,
) -> Result<(), EffectError> {
    match decision {
        Some(NestedDecision::Allowed {
            outside_workspace, ..
        }) => {
            call.permits
                .give(step, outside_workspace || call.context.outside_workspace);
            Ok(())
        }
        Some(NestedDecision::Refused { reason }) => Err(denied(reason)),
        None => Err(undecided),
    }
}

/// Asks the caller outside of a session whether a step may call another tool.
async fn permit_of_caller(
    call: Arc<FileToolCall>,
    step: u64,
    asked: CallInQuestion,
) -> Result<(), EffectError> {
    let nobody = format!(
        "{} is refused: {}, and nobody can be asked outside of a session; with `--yes`, \
         `agentx tools run` allows such calls",
        asked.tool.name, asked.reason
    );
    let decision = call.context.journal.ask_caller(asked).await;
    apply(&call, step, decision, denied(nobody))
}

/// Asks a person whether a step may call another tool; `None` if nobody has to be asked.
pub(super) fn permit(
    call: &Arc<FileToolCall>,
    effect: &HostEffect,
) -> Option<BoxFuture<'static, Result<(), EffectError>>> {
    let wanted = WantedCall::of(call, &effect.request).ok()?;
    let Verdict::Ask(question) = wanted.judge(call) else {
        return None;
    };
    let name = wanted.spec.name.clone();
    let journal = call.context.journal.clone();
    if journal.session().is_none() && journal.allows_asked() {
        call.permits.give(effect.step, call.context.outside_workspace);
        return Some(Box::pin(std::future::ready(Ok(()))));
    }
    if journal.session().is_none() {
        let asked = CallInQuestion {
            input: call.recorder.0.secrets.hide_all(&wanted.args),
            tool: Box::new(wanted.spec),
            reason: question.reason,
            by: Some(call.tool.clone()),
        };
        return Some(Box::pin(permit_of_caller(call.clone(), effect.step, asked)));
    }
    let asked = InnerCallAsked {
        tool_call_id: journal.tool_call_id().inner(effect.step),
        input: Box::new(call.recorder.0.secrets.hide_all(&wanted.args)),
        named: call.grants.names_tool(&name),
        tool: Box::new(wanted.spec),
        by: call.tool.clone(),
        place: call.origin.place(effect),
        form: None,
        for_operator: false,
    };
    let (call, step) = (call.clone(), effect.step);
    Some(Box::pin(async move {
        let decision = journal.ask(asked).await;
        let gone = EffectError::new("interrupted", "the session is gone");
        apply(&call, step, decision, gone)
    }))
}
