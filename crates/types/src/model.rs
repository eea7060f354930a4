//! The model of a call before any wire format: as the catalog knows it, its settings, and the tools that it
//! may call.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Prices;

/// The wire protocol of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Api {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Chat Completions, and servers compatible with it.
    OpenaiChat,
    /// OpenAI Responses.
    OpenaiResponses,
    /// Gemini's `streamGenerateContent`, at Google AI and at Vertex AI.
    Gemini,
    /// Gemini's Interactions API, with nothing stored at Google.
    GeminiInteractions,
    /// Anthropic Messages in the frames of Amazon Bedrock (`InvokeModelWithResponseStream`).
    Bedrock,
    /// Amazon Bedrock's Converse (`ConverseStream`), for models of all vendors.
    BedrockConverse,
    /// Anthropic Messages at Vertex AI (`streamRawPredict`).
    VertexAnthropic,
    /// The built-in scripted environment: no network, no model.
    Scripted,
    /// An API of a newer version, which this version cannot call.
    Unknown,
}

impl Api {
    /// Returns the name in files and flags.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenaiChat => "openai-chat",
            Self::OpenaiResponses => "openai-responses",
            Self::Gemini => "gemini",
            Self::GeminiInteractions => "gemini-interactions",
            Self::Bedrock => "bedrock",
            Self::BedrockConverse => "bedrock-converse",
            Self::VertexAnthropic => "vertex-anthropic",
            Self::Scripted => "scripted",
            Self::Unknown => "unknown",
        }
    }

    /// Returns whether the server is Amazon Bedrock.
    pub fn is_at_bedrock(self) -> bool {
        matches!(self, Self::Bedrock | Self::BedrockConverse)
    }

    /// Returns whether requests and answers have the form of Anthropic Messages, regardless of the server.
    pub fn speaks_messages(self) -> bool {
        matches!(self, Self::Anthropic | Self::Bedrock | Self::VertexAnthropic)
    }
}

/// A resolved catalog entry: all settings of a request to this model. It holds no secret, and no address that
/// is connected to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModelSpec {
    /// The id that the API expects.
    pub id: String,
    /// The configured provider that serves it, for example `anthropic` or `ollama`.
    pub provider: String,
    /// The protocol.
    pub api: Api,
    /// Tokens that fit into one call, answer included.
    pub context_window: u64,
    /// The longest answer in tokens.
    pub max_output_tokens: u64,
    /// The prices.
    #[serde(default)]
    pub prices: Prices,
    /// The input media besides text; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Vec<InputMedium>>,
    /// The origin (`scheme://host[:port]`) of the called server, if that is not the provider's own. It is
    /// never connected to: a request is refused if the provider's address has changed meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Whether `max_output_tokens` is only assumed, because nobody has said how long the model's answers may
    /// be. A length that a person sets is then requested as it is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub assumes_output: bool,
    /// A person's own name for the model, if it differs from the id. It distinguishes models of a provider
    /// with the same id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl ModelSpec {
    /// Returns the longest answer in tokens that a request may ask for: the requested length, limited by the
    /// known maximum of the model and by half of its window. Without a requested length it is that maximum.
    ///
    /// Servers refuse a request if the longest answer does not fit into the window beside the input, and
    /// conversations are limited to the other half.
    pub fn longest_answer(&self, wished: Option<u64>) -> u64 {
        let known = match wished {
            Some(_) if self.assumes_output => u64::MAX,
            _ => self.max_output_tokens,
        };
        let most = known.min(self.context_window / 2).max(1);
        wished.unwrap_or(most).clamp(1, most)
    }

    /// Returns the name with that of the provider: `provider/id`, or `provider/name` if a person calls the
    /// model otherwise.
    pub fn reference(&self) -> String {
        format!("{}/{}", self.provider, self.called())
    }

    /// Returns the name under which calls are booked: `provider/id`, as two providers may serve the same id
    /// at different prices. A scripted model has only its id.
    pub fn booked_as(&self) -> String {
        match self.api {
            Api::Scripted => self.id.clone(),
            _ => format!("{}/{}", self.provider, self.id),
        }
    }

    /// Returns a person's own name for the model, else its id.
    pub fn called(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.id)
    }

    /// Returns whether both name the same model of the configuration; what is known of the model may differ.
    pub fn is_same(&self, other: &Self) -> bool {
        (&self.provider, &self.id, &self.name) == (&other.provider, &other.id, &other.name)
    }

    /// Returns whether the model is known to take no input of this kind.
    pub fn refuses(&self, medium: InputMedium) -> bool {
        self.input.as_ref().is_some_and(|media| !media.contains(&medium))
    }
}

/// A kind of input besides text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum InputMedium {
    /// Pictures.
    Image,
    /// Sounds.
    Audio,
    /// Other files, such as PDF.
    File,
}

/// Settings of one model call. A field that is `None` is left to the provider.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ModelParams {
    /// The longest answer in tokens, within the model's own limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// 0 to 2, as the provider understands it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The number of tokens for reasoning; `None` requests no reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_tokens: Option<u64>,
}

/// The effect of a tool's use; approval rules start from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Nothing outside the session.
    Internal,
    /// Reads files.
    Read,
    /// Changes files.
    Change,
    /// Runs programs.
    Run,
    /// Leaves the machine.
    Network,
}

/// A tool as the model and the approval rules see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ToolSpec {
    /// Unique among the tools of an agent.
    pub name: String,
    /// For the model: when to use it and how.
    pub description: String,
    /// JSON Schema (2020-12) of the arguments.
    pub input_schema: Value,
    /// The effect of its use.
    pub access: Access,
    /// The argument that holds a path, if one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_argument: Option<String>,
    /// The argument that holds a command line, if one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command_argument: Option<String>,
    /// The argument that holds addresses (a text or a list of texts), if one does: rules and questions are
    /// then about the hosts in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address_argument: Option<String>,
    /// Whether a call can safely be repeated: then it is made again after a crash. Any other is answered with
    /// an unknown outcome.
    #[serde(default)]
    pub idempotent: bool,
    /// Whether a person is asked what became of a call that a crash interrupted, before anything else.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asks_unknown: bool,
    /// Whether a successful call ends the run.
    #[serde(default)]
    pub quit: bool,
    /// Whether the schema describes the arguments completely: then a call that does not fit is answered with
    /// the mistakes, before a person or the tool gets it. In older sessions, only the tool checks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub checked: bool,
    /// Whether only an agent that names the tool has it: one with all tools does not get it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_by_name: bool,
    /// The reach beyond the arguments, if a file describes the tool: for the question to a person and for
    /// rules that name a host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reach: Option<Box<ToolReach>>,
}

impl ToolSpec {
    /// Creates a tool from its name, the description for the model, the JSON Schema of its arguments, and its
    /// access. The other fields have defaults: no argument is a path or a command line, a call that a crash
    /// interrupted has an unknown outcome, and the tool checks its arguments itself.
    ///
    /// ```
    /// use agentx_types::{Access, ToolSpec};
    /// use serde_json::json;
    ///
    /// let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    /// let spec = ToolSpec::new("look", "Reads a file.", schema, Access::Read).with_path_argument("path").with_idempotent(true);
    /// assert_eq!(spec.path_argument.as_deref(), Some("path"));
    /// ```
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        input_schema: Value,
        access: Access,
    ) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            input_schema,
            access,
            path_argument: None,
            command_argument: None,
            address_argument: None,
            idempotent: false,
            asks_unknown: false,
            quit: false,
            checked: false,
            only_by_name: false,
            reach: None,
        }
    }

    /// Names the argument that holds a path.
    #[must_use]
    pub fn with_path_argument(mut self, argument: impl Into<String>) -> Self {
        self.path_argument = Some(argument.into());
        self
    }

    /// Names the argument that holds a command line.
    #[must_use]
    pub fn with_command_argument(mut self, argument: impl Into<String>) -> Self {
        self.command_argument = Some(argument.into());
        self
    }

    /// Names the argument that holds the addresses to which a call sends requests.
    #[must_use]
    pub fn with_address_argument(mut self, argument: impl Into<String>) -> Self {
        self.address_argument = Some(argument.into());
        self
    }

    /// Sets whether running it twice has the effect of running it once.
    #[must_use]
    pub fn with_idempotent(mut self, idempotent: bool) -> Self {
        self.idempotent = idempotent;
        self
    }

    /// Sets whether a successful call ends the run.
    #[must_use]
    pub fn with_quit(mut self, quit: bool) -> Self {
        self.quit = quit;
        self
    }

    /// Sets whether the schema describes the arguments completely, so that they are checked against it.
    #[must_use]
    pub fn with_checked(mut self, checked: bool) -> Self {
        self.checked = checked;
        self
    }

    /// Sets whether only an agent that names the tool has it.
    #[must_use]
    pub fn with_only_by_name(mut self, only_by_name: bool) -> Self {
        self.only_by_name = only_by_name;
        self
    }

    /// Sets the hosts, variables, tools, models, key spaces and agents that the tool may reach.
    #[must_use]
    pub fn with_reach(mut self, reach: ToolReach) -> Self {
        self.reach = Some(Box::new(reach));
        self
    }
}

/// The reach of a tool that a file describes, as its file declares it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolReach {
    /// Hosts that it sends requests to; one that its file leaves open has a `*`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// Environment variables that it gets, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<String>,
    /// Tools that it calls, by name; `*` for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// Models that it asks, by name; `*` for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<String>,
    /// Key spaces in which it keeps values, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub key_spaces: Vec<String>,
    /// Agents that it creates, by name; `*` for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<String>,
    /// If the file belongs to a folder, or a server describes the tool: the beginning of a hash of everything
    /// that describes it. A rule for this file alone names the tool as `NAME@HASH`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Whether the file is a folder's and takes the name of a tool that the person has from elsewhere: then
    /// only a rule of this file allows a call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replaces: bool,
    /// If an MCP server has the tool: `SERVER/TOOL`, by the server's name for it. A rule for the tool `mcp`
    /// names it so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mcp: Option<String>,
    /// Whether a folder's `.mcp.json` names that server. A rule that allows by name is then about it only if
    /// the rule is for a workspace, because another folder may give the name to another program.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_folder: bool,
    /// The difference, if the server's description of the tool is not the accepted one. Then only a rule for
    /// exactly this description ([`ToolReach::file`]) allows a call; if nobody can be asked, it is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<String>,
}
