//! The keys of every kind of file. No other file names them.

use crate::keys::key_tables::{RefKind, Shape, MappingShape, may, must, table};

/// Kinds of tools, each with its table.
pub(crate) const TOOLS: &[(&str, &MappingShape)] = &[
    ("built-in", &BUILT_IN),
    ("luau", &LUAU),
    ("http", &HTTP),
    ("generator", &GENERATOR_TOOL),
    ("composite", &COMPOSITE),
    ("text_processor", &TEXT_PROCESSOR),
];

/// Kinds of agents, each with its table.
pub(crate) const AGENTS: &[(&str, &MappingShape)] = &[("react", &REACT), ("match", &MATCH)];

const TOOL_TYPES: Shape =
    Shape::Choice(&["built-in", "luau", "http", "generator", "composite", "text_processor"]);
const ACCESS: Shape = Shape::Choice(&["internal", "read", "change", "run"]);
const TEXTS: Shape = Shape::List(&Shape::Words);
const MEGABYTES: u64 = 1 << 20;

macro_rules! tool {
    ($name:literal, [$($key:expr),* $(,)?]) => {
        table($name, &[
            may("$schema", Shape::Text, "the schema of this file, for editors"),
            may("type", TOOL_TYPES, "the type of tool"),
            must("name", Shape::ToolName, "the name that the model uses"),
            may("description", Shape::Text, "tells the model when and how to use the tool"),
            may("params", Shape::Params, "the arguments: `city: {type: string, description: …}`, or a complete JSON Schema"),
            may("access", ACCESS, "what the tool accesses, for the approval rules"),
            may("idempotent", Shape::Bool, "whether running it twice has the same effect as once"),
            may("idempotency_key", Shape::Text, "the argument that is the key of a call: a second call with the same key gets the result of the first"),
            may("unknown", Shape::Choice(&["tell", "ask"]), "for a call that was running when the program stopped: whether a person is asked what became of it [tell]"),
            may("quit", Shape::Bool, "whether a successful call ends the agent"),
            $($key,)*
        ])
    };
}

/// A tool that the host provides.
pub(crate) static BUILT_IN: MappingShape = tool!("tool_built_in", []);

static CAPABILITIES: MappingShape = table(
    "capabilities",
    &[
        may("http", Shape::List(&Shape::Host), "hosts it may reach, such as `api.weather.com` or `*.weather.com`"),
        may("env", Shape::List(&Shape::Variable), "environment variables it may read"),
        may("models", TEXTS, "models it may call; `*` for all"),
        may("tools", Shape::List(&Shape::Granted), "tools it may call; `*` for all"),
        may("kv", TEXTS, "key spaces it may read and write"),
        may("agents", TEXTS, "agents it may create by name; `*` for all"),
    ],
);

static TOOL_LIMITS: MappingShape = table(
    "tool_limits",
    &[
        may("memory", Shape::Bytes, "maximum memory of its VM"),
        may("cpu_time", Shape::Duration, "maximum computing time"),
        may("wall_time", Shape::Duration, "maximum time from start to end"),
        may("output", Shape::Bytes, "maximum size of its result and output"),
        may("requests", Shape::Count(0, 1_000_000), "maximum number of effects: requests, model calls, tool calls"),
        may("agents", Shape::Count(0, 10_000), "maximum number of agents it may create"),
        may("depth", Shape::Count(0, 64), "maximum nesting of agent and tool calls"),
    ],
);

/// A script.
pub(crate) static LUAU: MappingShape = tool!("tool_luau", [
    may("lua", Shape::Script, "the script: `function invoke(ctx, args) … end`"),
    may("lua_file", Shape::ScriptFile, "the script file, relative to this file"),
    may("capabilities", Shape::Map(&CAPABILITIES), "everything the script may access"),
    may("limits", Shape::Map(&TOOL_LIMITS), "the limits of a call"),
])
.one_of(&["lua", "lua_file"]);

static AUTH: MappingShape = table(
    "auth",
    &[
        must("type", Shape::Choice(&["bearer", "basic"]), "how the credentials are sent"),
        must("token", Shape::Secret, "the secret, as a reference: `${NAME}`; for `basic` also `user:${NAME}`"),
    ],
);

/// An HTTP request.
pub(crate) static HTTP: MappingShape = tool!("tool_http", [
    must("method", Shape::Choice(&["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"]), "the method"),
    must("endpoint", Shape::Url, "the address"),
    may("headers", Shape::MapOf(&Shape::Template), "request headers; `${NAME}` is replaced by an environment variable"),
    may("auth", Shape::Map(&AUTH), "who asks"),
    may("req_body_jq", Shape::Jq, "builds the body from `.input`; by default the arguments are sent"),
    may("resp_body_jq", Shape::Jq, "builds the result from the response"),
    may("max_response_size_mb", Shape::Count(1, 1024), "maximum size of the response in MiB [1]"),
    may("timeout", Shape::Duration, "maximum time for the request"),
]);

/// A model call.
pub(crate) static GENERATOR_TOOL: MappingShape = tool!("tool_generator", [
    must("prompt", Shape::Words, "the system prompt"),
    may("context_layers", Shape::List(&LAYER), "context before the prompt"),
    may("model", Shape::Words, "the model; the agent's model by default"),
    may("mode", Shape::Choice(&["generate", "json_output"]), "text, or JSON that matches a schema [generate]"),
    may("output_schema", Shape::Schema, "the JSON Schema of the answer; required for `json_output`"),
]);

static STEP: MappingShape = table(
    "step",
    &[
        must("id", Shape::Name, "the name of its output in later steps: `.steps.ID`"),
        must("tool", TOOL_OR_REF, "which tool"),
        may("input_jq", Shape::Jq, "builds its arguments from `{input, steps}`; `.input` by default"),
    ],
);

/// Tools in a row.
pub(crate) static COMPOSITE: MappingShape = tool!("tool_composite", [
    may("mode", Shape::Choice(&["seq"]), "one after the other"),
    must("steps", Shape::Some(&Shape::Map(&STEP)), "the steps, in order; the last output is the result"),
]);

/// A model call that works on a text.
pub(crate) static TEXT_PROCESSOR: MappingShape = tool!("tool_text_processor", [
    must("prompt", Shape::Words, "instructions for processing the text"),
    may("model", Shape::Words, "the model; the agent's model by default"),
    may("output_mode", Shape::Choice(&["text", "json"]), "text, or JSON that matches a schema [text]"),
    may("output_schema", Shape::Schema, "the JSON Schema of the answer; required for `json`"),
]);

static TOOL_REF: MappingShape = table(
    "tool_reference",
    &[
        must("$ref", Shape::Ref(RefKind::Tool), "`tool:NAME`, or the path of a tool file"),
        may("quit", Shape::Bool, "whether a successful call ends the agent"),
    ],
)
.marker("$ref");

const TOOL_OR_REF: Shape = Shape::Either(&[Shape::Map(&TOOL_REF), Shape::Tool]);

static AGENT_REF: MappingShape = table(
    "agent_reference",
    &[must("$ref", Shape::Ref(RefKind::Agent), "`agent:NAME`, or the path of an agent file")],
)
.marker("$ref");

const AGENT_OR_REF: Shape = Shape::Either(&[Shape::Ref(RefKind::Agent), Shape::Map(&AGENT_REF), Shape::Agent]);

static RULE_REF: MappingShape = table(
    "rule_reference",
    &[must("$ref", Shape::Ref(RefKind::Rule), "`rule:NAME`, or the path of a rule file")],
)
.marker("$ref");

static LAYER_THIS: MappingShape =
    table("layer_this", &[must("$this", Shape::This, "a key of this file, such as `.prompt`")]).marker("$this");
static LAYER_REF: MappingShape = table(
    "layer_ref",
    &[must("$ref", Shape::Ref(RefKind::Context), "a text file: `NAME` or `KIND:NAME` below `context/`, or a path")],
)
.marker("$ref");
static LAYER_ENV: MappingShape =
    table("layer_env", &[must("$env", Shape::Variable, "the environment variable that contains it")]).marker("$env");

/// A layer of the context.
pub(crate) const LAYER: Shape = Shape::Either(&[
    Shape::Text,
    Shape::Map(&LAYER_THIS),
    Shape::Map(&LAYER_REF),
    Shape::Map(&LAYER_ENV),
]);

macro_rules! parameters {
    ($($key:expr),* $(,)?) => {
        &[
            $($key,)*
            may("temperature", Shape::Temperature, "sampling temperature"),
            may("max_output_tokens", Shape::Count(1, u64::MAX), "maximum length of an answer, in tokens"),
            may("thinking_tokens", Shape::Count(1, u64::MAX), "token budget for reasoning"),
        ]
    };
}

/// A generator file, or one that is written in place.
pub(crate) static GENERATOR: MappingShape = table(
    "generator",
    parameters![
        may("$schema", Shape::Text, "the schema of this file, for editors"),
        may("name", Shape::Name, "the name other files use; the file name by default"),
        must("model", Shape::Words, "the model: an id, an alias, or `provider/id`"),
    ],
);

static GENERATOR_REF: MappingShape = table(
    "generator_reference",
    parameters![must("$ref", Shape::Ref(RefKind::Generator), "`generator:NAME`, or the path of a generator file")],
)
.marker("$ref");

const GENERATORS: Shape = Shape::Either(&[Shape::Words, Shape::Map(&GENERATOR_REF), Shape::Map(&GENERATOR)]);

static AGENT_LIMITS: MappingShape = table(
    "limits",
    &[
        may("max_iterations", Shape::Count(0, u32::MAX as u64), "maximum number of tool rounds in one run"),
        may("max_tokens", Shape::Count(0, u64::MAX), "maximum number of tokens in one run, input and output"),
        may("max_cost", Shape::Money, "maximum cost of one run in US dollars"),
        may("timeout", Shape::Duration, "maximum time for one run, counted while a program works on it"),
    ],
);

const MODES: Shape = Shape::Choice(&["ask", "auto", "deny"]);

static APPROVAL_RULE: MappingShape = table(
    "approval_rule",
    &[
        must("effect", Shape::Choice(&["allow", "ask", "deny"]), "the decision"),
        must("tool", Shape::Words, "the tool's name; `*` matches any characters"),
        may("argument", Shape::Text, "the command line or the arguments"),
        may("path", Shape::Text, "the path in the call"),
    ],
);

static APPROVAL: MappingShape = table(
    "approval",
    &[
        may("mode", MODES, "who decides about a call that no rule covers"),
        may("rules", Shape::List(&Shape::Map(&APPROVAL_RULE)), "deny beats ask beats allow"),
    ],
);

macro_rules! agent {
    ($name:literal, [$($key:expr),* $(,)?]) => {
        table($name, &[
            may("$schema", Shape::Text, "the schema of this file, for editors"),
            may("type", Shape::Choice(&["react", "match"]), "the type of agent [react]"),
            must("name", Shape::Name, "the display name"),
            may("description", Shape::Text, "its purpose, for people and other agents"),
            may("prompt", Shape::Text, "standing instructions"),
            may("context_layers", Shape::List(&LAYER), "context before the conversation, in order"),
            may("generator", GENERATORS, "the model and its parameters"),
            may("model", Shape::Words, "short for `generator: {model: …}`"),
            may("fallbacks", Shape::List(&Shape::Words), "models to ask if the model is down, limited or refuses [those of the configuration]"),
            may("condensers", Shape::List(&Shape::Words), "what shortens a long conversation, such as `mask 40`, `recent 100`, `summary` [those of the configuration]"),
            may("limits", Shape::Map(&AGENT_LIMITS), "limits of a run"),
            may("approval", Shape::Either(&[MODES, Shape::Map(&APPROVAL)]), "who decides about calls of tools"),
            $($key,)*
        ])
    };
}

/// An agent that thinks and calls tools.
pub(crate) static REACT: MappingShape = agent!("agent_react", [
    may("tools", Shape::List(&TOOL_USE), "what it can do"),
    may("output", Shape::SchemaOrFile, "the JSON Schema that its last answer has to fit, or the JSON file with it, relative to this file"),
    may("agents", Shape::List(&AGENT_OR_REF), "agents it may create with its `delegate` tool"),
]);

/// An agent that routes inputs.
pub(crate) static MATCH: MappingShape = agent!("agent_match", [
    must("rules", Shape::Some(&RULE_OR_REF), "the intents it recognises"),
    must("route", Shape::Some(&Shape::Map(&ROUTE)), "which agent gets which intents"),
    may("default", AGENT_OR_REF, "the agent for input that matches nothing"),
]);

/// In an agent's list, a tool that is written in place may say `quit`.
const TOOL_USE: Shape = TOOL_OR_REF;
const RULE_OR_REF: Shape = Shape::Either(&[Shape::Ref(RefKind::Rule), Shape::Map(&RULE_REF), Shape::Map(&RULE)]);

static ROUTE: MappingShape = table(
    "route",
    &[
        must("rules", Shape::Some(&Shape::Words), "names of rules"),
        must("agent", AGENT_OR_REF, "the agent that gets them"),
    ],
);

static VARIABLE: MappingShape = table(
    "variable",
    &[
        may("label", Shape::Words, "a label, without brackets [its name]"),
        may("type", Shape::Choice(&["string", "int", "float", "bool"]), "the type of its value [string]"),
    ],
)
.open();

static RULE_TEST: MappingShape = table(
    "rule_test",
    &[
        must("input", Shape::Text, "what a person says"),
        may("args", Shape::MapOf(&Shape::Any), "the expected values"),
    ],
);

/// A rule file, or a rule that is written in place.
pub(crate) static RULE: MappingShape = table(
    "rule",
    &[
        may("$schema", Shape::Text, "the schema of this file, for editors"),
        must("name", Shape::Name, "the name used in answers and routes"),
        may("references", Shape::MapOf(&Shape::Text), "facts that the model should know"),
        may("vars", Shape::MapOf(&Shape::Map(&VARIABLE)), "the variables used as `[var]` in patterns"),
        may("patterns", Shape::List(&Shape::Pattern), "what a person says, or that and the answer's line"),
        may("examples", Shape::List(&Shape::Example), "subject, what a person says, the answer's lines"),
        may("tests", Shape::List(&Shape::Map(&RULE_TEST)), "inputs and their expected values"),
    ],
);

const MESSAGES: Shape = Shape::List(&Shape::Message);

static TOOL_RESULT: MappingShape = table(
    "tool_result",
    &[
        must("id", Shape::Words, "of the call"),
        may("name", Shape::Text, "of the tool"),
        may("content", Shape::Text, "what came out"),
        may("is_error", Shape::Bool, "whether it failed"),
    ],
);

static MATCHED: MappingShape = table(
    "matched",
    &[
        must("rule_name", Shape::Words, "the rule"),
        must("agent_name", Shape::Words, "the agent that gets it"),
    ],
);

macro_rules! state {
    ($name:literal, [$($key:expr),* $(,)?]) => {
        table($name, &[
            must("state_type", Shape::Choice(&["react", "match"]), "of what kind of agent"),
            must("id", Shape::Words, "which state"),
            must("agent_def", Shape::Words, "the name of the agent's definition"),
            may("messages", MESSAGES, "what was said"),
            $($key,)*
        ])
    };
}

/// The state of an agent that thinks and calls tools.
pub(crate) static REACT_STATE: MappingShape = state!("state_react", [
    may("phase", Shape::Text, "what it does"),
    may("tool_results", Shape::List(&Shape::Map(&TOOL_RESULT)), "results that the model has not seen"),
    may("finished", Shape::Bool, "whether a tool with `quit` was called"),
]);

/// The state of an agent that routes.
pub(crate) static MATCH_STATE: MappingShape = state!("state_match", [
    may("phase", Shape::Text, "what it does"),
    may("input", Shape::Text, "what is being matched"),
    may("matches", Shape::List(&Shape::Map(&MATCHED)), "what matched, in order"),
    may("current_index", Shape::Count(0, 1_000_000), "the current match"),
    may("matched", Shape::Bool, "whether matching has ended"),
    may("calling_state", Shape::State, "the state of the agent that is called"),
]);

/// A message: all keys of all roles.
pub(crate) static MESSAGE: MappingShape = table(
    "message",
    &[
        must("role", Shape::Choice(&["user", "model", "tool"]), "who says it"),
        may("content", Shape::Text, "the text"),
        may("tool_call_id", Shape::Words, "a call by the model"),
        may("tool_call_name", Shape::Words, "the tool of the call"),
        may("tool_call_args", Shape::Text, "its arguments, as JSON"),
        may("tool_result_id", Shape::Words, "the call of this result"),
    ],
);

/// The longest script.
pub(crate) const MAX_SCRIPT_BYTES: usize = (MEGABYTES / 4) as usize;
