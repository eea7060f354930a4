//! A sequence of tools as a tool: later ones can use the results of earlier ones.

use std::sync::Arc;

use agentx_agent_files::definition::{Composite, ToolDefinition, ToolUse};
use agentx_agent_files::jq::JqFilter;
use agentx_luau_tools::{EffectError, EffectKind};
use agentx_runtime::{BoxFuture, Tool, ToolContext, ToolOutcome};
use agentx_types::ToolSpec;
use serde_json::{Map, Value, json};

use super::ToolFactory;
use super::http::{hash, run};
use super::run::{RunningTool, SharedToolParts, failed};
use super::spec::spec;
use crate::grants::Grants;
use crate::world::network::{AllowedHosts, MAX_ANSWER};
use crate::world::{CallOrigin, Network};

struct StepRow {
    spec: ToolSpec,
    steps: Arc<[StepCall]>,
    ground: Arc<SharedToolParts>,
}

struct StepCall {
    id: String,
    tool: String,
    makes_input: Option<JqFilter>,
    /// A tool that is written in the row lives as long as the row.
    _inline: Option<Arc<dyn Tool>>,
}

pub(super) fn tool(
    flows: &ToolFactory,
    definition: &ToolDefinition,
    composite: &Composite,
) -> Result<Arc<dyn Tool>, String> {
    let mut steps = Vec::new();
    for step in &composite.steps {
        let inline = match &step.tool {
            ToolUse::Ref { .. } => None,
            ToolUse::Inline(inline) => {
                // It is from the same file.
                let inline = ToolDefinition {
                    of_folder: definition.of_folder,
                    ..ToolDefinition::clone(inline)
                };
                Some(flows.tool(&inline).map_err(|unusable| unusable.to_string())?)
            }
        };
        let filter = step.input_jq.as_deref().map(JqFilter::compile).transpose();
        steps.push(StepCall {
            id: step.id.clone(),
            tool: step.tool.name().to_owned(),
            makes_input: filter.map_err(|error| format!("step {}: input_jq: {error}", step.id))?,
            _inline: inline,
        });
    }
    let shared = &flows.shared;
    let ground = SharedToolParts {
        name: definition.name.clone(),
        hash: hash(definition),
        grants: Arc::new(Grants {
            tools: steps.iter().map(|step| step.tool.clone()).collect(),
            ..Grants::default()
        }),
        network: Arc::new(Network::new(
            AllowedHosts::default(),
            shared.parts.lookup.clone(),
            MAX_ANSWER,
            shared.answers.clone(),
        )),
        shared: shared.clone(),
        origin: CallOrigin::Steps(steps.iter().map(|step| step.id.clone()).collect()),
    };
    Ok(Arc::new(StepRow {
        spec: spec(definition),
        steps: steps.into(),
        ground: Arc::new(ground),
    }))
}

impl Tool for StepRow {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    fn waits(&self) -> bool {
        true
    }

    /// The tools that it calls may.
    fn may_call_models(&self) -> bool {
        true
    }

    fn call(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutcome> {
        let (ground, steps) = (self.ground.clone(), self.steps.clone());
        Box::pin(async move {
            let mut running = match ground.begin(&context) {
                Ok(running) => running,
                Err(outcome) => return outcome,
            };
            let came_to = perform(&steps, input, &mut running).await;
            let came_to = came_to.map_err(|error| failed(&ground.name, &error));
            running.end(&context, came_to).await
        })
    }
}

async fn perform(steps: &[StepCall], input: Value, running: &mut RunningTool) -> Result<Value, EffectError> {
    let mut seen = json!({"input": input, "steps": Map::new()});
    let mut last = Value::Null;
    for step in steps {
        let args = match &step.makes_input {
            Some(filter) => run(filter, seen.clone(), "input_jq").await,
            None => Ok(seen["input"].clone()),
        };
        let in_step =
            |error: EffectError| EffectError::new(error.code, format!("step {}: {}", step.id, error.message));
        let asked = json!({"tool": step.tool, "args": args.map_err(in_step)?});
        last = running
            .perform(EffectKind::Invoke, asked)
            .await
            .map_err(in_step)?;
        seen["steps"][&step.id] = last.clone();
    }
    Ok(last)
}
