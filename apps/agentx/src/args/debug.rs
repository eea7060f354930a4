//! Arguments of `agentx debug`.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

/// `agentx debug`
#[derive(Debug, Subcommand)]
pub(crate) enum DebugCommand {
    /// Decode a response body of a model API into events, one JSON object per line
    Decode {
        /// The protocol of the body
        #[arg(long, value_name = "API")]
        api: ApiArg,
        /// The raw response body; `-` reads standard input
        file: PathBuf,
    },
}

/// The protocols that can be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ApiArg {
    /// Anthropic Messages
    Anthropic,
    /// OpenAI Chat Completions
    OpenaiChat,
    /// OpenAI Responses
    OpenaiResponses,
    /// Gemini
    Gemini,
    /// Gemini's Interactions
    GeminiInteractions,
    /// Anthropic Messages in the frames of Amazon Bedrock
    Bedrock,
    /// Amazon Bedrock's Converse
    BedrockConverse,
}
