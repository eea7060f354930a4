//! The credentials of which commands see placeholders. With the feature `masking`, the module of this name
//! makes them and serves their tunnels. Without it there are none, and all tunnels pass unread.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::Arc;

use agentx_runtime::BoxFuture;
use tokio::net::TcpStream;

use super::contacts::HostContacts;
use super::gate::HostGate;
use super::request_head::RequestHead;

/// The file with the certificates that commands trust, in their directory for temporary files.
pub(crate) const BUNDLE: &str = ".agentx-certificates.pem";

/// All masked credentials of a person. Clones share the authority whose certificates commands see. Without a
/// credential there is nothing to do, and nothing is made.
#[derive(Clone, Default)]
pub struct MaskedCredentials {
    pub(super) masker: Option<Arc<dyn CredentialMasker>>,
}

/// The work for at least one credential.
pub(super) trait CredentialMasker: Send + Sync {
    /// Returns the names of the variables.
    fn names(&self) -> Vec<&str>;

    /// Returns whether a credential is for this host.
    fn is_for(&self, host: &str, port: u16) -> bool;

    /// Returns the variables of a command: the placeholders, and where its programs find the certificates
    /// that they have to trust. Writes these into the directory for temporary files.
    fn variables(&self, temporary: &Path) -> io::Result<Vec<(OsString, OsString)>>;

    /// Serves a tunnel to a host that a credential is for. `client` begins with TLS, and `server` is
    /// connected to the host that `head` names.
    fn serve<'a>(
        &'a self,
        client: &'a mut TcpStream,
        server: TcpStream,
        head: &'a RequestHead,
        gate: &'a HostGate,
        contacts: &'a HostContacts,
    ) -> BoxFuture<'a, io::Result<()>>;
}

/// Values are not shown.
impl std::fmt::Debug for MaskedCredentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = self.masker.iter().flat_map(|masker| masker.names());
        f.debug_list().entries(names).finish()
    }
}

impl MaskedCredentials {
    /// Returns the variables of a command: the placeholders, and where its programs find the certificates
    /// that they have to trust. Writes these into the directory for temporary files.
    ///
    /// # Errors
    /// Returns an error if no authority can be made, or the file cannot be written.
    pub fn variables(&self, temporary: &Path) -> io::Result<Vec<(OsString, OsString)>> {
        let masker = self.masker.as_ref();
        masker.map_or(Ok(Vec::new()), |masker| masker.variables(temporary))
    }

    /// Returns what serves the tunnels to a host, if a credential is for it.
    pub(super) fn masker_for(&self, host: &str, port: u16) -> Option<&dyn CredentialMasker> {
        self.masker.as_deref().filter(|masker| masker.is_for(host, port))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_credential_no_command_gets_a_variable_and_no_tunnel_is_opened() {
        let place = tempfile::tempdir().unwrap();
        let none = MaskedCredentials::default();
        assert_eq!(none.variables(place.path()).unwrap(), []);
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
        assert!(none.masker_for("api.example.com", 443).is_none());
        assert_eq!(format!("{none:?}"), "[]");
    }
}
