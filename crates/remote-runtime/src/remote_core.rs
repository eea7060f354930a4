//! The state that a remote runtime and its sessions share: both connections to the server, the bus between
//! them, and the own identity.
//!
//! The bus is private to one remote runtime: its only reactor is the environment. It exists because an
//! environment needs a bus, on which other programs can hear the same facts.

use agentx_bus::{Bus, Reactors, Restart};
use agentx_runtime::{RuntimeError, SystemEvent};
use agentx_types::Seat;
use agentx_types::wire::{Accepted, ClientRequest};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;

use crate::environment::{Connection, WebSocketEnvironment};
use crate::http::Http;
use crate::{ConnectOptions, ServerEndpoint};

/// The maximum time for a good-bye. After that the client drops the connection.
const CLOSE: Duration = Duration::from_secs(2);

/// The state that a remote runtime and its sessions share.
pub(crate) struct RemoteCore {
    /// For independent requests.
    pub(crate) http: Http,
    /// For ordered requests and events.
    pub(crate) connection: Connection,
    /// The bus with the incoming facts.
    pub(crate) bus: Bus<SystemEvent>,
    /// The seat of this program in a session: the person and the client's name. A seat holds the wheel.
    pub(crate) seat: Seat,
    /// Keeps the environment running; taken when the runtime is closed.
    reactors: Mutex<Option<Reactors<Bus<SystemEvent>>>>,
}

impl RemoteCore {
    /// Starts the environment. It connects when something is first wanted.
    pub(crate) async fn start(
        http: Http,
        seat: Seat,
        options: ConnectOptions,
    ) -> Result<Arc<Self>, RuntimeError> {
        let bus = Bus::new();
        let (environment, connection) = WebSocketEnvironment::new(options)?;
        let mut reactors = Reactors::new(bus.clone(), |_report| {});
        reactors
            .start(environment, Restart::Never)
            .await
            .map_err(|failed| RuntimeError::Refused(failed.to_string()))?;
        Ok(Arc::new(Self {
            http,
            connection,
            bus,
            seat,
            reactors: Mutex::new(Some(reactors)),
        }))
    }

    pub(crate) fn endpoint(&self) -> &ServerEndpoint {
        self.http.endpoint()
    }

    /// Closes the connection. Nothing can be followed or sent any more.
    pub(crate) async fn close(&self) {
        if let Some(reactors) = self.reactors.lock().await.take() {
            reactors.shutdown(CLOSE).await;
        }
        self.bus.close();
    }

    /// Sends a request that becomes an event, and returns the `seq` of the event.
    pub(crate) async fn ask(
        &self,
        request: impl Into<ClientRequest>,
    ) -> (Result<Accepted, RuntimeError>, u32) {
        self.connection.request(request.into()).await
    }
}
