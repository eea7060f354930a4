//! What clouds have in place of a key.

use crate::Secret;
use crate::bedrock::AwsCredentials;

/// The credentials of a cloud.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CloudCredentials {
    /// An access key of AWS: each request is signed with it.
    Aws(AwsCredentials),
}

impl CloudCredentials {
    /// Returns the secrets, which occur in no text.
    pub fn secrets(&self) -> Vec<&Secret> {
        match self {
            Self::Aws(aws) => std::iter::once(&aws.secret_access_key)
                .chain(&aws.session_token)
                .collect(),
        }
    }
}
