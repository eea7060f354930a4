//! The variable of AWS's own programs for the address of Bedrock.

use crate::layers::variable::{Lookup, set};

/// The variable of AWS's own programs for the address of Bedrock
/// (<https://docs.aws.amazon.com/sdkref/latest/guide/feature-ss-endpoints.html>).
pub(crate) const AWS_ENDPOINT: &str = "AWS_ENDPOINT_URL_BEDROCK_RUNTIME";

/// Returns the address of Bedrock that AWS's variable names, if the variable of AgentX names none.
pub(crate) fn own_address(lookup: Lookup<'_>) -> Option<String> {
    set(lookup, AWS_ENDPOINT).filter(|_| set(lookup, "BEDROCK_BASE_URL").is_none())
}
