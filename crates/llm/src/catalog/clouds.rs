//! Models that a cloud serves under its own names: Anthropic's at Amazon Bedrock and Vertex AI.

use std::borrow::Cow;

use agentx_types::{Api, ModelSpec};

use super::Catalog;

impl Catalog {
    /// A model of a cloud with the window, the limits and the media that its vendor's model has. Prices stay
    /// unknown: clouds have their own.
    pub(super) fn as_at_home(&self, model: ModelSpec) -> ModelSpec {
        if !matches!(model.api, Api::Bedrock | Api::VertexAnthropic) {
            return model;
        }
        let id = id_at_home(&model);
        let mut at_home = self
            .models
            .iter()
            .filter(|entry| entry.spec.provider == "anthropic");
        match at_home.find(|entry| entry.has_id(&id)) {
            Some(entry) => ModelSpec {
                context_window: entry.spec.context_window,
                max_output_tokens: entry.spec.max_output_tokens,
                assumes_output: entry.spec.assumes_output,
                input: entry.spec.input.clone(),
                ..model
            },
            None => model,
        }
    }
}

/// The id that the vendor of a model gives it. Bedrock's ids have a region and the vendor before it and a
/// version behind it, also at the end of an ARN (`us.anthropic.claude-sonnet-4-5-20250929-v1:0`,
/// <https://docs.aws.amazon.com/bedrock/latest/userguide/models-supported.html>); Vertex AI's have the day
/// behind `@` (<https://cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude/use-claude>).
/// Gateways put the vendor before a slash.
pub(super) fn id_at_home(model: &ModelSpec) -> Cow<'_, str> {
    let id = model.id.rsplit('/').next().unwrap_or(&model.id);
    match model.api {
        Api::Bedrock => {
            let id = id.rsplit_once("anthropic.").map_or(id, |(_, id)| id);
            let id = id.split(':').next().unwrap_or(id);
            let (name, version) = id.rsplit_once("-v").unwrap_or((id, ""));
            let is_version = !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit());
            if is_version { name.into() } else { id.into() }
        }
        Api::VertexAnthropic => id.replace('@', "-").into(),
        _ => id.into(),
    }
}

/// Returns whether an address is one of Vertex AI: at Google's host, of the world or of a region, or by its
/// path behind a proxy.
pub(super) fn is_vertex(base_url: &str) -> bool {
    let host = base_url.split_once("://").map_or(base_url, |(_, rest)| rest);
    let host = host.split(['/', ':']).next().unwrap_or(host);
    host.ends_with("aiplatform.googleapis.com") || base_url.contains("/publishers/google")
}
