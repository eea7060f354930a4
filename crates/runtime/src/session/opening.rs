//! Opening a session: creates a log, or folds an existing one, and attaches the writer that continues with
//! it.
//!
//! The differences between this program and the last writer are recorded before anything is done, in this
//! order: tools, rules, guard, settings of a server, approval mode, then the changes of the person who opens
//! the session, and last `writer_attached`, with which agents settle open calls. All of it is one commit.

use std::sync::Arc;

use agentx_types::{
    AgentConfig, AgentStateId, ApprovalMode, ConfigChange, ConfigChanged, CutOffOutput, EnvironmentEvent,
    EventDraft, Guard, LeftRunning, OwnerId, RULES_VERSION, ServerRules, SessionForked, SessionId,
    SessionOpened, Source, ToolSpec, WriterAttached,
};

use crate::answer_schema::check_answer_schemas;
use crate::api::{OpenRequest, RuntimeError};
use crate::driver::{DriverParts, drive};
use crate::follow::LiveSource;
use crate::log::folding::{FoldCompanions, check_version, fold_and_keep, share};
use crate::log::writing::{NewLog, Writer};
use crate::log_error::LogError;
use crate::session::cut_off_output::cut_off_output;
use crate::session::local_session::LocalSession;
use crate::tools::tool_offers::{changed_tools, with_attached};
use agentx_session::SessionFold;

/// Approximate number of facts before the end of an opened session at which its state is kept, for followers
/// that show the end.
const LOOK_BACK: u64 = 4096;

/// The ids of a new session, of its first agent and of its owner. Created by the runtime.
#[derive(Clone, Debug)]
pub struct SessionIds {
    /// The id of the session.
    pub session_id: SessionId,
    /// The id of the session's first agent.
    pub agent_state_id: AgentStateId,
    /// The owner of the session.
    pub owner: OwnerId,
}

/// Opens a session to write it. `ids` are used for a new one; the log has those of an existing one.
///
/// # Errors
/// Returns an error if the log refuses (another writer, no such session, a newer format, a full disk), or if
/// a newer version wrote something that this one would have to know.
pub async fn open_session(
    parts: DriverParts,
    ids: SessionIds,
    request: OpenRequest,
) -> Result<Arc<LocalSession>, RuntimeError> {
    // Subscribe before the session gets its tools, so that no later offer is missed.
    let offers = parts.tools.changes();
    let OpenedSession {
        writer,
        fold,
        remembered,
        mut first,
        ended,
        cut_off,
    } = match request {
        OpenRequest::New(config) => create(&parts, &ids, config).await?,
        OpenRequest::Resume(session, changes) => load(&parts, &session, changes).await?,
    };
    let attached = WriterAttached {
        epoch: writer.epoch,
        program: parts.program.clone(),
        process: std::process::id(),
        ended,
        serves: parts.serves,
        cut_off,
    };
    first.push(EventDraft::new(Source::System, None, attached));
    let session = writer.session_id.clone();
    let (log, bus, agents) = (parts.log.clone(), parts.bus.read_only(), parts.agents.read_only());
    let redactor = parts.redactor.clone();
    let (commands, status) = drive(parts, (writer, fold), offers, first).await?;
    let live = LiveSource {
        session,
        log,
        bus,
        commands,
        redactor,
        status,
        remembered: remembered.map(Arc::new),
    };
    Ok(Arc::new(LocalSession::new(live, agents)))
}

/// A session when its writer has taken it over.
struct OpenedSession {
    writer: Writer,
    fold: SessionFold,
    /// An earlier state of the session.
    remembered: Option<SessionFold>,
    /// The facts that are recorded first.
    first: Vec<EventDraft<EnvironmentEvent>>,
    /// Commands that the previous process left running and this one ended.
    ended: Vec<LeftRunning>,
    /// The recorded output of calls that the end of the previous process cut off.
    cut_off: Vec<CutOffOutput>,
}

/// Creates a new session. Checks that the configuration can be read back: the nesting of agents is bounded.
async fn create(
    parts: &DriverParts,
    ids: &SessionIds,
    mut config: Box<AgentConfig>,
) -> Result<OpenedSession, RuntimeError> {
    let new = NewLog::new(
        ids.session_id.clone(),
        ids.owner.clone(),
        parts.clock.now(),
        config.workspace.clone(),
    );
    share(&mut config.tools, &parts.tools.now());
    if config.all_tools {
        config.tools = with_attached(&config.tools, &parts.tools);
    }
    if let Some(guard) = &parts.guard {
        agentx_agent::keep_from(&mut config, Some(guard));
    }
    agentx_agent::bind_by(&mut config, parts.server_rules.as_ref());
    // Do not write a configuration that could not be read back.
    agentx_agent::check_depth(&config).map_err(RuntimeError::Refused)?;
    check_answer_schemas(&config).map_err(RuntimeError::Refused)?;
    parts.log.create(new).await?;
    let writer = parts.log.attach(&ids.session_id).await?;
    let opened = SessionOpened {
        owner: ids.owner.clone(),
        config,
        program: parts.program.clone(),
    };
    let draft = EventDraft::new(Source::System, Some(ids.agent_state_id.clone()), opened);
    Ok(OpenedSession {
        writer,
        fold: SessionFold::new(ids.session_id.clone()),
        remembered: None,
        first: vec![draft],
        ended: Vec::new(),
        cut_off: Vec::new(),
    })
}

/// Takes over an existing session, and determines the first facts.
///
/// Refuses, and releases the lock, if a newer version wrote it, if it has no events, or if a call would have
/// to continue with a tool that is missing here.
async fn load(
    parts: &DriverParts,
    session: &SessionId,
    changes: Vec<ConfigChange>,
) -> Result<OpenedSession, RuntimeError> {
    let writer = parts.log.attach(session).await?;
    let kept = FoldCompanions {
        remember: writer.last_seq.saturating_sub(LOOK_BACK),
        tools: parts.tools.now(),
    };
    let fold = SessionFold::new(session.clone());
    let (fold, remembered) = fold_and_keep(parts.log.as_ref(), fold, u64::MAX, kept).await?;
    check_version(&fold)?;
    if fold.root().is_none() {
        // Its process died before the first event.
        return Err(LogError::NotFound(session.to_string()).into());
    }
    if let Some(tool) = cut_off_without_tool(&fold, &parts.tools.now()) {
        let workspace = fold.root_agent().map(|agent| agent.config().workspace.clone());
        return Err(RuntimeError::Refused(format!(
            "{session} stopped during a call of {tool}, and this program does not have that tool; nothing is lost: resume the session in {}",
            workspace.as_deref().unwrap_or("its workspace")
        )));
    }
    let mut ended = end_left_running(parts, &fold, session).await;
    let cut_off = cut_off_output(parts.log.as_ref(), &fold).await?;
    let mut first = Vec::new();
    let parent = parts.log.info(session).await?.parent;
    if let Some((parent, at_seq)) = parent.filter(|(parent, _)| fold.forked_from() != Some(parent)) {
        // The jobs are those of the original, and may run there.
        ended.retain(|left| left.processes > 0);
        let forked = SessionForked {
            parent,
            at_seq,
            hold: true,
        };
        first.push(EventDraft::new(Source::System, None, forked));
    }
    first.extend(changes_of_program(parts, &fold, &changes));
    if let Some(standing) = &parts.standing {
        first.extend(standing.changes(parts.log.as_ref(), &writer, &fold).await?);
    }
    let root = fold.root().cloned();
    first.extend(
        changes
            .into_iter()
            .filter_map(|change| keep_learned_window(&fold, change))
            .map(|change| EventDraft::new(Source::User, root.clone(), ConfigChanged { change, by: None })),
    );
    Ok(OpenedSession {
        writer,
        fold,
        remembered,
        first,
        ended,
        cut_off,
    })
}

/// Returns the changes that this program makes because it differs from the one that wrote last: its tools,
/// rules, guard, the settings of a server and the approval mode, in this order.
fn changes_of_program(
    parts: &DriverParts,
    fold: &SessionFold,
    changes: &[ConfigChange],
) -> Vec<EventDraft<EnvironmentEvent>> {
    let root = fold.root();
    let tools = changed_tools(fold, &parts.tools.now()).map(ConfigChange::Tools);
    let rules = older_rules(fold).then_some(ConfigChange::RulesVersion(RULES_VERSION));
    let guard = other_guard(fold, parts.guard.as_ref());
    let server = other_server_rules(fold, parts.server_rules.as_ref());
    let approval = asks_again(fold, parts.approval, changes);
    let draft = |change| EventDraft::new(Source::System, root.cloned(), ConfigChanged { change, by: None });
    [tools, rules, guard, server, approval]
        .into_iter()
        .flatten()
        .map(draft)
        .collect()
}

/// The change without the part that would make the session forget a model's window size, which it learned
/// from the server. `None` if nothing is left to change.
fn keep_learned_window(fold: &SessionFold, change: ConfigChange) -> Option<ConfigChange> {
    let agent = fold.root_agent().and_then(|agent| agent.react());
    let (ConfigChange::Model(model), Some(agent)) = (&change, agent) else {
        return Some(change);
    };
    let learned = agent.as_learned((**model).clone());
    if learned == **model {
        return Some(change);
    }
    (learned != agent.config().model).then(|| ConfigChange::Model(Box::new(learned)))
}

/// The previous process may have been killed while its commands still run: they are ended before anything
/// continues.
async fn end_left_running(parts: &DriverParts, fold: &SessionFold, session: &SessionId) -> Vec<LeftRunning> {
    let open = fold.calls_under_way();
    let mut ended = parts.actions.session_taken_over(session, &open).await;
    // Survivors of a kill are found by their processes; otherwise all commands ended with the program.
    if ended.iter().all(|left| left.tool_call_id.is_some()) {
        ended.extend(fold.background_jobs());
    }
    ended
}

/// Returns whether an agent of the session still reads rules as an older program did.
fn older_rules(fold: &SessionFold) -> bool {
    fold.agents()
        .any(|agent| agent.config().rules_version < RULES_VERSION)
}

/// Returns the change to this program's guard, if the session does not have it yet.
fn other_guard(fold: &SessionFold, own: Option<&Arc<Guard>>) -> Option<ConfigChange> {
    let is_other = fold.agents().any(|agent| agent.config().guard.as_ref() != own);
    (own.is_some() && is_other).then(|| ConfigChange::Guard(own.cloned()))
}

/// Returns the change to the server's rules, if they differ from those of the session.
fn other_server_rules(fold: &SessionFold, own: Option<&Arc<ServerRules>>) -> Option<ConfigChange> {
    let is_other = fold
        .agents()
        .any(|agent| agent.config().server_rules.as_ref() != own);
    is_other.then(|| ConfigChange::ServerRules(own.cloned()))
}

/// The mode of this program, if the session asks about fewer calls and the opener does not choose a mode. A
/// session that refuses without a question stays so.
fn asks_again(
    fold: &SessionFold,
    own: Option<ApprovalMode>,
    changes: &[ConfigChange],
) -> Option<ConfigChange> {
    let is_said = changes
        .iter()
        .any(|change| matches!(change, ConfigChange::Approval(_)));
    let now = fold.root_agent()?.config().approval;
    let asks_less = matches!(now, ApprovalMode::Auto | ApprovalMode::AcceptEdits);
    let own = own.filter(|own| own.strictness() > now.strictness() && asks_less && !is_said);
    own.map(ConfigChange::Approval)
}

/// A missing tool with an interrupted call that would have to continue: without the tool, the recorded steps
/// would be lost.
fn cut_off_without_tool<'a>(fold: &'a SessionFold, offered: &[ToolSpec]) -> Option<&'a str> {
    let is_here = |name: &str| offered.iter().any(|tool| tool.name == name);
    fold.tools_with_steps().find(|tool| !is_here(tool))
}
