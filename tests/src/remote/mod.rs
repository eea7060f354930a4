//! A server as a separate process, and clients that know nothing but the protocol: HTTP, a WebSocket, an
//! event stream.

pub mod mirror;
pub mod raw;
mod seen;
mod serving;
mod socket;
mod stream;
mod web;
mod worker;

pub use seen::Seen;
pub use serving::Serving;
pub use socket::Socket;
pub use stream::{Sent, Stream};
pub use web::{Answered, Web, problem_code};
pub use worker::Worker;

use std::sync::Arc;

use agentx_identity::{AuthChallenge, Keyring, SecretKey, Trusted, TrustedAs, owner_of, sign_challenge};
use serde_json::{Value, json};

use crate::World;

/// The reason why a connection ended: words for a failed test.
pub type Lost = String;

/// Somebody: a key that some server knows, or a visitor.
#[derive(Clone, Debug, Default)]
pub struct Who(Option<Arc<SecretKey>>);

impl Who {
    /// Somebody who does not say who they are.
    pub fn visitor() -> Self {
        Self(None)
    }

    /// Somebody whom no server knows.
    pub fn stranger(seed: u8) -> Self {
        Self(Some(Arc::new(SecretKey::from_seed(&[seed; 32]).expect("a key"))))
    }

    /// Somebody whom the server of this world knows as a member, with sessions of their own.
    pub fn member(world: &World, seed: u8) -> Self {
        Self::trusted(world, seed, TrustedAs::Member)
    }

    /// Somebody whom the server of this world knows as the person whose server it is.
    pub fn operator(world: &World, seed: u8) -> Self {
        Self::trusted(world, seed, TrustedAs::Operator)
    }

    fn trusted(world: &World, seed: u8, role: TrustedAs) -> Self {
        let who = Self::stranger(seed);
        let key = who.key().expect("a key");
        let trusted = Trusted {
            public_key: *key.public_key(),
            name: Some(format!("person{seed}")),
            role,
        };
        Keyring::at(world.data()).trust(trusted).expect("a keyring");
        who
    }

    /// The key.
    pub fn key(&self) -> Option<Arc<SecretKey>> {
        self.0.clone()
    }

    /// Their id on a server that knows them as a member.
    pub fn owner(&self) -> String {
        let key = self.key().expect("somebody with a key");
        owner_of(key.public_key()).to_string()
    }

    /// Their public key.
    pub fn public_key(&self) -> String {
        self.key().expect("somebody with a key").public_key().to_string()
    }

    /// The key and the signature that answer a challenge; nothing for a visitor.
    pub fn answer(&self, challenge: &Value) -> Value {
        let Some(key) = self.key() else {
            return json!({});
        };
        let text = |name: &str| challenge[name].as_str().unwrap_or_default().to_owned();
        let challenge = AuthChallenge {
            nonce: text("nonce"),
            origin: text("origin"),
            expires_at_ms: challenge["expires_at_ms"].as_u64().unwrap_or_default(),
        };
        json!({
            "public_key": key.public_key().to_string(),
            "signature": sign_challenge(&key, &challenge).to_string(),
        })
    }
}
