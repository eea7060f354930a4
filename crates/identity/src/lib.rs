//! The identity of a person: Ed25519 keys, signed challenges, and the people whom a server trusts.
//!
//! A person is only a key: [`owner_of`] makes their id from it. They prove that they have it by signing a
//! server's challenge ([`AuthChallenge`]) together with the name of that server, so that no other server can
//! use the signature.
//!
//! ```
//! use agentx_identity::{AuthChallenge, SecretKey, sign_challenge, verify_challenge};
//!
//! let key = SecretKey::generate()?;
//! let challenge = AuthChallenge {
//!     origin: "http://127.0.0.1:7777".into(),
//!     nonce: agentx_identity::token_text(&agentx_identity::random_bytes::<32>()?),
//!     expires_at_ms: 60_000,
//! };
//! let signature = sign_challenge(&key, &challenge);
//! verify_challenge(key.public_key(), &challenge, &signature, 1_000)?;
//! assert!(verify_challenge(key.public_key(), &challenge, &signature, 60_000).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod base64url;
mod challenge;
mod files;
mod key;
mod key_error;
mod keyring;
mod keyring_error;
mod known_servers;
mod mcp_tokens;
mod openssh;
mod owner;
mod page_tokens;
mod path_word;
mod people;
mod random;
mod stamp;

pub use challenge::{
    AuthChallenge, Binding, ChallengeError, challenge_text, prove_server, server_nonce, sign_bound_challenge,
    sign_challenge, verify_bound_challenge, verify_challenge, verify_server,
};
pub use key::{PublicKey, SecretKey, Signature};
pub use key_error::KeyError;
pub use keyring::{Keyring, KnownPerson};
pub use keyring_error::KeyringError;
pub use known_servers::ServerKeyStatus;
pub use mcp_tokens::{MCP_TOKEN, MCP_TOKENS_OF_KEY, McpToken, McpTokenError, McpTokenOwner};
pub use owner::{OPERATOR, owner_of};
pub use page_tokens::{PAGE_TOKEN, PAGE_TOKENS_OF_KEY};
pub use path_word::path_word;
pub use people::{Trusted, TrustedAs};
pub use random::{NoRandomness, random_bytes, token_text};
pub use stamp::Stamp;
