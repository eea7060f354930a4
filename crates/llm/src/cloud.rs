//! Credentials of clouds, in place of a key.

use crate::bedrock::AwsCredentials;
use crate::google_auth::GoogleCredentials;
use crate::secret::Secret;

/// The credentials of a cloud.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CloudCredentials {
    /// An access key of AWS: each request is signed with it.
    Aws(AwsCredentials),
    /// Credentials of Google: a token is requested with them, and each request has it.
    Google(GoogleCredentials),
}

impl CloudCredentials {
    /// Returns the secrets, which occur in no text.
    pub fn secrets(&self) -> Vec<&Secret> {
        match self {
            Self::Aws(aws) => std::iter::once(&aws.secret_access_key)
                .chain(&aws.session_token)
                .collect(),
            Self::Google(google) => google.secrets(),
        }
    }
}
