//! A server inside a program: everything that `agentx serve` does, in one call. The program `agentx` uses it
//! too.

use std::sync::Arc;

use agentx_config::Settings;
use agentx_identity::Keyring;
use agentx_node_runtime::NodeRuntime;

use crate::data_dir_lock::DataDirLock;
use crate::server::{Server, bind};
use crate::server_error::ServerError;
use crate::settings::options::ServerOptions;

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
/// Returns an error if [`bind`] does, if others may write to the data directory or it belongs to another user
/// than this one, root and [`Settings::data_owner`], if no key can be kept there, or if another server serves
/// it.
pub async fn open(
    runtime: Arc<NodeRuntime>,
    settings: &Settings,
    options: ServerOptions,
) -> Result<Server, ServerError> {
    let keyring = Keyring::at(&settings.data_dir);
    keyring.check_directory()?;
    keyring.check_owner(settings.data_owner)?;
    keyring.identity_or_new()?;
    let server = bind(runtime, settings, keyring, options).await?;
    let lock = DataDirLock::take(&settings.data_dir, server.url())?;
    Ok(server.holding(lock))
}
