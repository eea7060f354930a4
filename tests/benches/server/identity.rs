//! The identity of the benchmark: one key, which the server knows as an operator's.

use agentx::identity::{AuthChallenge, SecretKey, sign_challenge};
use serde_json::{Value, json};

/// The key. It opens nothing but servers of this benchmark.
pub(crate) fn key() -> SecretKey {
    SecretKey::from_seed(&[7; 32]).expect("a key")
}

/// Returns the body of `POST /v1/auth/token` for a challenge.
pub(crate) fn answer(challenge: &Value) -> Value {
    let key = key();
    let signature = sign_challenge(&key, &read(challenge));
    json!({
        "public_key": key.public_key().to_string(),
        "nonce": challenge["nonce"],
        "expires_at_ms": challenge["expires_at_ms"],
        "signature": signature.to_string(),
    })
}

/// The first frame on a WebSocket whose server said `hello`.
pub(crate) fn authenticate(hello: &Value) -> Value {
    let key = key();
    let signature = sign_challenge(&key, &read(hello));
    json!({"type": "authenticate", "id": "me", "payload": {
        "public_key": key.public_key().to_string(), "signature": signature.to_string(), "client": "bench"}})
}

fn read(challenge: &Value) -> AuthChallenge {
    let text = |name: &str| challenge[name].as_str().unwrap_or_default().to_owned();
    AuthChallenge {
        nonce: text("nonce"),
        origin: text("origin"),
        expires_at_ms: challenge["expires_at_ms"].as_u64().unwrap_or(0),
    }
}
