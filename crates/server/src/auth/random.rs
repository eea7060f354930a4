//! Creates the secrets of a server, and hashes them for storage.

use agentx_types::wire::Problem;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::problems::problem;

/// 256 random bits as text.
pub(crate) fn random() -> Result<String, Box<Problem>> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| problem("unavailable", &format!("the system has no randomness: {error}")))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// Returns the hash of a token, which is all that is stored of it.
pub(crate) fn hash(token: &str) -> [u8; 32] {
    let digest = ring::digest::digest(&ring::digest::SHA256, token.as_bytes());
    let mut hash = [0; 32];
    hash.copy_from_slice(digest.as_ref());
    hash
}
