//! The key of a request that may come twice.

use serde::Serialize;

/// Identifies a request, so that it is carried out once although its answer was lost and it is sent again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestKey {
    /// The key that its sender chose, different for each request.
    pub key: String,
    /// A hash of what is requested; `None` accepts the key for any request.
    pub request: Option<String>,
}

impl RequestKey {
    /// The key of a request with this content.
    ///
    /// ```
    /// use agentx_runtime::RequestKey;
    ///
    /// let stop = RequestKey::new("k1", &("interrupt", "too slow"));
    /// assert_eq!(stop, RequestKey::new("k1", &("interrupt", "too slow")));
    /// assert_ne!(stop, RequestKey::new("k1", &("interrupt", "wrong file")));
    /// ```
    pub fn new(key: impl Into<String>, request: &impl Serialize) -> Self {
        Self {
            key: key.into(),
            request: Some(request_hash(request)),
        }
    }
}

/// Returns the hash of what is requested: 32 hexadecimal digits.
pub fn request_hash(request: &impl Serialize) -> String {
    // Requests are plain data with string keys; writing them has no way to fail.
    let text = serde_json::to_vec(request).unwrap_or_default();
    let mut hash = blake3::hash(&text).to_hex().to_string();
    hash.truncate(32);
    hash
}
