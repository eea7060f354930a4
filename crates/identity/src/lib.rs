//! Who a person is: Ed25519 keys, signed challenges, and whom a server trusts.
//!
//! A person is a key, nothing else: [`owner_of`] makes their id from it. They show that they have it by signing what a
//! server asks ([`Challenge`]), together with what that server calls itself, so that no other server can use it.
//!
//! ```
//! use agentx_identity::{Challenge, SecretKey, sign_challenge, verify_challenge};
//!
//! let key = SecretKey::generate()?;
//! let challenge = Challenge {
//!     origin: "http://127.0.0.1:7777".into(),
//!     nonce: agentx_identity::token_text(&agentx_identity::random_bytes::<32>()?),
//!     expires_at_ms: 60_000,
//! };
//! let signature = sign_challenge(&key, &challenge);
//! verify_challenge(key.public_key(), &challenge, &signature, 1_000)?;
//! assert!(verify_challenge(key.public_key(), &challenge, &signature, 60_000).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod challenge;
mod files;
mod key;
mod keyring;
mod openssh;
mod owner;
mod people;
mod random;
mod servers;
mod stamp;
mod text;

pub use challenge::{
    Binding, Challenge, ChallengeError, challenge_text, prove_server, server_nonce, sign_bound_challenge,
    sign_challenge, verify_bound_challenge, verify_challenge, verify_server,
};
pub use key::{PublicKey, SecretKey, Signature};
pub use keyring::{Keyring, KeyringError, Known};
pub use openssh::KeyError;
pub use owner::{OPERATOR, owner_of};
pub use people::{Trusted, TrustedAs};
pub use random::{NoRandomness, random_bytes, token_text};
pub use servers::Met;
pub use stamp::Stamp;
