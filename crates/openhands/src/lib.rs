//! Imports logs of OpenHands as sessions.
//!
//! [`Log::read`] takes the text of a log of V0 or V1 (or [`Log::of_folder`] the files of a folder).
//! [`import`] turns it into the facts of a session, with a [report](ImportReport) of what was read and what
//! was left out. The session can be shown, searched, forked and replayed like any other. Opening it starts
//! nothing, because `agentx_history::portable::import` ends it with `session_imported`.
//!
//! [`ActionType`], [`ObservationType`], [`AgentState`], [`EventKind`] and [`ExecutionStatus`] are the words
//! of OpenHands, each with its equivalent in AgentX ([`WordRow`]).
//!
//! The crate is pure: texts come in, facts come out. It uses neither files nor a clock.
//!
//! ```
//! use agentx_openhands::{ImportOptions, Log, import};
//!
//! // Made up.
//! let log = Log::read(
//!     r#"[{"id": 0, "action": "message", "source": "user", "args": {"content": "What is 1+1?"}},
//!         {"id": 1, "action": "message", "source": "agent", "args": {"content": "2"}}]"#,
//! )?;
//! let imported = import(&log, &ImportOptions::default())?;
//! assert_eq!(imported.report.lines(), ["OpenHands V0: 2 events"]);
//! assert!(imported.events.len() > 4);
//! # Ok::<(), agentx_openhands::LogReadError>(())
//! ```

mod branch;
mod content;
mod item;
mod json;
mod log;
mod recorder;
mod report;
mod time;
mod tools;
mod usage;
mod v0;
mod v1;
mod words;

use std::sync::Arc;

use agentx_session::SessionFold;
use agentx_types::{
    AgentConfig, AgentStateId, Api, ApprovalMode, BlobId, ConfigChange, ConfigChanged, Envelope,
    EnvironmentEvent, EventDraft, Instructions, Limits, ModelSpec, OwnerId, Prices, SessionId, SessionOpened,
    Source, Timestamp, id_letters,
};

use content::LogBlobs;
use item::{LogItem, LogSetting};
pub use log::{Log, LogFile, LogReadError, MOST_BYTES, MOST_EVENTS};
use recorder::SessionRecorder;
pub use report::{ImportReport, LogVersion};
pub use words::{
    ActionType, AgentState, EventKind, ExecutionStatus, ObservationType, TABLES, WordRole, WordRow, markdown,
};

/// The context window of a model that a log does not describe, in tokens.
const CONTEXT_WINDOW: u64 = 200_000;
/// The longest answer of such a model, in tokens.
const OUTPUT_TOKENS: u64 = 8_192;

/// Values that an import adds to a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportOptions {
    /// The owner of the session. Default: the local one.
    pub owner: OwnerId,
    /// The directory in which the session's agent works if a person continues it. The log's own directory
    /// belongs to another machine. Default: empty.
    pub workspace: String,
    /// The time of events before the first one that has a time. Default: 1970.
    pub now: Timestamp,
    /// The importing program and its version. Default: empty.
    pub program: String,
}

impl Default for ImportOptions {
    fn default() -> Self {
        Self {
            owner: OwnerId::with_suffix("local"),
            workspace: String::new(),
            now: Timestamp(0),
            program: String::new(),
        }
    }
}

/// A session made from a log.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedLog {
    /// The id of the session. It is derived from the log and the workspace, so importing a log twice gives
    /// the same session.
    pub session_id: SessionId,
    /// The title; empty if the log has none.
    pub title: String,
    /// The working directory of its agent.
    pub workspace: String,
    /// The time of the first event.
    pub created_at: Timestamp,
    /// The facts, in order.
    pub events: Vec<Envelope<EnvironmentEvent>>,
    /// The blobs that facts refer to: names, and bytes in base64.
    pub blobs: Vec<(BlobId, String)>,
    /// The report of what was read and what was left out.
    pub report: ImportReport,
}

/// Makes a session from a log.
///
/// # Errors
/// Returns an error if the log contains no step of a conversation.
pub fn import(log: &Log, options: &ImportOptions) -> Result<ImportedLog, LogReadError> {
    let mut report = ImportReport::new(log.version, log.events.len());
    (0..log.elsewhere).for_each(|_| report.leave_out("event of another branch"));
    let mut blobs = LogBlobs::default();
    let (setting, items) = match log.version {
        LogVersion::V0 => v0::read(log, &mut blobs, &mut report),
        LogVersion::V1 => v1::read(log, &mut blobs, &mut report),
    };
    if items.is_empty() {
        return Err(LogReadError::Other(
            "it has no message, no action and no observation".into(),
        ));
    }
    let (session_id, agent) = ids(log, options);
    let config = config(&setting, &items, log.version, options);
    let created_at = items.iter().find_map(|item| item.at).unwrap_or(options.now);
    let opened = SessionOpened {
        owner: options.owner.clone(),
        config: Box::new(config),
        program: options.program.clone(),
    };
    let draft = EventDraft::new(Source::System, Some(agent), opened);
    let mut recorder = SessionRecorder::open(
        SessionFold::new(session_id.clone()),
        draft,
        created_at,
        &mut report,
    );
    if !setting.title.is_empty() {
        recorder.title(&setting.title);
    }
    for item in items {
        recorder.item(item);
    }
    // From now on calls need approval: the log's calls ran on another machine.
    let asks = ConfigChanged {
        change: ConfigChange::Approval(ApprovalMode::Ask),
        by: None,
    };
    let events = recorder.finish(Some(asks.into()));
    Ok(ImportedLog {
        session_id,
        title: setting.title,
        workspace: options.workspace.clone(),
        created_at,
        events,
        blobs: blobs.into_base64(),
        report,
    })
}

/// Returns the ids of the session and of its agent, derived from the contents of the log.
fn ids(log: &Log, options: &ImportOptions) -> (SessionId, AgentStateId) {
    let mut hasher = blake3::Hasher::new();
    for event in &log.events {
        hasher.update(event.to_string().as_bytes());
        hasher.update(b"\n");
    }
    hasher.update(options.owner.as_str().as_bytes());
    let hash = hasher.finalize();
    let bytes = |from: usize| -> [u8; 12] { std::array::from_fn(|index| hash.as_bytes()[from + index]) };
    (
        SessionId::with_suffix(id_letters(bytes(0))),
        AgentStateId::with_suffix(id_letters(bytes(12))),
    )
}

/// Returns the configuration under which the log's calls run without a question, as they did originally. It
/// differs from the defaults in what would stop or change a run: the runs of the log went on without that.
fn config(
    setting: &LogSetting,
    items: &[LogItem],
    version: LogVersion,
    options: &ImportOptions,
) -> AgentConfig {
    let name = if setting.agent.is_empty() {
        "openhands"
    } else {
        &setting.agent
    };
    let mut config = AgentConfig {
        name: name.to_owned(),
        system_prompt: setting.system_prompt.as_str().into(),
        instructions: vec![origin(setting, version)],
        workspace: options.workspace.clone(),
        tools: tools::of_log(setting, items).into(),
        approval: ApprovalMode::Auto,
        all_tools: true,
        limits: Limits::default(),
        condensing: None,
        tool_search: None,
        stuck: None,
        ..AgentConfig::with_defaults(model(setting))
    };
    config.agents = tools::agents_of_log(&config, items);
    config
}

/// Returns instructions that tell the model where the conversation comes from.
fn origin(setting: &LogSetting, version: LogVersion) -> Instructions {
    let mut text = format!(
        "The conversation until here was imported from a log of {}.",
        version.as_str()
    );
    if !setting.directory.is_empty() {
        text.push_str(&format!(
            " Its agent worked in {}, which may not exist here.",
            setting.directory
        ));
    }
    Instructions {
        path: String::new(),
        text: Arc::from(text),
    }
}

/// Returns the model by its name in the log: `PROVIDER/MODEL`, or the model alone.
fn model(setting: &LogSetting) -> ModelSpec {
    let name = setting.model.as_str();
    let (provider, id) = match name.split_once('/') {
        Some((provider, id)) => (provider, id),
        None if name.starts_with("claude") => ("anthropic", name),
        None if ["gpt", "o1", "o3", "o4"]
            .iter()
            .any(|family| name.starts_with(family)) =>
        {
            ("openai", name)
        }
        None if name.starts_with("gemini") => ("gemini", name),
        None => ("openhands", name),
    };
    let api = match provider {
        "anthropic" => Api::Anthropic,
        "gemini" => Api::Gemini,
        _ => Api::OpenaiChat,
    };
    ModelSpec {
        id: if id.is_empty() {
            "unknown".to_owned()
        } else {
            id.to_owned()
        },
        provider: provider.to_owned(),
        api,
        context_window: setting.context_window.unwrap_or(CONTEXT_WINDOW),
        max_output_tokens: OUTPUT_TOKENS,
        prices: Prices::default(),
        input: None,
        server: None,
        assumes_output: true,
        name: None,
    }
}
