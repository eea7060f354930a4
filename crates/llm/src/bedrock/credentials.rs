//! The credentials with which requests to AWS are signed.

use crate::secret::Secret;

/// Credentials of AWS, with which requests to Bedrock are signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AwsCredentials {
    /// The id of the access key, which is not secret.
    pub access_key_id: String,
    /// The secret of the access key.
    pub secret_access_key: Secret,
    /// The token of a temporary key; `None` for a permanent one.
    pub session_token: Option<Secret>,
}
