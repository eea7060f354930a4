//! The server: its routes, its start and its end.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use tokio::net::TcpListener;

use crate::admission::admit;
use crate::exec_state::ExecState;
use crate::options::ExecServerOptions;
use crate::{actions, openhands, transfers};

/// A server that is ready to answer requests.
pub struct ExecServer {
    listener: TcpListener,
    state: Arc<ExecState>,
}

/// The reason why a server does not start or work.
#[derive(Debug, thiserror::Error)]
pub enum ExecServerError {
    /// Its directory is not there.
    #[error("{} is not a directory", .path.display())]
    NoDirectory {
        /// The directory.
        path: PathBuf,
    },
    /// The address cannot be listened at.
    #[error("{address} cannot be listened at: {error}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The cause.
        error: std::io::Error,
    },
}

impl ExecServer {
    /// Listens at the address of the options. Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// Returns an error if the directory is not there, or the address cannot be listened at.
    pub async fn open(mut options: ExecServerOptions) -> Result<Self, ExecServerError> {
        let path = options.directory.clone();
        options.directory = match tokio::fs::canonicalize(&path).await {
            Ok(real) if real.is_dir() => real,
            Ok(_) | Err(_) => return Err(ExecServerError::NoDirectory { path }),
        };
        let address = options.listen;
        let failed = |error| ExecServerError::Listen { address, error };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        options.listen = listener.local_addr().map_err(failed)?;
        let state = Arc::new(ExecState::new(options));
        state.end_left_running().await;
        Ok(Self { listener, state })
    }

    /// The address that it listens at.
    pub fn address(&self) -> SocketAddr {
        self.state.options.listen
    }

    /// The directory that it works in, with links resolved.
    pub fn directory(&self) -> PathBuf {
        self.state.options.directory.clone()
    }

    /// Answers requests until `stop` is done, then ends everything that runs.
    ///
    /// # Errors
    /// Returns an error if connections can no longer be accepted.
    pub async fn run(self, stop: impl Future<Output = ()> + Send + 'static) -> Result<(), ExecServerError> {
        let Self { listener, state } = self;
        let address = state.options.listen;
        let ending = Arc::clone(&state);
        let stopped = async move {
            stop.await;
            // Requests wait for their actions, so these end first.
            ending.end_all().await;
        };
        let served = axum::serve(listener, router(&state))
            .with_graceful_shutdown(stopped)
            .await;
        state.end_all().await;
        served.map_err(|error| ExecServerError::Listen { address, error })
    }
}

fn router(state: &Arc<ExecState>) -> Router {
    Router::new()
        .route("/alive", get(openhands::alive))
        .route("/server_info", get(openhands::server_info))
        .route("/execute_action", post(openhands::execute_action))
        .route("/list_files", post(transfers::list_files))
        .route("/upload_file", post(transfers::upload_file))
        .route("/download_files", get(transfers::download_files))
        .route("/v1/actions", post(actions::perform))
        .route("/v1/actions/cancel", post(actions::cancel))
        .route("/v1/phase", get(actions::phase).post(actions::set_phase))
        .layer(DefaultBodyLimit::max(state.options.body_bytes))
        .layer(from_fn_with_state(Arc::clone(state), admit))
        .with_state(Arc::clone(state))
}
