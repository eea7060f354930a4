//! What a remote runtime and its sessions share: both ways to the server, the bus between them, and who one
//! is there.

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

/// How long a good-bye may take.
const CLOSE: Duration = Duration::from_secs(2);

/// What a remote runtime and its sessions share.
pub(crate) struct RemoteCore {
    pub(crate) http: Http,
    pub(crate) connection: Connection,
    pub(crate) bus: Bus<SystemEvent>,
    pub(crate) seat: Seat,
    reactors: Mutex<Option<Reactors<Bus<SystemEvent>>>>,
}

impl RemoteCore {
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

    /// Says good-bye. Nothing can be followed or said any more.
    pub(crate) async fn close(&self) {
        if let Some(reactors) = self.reactors.lock().await.take() {
            reactors.shutdown(CLOSE).await;
        }
        self.bus.close();
    }

    /// Asks the server for something that becomes an event, and says which.
    pub(crate) async fn ask(
        &self,
        request: impl Into<ClientRequest>,
    ) -> (Result<Accepted, RuntimeError>, u32) {
        self.connection.request(request.into()).await
    }
}
