//! The names under which gateways serve the models of Anthropic.

/// Words in the names of other vendors' models that were trained on what Claude said.
const TRAINED: [&str; 3] = ["distill", "gguf", "reasoning"];

/// Words that people at gateways, and servers that forward requests to Anthropic's models, put before the
/// name of a Claude model.
const CLOUDS: [&str; 6] = [
    "databricks-",
    "bedrock-",
    "aws-",
    "vertex-",
    "vertex_ai-",
    "anthropic-",
];

/// The words that follow `claude-` in the names of Anthropic's models.
const FAMILIES: [&str; 8] = [
    "opus", "sonnet", "haiku", "fable", "mythos", "instant", "v", "latest",
];

/// Returns whether a gateway hands this model's requests on to Anthropic's: `anthropic/claude-sonnet-5-5`,
/// `us.anthropic.claude-…`. Models of others have `claude` in their names, too
/// (`qwen3-14b-claude-opus-distill`), and their servers know neither its cache marks nor `null` beside calls.
pub(crate) fn is_claude(model: &str) -> bool {
    let name = model.to_ascii_lowercase();
    if TRAINED.iter().any(|word| name.contains(word)) {
        return false;
    }
    name.split(['/', '.', ':', '@']).any(|part| {
        let cloud = CLOUDS.iter().find_map(|cloud| part.strip_prefix(cloud));
        let Some(rest) = cloud.unwrap_or(part).strip_prefix("claude") else {
            return false;
        };
        let of_family = |rest: &str| {
            rest.starts_with(|c: char| c.is_ascii_digit())
                || FAMILIES.iter().any(|family| rest.starts_with(family))
        };
        rest.is_empty() || rest.strip_prefix('-').is_some_and(of_family)
    })
}
