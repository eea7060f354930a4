//! Tools: the ways in which an agent acts on the world.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentx_agent::approval::{Verdict, decide_nested, is_unasked, link_refusal, rules_of, unasked_reading};
use agentx_agent::pattern::normalize;
use agentx_agent::reading_commands::ReadingLine;
use agentx_types::{
    ContentPart, EnvironmentEvent, JobEnded, OutputChannel, SessionId, ToolCallId, ToolOutputChunk, ToolSpec,
    ToolStatus,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::effects::call_slots::CallSlots;
use crate::effects::effect::EventSink;
use crate::future::BoxFuture;
use crate::log::blob_store::BlobStore;
use crate::ruling::refused_in_line;
use crate::tools::journal::Journal;
use crate::tools::request_values::RequestValues;
use agentx_agent::search_scopes::PlaceRules;

/// Something that an agent can do.
pub trait Tool: Send + Sync {
    /// Returns the description that the model and the approval rules see.
    fn spec(&self) -> ToolSpec;

    /// Does it. A failure is an outcome that the model reads, never a panic.
    fn call(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutcome>;

    /// Returns whether its calls wait for agents or other tools. Such a call takes none of the [`CallSlots`];
    /// the calls that it waits for do.
    fn waits(&self) -> bool {
        false
    }

    /// Returns whether its calls may call models, and so cost money.
    fn may_call_models(&self) -> bool {
        false
    }

    /// Returns the JSON Schema of its successful results, if each of them is one JSON value that was checked
    /// against it.
    fn output_schema(&self) -> Option<Value> {
        None
    }

    /// Returns the writer of the words that a call sends to a model, if a call does nothing else: then
    /// another program may send them to its own model.
    fn prompt(&self) -> Option<PromptWriter> {
        None
    }
}

/// Writes the words that a call with these arguments puts to a model, or says why there are none.
pub type PromptWriter = Arc<dyn Fn(&Value) -> Result<String, String> + Send + Sync>;

/// The context that a tool call may use.
#[derive(Clone)]
pub struct ToolContext {
    /// The id of the call.
    pub tool_call_id: ToolCallId,
    /// The session of the call: background jobs, to-do lists and the like are kept apart by it.
    pub session_id: SessionId,
    /// The directory that relative paths start from, absolute.
    pub workspace: PathBuf,
    /// Whether the call may touch files outside of it, also through symbolic links.
    pub outside_workspace: bool,
    /// Receives output while the tool runs.
    pub output: ToolOutputSink,
    /// Records the steps of the call, and has its steps from before a crash.
    pub journal: Journal,
    /// Stores outputs that are too long for the model.
    pub blobs: Arc<dyn BlobStore>,
    /// Fires when the call has to stop; everything that it started has to end within a second.
    pub cancel: CancellationToken,
    /// The values that the caller gave to the tools of this run.
    pub values: RequestValues,
    /// The slots from which a call takes one for each call that it makes.
    pub slots: CallSlots,
}

impl ToolContext {
    /// The value of this type that came with the request; `None` if there is none, as in a process that takes
    /// over a session.
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.values.get()
    }

    /// The rules about files that this call of `tool` may find below `root`, which is absolute and
    /// normalized; `None` if there are none.
    pub fn place_rules(&self, tool: &str, root: &Path) -> Option<PlaceRules> {
        let config = self.journal.caller().config.as_deref()?;
        PlaceRules::of(config, tool, &root.to_string_lossy())
    }

    /// The reason why this call of `tool` may not touch the target of `path`: a rule that does not apply to
    /// the path as written applies to `real`, which is absolute and begins with the workspace's own path if
    /// it is inside. Only the acting process sees where a path leads, so a tool asks this before it touches
    /// anything.
    pub fn refused_at(&self, tool: &str, path: &str, real: &Path) -> Option<String> {
        let config = self.journal.caller().config.as_deref()?;
        if config.guard.is_none() && rules_of(config).iter().all(|rule| rule.path.is_none()) {
            return None;
        }
        let spec = config.tools.iter().find(|spec| spec.name == tool)?;
        let real = real.to_string_lossy();
        let real = normalize("/", &real);
        if normalize(&config.workspace, path) == real {
            return None;
        }
        let argument = spec.path_argument.clone()?;
        let input = Value::Object([(argument, path.into())].into_iter().collect());
        link_refusal(config, spec, &input, &real)
    }

    /// The reason why this call of `tool` may not run its command line `line`: `word` in it leads to `real`,
    /// which is absolute and begins with the workspace's own path if it is inside. As with
    /// [`ToolContext::refused_at`], a tool asks this before it runs anything.
    pub fn refused_in_line(
        &self,
        tool: &str,
        line: &str,
        word: &str,
        real: &Path,
        may_leave: bool,
    ) -> Option<String> {
        let config = self.journal.caller().config.as_deref()?;
        let spec = config.tools.iter().find(|spec| spec.name == tool)?;
        let argument = spec.command_argument.clone()?;
        let input = Value::Object([(argument, line.into())].into_iter().collect());
        refused_in_line(config, spec, &input, word, real, may_leave)
    }

    /// The effects of the command line `line` of this call of `tool`, if it runs without a question only
    /// because it reads the workspace and does nothing else. The tool then looks at the disk for what a text
    /// cannot prove.
    pub fn unasked_reading(&self, tool: &str, line: &str) -> Option<ReadingLine> {
        let config = self.journal.caller().config.as_deref()?;
        let spec = config.tools.iter().find(|spec| spec.name == tool)?;
        let argument = spec.command_argument.clone()?;
        let input = Value::Object([(argument, line.into())].into_iter().collect());
        unasked_reading(config, spec, &input)
    }

    /// Returns whether the approval mode, a judge, or a command line that only reads let this call of `tool`
    /// run, and nobody was asked about it. `false` outside of a session whose rules are known.
    pub fn is_unasked(&self, tool: &str, input: &Value) -> bool {
        let caller = self.journal.caller();
        let config = caller.config.as_deref();
        config.is_some_and(|config| is_unasked(config, tool, input, caller.approved))
    }

    /// Returns whether this call may call `tool`, by the current rules of its agent. `named` says whether the
    /// script's file lists the tool by name, not only with `*`.
    pub fn decide_nested(&self, tool: &ToolSpec, input: &Value, named: bool) -> Verdict {
        let verdict = match self.journal.config_now() {
            Some(config) => decide_nested(&config, tool, input, named),
            None => Verdict::Allow {
                outside_workspace: false,
            },
        };
        match verdict {
            Verdict::Allow { outside_workspace } => Verdict::Allow {
                outside_workspace: outside_workspace || self.outside_workspace,
            },
            other => other,
        }
    }
}

/// Receives output of a tool while it runs. Each piece becomes an event.
#[derive(Clone)]
pub struct ToolOutputSink {
    events: Option<EventSink>,
    tool_call_id: ToolCallId,
}

impl ToolOutputSink {
    /// A sink that turns each piece into an event of `events`.
    pub fn new(events: EventSink, tool_call_id: ToolCallId) -> Self {
        Self {
            events: Some(events),
            tool_call_id,
        }
    }

    /// A sink that drops everything, for calls outside of a session.
    pub fn discard() -> Self {
        Self {
            events: None,
            tool_call_id: ToolCallId::new(""),
        }
    }

    /// Emits `text`. Waits while the session's queue is full.
    pub async fn write(&self, channel: OutputChannel, text: impl Into<String>) {
        let Some(events) = &self.events else { return };
        let chunk = ToolOutputChunk {
            tool_call_id: self.tool_call_id.clone(),
            channel,
            text: text.into(),
        };
        events.emit(EnvironmentEvent::from(chunk)).await;
    }

    /// Reports the end of a command that the call left running in the background.
    pub async fn job_ended(&self, job: &str, command: String, how: String) {
        let Some(events) = &self.events else { return };
        let ended = JobEnded {
            job: job.to_owned(),
            command,
            how,
        };
        events.emit(EnvironmentEvent::from(ended)).await;
    }
}

/// The end of a tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolOutcome {
    /// The content that the model reads.
    pub content: Vec<ContentPart>,
    /// The status with which the call ended.
    pub status: ToolStatus,
    /// For people and programs, not for the model. Two fields have a meaning to every session: `job` names a
    /// command that continued in the background, in the result of a tool whose spec has a `command_argument`;
    /// `running: false` next to it means that the command has ended.
    pub details: Option<Value>,
}

impl ToolOutcome {
    /// The outcome of a successful call.
    pub fn success(text: impl Into<String>) -> Self {
        Self {
            content: vec![ContentPart::text(text)],
            status: ToolStatus::Success,
            details: None,
        }
    }

    /// The outcome of a call that did not.
    pub fn failed(status: ToolStatus, text: impl Into<String>) -> Self {
        Self {
            content: vec![ContentPart::text(text)],
            status,
            details: None,
        }
    }

    /// Returns this outcome with details for people and programs that the model does not read.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }

    /// Returns whether the model should read it as a failure.
    pub fn is_error(&self) -> bool {
        self.status != ToolStatus::Success
    }
}
