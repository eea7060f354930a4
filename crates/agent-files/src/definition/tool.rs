//! The definition of a tool.

use std::collections::BTreeMap;

use agentx_types::Access;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ContextLayer, Millis, ToolUse};

/// A tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolDefinition {
    /// The name that the model uses.
    pub name: String,
    /// Instructions when and how to use it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// JSON Schema of the arguments; any object without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<Value>,
    /// The access that a call needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<Access>,
    /// Whether a second call has no further effect.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub idempotent: bool,
    /// The argument that is the key of a call: each key is used for one call, in all sessions of an owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// The treatment of a call that a crash interrupted.
    #[serde(default, skip_serializing_if = "agentx_types::is_default")]
    pub unknown: UnknownOutcome,
    /// Whether a successful call ends the agent's run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quit: bool,
    /// Whether the file is a folder's: then its claims about itself make it stricter, never freer. The loader
    /// sets this.
    #[serde(skip)]
    pub of_folder: bool,
    /// Facts about a folder's file that the loader adds; no file can set them.
    #[serde(skip)]
    pub known: LoaderFacts,
    /// The type of tool and its keys.
    #[serde(flatten)]
    pub body: ToolBody,
}

/// The treatment of a call whose program stopped while it was running.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnknownOutcome {
    /// It is continued, or the model is told that the outcome is unknown.
    #[default]
    Tell,
    /// A person is asked: done, not done, or run again. If nobody is there, as with `tell`.
    Ask,
}

/// Facts about a folder's file that the loader adds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoaderFacts {
    /// The beginning of a hash of all that describes the tool: its file, its script, what that may require,
    /// and the tools that it calls.
    pub hash: Option<String>,
    /// Whether it has the name of another tool of the person.
    pub replaces: bool,
    /// Addresses of the models that it asks, if they differ from the address of the session's own model or
    /// the folder itself configures them; `*` if the address of a model is unknown.
    pub models_at: Vec<String>,
}

impl ToolDefinition {
    /// JSON Schema of the arguments, for the model.
    pub fn input_schema(&self) -> Value {
        self.params
            .clone()
            .unwrap_or_else(|| serde_json::json!({"type": "object"}))
    }
}

/// The kind of a tool, with its settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum ToolBody {
    /// The host provides it.
    #[serde(rename = "built-in")]
    BuiltIn,
    /// A script.
    #[serde(rename = "luau")]
    Luau(LuauTool),
    /// An HTTP request.
    #[serde(rename = "http")]
    Http(HttpTool),
    /// A model call.
    #[serde(rename = "generator")]
    Generator(GeneratorTool),
    /// Tools in a row.
    #[serde(rename = "composite")]
    Composite(Composite),
    /// A model call that works on a text.
    #[serde(rename = "text_processor")]
    TextProcessor(TextProcessor),
}

/// A script.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LuauTool {
    /// The script. In a loaded library it is there even if the file names a script file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lua: Option<String>,
    /// The script file, as the definition names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lua_file: Option<String>,
    /// The position of the script, if it is in a file of something else. In a loaded library, it is there if
    /// lines of the script are lines of the file. It is not part of the file's contents.
    #[serde(default, rename = "$place", skip_serializing)]
    pub place: Option<ScriptReference>,
    /// The grants of the script.
    #[serde(default, skip_serializing_if = "Capabilities::is_empty")]
    pub capabilities: Capabilities,
    /// The limits of a run.
    #[serde(default, skip_serializing_if = "ToolLimits::is_empty")]
    pub limits: ToolLimits,
}

/// The position of a script that is in a file of something else.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ScriptReference {
    /// The file, relative to its root.
    pub file: String,
    /// The line of the script's first line, from 1.
    pub line: u32,
}

/// The grants of a script; it can reach nothing else.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Capabilities {
    /// Hosts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub http: Vec<String>,
    /// Names of environment variables.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    /// Models; `*` for all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<String>,
    /// Tools; `*` for all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// Key spaces.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kv: Vec<String>,
    /// Agents; `*` for all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<String>,
}

impl Capabilities {
    /// Returns whether the file grants nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The limits of a script; the host decides those that are `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolLimits {
    /// Bytes of its machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// Time of computing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_time: Option<Millis>,
    /// Time from start to end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall_time: Option<Millis>,
    /// Bytes that it may return and emit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    /// Effects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// Agents that it may make.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agents: Option<u64>,
    /// The largest nesting depth of calls of agents and tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<u64>,
}

impl ToolLimits {
    /// Returns whether the file sets no limit.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// An HTTP request. Secrets are references: `${NAME}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HttpTool {
    /// In capitals.
    pub method: String,
    /// The address; it may contain `${NAME}`.
    pub endpoint: String,
    /// Headers; their values may contain `${NAME}`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The credentials of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth: Option<HttpAuth>,
    /// Makes the body from `{input}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub req_body_jq: Option<String>,
    /// Makes the result from the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resp_body_jq: Option<String>,
    /// The longest answer in MiB; 1 without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_response_size_mb: Option<u64>,
    /// The longest time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Millis>,
}

impl HttpTool {
    /// Returns the longest answer.
    pub fn max_response_bytes(&self) -> u64 {
        self.max_response_size_mb.unwrap_or(1) << 20
    }

    /// Names of the environment variables that it needs, each once.
    pub fn variables(&self) -> Vec<&str> {
        let token = self.auth.as_ref().map(|auth| &auth.token);
        let texts = [Some(&self.endpoint), token]
            .into_iter()
            .flatten()
            .chain(self.headers.values());
        let mut names: Vec<&str> = texts
            .flat_map(|text| crate::variables::variables(text).unwrap_or_default())
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// The credentials of an HTTP request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpAuth {
    /// The way in which the token is sent.
    #[serde(rename = "type")]
    pub kind: AuthKind,
    /// A reference, `${NAME}`; for basic also `user:${NAME}`.
    pub token: String,
}

/// The way in which a token is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthKind {
    /// `Authorization: Bearer …`.
    Bearer,
    /// `Authorization: Basic …`.
    Basic,
}

/// A model call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GeneratorTool {
    /// The prompt of the model.
    pub prompt: String,
    /// The texts before the prompt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context_layers: Vec<ContextLayer>,
    /// The model; the agent's own without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Text or JSON.
    #[serde(default)]
    pub mode: GeneratorMode,
    /// JSON Schema of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
}

/// The output of a model call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GeneratorMode {
    /// Text.
    #[default]
    Generate,
    /// JSON of a schema.
    JsonOutput,
}

/// Tools in a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Composite {
    /// The steps, in order.
    pub steps: Vec<CompositeStep>,
}

/// A step of a composite tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompositeStep {
    /// The name of its output in later steps.
    pub id: String,
    /// The tool.
    pub tool: ToolUse,
    /// Makes its arguments from `{input, steps}`; without it they are `.input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_jq: Option<String>,
}

/// A model call that works on a text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TextProcessor {
    /// The instructions for the text.
    pub prompt: String,
    /// The model; the agent's own without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Text or JSON.
    #[serde(default)]
    pub output_mode: OutputMode,
    /// JSON Schema of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
}

/// The output of a text processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputMode {
    /// Text.
    #[default]
    Text,
    /// JSON of a schema.
    Json,
}
