//! The names that the configuration uses for the protocols of models.

use agentx_types::Api;

/// Returns the protocol that a checked word names.
pub(crate) fn api_called(word: &str) -> Api {
    match word {
        "anthropic" => Api::Anthropic,
        "openai-responses" => Api::OpenaiResponses,
        "gemini" => Api::Gemini,
        "gemini-interactions" => Api::GeminiInteractions,
        "bedrock" => Api::Bedrock,
        "bedrock-converse" => Api::BedrockConverse,
        "vertex-anthropic" => Api::VertexAnthropic,
        _ => Api::OpenaiChat,
    }
}
