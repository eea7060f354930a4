//! The only place where this crate asks the system for randomness; all other code takes bytes.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// The system has no randomness, so no key and no nonce can be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot get random bytes from the system: {0}")]
pub struct NoRandomness(String);

/// Returns random bytes that are good enough for keys.
///
/// # Errors
/// Returns an error if the system has none.
pub fn random_bytes<const N: usize>() -> Result<[u8; N], NoRandomness> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| NoRandomness(error.to_string()))?;
    Ok(bytes)
}

/// Bytes as the text of a nonce or a token: base64url without padding.
///
/// ```
/// assert_eq!(agentx_identity::token_text(&[0xfb, 0xff]), "-_8");
/// ```
pub fn token_text(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}
