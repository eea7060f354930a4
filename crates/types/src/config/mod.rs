//! The resolved configuration of an agent. It is part of `session_opened`, so a log needs no other file to be
//! understood; every later change of it is an event too.

mod limits;
mod routing;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use limits::*;
pub use routing::*;

pub use crate::since::RULES_VERSION;
use crate::{
    AnswerSchema, ApprovalMode, AskUser, Condensing, ContextSource, Guard, LearningSettings, ModelParams,
    ModelSpec, ReminderSettings, SecuritySettings, StuckSettings, TextOrigin, ToolSearch, ToolSpec,
};

/// Maximum depth of nested agents below the root agent: those of files, and those that scripts create.
pub const MAX_AGENT_DEPTH: u32 = 16;
/// Maximum number of agents of a session at once, besides the root agent.
pub const MAX_AGENTS_AT_ONCE: u32 = 256;
/// Maximum number of agents that may be created in a session between two messages of people.
pub const MAX_AGENTS_MADE: u32 = 1_000;

/// The state machine that drives the agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AgentKind {
    /// Think, call tools, continue, end.
    #[default]
    React,
    /// Sort inputs by rules, and give them to other agents.
    Match,
    /// A kind from a newer version. Its log can be read but not continued.
    Unknown,
}

/// All settings that determine the behaviour of an agent, as they were when the session was opened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentConfig {
    /// The state machine that drives the agent.
    pub kind: AgentKind,
    /// The name shown to people.
    pub name: String,
    /// The model that it asks.
    pub model: ModelSpec,
    /// Models to ask in this order, within a run, if `model` is down, limited or refuses. The next run begins
    /// with `model` again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallbacks: Vec<ModelSpec>,
    /// Settings of each model call.
    pub params: ModelParams,
    /// Standing instructions.
    pub system_prompt: Arc<str>,
    /// Files such as AGENTS.md, as they were read.
    pub instructions: Vec<Instructions>,
    /// The directory that the agent works in, absolute, with symbolic links resolved.
    pub workspace: String,
    /// The tools on offer.
    pub tools: Arc<[ToolSpec]>,
    /// The default decision about calls.
    pub approval: ApprovalMode,
    /// Approval rules, in order of their source. Regardless of the order, a `deny` beats an `ask`, and an
    /// `ask` beats an `allow`.
    pub rules: Vec<Rule>,
    /// The limits of a run.
    pub limits: Limits,
    /// Agents that this one may make, by their names: with its tool `delegate`, or in its scripts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentConfig>,
    /// The routing of inputs, if this agent routes them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routing: Option<Box<Routing>>,
    /// The conditions under which its conversation is condensed; `None` if never automatically.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condensing: Option<Box<Condensing>>,
    /// The version of the agent's built-in rules, up to [`RULES_VERSION`]; 0 in logs older than this number.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub rules_version: u32,
    /// Files that its calls are kept from by default; none in logs from before there was such a list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<Arc<Guard>>,
    /// Requirements of a server for each call of the session, which override everything else here; absent if
    /// no server has the session open, and in logs older than this field. Only the program writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_rules: Option<Arc<ServerRules>>,
    /// Whether the agent gets every tool that the current program offers, not only `tools`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all_tools: bool,
    /// The condition under which MCP tools are searched, not listed; `None` if never, and in older logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_search: Option<ToolSearch>,
    /// The schema of the answer that ends each of its runs; the schema of an input takes precedence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_schema: Option<Arc<AnswerSchema>>,
    /// The behaviour if nobody can answer; `None` if the agent lacks the tool `ask_user`, and in older logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask_user: Option<AskUser>,
    /// Whether the agent has the tool `wait`, which suspends its run until a time; `false` in older logs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wait: bool,
    /// The setting of the tool `remind_me`, which sets reminders for the person; `None` if the agent lacks
    /// it, and in older logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reminders: Option<Box<ReminderSettings>>,
    /// Whether a run at a limit of rounds, tokens or cost asks a person; `false` in older logs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asks_at_limits: bool,
    /// The conditions under which the agent counts as stuck in a loop; `None` if never, and in older logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stuck: Option<StuckSettings>,
    /// Plan mode: while it is `true`, every call that changes files, runs a program or leaves the machine is
    /// refused. `false` if it was on before; `None` if it never was, and in logs older than this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_mode: Option<bool>,
    /// Sources of context for each run, such as `memory`; none in older logs and for agents that it makes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context_sources: Vec<ContextSource>,
    /// The times at which memories are proposed; `None` for never, in older logs, and for agents that it
    /// makes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learning: Option<LearningSettings>,
    /// Whether text from the web has entered the conversation ([`TextOrigin::Web`]), for rules about it. The
    /// agent sets it when it gets such a result; `false` in logs older than this field.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub web_text: bool,
    /// The analyzers that assess the risk of calls; `None` if nothing is assessed, and in older logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub security: Option<Box<SecuritySettings>>,
    /// Names of the built-in agents that this one may make with its tool `delegate`: `general`, `explore`. A
    /// name that a program does not know is ignored. None in older logs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub built_in_agents: Vec<String>,
    /// The name of the built-in agent that this one is: it follows changes of the agent that made it. `None`
    /// for every other agent, and in older logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub built_in: Option<String>,
    /// The number of earlier messages that a request has besides those of its run; `None` for as many as fit,
    /// and in older logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history_messages: Option<u32>,
}

impl AgentConfig {
    /// A ReAct agent of `model` with the newest rules and nothing else: no name, prompt, tools, rules, limits
    /// or guard, and a conversation that is never condensed. New agents begin with
    /// [`with_defaults`](Self::with_defaults) instead.
    pub fn react(model: ModelSpec) -> Self {
        Self {
            kind: AgentKind::React,
            name: String::new(),
            model,
            fallbacks: Vec::new(),
            params: ModelParams::default(),
            system_prompt: Arc::default(),
            instructions: Vec::new(),
            workspace: String::new(),
            tools: Arc::default(),
            approval: ApprovalMode::default(),
            rules: Vec::new(),
            limits: Limits::default(),
            agents: Vec::new(),
            routing: None,
            condensing: None,
            rules_version: RULES_VERSION,
            guard: None,
            server_rules: None,
            all_tools: false,
            tool_search: None,
            answer_schema: None,
            ask_user: None,
            wait: false,
            reminders: None,
            asks_at_limits: false,
            plan_mode: None,
            stuck: None,
            context_sources: Vec::new(),
            learning: None,
            web_text: false,
            security: None,
            built_in_agents: Vec::new(),
            built_in: None,
            history_messages: None,
        }
    }
}

/// Requirements of a server for each call in a session, from its operator's settings. They are recorded again
/// when the session is opened with changed settings, so a rule also applies to older sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServerRules {
    /// The rules of the settings. They take precedence over those of the session: a `deny` or `ask` here
    /// applies regardless of the session's rules.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Rule>,
    /// Set in the session of a member: the absolute directory in which they work. In such a session, the
    /// session's rules and the approval mode `auto` allow nothing: besides reading in this directory, a call
    /// runs only if a rule of the server or the operator allows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member_directory: Option<String>,
}

/// A file of instructions that was read when the session was opened, or the description of the agent's
/// environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Instructions {
    /// The path of the file; empty for the description of the environment, which comes from no file.
    pub path: String,
    /// The content of the file.
    pub text: Arc<str>,
}

impl Instructions {
    /// The description of the agent's environment, as the model reads it.
    pub fn environment_context(text: impl Into<Arc<str>>) -> Self {
        Self {
            path: String::new(),
            text: text.into(),
        }
    }

    /// Returns whether this is the description of the agent's environment.
    pub fn is_environment_context(&self) -> bool {
        self.path.is_empty()
    }
}

/// The effect of a rule on a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RuleEffect {
    /// Allow the call.
    Allow,
    /// Ask a person about the call.
    Ask,
    /// Refuse the call.
    Deny,
}

/// An approval rule. A field that is `None` matches everything.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The effect.
    pub effect: RuleEffect,
    /// The tool's name; `*` stands for any run of characters. `NAME@HASH` is a tool of a folder's file as
    /// long as the file does not change ([`crate::ToolReach::file`]).
    pub tool: String,
    /// The command line (for tools that run programs) or the whole arguments as JSON; `*` stands for any run
    /// of characters. A command line of several commands is allowed only if each of them is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument: Option<String>,
    /// The path that the call names, absolute or relative to the workspace; `*` stops at `/`, `**` does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The absolute directory in which and below which the rule applies; a relative `path` begins there.
    /// `None` means everywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// The rule applies only after text of this origin has entered the conversation; `None` means always.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<TextOrigin>,
}

impl Rule {
    /// The name of the tool that it is about, without the hash of its file.
    ///
    /// ```
    /// use agentx_types::{Rule, RuleEffect};
    /// let rule = Rule {
    ///     effect: RuleEffect::Allow, tool: "lint@0123".into(), argument: None, path: None, workspace: None, origin: None,
    /// };
    /// assert_eq!(rule.tool_name(), "lint");
    /// ```
    pub fn tool_name(&self) -> &str {
        self.tool.split('@').next().unwrap_or_default()
    }
}

/// A change of an agent's configuration while its session continues.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ConfigChange {
    /// Another model from the next call on.
    Model(Box<ModelSpec>),
    /// Other models to ask if the agent's own does not answer.
    Fallbacks(Vec<ModelSpec>),
    /// Other settings from the next call on.
    Params(ModelParams),
    /// Other limits, also for the current run.
    Limits(Limits),
    /// Another way to decide.
    Approval(ApprovalMode),
    /// Add a rule.
    RuleAdded(Rule),
    /// All the rules.
    Rules(Vec<Rule>),
    /// Other tools from the next call on (a newer program offers others).
    Tools(Arc<[ToolSpec]>),
    /// The instructions, read again.
    Instructions(Vec<Instructions>),
    /// Changes when the conversation is condensed; `None` disables automatic condensing.
    Condensing(Option<Box<Condensing>>),
    /// Rules are read in another way from now on, also by the agents that it may make.
    RulesVersion(u32),
    /// Other files are guarded from now on, also from the agents that it may make.
    Guard(Option<Arc<Guard>>),
    /// The server's settings are other ones from now on, also for all agents that there are; `None` if no
    /// server has it open.
    ServerRules(Option<Arc<ServerRules>>),
    /// Plan mode is on (`true`) or off from now on, for all agents of the session.
    PlanMode(bool),
}
