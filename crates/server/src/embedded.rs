//! A server inside a program: everything that `agentx serve` does, in one call. The program `agentx` uses it
//! too.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use agentx_config::Settings;
use agentx_identity::Keyring;
use agentx_node_runtime::NodeRuntime;

use crate::live_settings::Reload;
use crate::options::ServerOptions;
use crate::server::{Server, bind};
use crate::server_error::ServerError;

/// Listens as `options` say, with the keys and the people of the settings' data directory. The user of the
/// program is the operator, and gets an identity if they have none.
///
/// [`Server::run`] then works like `agentx serve`: it resumes sessions that were running when a server died,
/// closes idle ones, enforces the [limits](crate::ServerLimits) and the quotas of the settings, ends runs of
/// people who are no longer trusted, and commits pending work before it ends.
///
/// ```no_run
/// # use std::sync::Arc;
/// # async fn serve(
/// #     runtime: Arc<agentx_node_runtime::NodeRuntime>,
/// #     settings: agentx_config::Settings,
/// #     told_to_end: impl Future<Output = ()>,
/// # ) -> Result<(), agentx_server::ServerError> {
/// let server = agentx_server::open(runtime, &settings, agentx_server::ServerOptions::default()).await?;
/// println!("{}", server.url());
/// server.run(told_to_end).await
/// # }
/// ```
///
/// # Errors
/// Returns an error if [`bind`] does, if others may write to the data directory, or if no key can be kept
/// there.
pub async fn open(
    runtime: Arc<NodeRuntime>,
    settings: &Settings,
    options: ServerOptions,
) -> Result<Server, ServerError> {
    let keyring = Keyring::at(&settings.data_dir);
    keyring.check_directory()?;
    keyring.identity_or_new()?;
    bind(runtime, settings, keyring, options).await
}

/// Reads the settings again with `read` if one of their files has changed since the last read and is
/// unchanged since the last check: a file that is still being written is read later. For
/// [`Server::reloading`].
pub fn reload_when_changed(
    files: Vec<PathBuf>,
    read: impl Fn() -> Result<Settings, String> + Send + Sync + 'static,
) -> Reload {
    let now = stamps(&files);
    let known = Mutex::new((now.clone(), now));
    Arc::new(move || {
        let now = stamps(&files);
        {
            let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
            let (as_read, seen) = &mut *known;
            let is_settled = std::mem::replace(seen, now.clone()) == now;
            if !is_settled || std::mem::replace(as_read, now.clone()) == now {
                return None;
            }
        }
        Some(read())
    })
}

/// Returns the modification times and lengths of files.
fn stamps(files: &[PathBuf]) -> Vec<Option<(SystemTime, u64)>> {
    let stamp = |file: &PathBuf| {
        let found = std::fs::metadata(file).ok()?;
        Some((found.modified().ok()?, found.len()))
    };
    files.iter().map(stamp).collect()
}
