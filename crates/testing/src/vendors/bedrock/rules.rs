//! The rules by which Amazon Bedrock refuses requests before a model reads them, with their sources.

use crate::vendors::VendorRule;

macro_rules! rules {
    ($($id:ident: $name:literal, $says:literal, $source:literal, $date:literal;)*) => {
        $(pub(super) const $id: &VendorRule = &VendorRule { name: $name, says: $says, source: $source, date: $date };)*
        /// The rules of Amazon Bedrock.
        pub const RULES: &[VendorRule] = &[$(*$id),*];
    };
}

rules! {
    PATH: "bedrock-path", "A request is a POST to `/model/ID/invoke-with-response-stream`, with the id percent-encoded as one segment.",
        "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModelWithResponseStream.html", "2026-11-28";
    TOKEN: "bedrock-no-credentials", "A request has an `authorization`: a signature, or a Bedrock API key as a bearer token.",
        "https://docs.aws.amazon.com/bedrock/latest/userguide/api-keys-use.html", "2026-11-28";
    BEARER: "bedrock-bearer", "An API key is one that Bedrock handed out.",
        "https://docs.aws.amazon.com/bedrock/latest/userguide/api-keys-use.html", "2026-11-28";
    ACCESS_KEY: "bedrock-access-key", "The access key exists, and the session token of a temporary one is its own.",
        "https://docs.aws.amazon.com/bedrock/latest/userguide/troubleshooting-api-error-codes.html", "2026-11-28";
    SCOPE: "bedrock-scope", "A credential is scoped to the day of `x-amz-date`, the region of the server, `bedrock` and `aws4_request`.",
        "https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html", "2026-11-28";
    SIGNED: "bedrock-signed-headers", "The signature covers `host` and every `x-amz-` header.",
        "https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html", "2026-11-28";
    TIME: "bedrock-time", "A signature is at most five minutes old.",
        "https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html", "2026-11-28";
    SIGNATURE: "bedrock-signature", "The signature is that of the request as it came: method, path encoded once more, headers, hash of the body.",
        "https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html", "2026-11-28";
    MODEL: "bedrock-model", "The model exists (400 `The provided model identifier is invalid.`).",
        "https://github.com/pydantic/pydantic-ai/blob/4fda38988f29/tests/models/cassettes/test_bedrock/test_bedrock_streaming_error.yaml", "2026-11-28";
    VERSION: "bedrock-version", "The body has `anthropic_version: bedrock-2023-05-31`.",
        "https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages-request-response.html", "2026-11-28";
    BODY: "bedrock-body", "The body has neither `model` nor `stream`: both are in the path.",
        "https://github.com/fumito-ito/AnthropicSwiftSDK/issues/19", "2024-06-26";
    BETA: "bedrock-beta", "`anthropic_beta` is a list of names; a header counts for nothing.",
        "https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages-request-response.html", "2026-11-28";
}
