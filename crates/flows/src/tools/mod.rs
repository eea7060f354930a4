//! Definitions become tools.

mod composite;
mod generator;
mod http;
mod keyed;
mod luau;
mod run;
mod schema_check;
mod spec;

use std::fmt;
use std::sync::Arc;

use agentx_agent_files::definition::{ToolBody, ToolDefinition};
use agentx_runtime::Tool;

pub use schema_check::Schemas;

use crate::world::{ToolFactoryParts, ToolsShared};

/// Makes tools of definitions. Those that it made can call each other.
#[derive(Clone)]
pub struct ToolFactory {
    shared: Arc<ToolsShared>,
}

/// A definition of which no tool can be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolBuildError {
    /// The tool's name.
    pub tool: String,
    /// The reason why the tool cannot be used.
    pub problem: String,
}

impl fmt::Display for ToolBuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the tool {} cannot be used: {}", self.tool, self.problem)
    }
}

impl std::error::Error for ToolBuildError {}

impl ToolFactory {
    /// Creates the factory from its parts.
    pub fn new(parts: ToolFactoryParts) -> Self {
        Self {
            shared: Arc::new(ToolsShared::new(parts)),
        }
    }

    /// Returns the tool that a definition describes.
    ///
    /// # Errors
    /// Returns an error if the script or a filter cannot be compiled, or no tool here has this name
    /// (`built-in`).
    pub fn tool(&self, definition: &ToolDefinition) -> Result<Arc<dyn Tool>, ToolBuildError> {
        let shared = &self.shared;
        let tool: Result<Arc<dyn Tool>, String> = match &definition.body {
            ToolBody::Luau(luau) => luau::tool(shared, definition, luau),
            ToolBody::Http(http) => http::tool(shared, definition, http),
            ToolBody::Generator(generator) => generator::tool(shared, definition, generator),
            ToolBody::TextProcessor(processor) => generator::processor(shared, definition, processor),
            ToolBody::Composite(composite) => composite::tool(self, definition, composite),
            ToolBody::BuiltIn if definition.idempotency_key.is_some() => {
                Err("a tool that the program provides takes no `idempotency_key`".to_owned())
            }
            ToolBody::BuiltIn => match shared.tool(&definition.name) {
                Some(tool) => return Ok(tool),
                None => Err("the program has no built-in tool of this name".to_owned()),
            },
        };
        let tool = match &definition.idempotency_key {
            Some(field) => tool.and_then(|tool| keyed::keyed(tool, definition, field, shared)),
            None => tool,
        };
        let tool = match definition.params {
            Some(_) => tool.and_then(schema_check::checked),
            None => tool,
        };
        let tool = tool.map_err(|problem| ToolBuildError {
            tool: definition.name.clone(),
            problem,
        })?;
        shared.add(&definition.name, &tool);
        Ok(tool)
    }
}
