//! The parts that the drivers of all sessions of a runtime share.

use std::sync::Arc;

use agentx_bus::Bus;
use agentx_secrets::Redactor;
use agentx_types::{ApprovalMode, Guard, ServerRules};

use super::current_rules::StandingRules;
use crate::clock::Clock;
use crate::effects::actions::ActionDispatcher;
use crate::effects::call_slots::CallSlots;
use crate::future::BoxFuture;
use crate::ingress::OpenSessions;
use crate::log::SessionLog;
use crate::system_events::{AgentEvent, SystemEvent};
use crate::tools::tool_offers::ToolOffers;

/// The parts that a driver works with; shared by all sessions of a runtime.
#[derive(Clone)]
pub struct DriverParts {
    /// The log that keeps the facts.
    pub log: Arc<dyn SessionLog>,
    /// The responders that perform actions.
    pub actions: ActionDispatcher,
    /// Bounds the tool calls that run at once, of all sessions that share these slots.
    pub slots: CallSlots,
    /// The clock for the times of events.
    pub clock: Arc<dyn Clock>,
    /// The bus on which committed facts and their derived events are published. Only drivers of sessions
    /// publish, and [`OfflineWriter`](crate::OfflineWriter) for sessions that nobody has open.
    pub bus: Bus<SystemEvent>,
    /// The bus for events of agents inside their own boundaries; a reader of one agent filters by its id.
    pub agents: Bus<AgentEvent>,
    /// The open sessions, for inputs that environments send by themselves.
    pub sessions: OpenSessions,
    /// The tools that this program has now; a session that was opened with others is notified of the change,
    /// and so are those that are open.
    pub tools: ToolOffers,
    /// The files that calls may not touch in any session, regardless of a session's own configuration; `None`
    /// leaves it to that.
    pub guard: Option<Arc<Guard>>,
    /// The rules of a server for each call, if this process is one. They bind every session, regardless of
    /// its configuration. `None` removes the rules that an earlier server left in a session.
    pub server_rules: Option<Arc<ServerRules>>,
    /// The source of the current server rules for open sessions. `None` keeps the rules from the opening.
    pub server_rules_source: Option<Arc<dyn ServerRulesSource>>,
    /// The approval mode for existing sessions that ask nobody, set when they are opened, unless the opener
    /// names another. So `--yes` applies to one program and not to those that continue its session. `None`
    /// leaves each session as it was.
    pub approval: Option<ApprovalMode>,
    /// The rules that bind an existing session when it is opened. `None` leaves each session its own.
    pub standing: Option<Arc<StandingRules>>,
    /// The program and its version, for the log.
    pub program: String,
    /// Replaces secrets in facts before they are committed; `None` replaces nothing.
    pub redactor: Option<Redactor>,
    /// Whether this process is a server. Stored in the log, so that the next server resumes its runs after a
    /// kill.
    pub serves: bool,
}

impl DriverParts {
    /// Parts with a log, effectors and a clock; everything else is as for a program without tools, guard and
    /// server.
    pub fn new(log: Arc<dyn SessionLog>, actions: ActionDispatcher, clock: Arc<dyn Clock>) -> Self {
        Self {
            log,
            actions,
            slots: CallSlots::default(),
            clock,
            bus: Bus::new(),
            agents: Bus::new(),
            sessions: OpenSessions::default(),
            tools: ToolOffers::default(),
            guard: None,
            server_rules: None,
            server_rules_source: None,
            approval: None,
            standing: None,
            redactor: None,
            program: String::new(),
            serves: false,
        }
    }
}

/// The source of a server's current rules for the sessions of one owner.
pub trait ServerRulesSource: Send + Sync {
    /// Returns the current rules; `None` if they cannot change. It is asked before each batch of each
    /// session, so it has to be cheap while nothing changes, and must not wait for a session.
    fn now(&self) -> BoxFuture<'_, Option<Arc<ServerRules>>>;
}
