//! The credentials of a client: a person with a key, or a visitor. A key signs only a server's challenge, and
//! only for the server that the client dialled.
//!
//! Secret keys never leave this process. The client sends the public key and one signature for each
//! connection, and one for each token (an hour at most). A visitor sends neither.
//!
//! Each handshake contains the client's own nonce, and a server that names a key has to sign that nonce with
//! it: a proxy that has the certificate of an address, but not the server's key, cannot pass for the known
//! server.

use std::fmt;
use std::sync::Arc;

use agentx_identity::SecretKey;

/// The person that connects. `Debug` shows a public key and no more.
///
/// ```
/// use agentx_identity::SecretKey;
/// use agentx_remote_runtime::Credentials;
///
/// let key = SecretKey::generate()?;
/// let shown = format!("{:?}", Credentials::from(key));
/// assert!(shown.starts_with("Key(ed25519:"));
/// # Ok::<(), agentx_identity::KeyError>(())
/// ```
#[derive(Clone, Default)]
pub enum Credentials {
    /// A person with a key.
    Key(Arc<SecretKey>),
    /// A visitor without an identity.
    #[default]
    Visitor,
}

impl From<SecretKey> for Credentials {
    fn from(key: SecretKey) -> Self {
        Self::Key(Arc::new(key))
    }
}

impl From<Arc<SecretKey>> for Credentials {
    fn from(key: Arc<SecretKey>) -> Self {
        Self::Key(key)
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(key) => write!(f, "Key({})", key.public_key()),
            Self::Visitor => f.write_str("Visitor"),
        }
    }
}
