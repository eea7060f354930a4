//! The destination of a request to Bedrock: the address of a region, the region of an address, and the path
//! of a model.

use crate::percent::encode;

/// The name of the service in addresses.
const HOST: &str = "bedrock-runtime";

/// Returns the address of Bedrock in a region
/// (<https://docs.aws.amazon.com/general/latest/gr/bedrock.html>).
///
/// ```
/// use agentx_llm::bedrock::base_url;
///
/// assert_eq!(base_url("eu-central-1"), "https://bedrock-runtime.eu-central-1.amazonaws.com");
/// ```
pub fn base_url(region: &str) -> String {
    format!("https://{HOST}.{region}.amazonaws.com")
}

/// Returns whether a text has the form of a region, such as `us-gov-west-1`.
pub fn is_region(text: &str) -> bool {
    let is_part =
        |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    text.len() <= 32 && text.split('-').count() >= 3 && text.split('-').all(is_part)
}

/// Returns the region that the host of an address names: `bedrock-runtime.REGION.amazonaws.com`, its FIPS
/// form, or a VPC endpoint. `None` for other hosts, such as a proxy.
///
/// ```
/// use agentx_llm::bedrock::region_of;
///
/// assert_eq!(region_of("bedrock-runtime-fips.us-east-2.amazonaws.com"), Some("us-east-2"));
/// assert_eq!(region_of("vpce-1.bedrock-runtime.eu-west-1.vpce.amazonaws.com"), Some("eu-west-1"));
/// assert_eq!(region_of("localhost"), None);
/// ```
pub fn region_of(host: &str) -> Option<&str> {
    let mut labels = host.split('.');
    labels.find(|label| [HOST, "bedrock-runtime-fips"].contains(label))?;
    labels.next().filter(|label| is_region(label))
}

/// Returns the path that calls a model with a streamed answer. An id may be a model's, an inference profile's
/// or an ARN.
///
/// ```
/// let path = agentx_llm::bedrock::invoke_path("us.anthropic.claude-v1:0");
/// assert_eq!(path, "/model/us.anthropic.claude-v1%3A0/invoke-with-response-stream");
/// ```
pub fn invoke_path(model: &str) -> String {
    format!("/model/{}/invoke-with-response-stream", encode(model, false))
}

/// Returns the path that calls a model by Converse, with a streamed answer.
///
/// ```
/// let path = agentx_llm::bedrock::converse_path("us.amazon.nova-pro-v1:0");
/// assert_eq!(path, "/model/us.amazon.nova-pro-v1%3A0/converse-stream");
/// ```
pub fn converse_path(model: &str) -> String {
    format!("/model/{}/converse-stream", encode(model, false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_is_words_with_hyphens_and_nothing_that_changes_a_host() {
        for right in ["us-east-1", "ap-southeast-3", "us-gov-west-1", "cn-north-1"] {
            assert!(is_region(right), "{right}");
        }
        for wrong in [
            "",
            "us",
            "us-east",
            "us-east-",
            "US-EAST-1",
            "us-east-1.evil.example",
            "a-b-c/x",
            "a-b-c@d",
        ] {
            assert!(!is_region(wrong), "{wrong}");
        }
    }
}
