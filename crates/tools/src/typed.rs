//! A tool as one type: its arguments are a struct, its schema is derived from that struct, its work is a
//! function. Only the adapter [`Typed`] validates arguments.

use std::future::Future;
use std::sync::Arc;

use agentx_runtime::{BoxFuture, Tool, ToolContext, ToolOutcome};
use agentx_types::{Access, ToolSpec};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::failure::ToolFailure;
use crate::{arguments, schema};

/// A tool whose arguments are a type.
///
/// ```
/// use agentx_runtime::{Tool, ToolContext, ToolOutcome};
/// use agentx_tools::{ToolAbout, ToolFailure, Typed, TypedTool};
/// use agentx_types::Access;
///
/// /// What `shout` takes.
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// #[serde(deny_unknown_fields)]
/// struct ShoutInput {
///     /// The words to shout.
///     words: String,
/// }
///
/// struct Shout;
///
/// impl TypedTool for Shout {
///     type Input = ShoutInput;
///
///     fn about(&self) -> ToolAbout {
///         ToolAbout::new("shout", "Says words loudly.", Access::Internal).idempotent()
///     }
///
///     async fn run(&self, input: ShoutInput, _context: ToolContext) -> Result<ToolOutcome, ToolFailure> {
///         Ok(ToolOutcome::success(input.words.to_uppercase()))
///     }
/// }
///
/// let spec = Typed::new(Shout).spec();
/// assert_eq!(spec.input_schema["properties"]["words"]["description"], "The words to shout.");
/// assert_eq!(spec.input_schema["additionalProperties"], false);
/// ```
pub trait TypedTool: Send + Sync + 'static {
    /// The arguments. The model reads the doc comments of its fields; it has to `deny_unknown_fields`, so
    /// that a misspelt argument is an error and not a silent default.
    type Input: DeserializeOwned + JsonSchema + Send;

    /// Returns the description for the model and the approval rules, without the schema.
    fn about(&self) -> ToolAbout;

    /// Runs a call.
    fn run(
        &self,
        input: Self::Input,
        context: ToolContext,
    ) -> impl Future<Output = Result<ToolOutcome, ToolFailure>> + Send;
}

/// The description of a tool for the model and the approval rules, without the schema.
#[derive(Clone, Debug)]
pub struct ToolAbout {
    name: String,
    description: String,
    access: Access,
    path_argument: Option<String>,
    command_argument: Option<String>,
    address_argument: Option<String>,
    idempotent: bool,
    quit: bool,
    only_by_name: bool,
    waits: bool,
}

impl ToolAbout {
    /// Creates the description of a tool that must not be repeated, names neither path nor command, and does
    /// not end the run.
    pub fn new(name: impl Into<String>, description: impl Into<String>, access: Access) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            access,
            path_argument: None,
            command_argument: None,
            address_argument: None,
            idempotent: false,
            quit: false,
            only_by_name: false,
            waits: false,
        }
    }

    /// Sets the argument that holds a path.
    #[must_use]
    pub fn path(mut self, argument: &str) -> Self {
        self.path_argument = Some(argument.into());
        self
    }

    /// Sets the argument that holds a command line.
    #[must_use]
    pub fn command(mut self, argument: &str) -> Self {
        self.command_argument = Some(argument.into());
        self
    }

    /// Sets the argument that holds the addresses to which a call sends requests.
    #[must_use]
    pub fn addresses(mut self, argument: &str) -> Self {
        self.address_argument = Some(argument.into());
        self
    }

    /// Marks a tool that may be called twice with the same effect as once.
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.idempotent = true;
        self
    }

    /// Ends the run after a successful call.
    #[must_use]
    pub fn quit(mut self) -> Self {
        self.quit = true;
        self
    }

    /// Marks a tool that only agents get that name it.
    #[must_use]
    pub fn only_by_name(mut self) -> Self {
        self.only_by_name = true;
        self
    }

    /// Marks a tool that waits for agents or other tools: see [`Tool::waits`].
    #[must_use]
    pub fn waits(mut self) -> Self {
        self.waits = true;
        self
    }

    fn into_spec(self, input_schema: Value) -> ToolSpec {
        let mut spec = ToolSpec::new(self.name, self.description, input_schema, self.access)
            .with_idempotent(self.idempotent)
            .with_quit(self.quit)
            .with_only_by_name(self.only_by_name)
            .with_checked(true);
        spec.path_argument = self.path_argument;
        spec.command_argument = self.command_argument;
        spec.address_argument = self.address_argument;
        spec
    }
}

/// Makes a [`Tool`] of a [`TypedTool`].
pub struct Typed<T> {
    tool: Arc<T>,
    spec: Arc<ToolSpec>,
    waits: bool,
}

impl<T: TypedTool> Typed<T> {
    /// Derives the schema, once.
    pub fn new(tool: T) -> Self {
        let about = tool.about();
        let waits = about.waits;
        Self {
            tool: Arc::new(tool),
            spec: Arc::new(about.into_spec(schema::schema_of::<T::Input>())),
            waits,
        }
    }
}

impl<T: TypedTool> Tool for Typed<T> {
    fn spec(&self) -> ToolSpec {
        ToolSpec::clone(&self.spec)
    }

    fn call(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutcome> {
        let tool = Arc::clone(&self.tool);
        let spec = Arc::clone(&self.spec);
        Box::pin(async move {
            let outcome = match arguments::parse(&spec, &input) {
                Ok(arguments) => tool.run(arguments, context).await,
                Err(failure) => Err(failure),
            };
            outcome.unwrap_or_else(ToolOutcome::from)
        })
    }

    fn waits(&self) -> bool {
        self.waits
    }
}
