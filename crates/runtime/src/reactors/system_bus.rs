//! The SystemBus of a runtime: reactors are started on it, to hear committed events and to serve actions.

use std::fmt;
use std::sync::Arc;

use agentx_bus::{BusSubscription, Closed, Filter, KeyPattern, Queue, ResponderInfo, Serve, Subscribe};
use agentx_secrets::Redactor;
use agentx_types::{ActionKind, topic};

use crate::driver::DriverParts;
use crate::effects::actions::ActionDispatcher;
use crate::effects::commands::{CommandService, ServingCommand};
use crate::effects::effect::Effector;
use crate::ingress::{Ingress, InvalidEnvironmentName, OpenSessions};
use crate::log::SessionLog;
use crate::log::blob_store::BlobStore;
use crate::reactors::bus_models::BusModels;
use crate::reactors::serving::{ServedBy, Serving};
use crate::reactors::transport::TransportReports;
use crate::redaction::RedactingModels;
use crate::system_events::{SystemEvent, SystemEvents};
use crate::tools::served_tool::{ServedTool, ToolCallRunner};
use crate::tools::tool::Tool;
use crate::tools::tool_offers::ToolOffers;

/// The bus on which a [`Reactor`](agentx_bus::Reactor) of a runtime that acts is started: it receives
/// committed events, and serves the actions of sessions. Only the sessions themselves publish here, after the
/// commit; a reactor can add reports about its connections ([`transport`](Self::transport)). Clones refer to
/// the same bus.
///
/// A reactor that serves keeps each [`Serving`] as long as it works; dropping it detaches the responder.
///
/// Every holder of the bus can watch:
///
/// ```
/// # use agentx_bus::{Closed, Filter, Queue, BusSubscription};
/// # use agentx_runtime::{SystemBus, SystemEvent};
/// fn watch(bus: &SystemBus) -> Result<BusSubscription<SystemEvent>, Closed> {
///     bus.subscribe("watcher", Filter::all(), Queue::lag(64))
/// }
/// ```
///
/// but cannot publish. This compiles for the bus of a driver, and not for a `SystemBus`:
///
/// ```
/// # use agentx_bus::Bus;
/// # use agentx_runtime::SystemEvent;
/// async fn publish(bus: &Bus<SystemEvent>, event: SystemEvent) {
///     let _ = bus.publish(event).await;
/// }
/// ```
///
/// ```compile_fail,E0599
/// # use agentx_runtime::{SystemBus, SystemEvent};
/// async fn publish(bus: &SystemBus, event: SystemEvent) {
///     let _ = bus.publish(event).await;
/// }
/// ```
///
/// The part that only listens cannot publish either:
///
/// ```
/// # use agentx_bus::{Filter, Queue};
/// # use agentx_runtime::{SystemBus, SystemEvent};
/// async fn publish(bus: &SystemBus, event: SystemEvent) {
///     let _ = (bus.events().subscribe("watcher", Filter::all(), Queue::lag(64)), event);
/// }
/// ```
///
/// ```compile_fail,E0599
/// # use agentx_runtime::{SystemBus, SystemEvent};
/// async fn publish(bus: &SystemBus, event: SystemEvent) {
///     let _ = bus.events().publish(event).await;
/// }
/// ```
#[derive(Clone)]
pub struct SystemBus {
    /// The bus of committed facts and their derived events, only for listening.
    events: SystemEvents,
    /// Publishes reports about connections.
    transport: TransportReports,
    /// The dispatcher to which responders are attached.
    actions: ActionDispatcher,
    /// The tools on offer, which attached tools join.
    tools: ToolOffers,
    /// The log, for blobs and for lookups by tools.
    log: Arc<dyn SessionLog>,
    /// The sessions to which environments may send inputs.
    sessions: OpenSessions,
    /// Keeps secrets out of requests to attached models, if some are known.
    redactor: Option<Redactor>,
    /// The responders of the reactor that has this bus.
    served: ServedBy,
}

impl SystemBus {
    /// Creates the bus of a runtime whose sessions have these parts.
    pub fn of(parts: &DriverParts) -> Self {
        Self {
            events: parts.bus.read_only(),
            transport: TransportReports::on(&parts.bus),
            actions: parts.actions.clone(),
            tools: parts.tools.clone(),
            log: parts.log.clone(),
            sessions: parts.sessions.clone(),
            redactor: parts.redactor.clone(),
            served: ServedBy::default(),
        }
    }

    /// Returns this bus for another reactor, and the list of everything that the reactor will serve.
    pub fn for_reactor(&self) -> (Self, ServedBy) {
        let served = ServedBy::default();
        let bus = Self {
            served: served.clone(),
            ..self.clone()
        };
        (bus, served)
    }

    /// The part of it that only listens.
    pub fn events(&self) -> &SystemEvents {
        &self.events
    }

    /// Hears events that are published from now on. `name` is for errors and lists.
    ///
    /// # Errors
    /// Returns an error if the runtime is gone.
    pub fn subscribe(
        &self,
        name: &str,
        filter: Filter,
        queue: Queue,
    ) -> Result<BusSubscription<SystemEvent>, Closed> {
        self.events.subscribe(name, filter, queue)
    }

    /// Performs the actions that `serve` names, until the returned value is dropped. Must be called inside a
    /// tokio runtime.
    pub fn serve(&self, serve: Serve, effector: Arc<dyn Effector>) -> Serving {
        Serving::new(
            &self.actions,
            self.actions.serve_as(serve, effector),
            &self.served,
        )
    }

    /// Serves the calls of one tool, and offers it: sessions that have all tools are notified of it between
    /// two runs. It replaces an earlier tool of the same name for as long as it is served.
    pub fn serve_tool(&self, tool: Arc<dyn Tool>) -> Serving {
        let spec = tool.spec();
        let serve = Serve::new(&spec.name).on(
            topic::of_action(ActionKind::CallTool),
            KeyPattern::exact(&spec.name),
        );
        let calls = ToolCallRunner::new(self.log.clone()).hearing(self.events.clone());
        let served = ServedTool::new(tool, calls);
        self.serve(serve, Arc::new(served)).offering(&self.tools, spec)
    }

    /// Serves the calls of the models of a provider: those of agents, scripts and MCP servers, and those of
    /// the [`Condenser`](crate::Condenser), which asks for summaries over the bus. If the runtime knows
    /// secrets, `models` gets requests without them.
    pub fn serve_models(&self, provider: &str, models: Arc<dyn Effector>) -> Serving {
        let models: Arc<dyn Effector> = match &self.redactor {
            Some(redactor) => Arc::new(RedactingModels::new(models, redactor.clone())),
            None => models,
        };
        let keys = KeyPattern::prefix(&format!("{provider}/"));
        let calls = Serve::new(provider).on(topic::of_action(ActionKind::CallModel), keys);
        self.serve(calls, models)
    }

    /// Serves a command of persons, until the returned value is dropped. It is listed with the commands of
    /// the program, whose names it cannot take. Must be called inside a tokio runtime.
    pub fn serve_command(&self, service: Arc<dyn CommandService>) -> ServingCommand {
        self.actions.commands().serve(service)
    }

    /// Performs model calls of a reactor: the responder for the model's provider answers them, like those of
    /// agents.
    pub fn models(&self) -> Arc<dyn Effector> {
        let models = BusModels::default();
        models.connect(&self.actions);
        Arc::new(models)
    }

    /// Allows an environment to send inputs to open sessions. They are recorded as inputs of `env_NAME`.
    ///
    /// # Errors
    /// Returns [`InvalidEnvironmentName`] if `name` is not 1 to 40 ASCII letters, digits, `-` and `_`.
    pub fn ingress(&self, name: &str) -> Result<Ingress, InvalidEnvironmentName> {
        Ingress::new(name, self.sessions.clone())
    }

    /// Publishes reports about the connections of an environment, on the topic `transport`.
    pub fn transport(&self) -> TransportReports {
        self.transport.clone()
    }

    /// The store of pictures and other large contents that requests name.
    pub fn blobs(&self) -> Arc<dyn BlobStore> {
        self.log.clone()
    }

    /// The responders with the requests that they serve, in the order in which they were attached.
    pub fn responders(&self) -> Vec<ResponderInfo> {
        self.actions.responders()
    }
}

impl Subscribe for SystemBus {
    type Event = SystemEvent;

    fn subscribe(
        &self,
        name: &str,
        filter: Filter,
        queue: Queue,
    ) -> Result<BusSubscription<SystemEvent>, Closed> {
        Self::subscribe(self, name, filter, queue)
    }
}

impl fmt::Debug for SystemBus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SystemBus")
            .field("events", &self.events)
            .field("actions", &self.actions)
            .finish_non_exhaustive()
    }
}
