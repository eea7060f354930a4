//! A model call as a tool: one that writes, and one that works on a text.

use std::sync::Arc;

use agentx_agent_files::definition::{
    ContextLayer, GeneratorMode, GeneratorTool, OutputMode, TextProcessor, ToolDefinition,
};
use agentx_luau_tools::{EffectError, EffectKind};
use agentx_runtime::{BoxFuture, PromptWriter, Tool, ToolContext, ToolOutcome};
use agentx_types::ToolSpec;
use serde_json::{Value, json};

use super::http::hash;
use super::run::{SharedToolParts, failed};
use super::spec::spec;
use crate::grants::Grants;
use crate::world::network::{AllowedHosts, MAX_ANSWER};
use crate::world::{CallOrigin, Network, ToolsShared};

struct GeneratorRunner {
    spec: ToolSpec,
    what: Arc<GeneratorRequest>,
    ground: Arc<SharedToolParts>,
}

struct GeneratorRequest {
    prompt: String,
    description: Option<String>,
    layers: Vec<ContextLayer>,
    model: Option<String>,
    schema: Option<Value>,
}

pub(super) fn tool(
    shared: &Arc<ToolsShared>,
    definition: &ToolDefinition,
    generator: &GeneratorTool,
) -> Result<Arc<dyn Tool>, String> {
    let json = generator.mode == GeneratorMode::JsonOutput;
    let what = GeneratorRequest {
        prompt: generator.prompt.clone(),
        description: definition.description.clone(),
        layers: generator.context_layers.clone(),
        model: generator.model.clone(),
        schema: schema(json, generator.output_schema.as_ref())?,
    };
    Ok(made(shared, definition, what))
}

pub(super) fn processor(
    shared: &Arc<ToolsShared>,
    definition: &ToolDefinition,
    processor: &TextProcessor,
) -> Result<Arc<dyn Tool>, String> {
    let json = processor.output_mode == OutputMode::Json;
    let what = GeneratorRequest {
        prompt: processor.prompt.clone(),
        description: definition.description.clone(),
        layers: Vec::new(),
        model: processor.model.clone(),
        schema: schema(json, processor.output_schema.as_ref())?,
    };
    let mut definition = definition.clone();
    definition.params.get_or_insert_with(|| {
        json!({
            "type": "object",
            "properties": {"text": {"type": "string", "description": "The text to work on."}},
            "required": ["text"],
        })
    });
    Ok(made(shared, &definition, what))
}

fn schema(json: bool, schema: Option<&Value>) -> Result<Option<Value>, String> {
    match (json, schema) {
        (false, _) => Ok(None),
        (true, Some(schema)) => Ok(Some(schema.clone())),
        (true, None) => Err("its answer is JSON, and it has no output_schema".to_owned()),
    }
}

fn made(shared: &Arc<ToolsShared>, definition: &ToolDefinition, what: GeneratorRequest) -> Arc<dyn Tool> {
    let env = what.layers.iter().filter_map(|layer| match layer {
        ContextLayer::Env(name) => Some(name.clone()),
        _ => None,
    });
    let ground = SharedToolParts {
        name: definition.name.clone(),
        hash: hash(definition),
        grants: Arc::new(Grants {
            env: env.collect(),
            models: what.model.iter().cloned().collect(),
            ..Grants::default()
        }),
        network: Arc::new(Network::new(
            AllowedHosts::default(),
            shared.parts.lookup.clone(),
            MAX_ANSWER,
            shared.answers.clone(),
        )),
        shared: shared.clone(),
        origin: CallOrigin::Whole,
    };
    Arc::new(GeneratorRunner {
        spec: spec(definition),
        what: Arc::new(what),
        ground: Arc::new(ground),
    })
}

impl Tool for GeneratorRunner {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    fn may_call_models(&self) -> bool {
        true
    }

    fn output_schema(&self) -> Option<Value> {
        self.what.schema.clone()
    }

    /// The values of variables are for the model of this machine alone.
    fn prompt(&self) -> Option<PromptWriter> {
        let is_variable = |layer: &ContextLayer| matches!(layer, ContextLayer::Env(_));
        if self.what.layers.iter().any(is_variable) {
            return None;
        }
        let (what, ground) = (self.what.clone(), self.ground.clone());
        Some(Arc::new(move |input: &Value| what.written(input, &ground.shared)))
    }

    fn call(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutcome> {
        let (ground, what) = (self.ground.clone(), self.what.clone());
        Box::pin(async move {
            let mut running = match ground.begin(&context) {
                Ok(running) => running,
                Err(outcome) => return outcome,
            };
            let came_to = match what.asked(&input, &ground.shared) {
                Ok(asked) => {
                    let kind = match what.schema {
                        Some(_) => EffectKind::GenerateJson,
                        None => EffectKind::Generate,
                    };
                    running.perform(kind, asked).await
                }
                Err(error) => Err(error),
            };
            let came_to = came_to.map_err(|error| failed(&ground.name, &error));
            running.end(&context, came_to).await
        })
    }
}

impl GeneratorRequest {
    /// Returns the request: the layers and the prompt come first, the input is the message.
    fn asked(&self, input: &Value, shared: &ToolsShared) -> Result<Value, EffectError> {
        let mut system = Vec::new();
        for layer in &self.layers {
            system.extend(self.layer(layer, shared)?);
        }
        system.push(self.prompt.clone());
        let text = input
            .get("text")
            .and_then(Value::as_str)
            .filter(|_| is_lone(input));
        let message = text.map_or_else(|| input.to_string(), str::to_owned);
        let mut asked = json!({
            "model": self.model.as_deref().unwrap_or_default(),
            "system": system.join("\n\n"),
            "prompt": message,
        });
        if let Some(schema) = &self.schema {
            asked["schema"] = schema.clone();
        }
        Ok(asked)
    }

    /// Returns all words of the request in one text, for a model that knows nothing of this tool.
    fn written(&self, input: &Value, shared: &ToolsShared) -> Result<String, String> {
        let asked = self.asked(input, shared).map_err(|error| error.to_string())?;
        let words = |key: &str| {
            asked
                .get(key)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let has_input = input.as_object().is_none_or(|entries| !entries.is_empty());
        let message = Some(words("prompt")).filter(|_| has_input);
        let schema = self.schema.as_ref();
        let form = schema.map(|schema| format!("Answer with one JSON value that fits this schema: {schema}"));
        let parts = [Some(words("system")), form, message];
        Ok(parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n"))
    }

    fn layer(&self, layer: &ContextLayer, shared: &ToolsShared) -> Result<Option<String>, EffectError> {
        let missing = |what: String| EffectError::new("not_found", what);
        match layer {
            ContextLayer::Text(text) => Ok(Some(text.clone())),
            ContextLayer::This(key) => match key.trim_start_matches('.') {
                // It is at the end anyway.
                "prompt" => Ok(None),
                "description" => Ok(self.description.clone()),
                other => Err(missing(format!("the layer {other:?} of this file holds no text"))),
            },
            ContextLayer::Ref(name) => {
                let text = shared.parts.known.context(name);
                text.map(Some)
                    .ok_or_else(|| missing(format!("there is no context {name:?}")))
            }
            ContextLayer::Env(name) => {
                let text = shared.parts.known.env(name);
                text.map(Some)
                    .ok_or_else(|| missing(format!("the environment variable {name} is not set")))
            }
        }
    }
}

fn is_lone(input: &Value) -> bool {
    input.as_object().is_some_and(|entries| entries.len() == 1)
}
